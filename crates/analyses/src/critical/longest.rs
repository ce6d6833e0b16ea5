//! The longest piece of a path that is part of something: where to look for a row of its tables.

use stepscope_model::WorstInstance;
use stepscope_replay::{Piece, PieceSubject, StepModel};
use stepscope_runs::{OpenRun, RunError};

use crate::asking::NO_OPERATOR;
use crate::{Asking, Question};

/// What a row of a table is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// A class.
    Class(String),
    /// A class and a name, which is empty where there is none.
    Name(String, String),
    /// An operator, with the device work that it launched.
    Operator(String),
    /// A kernel, copy or fill.
    Kernel(String),
}

impl PathPart {
    fn has(&self, model: &StepModel, piece: &Piece) -> bool {
        let recording = model.recording();
        match self {
            Self::Class(class) => piece.class.as_text() == class,
            Self::Name(class, name) => piece.class.as_text() == class && piece.row_name(recording) == name,
            Self::Operator(name) => {
                model.operator_of(piece).map_or(NO_OPERATOR, |span| recording.names.text(span.name)) == name
            }
            Self::Kernel(name) => {
                piece.class.is_device_work()
                    && matches!(piece.subject, PieceSubject::Event(place)
                        if recording.names.text(recording.events[place as usize].name) == name)
            }
        }
    }
}

/// The longest piece, of equals the first; `None` if there is no path or no such piece on it. Its start counts from the
/// first event.
pub fn longest_piece(run: &OpenRun, of: &PathPart, question: &Question) -> Result<Option<WorstInstance>, RunError> {
    let asking = Asking::of(run, question)?;
    let modeled = asking.first_model()?;
    let Ok(steps) = &modeled.steps else { return Ok(None) };
    let (model, source) = (steps.model(), modeled.source);
    let paths = model.paths();
    let pieces = paths[steps.asked.clone()].iter().flat_map(|path| &path.pieces);
    let longest = pieces.filter(|piece| of.has(model, piece)).min_by_key(|piece| (-piece.dur_ns(), piece.start_ns));
    Ok(longest.map(|piece| WorstInstance {
        rank: source.id.rank,
        window: source.id.window,
        span_id: Some(piece.span_id(model.recording())),
        start_ns: piece.start_ns - source.first_event_ns.unwrap_or(0),
        dur_ns: piece.dur_ns(),
    }))
}
