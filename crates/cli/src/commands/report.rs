//! `stepscope report PATH… -o report.html`: everything in one file, to send to somebody.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{ArgMatches, Args, ValueEnum};
use stepscope_model::{Cell, Content, Exit, Report, SourceId, Timeline, TimelineStep, Unit};
use stepscope_report::html::{Page, Picture, Section, page, step_label, timeline};
use stepscope_report::shape::{self, Shape};
use stepscope_report::{markdown, text};
use stepscope_workspace::{ANALYSES, Question, Stretch, Workspace};

use super::{Command, parsed};
use crate::analysis::PartOptions;
use crate::failure::{self, Failure};
use crate::options::InputOptions;
use crate::output::Target;
use crate::progress::TerminalProgress;
use crate::{Context, VERSION, command, figures};

pub(super) static COMMAND: Command = Command {
    name: "report",
    options: |command| {
        Options::augment_args(command)
            .about("Write one HTML file to share: overview, findings, timeline, tables")
            .mut_arg("group_by", |argument| argument.hide(true))
            .after_help(
                "\
The file is self-contained: no network, no scripts. It is below 2 MB, so it fits in an email.

Examples:
  stepscope report trace.json.gz -o report.html
  stepscope report runs/ -o report.html                    ranks side by side
  stepscope report trace.json.gz --step 2-5 -o steps.html  of some steps
  stepscope report trace.json.gz -f md -o report.md        the tables as Markdown",
            )
    },
    run,
};

#[derive(Args)]
struct Options {
    /// A trace file, a folder of traces, a store, or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Choose the format: html or md
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        default_value = "html",
        value_enum,
        hide_possible_values = true,
        help_heading = "Output"
    )]
    format: PageFormat,
    #[command(flatten)]
    part: PartOptions,
    #[command(flatten)]
    input: InputOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PageFormat {
    Html,
    Md,
}

/// Rows of a main table at most.
const MOST_ROWS: usize = 50;

fn run(matches: &ArgMatches, context: Context) -> Result<Exit, Failure> {
    let Options { paths, output, format, part, input } = parsed(matches)?;
    if output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::usage("a terminal cannot show HTML").with_hint("write it to a file: `-o report.html`"));
    }
    let target = Target::of(output.as_deref(), &input.inputs(&paths))?;
    let workspace = Workspace::open(&paths, &input.settings().of_window(part.window), &TerminalProgress::new(context))?;
    let question = part.question();
    let answers = Answers::of(&workspace, &question)?;
    let written = match format {
        PageFormat::Html => answers.html(&pictures(&workspace, &question)?),
        PageFormat::Md => answers.markdown(),
    };
    target.write(written.as_bytes())?;
    if let Some(path) = output {
        let size = text::figure(&Cell::Int(written.len() as i64), Unit::MovedBytes);
        failure::print_line(&format!("{}: {size}", path.display()), context);
    }
    Ok(Exit::Done)
}

/// What the report is made of.
struct Answers {
    run: String,
    summary: Report,
    findings: Report,
    steps: Report,
    /// Steps by rank, if there are several.
    ranks: Option<Report>,
    sections: Vec<Section>,
}

impl Answers {
    fn of(workspace: &Workspace, question: &Question) -> Result<Self, Failure> {
        let mut sections = Vec::new();
        // A profile of functions has nothing for the others, and a trace has no functions.
        let content = if workspace.is_profile() { Content::FunctionTotals } else { Content::Events };
        for analysis in ANALYSES.iter().filter(|analysis| analysis.has_section && analysis.reads.contains(&content)) {
            let mut report = workspace.analyze(analysis, question)?;
            shape::apply(&mut report, &Shape { limit: Some(MOST_ROWS), is_usual_limit: true, ..Shape::default() })?;
            let about = analysis.about.split_once(": ").map_or("", |(_, about)| about);
            sections.push(Section { id: analysis.name, title: analysis.title, about, report });
        }
        let asked = asked_sources(workspace, question)?;
        let [rank, window] = match asked[..] {
            [id] => [Some(id.rank), Some(id.window)],
            _ => [None, None],
        };
        let health = figures::for_people(&workspace.health(rank, window)?);
        let about = "what was read, what was not, and what was linked";
        sections.push(Section { id: "health", title: "Trace health", about, report: health });
        let by_rank = Question { group_by: vec!["rank".to_owned()], ..question.clone() };
        let has_ranks = asked.iter().any(|id| id.rank != asked[0].rank);
        Ok(Self {
            run: workspace.run_info()["name"].as_str().unwrap_or_default().to_owned(),
            summary: answer(workspace, "summary", question)?,
            findings: answer(workspace, "diagnose", question)?,
            steps: answer(workspace, "steps", question)?,
            ranks: if has_ranks { Some(answer(workspace, "steps", &by_rank)?) } else { None },
            sections,
        })
    }

