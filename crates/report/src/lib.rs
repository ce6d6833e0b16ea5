//! Renders a `Report`: text for people, JSON and CSV for programs.
//!
//! Nothing here reads, queries or prints. A renderer takes a finished report and gives back one string, so every look
//! is tested without an engine.

pub mod csv;
pub mod json;
pub mod kernel_name;
mod number;
pub mod safe_text;
pub mod shape;
pub mod text;

pub use json::Document;
pub use shape::{Shape, ShapeError};
pub use text::TextOptions;
