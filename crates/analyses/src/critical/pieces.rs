//! The path of one step, piece by piece.

use stepscope_model::null_reason::NOT_APPLICABLE;
use stepscope_model::{Holds, Look, ReportColumn, ReportTable, Unit, say};
use stepscope_replay::recording::Recording;
use stepscope_replay::{Piece, PieceSubject, StepPath};

use crate::step_model::ModeledSteps;

pub(super) fn table(steps: &ModeledSteps, path: &StepPath) -> ReportTable {
    let model = steps.model();
    let recording = model.recording();
    let start_ns = steps.steps().first().map_or(0, |step| step.start_ns);
    let named = ReportColumn::named;
    let text = |name: &str| named(name).holds(Holds::Texts).null(NOT_APPLICABLE);
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let operator = |piece: &&Piece| model.operator_of(piece).map(|span| recording.names.text(span.name).to_owned());
    let mut table = ReportTable::of("rows", &path.pieces)
        .column(named("from_step_start_ns").label("at"), |piece| piece.start_ns - start_ns)
        .column(named("start_ns").look(Look::Hidden), |piece| piece.start_ns)
        .column(named("dur_ns").label("time").look(Look::Bar(None)), |piece| piece.dur_ns())
        .column(named("class").holds(Holds::Texts).look(Look::Class), |piece| piece.class.as_text())
        .column(text("name").look(Look::Operator), |piece| known(piece.row_name(recording)))
        .column(text("operator").look(Look::Operator).from_width(100), operator)
        .column(named("track").holds(Holds::Texts).label("on").from_width(100), |piece| track(recording, piece))
        .column(named("span_id").unit(Unit::Id).look(Look::Hidden), |piece| piece.span_id(recording))
        .table();
    table.notes.push(say!("in the order of time; {} sorts by length", "`--sort -dur_ns`"));
    table
}

/// The thread or the stream that a piece is on.
fn track(recording: &Recording, piece: &Piece) -> String {
    match piece.subject {
        PieceSubject::Span(place) => {
            let thread = &recording.threads[recording.spans[place as usize].thread as usize];
            format!("thread {}", thread.thread)
        }
        PieceSubject::Event(place) => {
            format!("stream {}", recording.streams[recording.events[place as usize].stream as usize].key())
        }
    }
}
