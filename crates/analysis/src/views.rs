//! The tables that commands show, one file each.

pub(crate) mod health;
pub(crate) mod ingest;
pub(crate) mod schema;
pub(crate) mod tracks;
