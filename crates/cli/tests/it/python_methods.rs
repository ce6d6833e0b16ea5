//! `python/stepscope/analyses.py` has a method for each analysis. `STEPSCOPE_UPDATE=1` writes it again.

use std::fmt::Write;
use std::path::Path;

use stepscope_workspace::ANALYSES;

const HEAD: &str = r#""""The analyses of a run. Generated from the list of the core: run the tests with STEPSCOPE_UPDATE=1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stepscope.part import Part
    from stepscope.report import Report


class Analyses:
    """What a run can be asked for."""

    def _analyze(self, name: str, part: Part) -> Report:
        raise NotImplementedError
"#;

/// Characters of a line at most.
const WIDTH: usize = 120;

#[test]
fn python_has_a_method_for_each_analysis() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/stepscope/analyses.py");
    let want = methods();
    if std::env::var_os("STEPSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &want).unwrap();
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(is == want, "python/stepscope/analyses.py is old: run this test with STEPSCOPE_UPDATE=1");
}

fn methods() -> String {
    let mut text = HEAD.to_owned();
    for analysis in ANALYSES {
        write!(text, "\n    def {}(self, **part: Unpack[Part]) -> Report:\n", analysis.name).unwrap();
        let groupings: Vec<String> = analysis.groupings.iter().map(|name| format!("`{name}`")).collect();
        if groupings.is_empty() {
            writeln!(text, "        \"\"\"{}.\"\"\"", analysis.about).unwrap();
        } else {
            let groups = format!("        Groups: {}.", groupings.join(", "));
            assert!(groups.len() <= WIDTH, "{groups}");
            writeln!(text, "        \"\"\"{}.\n\n{groups}\n        \"\"\"", analysis.about).unwrap();
        }
        writeln!(text, "        return self._analyze(\"{}\", part)", analysis.name).unwrap();
    }
    text
}
