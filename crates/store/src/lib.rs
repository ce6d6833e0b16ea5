//! The Parquet directory that Stepscope keeps traces in.
//!
//! A store holds runs, a run holds sources (one recording of one rank), and a source is one Parquet file per table plus
//! a record that is written last. A source without a record does not exist, so a crash can never leave half of one.
//!
//! Text columns are written as dictionaries ([`arrow_schema`]) and read as string views ([`read_schema`]): the files
//! hold one dictionary a row group either way, and views of it are what the engine groups and compares fastest.

mod any_store;
pub mod block;
mod catalog;
pub mod disk;
mod encoding;
mod error;
mod json_object;
pub mod layout;
pub mod manifest;
pub mod marker;
pub mod owned;
pub mod pack;
mod part_bytes;
mod reader;
mod row_writer;
mod schema;
mod source;
mod store;
mod summary;
mod table_file;
mod table_part;
mod table_rows;
mod table_writer;
mod verify;
mod writer;

pub use any_store::AnyStore;
pub use catalog::{Catalog, LeftOut, Scope};
pub use error::{StoreError, is_disk_full};
pub use reader::{Key, Rows, TableReader};
pub use row_writer::RowWriter;
pub use schema::{arrow_schema, read_schema};
pub use store::Store;
pub use summary::RunSummary;
pub use table_part::TablePart;
pub use table_rows::TableRows;
pub use table_writer::TableWriter;
pub use writer::SourceWriter;
