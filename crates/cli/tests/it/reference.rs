//! The pages of `docs/reference` say what the code says. `STEPSCOPE_UPDATE=1` writes them again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use stepscope_model::derived_tables::DERIVED_TABLES;
use stepscope_model::health::HEALTH_FIGURES;
use stepscope_model::null_reason::NULL_REASONS;
use stepscope_model::tables::TABLES;
use stepscope_model::warning::WARNING_CODES;
use stepscope_model::{Cell, Part, Table};
use stepscope_workspace::{ANALYSES, Causes, RULES, Thresholds, Weight, Workspace};

/// One topic.
struct Page {
    file: &'static str,
    title: &'static str,
    about: &'static str,
    body: fn(&mut String),
}

const PAGES: [Page; 6] = [
    Page {
        file: "analyses.md",
        title: "Analyses",
        about: "Commands that analyze a run, with their groupings.",
        body: analyses,
    },
    Page {
        file: "findings.md",
        title: "Findings and fixes",
        about: "Rules of `diagnose`, their false alarms, and the fixes with their conditions.",
        body: findings,
    },
    Page { file: "tables.md", title: "Tables", about: "Tables of a store, with every column.", body: tables },
    Page {
        file: "views.md",
        title: "Views and functions",
        about: "Views and functions that `stepscope sql` adds to the tables.",
        body: views,
    },
    Page {
        file: "health.md",
        title: "Trace health and warnings",
        about: "Metrics of `health`, and the warnings at ingest.",
        body: health,
    },
    Page { file: "nulls.md", title: "Why a value is null", about: "Every reason that `nulls` gives.", body: nulls },
];

#[test]
fn the_reference_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut pages: Vec<(&str, String)> = PAGES.iter().map(|page| (page.file, text(page))).collect();
    pages.push(("README.md", index()));
    for (file, want) in &pages {
        let path = folder.join(file);
        if std::env::var_os("STEPSCOPE_UPDATE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, want).unwrap();
        }
        let is = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(is == *want, "docs/reference/{file} is old: run this test with STEPSCOPE_UPDATE=1");
    }
    let there = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let known: BTreeSet<String> = pages.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(there.collect::<BTreeSet<_>>(), known, "docs/reference has a page that is not generated");
}

fn text(page: &Page) -> String {
    let mut text = format!("# {}\n\n{} Generated from the code.\n", page.title, page.about);
    (page.body)(&mut text);
    text
}

fn index() -> String {
    let mut text = String::from(
        "# Reference\n\nGenerated from the code. Names carry their unit: `_ns` nanoseconds, `_bytes`, `_ratio` from 0 \
         to 1, `_gb_per_s` 10⁹ bytes per second.\n\n| page | has |\n|---|---|\n",
    );
    for page in &PAGES {
        writeln!(text, "| [{}]({}) | {} |", page.title, page.file, page.about.trim_end_matches('.')).unwrap();
    }
    text
}

fn analyses(text: &mut String) {
    text.push_str("\n| command | answers | `--group-by` |\n|---|---|---|\n");
    for analysis in ANALYSES {
        let groupings = analysis.groupings.join(", ");
        writeln!(text, "| [`{0}`](../commands/{0}.md) | {1} | {groupings} |", analysis.name, analysis.about).unwrap();
    }
}

fn findings(text: &mut String) {
    text.push_str("\n## Rules\n\n| rule | about | sees | false alarm |\n|---|---|---|---|\n");
    for rule in RULES {
        let what = rule.what(&Thresholds::default());
        writeln!(text, "| `{}` | {} | {what} | {} |", rule.name, rule.label, rule.not_this).unwrap();
    }
    text.push_str(
        "\n## Severity\n\nThe severity of a finding is what the change saves, replayed. Without a change it is fixed.\n\n\
         | rule | change | fixed severity | symptom |\n|---|---|---|---|\n",
    );
    for rule in RULES {
        let (change, severity) = match rule.weight {
            Weight::Saving(remedy) => (format!("`{}`", remedy.change()), ""),
            Weight::Fixed(severity) => (String::new(), severity.as_text()),
        };
        let symptom = match rule.explained_by {
            Causes::None => String::new(),
            Causes::These(rules) => rules.join(", "),
            Causes::Any => "any".to_owned(),
        };
        writeln!(text, "| `{}` | {change} | {severity} | {symptom} |", rule.name).unwrap();
    }
    text.push_str(
        "\n## Thresholds\n\nA file for `--rules` changes them: `{\"RULE\": {\"NAME\": VALUE}}`.\n\n\
         | rule | name | value | meaning |\n|---|---|---|---|\n",
    );
    for (rule, threshold) in Thresholds::all() {
        writeln!(text, "| `{rule}` | `{}` | {} | {} |", threshold.name, threshold.value, threshold.meaning).unwrap();
    }
    text.push_str(
        "\n## Fixes\n\nA finding shows the fixes whose condition holds.\n\n| rule | fix | when |\n|---|---|---|\n",
    );
    for (rule, fix) in RULES.iter().flat_map(|rule| rule.fixes.iter().map(move |fix| (rule, fix))) {
        let code: Vec<String> = fix.code.lines().map(|line| format!("`{}`", line.trim())).collect();
        let when = fix.condition().unwrap_or_else(|| "always".to_owned());
        writeln!(text, "| `{}` | {} | {when} |", rule.name, code.join("<br>")).unwrap();
    }
}

/// Tables that are stored, and those that are worked out.
fn all_tables() -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter().chain(DERIVED_TABLES)
}

fn tables(text: &mut String) {
    for table in all_tables() {
        write!(text, "\n## `{}`\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n", table.name, table.doc).unwrap();
        for column in table.columns() {
            let kind = column.column_type.as_text();
            let null = if column.nullable { ", may be null" } else { "" };
            writeln!(text, "| `{}` | {kind}{null} | {} |", column.name, column.doc).unwrap();
        }
    }
}

/// Views and functions, as `stepscope schema` lists them.
fn views(text: &mut String) {
    let report = Workspace::schema().unwrap();
    let tables = report.parts.iter().filter_map(|part| if let Part::Table(table) = part { Some(table) } else { None });
    text.push_str("\n| view or function | column | meaning |\n|---|---|---|\n");
    for table in tables {
        let place = |name: &str| table.columns.iter().position(|column| column.name == name);
        let show = |row: &[Cell], name: &str| match place(name).map(|place| &row[place]) {
            Some(Cell::Text(text)) => text.replace('|', "\\|"),
            _ => String::new(),
        };
        for row in &table.rows {
            let of = show(row, "table");
            if all_tables().all(|known| known.name != of) {
                writeln!(text, "| `{of}` | `{}` | {} |", show(row, "column"), show(row, "meaning")).unwrap();
            }
        }
    }
}

fn health(text: &mut String) {
    text.push_str("\n## Trace health\n\n| figure | meaning |\n|---|---|\n");
    for (name, meaning) in HEALTH_FIGURES {
        writeln!(text, "| `{name}` | {meaning} |").unwrap();
    }
    text.push_str("\n## Warnings at ingest\n\n| code | lost | meaning |\n|---|---|---|\n");
    for code in WARNING_CODES {
        let lost = if code.is_loss { "yes" } else { "no" };
        writeln!(text, "| `{}` | {lost} | {} |", code.code, code.doc).unwrap();
    }
}

fn nulls(text: &mut String) {
    text.push_str("\n| reason | meaning |\n|---|---|\n");
    for (reason, meaning) in NULL_REASONS {
        writeln!(text, "| {} | {meaning} |", reason.replace('<', "&lt;")).unwrap();
    }
}
