//! Renders a `Report`: text, Markdown and HTML for people; JSON, CSV, Arrow and Parquet for programs.
//!
//! Nothing here reads, queries or prints. A renderer takes a finished report and gives back one string, or the bytes
//! of a file, so every look is tested without an engine.

pub mod arrow;
mod batch;
pub mod csv;
mod figure;
pub mod html;
pub mod json;
pub mod kernel_label;
pub mod kernel_name;
pub mod markdown;
mod number;
pub mod parquet;
mod rows;
pub mod safe_text;
pub mod sentence;
pub mod shape;
pub mod stream;
pub mod text;

pub use batch::batch;
pub use json::Document;
pub use shape::{Shape, ShapeError};
pub use stream::TableStream;
pub use text::{ColorMode, TextOptions, Ways};
