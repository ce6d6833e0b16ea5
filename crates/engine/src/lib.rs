//! SQL over Stepscope stores.
//!
//! [`Engine`] opens one run of a store as tables (those of `stepscope-model`), adds the functions of [`mod@functions`]
//! and the documented views of [`View`], and answers queries under limits of memory, time and rows. It only reads.
//! Everything asynchronous stays in here: callers see plain blocking calls and Arrow batches whose texts are `Utf8`.

mod cancel;
mod chosen;
mod complexity;
mod derived;
mod engine;
mod error;
pub mod functions;
mod not_uploaded;
mod plain;
mod query;
mod query_options;
mod read_only;
mod runner;
mod tables;
mod views;
mod window_not_open;
mod yielding;

pub use cancel::CancelFlag;
pub use derived::Rows;
pub use engine::{Engine, EngineOptions};
pub use error::EngineError;
pub use not_uploaded::NotUploaded;
pub use query::{QueryCursor, QueryResult, QueryStream};
pub use query_options::{Order, Pick, QueryOptions};
pub use runner::{Local, Runner, RunnerError, use_runner};
pub use tables::STORE_ADDRESS;
pub use views::{View, views};
pub use window_not_open::WindowNotOpen;
