//! `docs/metrics.md` defines what the product shows: every section that is cited is there, and everything that has a
//! name in an answer is defined in one section.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use stepscope_tidy::{file, files};

const DOCUMENT: &str = "docs/metrics.md";

/// Where sections are cited, and this file, which only looks for citations.
const CITING: [&str; 4] = ["crates", "ui", "python", "docs"];
const NOT_CITING: &str = "crates/tidy/tests/metrics_sections.rs";

/// What the names of metrics end with.
const UNITS: [&str; 5] = ["_ns", "_bytes", "_ratio", "_flops", "_per_s"];

/// What a section may define, by the word that begins its list.
const KINDS: [&str; 5] = ["members", "tables", "columns", "views", "rules"];

/// A kind and a name, such as `columns` and `spans.step`.
type Item = (String, String);

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn cited_sections_exist() {
    let sections: BTreeSet<String> = sections().into_iter().map(|section| section.number).collect();
    assert!(sections.len() > 18, "{DOCUMENT} has {} sections", sections.len());
    let (mut problems, mut citations) = (Vec::new(), 0);
    for path in CITING.iter().flat_map(|folder| files(folder)).filter(|path| path != Path::new(NOT_CITING)) {
        for number in cited(&file(&path.to_string_lossy())) {
            citations += 1;
            if !sections.contains(&number) {
                problems.push(format!("{}: metrics, section {number} is not in {DOCUMENT}", path.display()));
            }
        }
    }
    assert!(
        citations > 50,
        "{citations} citations found; they read `metrics, section 6` or `metrics, sections 5 and 6`"
    );
    report(&problems);
}

#[test]
fn everything_is_defined_in_one_section() {
    let known = known();
    for kind in KINDS {
        assert!(known.iter().any(|(of, _)| of == kind), "no {kind} found in the code");
    }
    let mut defined: BTreeMap<Item, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for section in sections().into_iter().filter(|section| !section.number.contains('.')) {
        let [line] = &section.defines[..] else {
            problems.push(format!(
                "section {} has {} lines `Defines: …`, not one",
                section.number,
                section.defines.len()
            ));
            continue;
        };
        for item in items(line) {
            if !known.contains(&item) {
                problems.push(format!("section {} defines {}, which is not in the code", section.number, shown(&item)));
            }
            if let Some(other) = defined.insert(item.clone(), section.number.clone()) {
                problems.push(format!("sections {other} and {} define {}", section.number, shown(&item)));
            }
        }
    }
    for (kind, name) in &known {
        let is = |kind: &str, name: &str| defined.contains_key(&(kind.to_owned(), name.to_owned()));
        // A table or view as a whole defines the columns that are not named elsewhere.
        let is_defined = match kind.as_str() {
            "columns" => {
                let table = name.split('.').next().unwrap_or(name);
                is(kind, name) || is("tables", table) || is("views", table)
            }
            "tables" | "views" => is(kind, name) || defined.keys().any(|(_, of)| of.starts_with(&format!("{name}."))),
            _ => is(kind, name),
        };
        if !is_defined {
            let item = shown(&(kind.clone(), name.clone()));
            problems.push(format!("no section of {DOCUMENT} defines {item}; add it to a line `Defines: …`"));
        }
    }
    report(&problems);
}

#[test]
fn every_metric_of_an_answer_is_explained() {
    let mut words: BTreeSet<String> = BTreeSet::new();
    let document = file(DOCUMENT);
    for code in document.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
        words.extend(code.split(|letter: char| !is_of_name(letter)).map(str::to_owned));
    }
    let (mut problems, mut found) = (Vec::new(), 0);
    for path in ["crates/analyses/src", "crates/rules/src"].into_iter().flat_map(files) {
        let text = file(&path.to_string_lossy());
        let names = shown_names(text.split("#[cfg(test)]").next().unwrap_or(&text));
        for name in names.into_iter().filter(|name| UNITS.iter().any(|unit| name.ends_with(unit))) {
            found += 1;
            if !words.contains(&name) {
                problems.push(format!("{}: {DOCUMENT} does not say what `{name}` is", path.display()));
            }
        }
    }
    for name in health_figures() {
        found += 1;
        if !words.contains(&name) {
            problems.push(format!("{DOCUMENT} does not say what `{name}` of trace health is"));
        }
    }
    assert!(found > 150, "{found} names found in the answers");
    report(&problems);
}

/// One section of the document.
struct Section {
    number: String,
    defines: Vec<String>,
}

/// Sections are headings such as `## 6. Steps` and `### 6.1 Marks`.
fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut is_numbered = false;
    for line in file(DOCUMENT).lines() {
        if let Some(heading) = line.strip_prefix("##").map(|rest| rest.trim_start_matches('#').trim()) {
            let number = heading.split(' ').next().unwrap_or_default().trim_end_matches('.');
            is_numbered = number.starts_with(|letter: char| letter.is_ascii_digit());
            if is_numbered {
                sections.push(Section { number: number.to_owned(), defines: Vec::new() });
            }
        } else if let (true, Some(list), Some(section)) =
            (is_numbered, line.strip_prefix("Defines: "), sections.last_mut())
        {
            section.defines.push(list.to_owned());
        }
    }
    sections
}

