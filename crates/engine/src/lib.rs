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
mod read_only;
mod tables;
mod views;
mod yielding;

pub use cancel::CancelFlag;
pub use derived::Rows;
pub use engine::{Engine, EngineOptions};
pub use error::EngineError;
pub use not_uploaded::NotUploaded;
pub use query::{Order, Pick, QueryCursor, QueryOptions, QueryResult, QueryStream};
pub use views::{View, views};
