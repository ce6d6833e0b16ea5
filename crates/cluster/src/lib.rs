//! Queries on many machines: the runner that hands their parts to workers, and the worker.
//!
//! A plan is cut into stages by `datafusion-distributed`; workers run the parts of a stage and send rows to each other
//! and to whoever asked. There is no scheduler: whoever asks coordinates. A lost worker fails the whole query, which is
//! then repeated without it ([`Distributed`]). Nothing above `engine` knows which runner answers.

mod attempt;
mod channels;
pub mod client;
mod discovery;
mod distributed;
mod failure;
mod health;
mod identity;
mod plan_check;
mod routes;
mod secrets;
mod session;
mod tls;
mod watched;
mod worker;

pub use client::{ClientError, ClientOptions};
pub use discovery::Source;
pub use distributed::{Distributed, Notes};
pub use failure::{Code, Failure};
pub use identity::identity;
pub use worker::{Worker, WorkerError, WorkerOptions};
