//! Objects in a bucket or in a folder: create, read, list and delete them, without async.
//!
//! A [`Place`] says where a store is: `s3://bucket/prefix`, `gs://…`, `az://…` or a folder. A [`Bucket`] does the work
//! there, with the same calls and the same errors for all of them. Requests run on one thread inside of it, so that the
//! caller needs no runtime and may itself be inside of one.

mod bucket;
mod cloud;
mod conditions;
mod engine_store;
mod entry;
mod error;
mod failure;
mod folder;
pub mod parallel;
mod part;
mod place;
mod provider;
mod runtime;
mod settings;
mod stream;
mod watch;

pub use bucket::Bucket;
pub use bytes::Bytes;
pub use conditions::Conditions;
pub use entry::{Entry, Put};
pub use error::{Answer, Cause, ObjectError};
pub use part::Part;
pub use place::Place;
pub use provider::Provider;
pub use settings::Settings;
pub use stream::ObjectStream;
pub use watch::{UNWATCHED, Watch};
