//! `ui/src/api/types.ts` says what the types here say. `STEPSCOPE_UPDATE=1` writes it anew.

use std::collections::BTreeMap;
use std::path::Path;

use ts_rs::{Config, TS, TypeVisitor};

use crate::{
    MemoryPicture, NameSearch, Report, Search, SearchMarks, SearchStep, Session, SpanDetails, Timeline, TimelineCurves,
    WorstInstance,
};

/// What cannot be read off a type because it is written in a way of its own.
const HEAD: &str = "\
// Generated from the Rust types of crates/model. Do not edit: run the tests with STEPSCOPE_UPDATE=1.

/** Integers beyond 2^53 come as text; in columns of numbers the page makes them `bigint`. */
export type Cell =
  | null | boolean | number | bigint | string | Array<number> | { sentence: Sentence } | { sentences: Array<Sentence> }
  | { [key: string]: unknown };

export type SpanRow = { [column: string]: Cell };

export type Look =
  | \"value\" | \"figure\" | \"operator\" | \"kernel\" | \"bar\" | \"length\" | \"class\" | \"spark\" | \"stack\" | \"severity\"
  | \"detail\" | \"hidden\";
";

#[test]
fn the_types_of_the_page_are_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/api/types.ts");
    let want = declarations();
    if std::env::var_os("STEPSCOPE_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &want).unwrap();
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(is == want, "ui/src/api/types.ts is old: run this test with STEPSCOPE_UPDATE=1");
}

/// The declarations by name; the order in which types are found changes from build to build.
fn declarations() -> String {
    let mut found = Found { config: Config::new().with_large_int("number"), declared: BTreeMap::new() };
    found.visit::<Session>();
    found.visit::<Report>();
    found.visit::<Timeline>();
    found.visit::<TimelineCurves>();
    found.visit::<MemoryPicture>();
    found.visit::<SpanDetails>();
    found.visit::<Search>();
    found.visit::<SearchStep>();
    found.visit::<SearchMarks>();
    found.visit::<NameSearch>();
    found.visit::<WorstInstance>();
    found.declared.into_values().fold(HEAD.to_owned(), |text, declaration| format!("{text}\nexport {declaration}\n"))
}

/// Declares types and what they are made of.
struct Found {
    config: Config,
    declared: BTreeMap<String, String>,
}

impl TypeVisitor for Found {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Only types of ours have a place of their own.
        if T::output_path().is_none() || self.declared.contains_key(&T::ident(&self.config)) {
            return;
        }
        self.declared.insert(T::ident(&self.config), laid_out(&T::decl(&self.config)));
        T::visit_dependencies(self);
    }
}

/// One member a line, behind the line that explains it.
fn laid_out(declaration: &str) -> String {
    let lines = [("{ \n", "{\n"), ("/**\n * ", "  /** "), ("\n */\n", " */\n  "), (", \n", ",\n"), (", };", ",\n};")];
    lines.into_iter().fold(declaration.to_owned(), |text, (from, to)| text.replace(from, to))
}
