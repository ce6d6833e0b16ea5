//! Trace health, one row a figure.

/// One row a figure; what is fine and zero is left out by the reader, not here.
pub(crate) const SQL: &str = "
    SELECT rank, \"window\", name, coalesce(CAST(value AS VARCHAR), CAST(ratio AS VARCHAR), text) AS value, reason
    FROM health
    ORDER BY rank, \"window\", name";
