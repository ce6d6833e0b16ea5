//! For tests only: hand-made traces, the way to a corpus of real ones, an S3 server, a proxy that breaks requests, and a disk that is
//! soon full.

mod builder;
mod corpus;
mod fault_proxy;
mod random;
mod s3_server;
mod small_disk;
mod tiny_source;

pub use builder::TraceBuilder;
pub use corpus::{Corpus, corpus, plain_bytes};
pub use fault_proxy::{Fault, FaultPlan, FaultProxy};
pub use random::Random;
pub use s3_server::S3Server;
pub use small_disk::SmallDisk;
pub use tiny_source::TinySource;
