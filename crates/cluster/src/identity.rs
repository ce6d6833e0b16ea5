//! What two programs must have in common to answer one query together.

use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};

/// The header that carries the identity of whoever asks.
pub(crate) const VERSION_HEADER: &str = "stepscope-version";
/// The header that carries the address of the store that a query is about.
pub(crate) const STORE_HEADER: &str = "stepscope-store";
/// The header that carries the number of an attempt at a query.
pub(crate) const QUERY_HEADER: &str = "stepscope-query";

/// `<version>/<schema>/<derivation>` of this program.
#[must_use]
pub fn identity() -> String {
    format!("{}/{SCHEMA_VERSION}/{DERIVATION_VERSION}", env!("CARGO_PKG_VERSION"))
}

/// The address of a store in the form in which two machines compare it: folders are absolute and without links.
pub(crate) fn store_identity(store: &str) -> String {
    if store.contains("://") {
        return store.trim_end_matches('/').to_owned();
    }
    std::fs::canonicalize(store).map_or_else(|_| store.to_owned(), |path| path.display().to_string())
}
