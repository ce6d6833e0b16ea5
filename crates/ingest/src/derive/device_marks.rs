//! Marks on the tracks of a device that can stand for steps: the steps that the profiler found, and the runs of programs.

use std::collections::BTreeMap;

use super::mark::Mark;
use crate::collect::record::TrackId;
use crate::collect::tracks::Track;
use crate::spill::strings::Strings;

/// The marks of the lowest device that has some.
#[derive(Debug, Default)]
pub(super) struct DeviceMarks {
    steps: Lowest,
    module_runs: Lowest,
    /// What the last track is.
    last: Option<(TrackId, Lane)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Steps,
    ModuleRuns,
    Other,
}

#[derive(Debug, Default)]
struct Lowest {
    device: Option<i64>,
    marks: Vec<Mark>,
}

impl Lowest {
    fn add(&mut self, device: i64, mark: Mark) {
        if self.device.is_some_and(|lowest| lowest < device) {
            return;
        }
        if self.device != Some(device) {
            self.marks.clear();
            self.device = Some(device);
        }
        self.marks.push(mark);
    }
}

impl DeviceMarks {
    /// Takes a mark on a track of a device.
    pub(super) fn add<'n>(
        &mut self,
        track_id: TrackId,
        track: &Track,
        start: i64,
        end: i64,
        name: impl FnOnce() -> &'n str,
        strings: &Strings,
    ) {
        let Some(device) = track.device_id else { return };
        let lane = match self.last {
            Some((last, lane)) if last == track_id => lane,
            _ => {
                let lane = Lane::of(track, strings);
                self.last = Some((track_id, lane));
                lane
            }
        };
        let lowest = match lane {
            Lane::Steps => &mut self.steps,
            Lane::ModuleRuns => &mut self.module_runs,
            Lane::Other => return,
        };
        lowest.add(device, Mark { start, end, name: name().to_owned() });
    }

    /// The steps of the lowest device that has some.
    pub(super) fn steps(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.steps.marks)
    }

    /// The runs of the program that takes the most time on the lowest device.
    pub(super) fn module_runs(&mut self) -> Vec<Mark> {
        let marks = std::mem::take(&mut self.module_runs.marks);
        let mut times: BTreeMap<&str, i64> = BTreeMap::new();
        for mark in &marks {
            let time = times.entry(program(&mark.name)).or_default();
            *time = time.saturating_add(mark.end - mark.start);
        }
        // Of programs that take as long, the first by name.
        let longest = times.into_iter().rev().max_by_key(|(_, time)| *time).map(|(name, _)| name.to_owned());
        marks.into_iter().filter(|mark| Some(program(&mark.name)) == longest.as_deref()).collect()
    }
}

impl Lane {
    fn of(track: &Track, strings: &Strings) -> Self {
        let Some(told) = track.told else { return Self::Other };
        match told.thread_name().map(|name| strings.get(name)) {
            Some("Steps") => Self::Steps,
            Some("XLA Modules")
                if told.process_name().is_some_and(|name| strings.get(name).starts_with("/device:TPU:")) =>
            {
                Self::ModuleRuns
            }
            _ => Self::Other,
        }
    }
}

/// A program without the number behind it.
fn program(name: &str) -> &str {
    name.split('(').next().unwrap_or_default()
}
