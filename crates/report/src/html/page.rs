//! The whole page: one file that needs nothing else, without scripts, so that mail programs leave it as it is.

use std::fmt::Write as _;

use stepscope_model::{Report, TimelinePicture};

use super::chart::definitions;
use super::escape::{escaped, shortened};
use super::table::{Rows, table};
use super::timeline::timeline;
use super::words::sentence_case;
use super::{STYLE, chart, overview, section};

/// Rows of a table that are seen at once, and at most.
const ROWS: Rows = Rows { open: 10, most: 50 };
/// What a page may do: have a style. Whatever a trace might smuggle in has nowhere to go.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const LONGEST_NAME: usize = 200;

/// Everything that a page is made of.
#[derive(Debug)]
pub struct Page<'a> {
    /// Name of the run.
    pub run: &'a str,
    /// Version of Stepscope.
    pub version: &'a str,
    /// The analysis `summary`.
    pub summary: &'a Report,
    /// The analysis `steps`.
    pub steps: &'a Report,
    /// The analysis `steps` by rank, if there are several.
    pub ranks: Option<&'a Report>,
    /// The analysis `diagnose`.
    pub findings: &'a Report,
    /// Parts of the timeline.
    pub pictures: &'a [Picture],
    /// What follows, in order; empty ones are told in one line each.
    pub sections: &'a [Section],
}

/// A part of the timeline with a heading.
#[derive(Debug)]
pub struct Picture {
    /// Heading.
    pub title: String,
    /// What it shows.
    pub about: String,
    /// The picture.
    pub picture: TimelinePicture,
}

/// A report with a heading.
#[derive(Debug)]
pub struct Section {
    /// Short name for links inside of the page.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What it answers.
    pub about: &'static str,
    /// The answer.
    pub report: Report,
}

/// The page as one file.
#[must_use]
pub fn render(page: &Page<'_>) -> String {
    let (full, empty): (Vec<&Section>, Vec<&Section>) =
        page.sections.iter().partition(|section| !section::is_empty(&section.report));
    let run = shortened(page.run, LONGEST_NAME);
    let name = overview::run_name(page.summary).unwrap_or_else(|| page.run.to_owned());
    let mut blocks: Vec<(&str, &str, String)> = Vec::new();
    if let Some(steps) = overview::where_steps_go(page.summary, page.steps) {
        let about = "<p class=\"about\">Each instant of a step belongs to one class; the eight classes add up to the step exactly.</p>\n";
        let steps = format!("{about}{steps}{}{}", as_table(page.steps), ranks(page.ranks));
        blocks.push(("steps", "Step breakdown", steps));
    }
    if let Some(devices) = overview::devices(page.summary) {
        blocks.push(("devices", "Devices", devices));
    }
    if !overview::is_profile(page.summary) {
        blocks.push(("findings", "What to change", overview::findings(page.findings)));
    }
    let pictures: String = page.pictures.iter().map(picture).collect();
    if !pictures.is_empty() {
        blocks.push(("timeline", "Timeline", pictures));
    }
    blocks.extend(full.iter().map(|section| (section.id, section.title, tables(section))));
    if !empty.is_empty() {
        blocks.push(("absent", "Not in this trace", absent(&empty)));
    }
    let links = blocks.iter().map(|(id, title, _)| format!("<a href=\"#{id}\">{}</a>", escaped(title)));
    let links = links.collect::<Vec<_>>().concat();
    let mut markup = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Stepscope report · {run}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{}<main class=\"sheet\">\n\
         <header class=\"top\">{BRAND}<b>Stepscope report</b><span>{}</span></header>\n",
        definitions(),
        shortened(&name, LONGEST_NAME)
    );
    markup.push_str(&overview::lede(page.summary));
    markup.push_str(&overview::strip(page.summary));
    let _ = writeln!(markup, "<nav aria-label=\"Sections\">{links}</nav>");
    for (id, title, body) in &blocks {
        let _ = write!(markup, "<section id=\"{id}\">\n<h2>{}</h2>\n{body}</section>\n", escaped(title));
    }
    let _ = write!(
        markup,
        "<footer>Made by Stepscope {}. Percentiles are nearest rank. A metric that is not known is –, with its reason; \
         it is never 0.</footer>\n</main>\n</body>\n</html>\n",
        escaped(page.version)
    );
    markup
}

const BRAND: &str = "<svg width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" aria-hidden=\"true\">\
    <rect class=\"kernel\" x=\"1\" y=\"3\" width=\"18\" height=\"4\" rx=\"1\"/>\
    <rect class=\"dataloader\" x=\"1\" y=\"8\" width=\"8\" height=\"4\" rx=\"1\"/>\
    <rect class=\"cpu_exec\" x=\"10\" y=\"8\" width=\"6\" height=\"4\" rx=\"1\"/>\
    <rect class=\"communication\" x=\"1\" y=\"13\" width=\"5\" height=\"4\" rx=\"1\"/></svg>";

/// Ranks side by side, if there are several.
fn ranks(report: Option<&Report>) -> String {
    let Some((report, rows)) = report.and_then(|report| Some((report, overview::table_named(report, "rows")?))) else {
        return String::new();
    };
    let drawn = chart::stacked(&chart::bars_of(rows));
    format!("<h3>Ranks side by side</h3>\n{drawn}{}", as_table(report))
}

/// What is drawn, as a table that unfolds.
fn as_table(report: &Report) -> String {
    let Some(rows) = overview::table_named(report, "rows") else { return String::new() };
    let rows = table(rows, &report.missing, Rows { open: ROWS.most, ..ROWS });
    format!("<details><summary>As a table</summary>\n{rows}</details>\n")
}

fn picture(picture: &Picture) -> String {
    let (title, about) =
        (shortened(&sentence_case(&picture.title), LONGEST_NAME), shortened(&picture.about, 2 * LONGEST_NAME));
    format!("<h3>{title}</h3>\n<p class=\"about\">{about}</p>\n{}", timeline(&picture.picture))
}

fn tables(section: &Section) -> String {
    let about = if section.about.is_empty() {
        String::new()
    } else {
        format!("<p class=\"about\">{}</p>\n", escaped(&sentence_case(section.about)))
    };
    format!("{about}{}", section::body(&section.report, ROWS))
}

fn absent(sections: &[&Section]) -> String {
    let line = |section: &&Section| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(section.title), section::why_empty(&section.report))
    };
    format!("<dl class=\"absent\">\n{}</dl>\n", sections.iter().map(line).collect::<String>())
}
