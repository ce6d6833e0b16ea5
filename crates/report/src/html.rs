//! HTML for people who get it by mail: one page without scripts, and the pieces of it for other pages and notebooks.
//!
//! Every piece is a function from a value of `model` to markup. The pieces take their colors from [`STYLE`]; nothing
//! in them asks for anything from elsewhere. Text of a trace goes through [`escape`] and stays text.

pub mod chart;
pub mod escape;
pub mod notebook;
mod overview;
pub mod page;
mod section;
pub mod table;
pub mod timeline;
mod words;

pub use self::page::{Page, Picture, Section};
pub use self::words::step_label;

/// The style of a page and of every piece: dark, light where the reader prefers it, and light on paper.
pub const STYLE: &str = include_str!("html/report.css");

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::STYLE;

    /// The variables in the block behind `start`.
    fn variables<'a>(css: &'a str, start: &str) -> BTreeMap<&'a str, &'a str> {
        let block = css.split_once(start).map_or("", |(_, rest)| rest.split('}').next().unwrap_or_default());
        let declarations = block.split(';').filter_map(|declaration| declaration.rsplit_once(':'));
        let named = declarations.map(|(name, value)| (name.rsplit(['\n', ' ']).next().unwrap_or(name), value.trim()));
        named.filter(|(name, _)| name.starts_with("--")).collect()
    }

    #[test]
    fn the_colors_are_those_of_the_pages_in_the_browser() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/src/look/tokens.css");
        let pages = std::fs::read_to_string(path).unwrap();
        for (ours, theirs) in [(":root {", ":root {"), ("print {\n  :root {", ":root[data-theme=\"light\"] {")] {
            let (ours, theirs) = (variables(STYLE, ours), variables(&pages, theirs));
            assert!(ours.len() > 20, "{ours:?}");
            for (name, value) in ours {
                assert_eq!(theirs.get(name), Some(&value), "{name}");
            }
        }
    }
}
