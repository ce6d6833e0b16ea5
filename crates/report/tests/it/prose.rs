//! Nobody reads prose: whatever the words of a report are, the page is the same.

use stepscope_model::{
    Cell, Grade, Part, Piece, Report, ReportColumn, ReportTable, Role, Sentence, Status, Target, Text, say,
};
use stepscope_report::html::{Page, page};
use stepscope_report::{TextOptions, text};

fn summary(status: Status) -> Report {
    let facts = Sentence::facts(["NVIDIA A100".into(), say::counted(6, "complete step"), say::ns(1.066e9).into()]);
    let head = Text { role: Role::Head, lines: vec!["run".into(), facts], right: Some(status), ..Text::default() };
    let health = Text {
        explains: Some(Grade::Partial),
        ..Text::labeled(
            Role::Health,
            vec!["JSON ends early".into(), say!("{} events, {} lost", say::count(9), say::count(1))],
        )
    };
    let parts = vec![
        Part::Text(head),
        Part::Text(Text::headline(say!(
            "A step takes {}: the GPU computes {} of it.",
            say::ns(177.6e6),
            say::ns(98e6)
        ))),
        Part::Text(Text::from(say!("No finding: the GPU is busy. Show where it goes: {}", Target::of("kernels")))),
        Part::Text(Text::labeled(Role::Compute, vec![say!("{} per step", say::flops(2.5e12))])),
        Part::Text(health),
        Part::Text(Text::code(Role::Next, vec![Target::of("ops").into()])),
    ];
    Report::new("summary", parts)
}

fn findings() -> Report {
    let names = ["severity", "title", "at_stake_ns", "saving_ns", "evidence", "fix", "not_this", "what", "why"];
    let row = vec![
        Cell::Text("high".to_owned()),
        Cell::Sentence(say!("The GPU is idle {} of the step", say::ratio(0.334))),
        Cell::Float(59.3e6),
        Cell::Float(31.1e6),
        Cell::Sentences(vec![say!("a kernel runs in {} of the step", say::ratio(0.666))]),
        Cell::Text("torch.compile(model)".to_owned()),
        Cell::Text("if it is meant to be".to_owned()),
        Cell::Text("Kernels run in less than half of the step time.".to_owned()),
        Cell::Text("The host does not launch work fast enough.".to_owned()),
    ];
    let table = ReportTable::rows(names.map(ReportColumn::named).to_vec(), vec![row]);
    Report::new("diagnose", vec![Part::Table(table)])
}

/// The same with other words in every sentence.
fn reworded(mut report: Report) -> Report {
    for piece in report.sentences().into_iter().flat_map(|sentence| &mut sentence.0) {
        if let Piece::Words(words) = piece {
            *words = words.chars().map(|letter| if letter.is_alphanumeric() { 'Z' } else { '_' }).collect();
        }
    }
    report
}

fn markup(summary: &Report, findings: &Report) -> String {
    let nothing = Report::default();
    page::render(&Page {
        run: "run",
        version: "0",
        summary,
        steps: &nothing,
        ranks: None,
        findings,
        pictures: &[],
        sections: &[],
    })
}

/// The elements of a page without what stands between them.
fn elements(markup: &str) -> Vec<&str> {
    markup.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(element, _)| element).collect()
}

#[test]
fn a_page_is_the_same_whatever_its_words_are() {
    let grades = [
        (Status::Health(Some(Grade::Good)), "health good"),
        (Status::Health(Some(Grade::Partial)), "health warn"),
        (Status::Health(Some(Grade::Poor)), "health bad"),
        (Status::Health(None), "health warn"),
        (Status::Good { good: 2, all: 2 }, "health good"),
        (Status::Good { good: 1, all: 2 }, "health warn"),
    ];
    for (status, class) in grades {
        let told = markup(&summary(status), &findings());
        let other = markup(&reworded(summary(status)), &reworded(findings()));
        assert_eq!(elements(&told), elements(&other));
        for page in [&told, &other] {
            assert!(page.contains(&format!("<p class=\"{class}\">")), "{page}");
            assert!(page.contains("half of the step time. The host does not"), "{page}");
            for figure in ["177.6\u{a0}ms", "2.500\u{a0}TFLOP", "66.6\u{a0}%", "31.10 ms"] {
                assert!(page.contains(figure), "{figure}: {page}");
            }
        }
        assert_ne!(told, other);
    }
}

#[test]
fn a_terminal_has_the_same_lines_whatever_their_words_are() {
    let lines = |report: &Report| {
        let shown = text::render(report, TextOptions::default());
        shown.lines().map(|line| line.split("  ").next().unwrap_or_default().len()).collect::<Vec<_>>()
    };
    let told = summary(Status::Health(Some(Grade::Partial)));
    assert_eq!(lines(&told).len(), lines(&reworded(told.clone())).len());
    assert!(text::render(&reworded(told), TextOptions::default()).contains("trace health: partial"));
}
