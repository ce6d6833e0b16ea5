//! Stacks of a snapshot, and the line of the program that each belongs to.

use std::collections::HashMap;

use stepscope_figures::stack_category::category;
use stepscope_runs::RunError;

use crate::Asking;

/// What is said where no stack was recorded.
const NO_STACK: &str = "(no stack)";

/// Frames of the allocator and of the profiler itself, in C++.
const NOT_OWNERS: [&str; 5] = ["unwind", "Traceback", "gather_with_cpp", "CachingAllocator", "c10::"];

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub file: String,
    pub line: i64,
    pub name: String,
}

impl Frame {
    fn is_python(&self) -> bool {
        self.file.strip_suffix(".py").is_some()
    }

    /// Whether it is of the program itself, not of a library.
    fn is_of_program(&self) -> bool {
        let path = self.file.replace('\\', "/");
        let of_library = ["/site-packages/", "/dist-packages/", "/torch/"].iter().any(|part| path.contains(part));
        !of_library && !path.starts_with('<')
    }

    fn shown(&self) -> String {
        format!("{}:{} {}", self.file, self.line, self.name)
    }
}

/// The stacks of one recording.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    frames: HashMap<i64, Vec<Frame>>,
}

impl Stacks {
    pub(crate) fn read(asking: &Asking<'_>, rank: u32, window: u32) -> Result<Self, RunError> {
        let mut stacks = Self::default();
        let of_source = format!("rank = {rank} AND \"window\" = {window}");
        let statement = format!(
            "SELECT s.stack_id, f.name, f.file, f.line FROM (SELECT * FROM stacks WHERE {of_source}) s
             JOIN (SELECT * FROM frames WHERE {of_source}) f ON s.frame_id = f.frame_id ORDER BY s.stack_id, s.depth"
        );
        asking.walk(&statement, |frame| {
            let (ids, lines) = (frame.required_i64("stack_id")?, frame.i64("line")?);
            let (names, files) = (frame.text("name")?, frame.text("file")?);
            for (row, (name, file)) in names.into_iter().zip(files).enumerate() {
                let (name, file) = (name.unwrap_or_default(), file.unwrap_or_default());
                let frame = Frame { file, line: lines[row].unwrap_or(0), name };
                stacks.frames.entry(ids[row]).or_default().push(frame);
            }
            Ok(())
        })?;
        Ok(stacks)
    }

    /// The line of the program that a stack belongs to: the innermost of its own Python files, else the innermost Python
    /// file, else what is not the allocator.
    pub(crate) fn owner(&self, stack: Option<i64>) -> String {
        let Some(frames) = stack.and_then(|stack| self.frames.get(&stack)).filter(|frames| !frames.is_empty()) else {
            return NO_STACK.to_owned();
        };
        let python = || frames.iter().filter(|frame| frame.is_python());
        let is_own = |frame: &&Frame| !NOT_OWNERS.iter().any(|part| frame.name.contains(part));
        let owner = python()
            .find(|frame| frame.is_of_program())
            .or_else(|| python().next())
            .or_else(|| frames.iter().find(is_own))
            .unwrap_or(&frames[0]);
        owner.shown()
    }

    /// What the memory of a stack is for; an estimate.
    pub(super) fn category(&self, stack: Option<i64>) -> &'static str {
        let frames = stack.and_then(|stack| self.frames.get(&stack)).map(Vec::as_slice).unwrap_or_default();
        let frames: Vec<(&str, &str)> = frames.iter().map(|frame| (frame.file.as_str(), frame.name.as_str())).collect();
        category(&frames)
    }

    /// The frames of a stack, innermost first, one line each.
    pub(crate) fn shown(&self, stack: Option<i64>) -> Option<String> {
        let frames = self.frames.get(&stack?)?;
        Some(frames.iter().map(Frame::shown).collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(frames: &[(&str, &str)]) -> String {
        let frames = frames.iter().map(|(file, name)| Frame { file: (*file).into(), line: 1, name: (*name).into() });
        Stacks { frames: [(0, frames.collect())].into() }.owner(Some(0))
    }

    #[test]
    fn the_innermost_line_of_the_program_owns_memory() {
        assert_eq!(owner(&[("??", "c10::x"), ("/a/torch/nn.py", "f"), ("/b/train.py", "step")]), "/b/train.py:1 step");
        assert_eq!(owner(&[("??", "c10::x"), ("/a/torch/nn.py", "f")]), "/a/torch/nn.py:1 f");
        assert_eq!(owner(&[("??", "c10::x"), ("??", "at::empty")]), "??:1 at::empty");
        assert_eq!(owner(&[("??", "c10::x")]), "??:1 c10::x");
        assert_eq!(Stacks::default().owner(None), NO_STACK);
    }
}
