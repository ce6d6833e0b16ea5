//! Python stacks from recorded frames (metrics, section 10).

use std::collections::HashMap;
use std::rc::Rc;

use stepscope_runs::RunError;

use super::Asking;

/// The Python frames around operators. Few chains of them are distinct, so each is kept once.
#[derive(Default)]
pub(super) struct Stacks {
    /// By source and span: the chain that begins with this frame.
    frames: HashMap<(i64, i64, i64), usize>,
    /// Frames with the chain around them.
    chains: Vec<(Rc<str>, Option<usize>)>,
    known: HashMap<(Rc<str>, Option<usize>), usize>,
}

impl Stacks {
    /// Reads the frames of the recordings that are asked about.
    pub(super) fn read(asking: &Asking<'_>) -> Result<Self, RunError> {
        let mut stacks = Self::default();
        let statement = "SELECT rank, \"window\", span_id, python_parent_id, name FROM spans
                         WHERE {source} AND kind = 'py' ORDER BY rank, \"window\", span_id";
        asking.walk(statement, |frame| {
            let (ranks, windows) = (frame.required_i64("rank")?, frame.required_i64("window")?);
            let (ids, parents) = (frame.required_i64("span_id")?, frame.i64("python_parent_id")?);
            for (row, name) in frame.text("name")?.into_iter().enumerate() {
                let source = (ranks[row], windows[row]);
                let outer = parents[row].and_then(|parent| stacks.frames.get(&(source.0, source.1, parent)).copied());
                let chain = stacks.chain(name.unwrap_or_default().into(), outer);
                stacks.frames.insert((source.0, source.1, ids[row]), chain);
            }
            Ok(())
        })?;
        Ok(stacks)
    }

    fn chain(&mut self, name: Rc<str>, outer: Option<usize>) -> usize {
        let link = (name, outer);
        if let Some(chain) = self.known.get(&link) {
            return *chain;
        }
        self.chains.push(link.clone());
        self.known.insert(link, self.chains.len() - 1);
        self.chains.len() - 1
    }

    /// The names of the frames, innermost first.
    pub(super) fn of(&self, (rank, window): (i64, i64), frame: i64) -> Option<String> {
        let mut next = Some(*self.frames.get(&(rank, window, frame))?);
        let mut names: Vec<&str> = Vec::new();
        while let Some((name, outer)) = next.and_then(|chain| self.chains.get(chain)) {
            names.push(name);
            next = *outer;
        }
        Some(names.join(";"))
    }
}