/// The numbers in `metrics, section 6`, `sections 5, 6.1 and 7` and `sections 5 to 7`, also over the end of a line.
fn cited(text: &str) -> Vec<String> {
    let marks = ["//!", "///", "//", "--", "#", "*"];
    let words: Vec<&str> = text.split_whitespace().filter(|word| !marks.contains(word)).collect();
    let mut numbers = Vec::new();
    for (place, pair) in words.windows(2).enumerate() {
        if !pair[0].ends_with("metrics,") || !["section", "sections"].contains(&pair[1]) {
            continue;
        }
        let (mut is_range, mut list) = (false, Vec::new());
        for word in &words[place + 2..] {
            let number: String = word.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
            let number = number.trim_end_matches('.').to_owned();
            match (*word, number.is_empty()) {
                ("and" | "to", _) if !list.is_empty() => is_range = *word == "to",
                (_, true) => break,
                _ => {
                    let first = list.last().and_then(|last: &String| last.parse::<u32>().ok());
                    if let (true, Some(first), Ok(last)) = (is_range, first, number.parse::<u32>()) {
                        list.extend((first + 1..last).map(|between| between.to_string()));
                    }
                    list.push(number);
                    // What follows the end of a sentence or bracket is not part of the list.
                    if !word.ends_with(',') && word.ends_with(|letter: char| !letter.is_ascii_digit()) {
                        break;
                    }
                }
            }
        }
        numbers.append(&mut list);
    }
    numbers
}

/// What a line such as "members `gpu`; columns `spans.step`, `spans.link`" lists.
fn items(line: &str) -> Vec<Item> {
    let part = |part: &str| {
        let kind = part.trim().split(' ').next().unwrap_or_default().to_owned();
        part.split('`').skip(1).step_by(2).map(|name| (kind.clone(), name.to_owned())).collect::<Vec<_>>()
    };
    line.split(';').flat_map(part).collect()
}

fn shown((kind, name): &Item) -> String {
    format!("{} `{name}`", kind.trim_end_matches('s'))
}

/// Everything that must be defined, as the code has it.
fn known() -> BTreeSet<Item> {
    let mut known = BTreeSet::new();
    let mut add = |kind: &str, name: &str| {
        known.insert((kind.to_owned(), name.to_owned()));
    };
    let members = file("crates/analyses/src/metrics.rs");
    for name in quoted_after(between(&members, "const MEMBERS", "];"), "(") {
        add("members", name);
    }
    let common = file("crates/model/src/tables.rs");
    let arguments = file("crates/model/src/args.rs");
    for path in files("crates/model/src/tables") {
        let text = file(&path.to_string_lossy());
        let Some(table) = quoted_after(&text, "name: ").next() else { continue };
        add("tables", table);
        let mut columns: Vec<&str> = columns(&text);
        columns.extend(text.contains("&SOURCE_COLUMNS").then(|| self::columns(&common)).into_iter().flatten());
        if text.contains("&SPAN_ARG_COLUMNS") {
            let list = between(&arguments, "\nspan_args! {", "\n}").lines().skip(2);
            columns.extend(list.filter_map(|line| line.trim().split_once(',')).map(|(name, _)| name));
        }
        for column in columns {
            add("columns", &format!("{table}.{column}"));
        }
    }
    for path in files("crates/engine/src/sql") {
        let view = stem(&path);
        add("views", &view);
        let text = file(&path.to_string_lossy());
        let comments = text.lines().skip(1).map_while(|line| line.strip_prefix("-- "));
        for (column, _) in comments.filter_map(|line| line.split_once(": ")) {
            add("columns", &format!("{view}.{column}"));
        }
    }
    for path in files("crates/rules/src") {
        let text = file(&path.to_string_lossy());
        if let Some(name) = quoted_after(between(&text, "static RULE: Rule", "};"), "name: ").next() {
            add("rules", name);
        }
    }
    known
}

/// The columns that a file of the model lists.
fn columns(text: &str) -> Vec<&str> {
    let kinds = ["Column::required(", "Column::optional("];
    let lists = kinds.into_iter().flat_map(|kind| text.split(kind).skip(1));
    lists.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
}

/// Names of columns, members and figures: `named("x")` and its like, `"x": value` and `("x", value)`.
fn shown_names(text: &str) -> BTreeSet<String> {
    let pieces: Vec<&str> = text.split('"').collect();
    let name = |pieces: &[&str]| {
        let [before, name, after] = pieces else { return None };
        let opened = before.trim_end().strip_suffix('(');
        let calls = ["named", "mean", "waits", "flops"];
        let is_column = opened.is_some_and(|opened| calls.iter().any(|call| opened.ends_with(call)));
        let is_pair = after.starts_with(',') && opened.is_some_and(|opened| !opened.ends_with(is_of_name));
        let is_shown = is_column || is_pair || after.starts_with(": ");
        (is_shown && !name.is_empty() && name.chars().all(is_of_name)).then(|| (*name).to_owned())
    };
    pieces.windows(3).filter_map(name).collect()
}

/// The figures of trace health, by name.
fn health_figures() -> Vec<String> {
    let text = file("crates/model/src/health.rs");
    let list = between(&text, "HEALTH_FIGURES", "];");
    quoted_after(list, "(").filter(|name| name.chars().all(is_of_name)).map(str::to_owned).collect()
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
}

/// The quoted texts that stand right after `start`.
fn quoted_after<'a>(text: &'a str, start: &str) -> impl Iterator<Item = &'a str> {
    text.split(&format!("{start}\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>().into_iter()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let from = text.find(start).map_or("", |place| &text[place..]);
    from.find(end).map_or(from, |place| &from[..place])
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[test]
fn citations_are_read_in_every_form() {
    let numbers = |text: &str| cited(&text.replace("M,", "metrics,"));
    assert_eq!(numbers("(M, section 6)."), ["6"]);
    assert_eq!(numbers("//! so (M,\n//! sections 5, 6 and 7.1) 8"), ["5", "6", "7.1"]);
    assert_eq!(numbers("M, sections 3 to 6."), ["3", "4", "5", "6"]);
    assert_eq!(numbers("M, section 15), without 3"), ["15"]);
    assert_eq!(numbers("M, section N"), [""; 0]);
}
