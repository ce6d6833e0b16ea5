//! For tests only: hand-made traces, and the way to a corpus of real ones.

mod builder;
mod corpus;
mod random;

pub use builder::TraceBuilder;
pub use corpus::{Corpus, corpus, plain_bytes};
pub use random::Random;
