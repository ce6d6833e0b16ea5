//! Whether a recording can be of the same job as others, by what the traces say. That they share a folder says little:
//! people keep traces of several jobs in one.

use std::collections::BTreeSet;
use std::path::Path;

use stepscope_model::{RankFrom, SourceRecord};

use super::discover::{rank_in_name, worker_in_name};
use crate::source::ReadTrace;

/// Ranks of one job are recorded at about the same time; this also allows for clocks that are set wrong.
const SAME_TIME_NS: i64 = 24 * 3600 * 1_000_000_000;

/// Times from here on are times of day: 2001. Smaller ones count from something of the recording's own.
const FIRST_TIME_OF_DAY_NS: i64 = 1_000_000_000_000_000_000;

/// What tells jobs apart.
#[derive(Clone, Debug)]
pub(crate) struct Traits {
    file: String,
    /// From the header or the file name.
    pub(crate) rank: Option<u32>,
    /// What the file names of one process have in common.
    worker: String,
    run_id: Option<String>,
    world_size: Option<i64>,
    devices: BTreeSet<String>,
    process_id: Option<i64>,
    time_range: Option<(i64, i64)>,
    is_profile: bool,
}

/// Where a recording belongs among others that it can share a job with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kin {
    /// Another window of this rank of the run.
    Window(u32),
    /// A rank that is not there yet.
    NewRank,
}

impl Traits {
    pub(crate) fn of_trace(trace: &ReadTrace) -> Self {
        let path = trace.path();
        let devices = trace.header.devices.iter().flatten().filter_map(|device| device.name.clone());
        Self {
            file: file_name(path),
            rank: trace.header_rank().or_else(|| rank_in_name(path)),
            worker: worker_in_name(path),
            run_id: trace.header.run_id.clone(),
            world_size: trace.header.world_size.as_i64(),
            devices: devices.filter(|name| !name.is_empty()).collect(),
            process_id: trace.tracks.host_process(),
            time_range: trace.time_range(),
            is_profile: trace.is_profile(),
        }
    }

    pub(crate) fn of_record(record: &SourceRecord) -> Self {
        let path = Path::new(&record.path);
        let devices = record.devices.iter().flatten().filter_map(|device| device.name.clone());
        Self {
            file: file_name(path),
            rank: (record.rank_from != RankFrom::Order).then_some(record.id.rank),
            worker: worker_in_name(path),
            run_id: record.run_id.clone(),
            world_size: record.header_world_size.as_i64(),
            devices: devices.filter(|name| !name.is_empty()).collect(),
            process_id: record.process_id,
            time_range: record.first_event_ns.zip(record.last_event_ns),
            is_profile: record.is_profile(),
        }
    }