    fn html(&self, pictures: &[Picture]) -> String {
        page::render(&Page {
            run: &self.run,
            version: VERSION,
            summary: &self.summary,
            steps: &self.steps,
            ranks: self.ranks.as_ref(),
            findings: &self.findings,
            pictures,
            sections: &self.sections,
        })
    }

    fn markdown(&self) -> String {
        let overview = [("Summary", &self.summary), ("What to change", &self.findings), ("Steps", &self.steps)];
        let ranks = self.ranks.iter().map(|report| ("Ranks side by side", report));
        let sections = self.sections.iter().map(|section| (section.title, &section.report));
        let blocks = overview.into_iter().chain(ranks).chain(sections);
        blocks
            .map(|(title, report)| format!("## {title}\n\n{}", markdown::render(report)))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The answer of an analysis.
fn answer(workspace: &Workspace, name: &str, question: &Question) -> Result<Report, Failure> {
    let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == name) else {
        return Ok(Report::default());
    };
    let mut report = workspace.analyze(analysis, question)?;
    // Whoever gets the page may have the trace elsewhere, or not at all.
    report.spell(&|target| command::line(target, ""));
    Ok(report)
}

/// The recordings that are asked about.
fn asked_sources(workspace: &Workspace, question: &Question) -> Result<Vec<SourceId>, Failure> {
    let sources = workspace.source_summaries()?.into_iter();
    let ids = sources.map(|source| SourceId { rank: source.rank, window: source.window });
    let is_asked = |id: &SourceId| {
        (question.ranks.is_empty() || question.ranks.contains(&id.rank))
            && question.window.is_none_or(|window| id.window == window)
    };
    Ok(ids.filter(is_asked).collect())
}

/// The timeline of the first recording: what is asked about, and one step of it.
fn pictures(workspace: &Workspace, question: &Question) -> Result<Vec<Picture>, Failure> {
    let asked = asked_sources(workspace, question)?;
    let Some(id) = asked.first().copied() else { return Ok(Vec::new()) };
    let frame = workspace.timeline(Some(id.rank), Some(id.window), &question.cancel)?;
    let mut pictures = Vec::new();
    for (title, from_ns, to_ns) in stretches(&frame, question) {
        let stretch = Stretch { from_ns, to_ns, columns: timeline::columns() };
        let picture = workspace.picture(id, stretch, &question.cancel)?;
        let mut about = vec![duration(to_ns - from_ns)];
        if asked.len() > 1 {
            about.push(format!("rank {}, window {}, the first of {} traces", id.rank, id.window, asked.len()));
        }
        if picture.left_out > 0 {
            let (plural, verb) = if picture.left_out == 1 { ("", "is") } else { ("s", "are") };
            about.push(format!("{} less busy track{plural} {verb} not drawn", picture.left_out));
        }
        if !picture.tracks.is_empty() {
            pictures.push(Picture { title, about: about.join(" · "), picture });
        }
    }
    Ok(pictures)
}

/// Titles and times of what is drawn: the time or the steps that are asked about, and the median step of several.
fn stretches(timeline: &Timeline, question: &Question) -> Vec<(String, i64, i64)> {
    if question.has_time_range() {
        let (from, to) = (question.from_ns.unwrap_or(0), question.to_ns.unwrap_or(timeline.end_ns));
        let title = format!("From {} to {}", duration(from), duration(to.min(timeline.end_ns)));
        return vec![(title, from, to.min(timeline.end_ns).max(from))];
    }
    let is_asked = |step: &&TimelineStep| {
        question.steps.is_none_or(|range| (range.first.into()..=range.last.into()).contains(&step.number))
    };
    let steps: Vec<&TimelineStep> = timeline.steps.iter().filter(is_asked).collect();
    let mut stretches = Vec::new();
    match steps[..] {
        // Another window has the steps that are asked about.
        [] if question.steps.is_some() => {}
        [] => stretches.push(("The whole trace".to_owned(), timeline.start_ns, timeline.end_ns)),
        [step] => stretches.push((step_label(&step.name), step.start_ns, step.end_ns)),
        [first, .., last] => {
            let end_ns = steps.iter().map(|step| step.end_ns).max().unwrap_or(last.end_ns);
            let count = text::value(&Cell::Int(steps.len() as i64), Unit::Plain);
            stretches.push((format!("{count} steps"), first.start_ns, end_ns));
        }
    }
    let mut complete: Vec<&TimelineStep> = steps.into_iter().filter(|step| step.complete).collect();
    complete.sort_by_key(|step| (step.end_ns - step.start_ns, step.step));
    if complete.len() > 1 {
        let median = complete[(complete.len() - 1) / 2];
        let title = format!("Median step: {}", step_label(&median.name));
        stretches.push((title, median.start_ns, median.end_ns));
    }
    stretches
}

fn duration(ns: i64) -> String {
    text::figure(&Cell::Int(ns), Unit::Nanoseconds)
}
