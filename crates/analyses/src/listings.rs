//! What there is, as the commands beside the analyses list it: one file each.

pub mod health;
pub mod ingest;
pub mod rules;
pub mod schema;
pub mod sources;
pub mod tracks;