    /// Where it belongs among the recordings of a run, each with its rank there; or why it cannot be of their job.
    pub(crate) fn kin<'a>(&self, others: impl Iterator<Item = (u32, &'a Self)> + Clone) -> Result<Kin, String> {
        // It tells of a whole program and has no times, so it is another recording of a rank rather than another rank.
        if self.is_profile {
            return Ok(Kin::Window(self.rank.unwrap_or(0)));
        }
        let others = others.filter(|(_, other)| !other.is_profile);
        if let Some(reason) = others.clone().find_map(|(_, other)| self.contradicts(other)) {
            return Err(reason);
        }
        // A process records one window at a time: beside one that overlaps it is another rank.
        let is_beside_one = |rank: u32| others.clone().any(|(of, other)| of == rank && self.overlaps(other));
        let is_of_rank = |(rank, other): &(u32, &Self)| {
            self.is_rank_of(other) && (self.is_surely_rank_of(other) || !is_beside_one(*rank))
        };
        let mut of_rank = others.clone().filter(is_of_rank).peekable();
        if let Some((rank, _)) = of_rank.peek().copied() {
            return of_rank.find_map(|(_, other)| self.is_no_window_beside(other)).map_or(Ok(Kin::Window(rank)), Err);
        }
        let Some((_, first)) = others.clone().next() else { return Ok(Kin::NewRank) };
        let is_beside = |(_, other): (u32, &Self)| self.ran_with(other);
        if others.clone().any(is_beside) { Ok(Kin::NewRank) } else { Err(self.why_not_with(first)) }
    }

    /// What cannot be so within one job, whatever the ranks.
    fn contradicts(&self, other: &Self) -> Option<String> {
        let file = &other.file;
        match (&self.run_id, &other.run_id) {
            (Some(own), Some(others)) if own != others => return Some(format!("another run than {file}")),
            _ => {}
        }
        match (self.world_size, other.world_size) {
            (Some(own), Some(others)) if own != others => {
                return Some(format!("world size {own}, not {others} as in {file}"));
            }
            _ => {}
        }
        if !self.devices.is_empty() && !other.devices.is_empty() && self.devices.is_disjoint(&other.devices) {
            let names = |devices: &BTreeSet<String>| devices.iter().cloned().collect::<Vec<_>>().join(", ");
            return Some(format!("device {}, not {} as in {file}", names(&self.devices), names(&other.devices)));
        }
        match (self.rank, other.rank) {
            (Some(rank), None) => Some(format!("rank {rank}, while {file} has none")),
            (None, Some(rank)) => Some(format!("no rank, while {file} has rank {rank}")),
            _ => None,
        }
    }

    /// Whether the header or the file name says that both are of one rank.
    fn is_surely_rank_of(&self, other: &Self) -> bool {
        self.rank.is_some() || self.worker == other.worker
    }

    fn is_rank_of(&self, other: &Self) -> bool {
        match (self.rank, other.rank) {
            (Some(own), Some(others)) => own == others,
            (None, None) => {
                let is_same_process = self.process_id.is_some() && self.process_id == other.process_id;
                self.worker == other.worker || (is_same_process && self.is_named_like(other) && !self.overlaps(other))
            }
            _ => false,
        }
    }

    /// Windows of a rank come from one process, one after the other.
    fn is_no_window_beside(&self, other: &Self) -> Option<String> {
        let file = &other.file;
        let rank = self.rank.map(|rank| format!("rank {rank} "));
        match (self.process_id, other.process_id) {
            (Some(own), Some(others)) if own != others => {
                let rank = rank.map(|rank| format!("{rank}in ")).unwrap_or_default();
                return Some(format!("{rank}process {own}, not {others} as in {file}"));
            }
            _ => {}
        }
        let rank = rank.unwrap_or_else(|| "no rank, and ".to_owned());
        self.overlaps(other).then(|| format!("{rank}at the same time as {file}"))
    }

    /// Whether it can be another rank of the same job.
    fn ran_with(&self, other: &Self) -> bool {
        match (self.rank, other.rank) {
            (Some(_), Some(_)) => !self.are_times_of_day(other) || self.gap_ns(other) <= SAME_TIME_NS,
            // Nothing but the time says that it is another rank.
            _ => self.overlaps(other) && (self.are_times_of_day(other) || self.is_named_like(other)),
        }
    }

    fn why_not_with(&self, other: &Self) -> String {
        let file = &other.file;
        match self.rank {
            Some(_) => {
                let days = self.gap_ns(other) / SAME_TIME_NS;
                format!("recorded {days} {} apart from {file}", if days == 1 { "day" } else { "days" })
            }
            None if self.overlaps(other) => format!("no rank, and nothing in common with {file}"),
            None => format!("no rank, and recorded at another time than {file}"),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        match (self.time_range, other.time_range) {
            (Some((start, end)), Some((first, last))) => start <= last && first <= end,
            _ => false,
        }
    }

    /// Time between the two; 0 when they overlap or a time is not known.
    fn gap_ns(&self, other: &Self) -> i64 {
        match (self.time_range, other.time_range) {
            (Some((start, end)), Some((first, last))) => {
                start.saturating_sub(last).max(first.saturating_sub(end)).max(0)
            }
            _ => 0,
        }
    }

    fn are_times_of_day(&self, other: &Self) -> bool {
        let is_one = |traits: &Self| traits.time_range.is_some_and(|(first, _)| first >= FIRST_TIME_OF_DAY_NS);
        is_one(self) && is_one(other)
    }

    /// Whether the names differ by numbers alone.
    fn is_named_like(&self, other: &Self) -> bool {
        let letters = |name: &str| name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
        letters(&self.worker) == letters(&other.worker)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = SAME_TIME_NS;
    const TODAY: i64 = 1_700_000_000_000_000_000;

    /// `rank3 of 8, A100, pid 7, 10..20` as a name, a rank and so on.
    fn traits(file: &str, rank: Option<u32>, of: i64, device: &str, pid: i64, range: (i64, i64)) -> Traits {
        Traits {
            file: file.to_owned(),
            rank,
            worker: worker_in_name(Path::new(file)),
            run_id: None,
            world_size: (of > 0).then_some(of),
            devices: (!device.is_empty()).then(|| device.to_owned()).into_iter().collect(),
            process_id: (pid > 0).then_some(pid),
            time_range: Some(range),
            is_profile: false,
        }
    }

    #[track_caller]
    fn check(new: &Traits, there: &[&Traits], want: Result<Kin, &str>) {
        let members = there.iter().enumerate().map(|(place, other)| (other.rank.unwrap_or(place as u32), *other));
        assert_eq!(new.kin(members), want.map_err(str::to_owned), "{new:?}");
    }

    #[test]
    fn what_contradicts_is_another_job() {
        let one = traits("a.json", Some(3), 8, "A100", 7, (TODAY, TODAY + 9));
        let other = |rank, of, device: &str, range| traits("b.json", rank, of, device, 8, range);
        let now = (TODAY, TODAY + 9);
        check(&other(Some(1), 2, "A100", now), &[&one], Err("world size 2, not 8 as in a.json"));
        check(&other(Some(1), 8, "MI300X", now), &[&one], Err("device MI300X, not A100 as in a.json"));
        check(&other(None, 0, "A100", now), &[&one], Err("no rank, while a.json has rank 3"));
        check(&other(Some(3), 8, "A100", now), &[&one], Err("rank 3 in process 8, not 7 as in a.json"));
        let later = (TODAY + 9 * DAY, TODAY + 9 * DAY + 9);
        check(&other(Some(1), 8, "A100", later), &[&one], Err("recorded 8 days apart from a.json"));
        // The same script twice at once: nothing but what the recorder wrote tells them apart.
        let of_run = |traits: &Traits, run: &str| Traits { run_id: Some(run.to_owned()), ..traits.clone() };
        let beside = other(Some(1), 8, "A100", now);
        check(&of_run(&beside, "k3x9"), &[&of_run(&one, "p2m4")], Err("another run than a.json"));
        check(&of_run(&beside, "p2m4"), &[&of_run(&one, "p2m4")], Ok(Kin::NewRank));
        check(&of_run(&beside, "p2m4"), &[&one], Ok(Kin::NewRank));
        // A rank of the same job, with and without a list of devices.
        check(&other(Some(1), 8, "A100", now), &[&one], Ok(Kin::NewRank));
        check(&other(Some(1), 8, "", now), &[&one], Ok(Kin::NewRank));
    }

    #[test]
    fn windows_are_of_one_process_one_after_the_other() {
        let one = traits("worker0.1.json", Some(0), 0, "A100", 7, (TODAY, TODAY + 9));
        let window = |pid, start| traits("worker0.2.json", Some(0), 0, "A100", pid, (start, start + 9));
        // A job may run for weeks between two windows.
        check(&window(7, TODAY + 20 * DAY), &[&one], Ok(Kin::Window(0)));
        check(&window(0, TODAY + 20), &[&one], Ok(Kin::Window(0)));
        check(&window(7, TODAY + 5), &[&one], Err("rank 0 at the same time as worker0.1.json"));
        check(&window(9, TODAY + 20), &[&one], Err("rank 0 in process 9, not 7 as in worker0.1.json"));
    }

    #[test]
    fn files_without_a_rank_are_ranks_only_when_they_ran_together() {
        let file = |name: &str, pid, start| traits(name, None, 0, "H100", pid, (start, start + 9));
        let one = file("bert.json", 7, TODAY);
        check(&file("qwen.json", 8, TODAY + 5), &[&one], Ok(Kin::NewRank));
        check(&file("qwen.json", 8, TODAY + 20), &[&one], Err("no rank, and recorded at another time than bert.json"));
        // Exported by one process: `step10.json` and `step20.json`.
        let step = file("step10.json", 7, TODAY);
        check(&file("step20.json", 7, TODAY + 20), &[&step], Ok(Kin::Window(0)));
        check(&file("step20.json", 8, TODAY + 5), &[&step], Ok(Kin::NewRank));
        // Clocks that begin at 0 always overlap.
        check(
            &file("qwen.json", 8, 5),
            &[&file("bert.json", 7, 0)],
            Err("no rank, and nothing in common with bert.json"),
        );
        check(&file("bert.again.json", 8, TODAY + 20), &[&one], Err("process 8, not 7 as in bert.json"));
        check(&file("bert.again.json", 7, TODAY + 5), &[&one], Err("no rank, and at the same time as bert.json"));
        check(&file("gpu1.json", 8, 5), &[&file("gpu0.json", 7, 0)], Ok(Kin::NewRank));
    }
}
