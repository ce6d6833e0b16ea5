//! The format of `JUnit`, which CI systems read: one test per metric.

use std::fmt::Write as _;

use stepscope_report::sentence;
use stepscope_workspace::JudgedMetric;

/// The document. A regression is a failure; what is inconclusive was not decided, so it counts as skipped.
pub(crate) fn render(metrics: &[JudgedMetric]) -> String {
    let count = |verdict: &str| metrics.iter().filter(|metric| metric.verdict == verdict).count();
    let (failures, skipped) = (count("regression"), count("inconclusive"));
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites><testsuite name=\"stepscope check\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" \
         skipped=\"{skipped}\">",
        metrics.len()
    );
    for metric in metrics {
        let (name, said) = (escaped(&metric.name), escaped(&sentence::written(&metric.said)));
        let _ = writeln!(text, "  <testcase classname=\"stepscope\" name=\"{name}\">");
        let _ = match metric.verdict {
            "regression" => writeln!(text, "    <failure message=\"{said}\"/>"),
            "inconclusive" => writeln!(text, "    <skipped message=\"{said}\"/>"),
            _ => writeln!(text, "    <system-out>{said}</system-out>"),
        };
        text.push_str("  </testcase>\n");
    }
    text.push_str("</testsuite></testsuites>\n");
    text
}

/// Text that cannot be markup. What XML cannot hold is replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            control if control < ' ' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_cannot_be_markup() {
        assert_eq!(escaped("a<b> & \"c\"\u{1}"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}");
    }
}
