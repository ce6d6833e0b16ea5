//! Versions that are part of a store's key. An older store is rebuilt or refused by name, never misread.

/// Version of the tables: names, columns, types, layout of the directory, source records.
pub const SCHEMA_VERSION: u32 = 12;

/// Version of the rules that derive columns: nesting, links, steps, classes, name tables, runs of a folder.
pub const DERIVATION_VERSION: u32 = 3;
