//! Runs that are open for questions: from traces, through the cache or a temporary store, or from a store of the user's.
//!
//! [`OpenRun`] is what analyses and timelines ask. It holds the store where it is, knows its recordings, and passes
//! questions to the engine within the user's limits; [`Frame`] takes the answers apart.

mod cache;
mod critical_path;
mod error;
mod frame;
mod into_bucket;
mod names;
mod open_run;
mod protected;
mod run_choice;
mod run_input;
mod settings;
mod step_models;
mod stored;
mod table;
mod upkeep;
mod watching;

pub use cache::{Cache, Clear};
pub use error::RunError;
pub use frame::Frame;
pub use into_bucket::{spool_state, upload_spool, upload_store};
pub use open_run::{OpenRun, ingest};
pub use protected::{refuse_file, refuse_folder};
pub use run_choice::RunChoice;
pub use run_input::{RunInput, find_runs};
pub use settings::Settings;
pub use step_models::{JobWindow, Modeled, WindowModel};
pub use stepscope_gather::{Amount, CompactOptions, Compaction, ExpireOptions, RefusedPack};
pub use stepscope_store::pack::Depth;
pub use stored::is_address;
pub use table::{report_of, table_of};
pub use upkeep::PackedRuns;
