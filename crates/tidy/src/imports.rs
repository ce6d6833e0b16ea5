//! Which files of a crate import each other, by their `use` declarations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{files, root, text};

/// The files of a crate that are reached from themselves by imports, as modules such as `chrome::scan`, one set a circle.
/// A module and those inside of it are one family: what they import from each other makes no circle.
#[must_use]
pub fn circles(source_folder: &str) -> Vec<BTreeSet<String>> {
    let sources: BTreeMap<String, String> = files(source_folder)
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .map(|path| (module(path, source_folder), text(&root().join(path))))
        .collect();
    let imports: BTreeMap<&str, BTreeSet<&str>> =
        sources.iter().map(|(module, source)| (module.as_str(), imported(module, source, &sources))).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|&module| (module, reached_from(module, &imports))).collect();
    let circle_of = |module: &str| -> BTreeSet<String> {
        reached[module]
            .iter()
            .filter(|other| reached[**other].contains(module))
            .map(|&other| other.to_owned())
            .collect()
    };
    let found: BTreeSet<BTreeSet<String>> = reached.keys().map(|module| circle_of(module)).collect();
    found.into_iter().filter(|circle| !circle.is_empty()).collect()
}

/// `crates/formats/src/chrome/scan.rs` is `chrome::scan`; the root of a crate has no name.
fn module(path: &Path, source_folder: &str) -> String {
    let inside = path.strip_prefix(source_folder).unwrap_or(path).with_extension("");
    let name = inside.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("::");
    if name == "lib" || name == "main" { String::new() } else { name }
}

fn imported<'s>(module: &str, source: &str, sources: &'s BTreeMap<String, String>) -> BTreeSet<&'s str> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let declarations = code.split(';').filter_map(|statement| {
        let start = statement.rfind("use ").filter(|&start| is_first_word(&statement[..start]))?;
        Some(&statement[start + "use ".len()..])
    });
    let names = declarations.flat_map(paths).filter_map(|path| file_of(module, &path, sources));
    names.filter(|name| !is_family(name, module)).collect()
}

/// Whether a declaration may begin behind this: at the beginning of a line, or behind its visibility.
fn is_first_word(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    line.is_empty() || line.starts_with("pub")
}

/// The paths of a declaration such as `crate::{a::B, c::{D, E}}`.
fn paths(declaration: &str) -> Vec<String> {
    let declaration = declaration.trim();
    let Some((before, rest)) = declaration.split_once('{') else { return vec![declaration.to_owned()] };
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let mut depth = 0;
    let parts = inside.split(|letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    parts.flat_map(paths).filter(|path| !path.is_empty()).map(|path| format!("{before}{path}")).collect()
}

/// The file that a path leads to: the longest beginning of it that is one.
fn file_of<'s>(module: &str, path: &str, sources: &'s BTreeMap<String, String>) -> Option<&'s str> {
    let mut base: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts = path.split("::").map(str::trim).peekable();
    match parts.next()? {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            base.pop();
            while parts.next_if_eq(&"super").is_some() {
                base.pop();
            }
        }
        // Another crate, or a module inside of this one.
        _ => return None,
    }
    base.extend(parts);
    let name =
        (1..=base.len()).rev().map(|length| base[..length].join("::")).find(|name| sources.contains_key(name))?;
    sources.get_key_value(&name).map(|(name, _)| name.as_str())
}

fn is_family(one: &str, other: &str) -> bool {
    let holds = |outer: &str, inner: &str| {
        outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    holds(one, other) || holds(other, one)
}

fn reached_from<'s>(module: &str, imports: &BTreeMap<&'s str, BTreeSet<&'s str>>) -> BTreeSet<&'s str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = imports[module].iter().copied().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&imports[next]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_declarations() {
        let check = |declaration: &str, want: &[&str]| assert_eq!(paths(declaration), want, "{declaration}");
        check("crate::a::B", &["crate::a::B"]);
        check("crate::{a::B, c::{D, E}}", &["crate::a::B", "crate::c::D", "crate::c::E"]);
        check("super::{\n    A,\n    b::C,\n}", &["super::A", "super::b::C"]);
    }

    #[test]
    fn files_of_paths() {
        let sources = BTreeMap::from(["", "a", "a::b", "c"].map(|name| (name.to_owned(), String::new())));
        let check = |module: &str, path: &str, want: Option<&str>| {
            assert_eq!(file_of(module, path, &sources), want, "{path} in {module}");
        };
        check("c", "crate::a::b::Name", Some("a::b"));
        check("a::b", "super::Name", Some("a"));
        check("a::b", "super::super::c::Name", Some("c"));
        check("c", "crate::Name", None);
        check("c", "std::fmt", None);
    }
}
