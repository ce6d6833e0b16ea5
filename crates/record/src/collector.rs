//! What has come out of the rings: sums of each name, the last readings, and what is to be written.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::lock::Lock;
use crate::losses;
use stepscope_model::segment::SegmentRecord;

use crate::clock::Clock;
use crate::names::{NameId, Scope, resolve};
use crate::pending::Pending;
use crate::thread::{
    CPU_TIME, Event, LEFT_ELSEWHERE, NEW_RINGS, PEAK_RESIDENT, RESIDENT, RING_COUNT, Ring, SAMPLES, WITHOUT_RING,
};
use crate::totals::Totals;

/// Readings that are kept for questions; 24 bytes each.
const MAX_READINGS: usize = 200_000;

pub(crate) static COLLECTOR: Lock<Option<Collector>> = Lock::new(None);

struct Reading {
    series: Arc<str>,
    at_ns: i64,
    value: f64,
}

pub(crate) struct Collector {
    clock: Clock,
    rings: Vec<Track>,
    /// By the number of the name.
    known: Vec<Option<Known>>,
    /// In the order in which they were first left.
    order: Vec<NameId>,
    outermost: HashMap<Scope, Outermost>,
    readings: VecDeque<Reading>,
    /// Regions that threads lost which have ended.
    lost_before: u64,
    regions: u64,
    pub(crate) pending: Option<Pending>,
}

/// A name whose regions were left.
struct Known {
    scope: Scope,
    text: Arc<str>,
    totals: Totals,
}

struct Track {
    ring: Ring,
    nest: Nest,
}

/// What is open around the regions that come out of a ring.
#[derive(Default)]
struct Nest {
    /// Time of the regions that were left at each depth since the one around them was entered; by task.
    inside_ns: BTreeMap<u16, Vec<i64>>,
    /// Samples of the regions that were left at each depth since the one around them was entered; by task.
    samples: BTreeMap<u16, Vec<Vec<(NameId, u64)>>>,
    /// The region that was left last: samples may follow.
    last: Option<Last>,
}

/// A region that was left.
#[derive(Clone, Copy)]
struct Last {
    name: NameId,
    dur_ns: i64,
    task: u16,
    depth: u16,
}

/// The region that a scope left last, as far out as there is one.
#[derive(Clone)]
struct Outermost {
    name: NameId,
    depth: u16,
    start_ns: i64,
    end_ns: i64,
}

impl Collector {
    pub(crate) fn new() -> Self {
        Self {
            clock: Clock::new(),
            rings: Vec::new(),
            known: Vec::new(),
            order: Vec::new(),
            outermost: HashMap::new(),
            readings: VecDeque::new(),
            lost_before: 0,
            regions: 0,
            pending: None,
        }
    }

    /// Empties every ring.
    pub(crate) fn drain(&mut self) {
        self.clock.adjust();
        let mut rings = std::mem::take(&mut self.rings);
        rings.extend(NEW_RINGS.lock().drain(..).map(|ring| Track { ring, nest: Nest::default() }));
        rings.retain_mut(|track| {
            // Asked first, or something could come between the last event and the end.
            let has_ended = track.ring.events.is_abandoned();
            self.drain_track(track);
            if has_ended {
                self.lost_before += track.ring.lost.load(Ordering::Relaxed);
                RING_COUNT.fetch_sub(1, Ordering::Relaxed);
            }
            !has_ended
        });
        self.rings = rings;
    }

    fn drain_track(&mut self, track: &mut Track) {
        let Track { ring: Ring { events, thread_id, thread_name, .. }, nest } = track;
        let count = events.slots();
        let Ok(chunk) = events.read_chunk(count) else { return };
        let mut task_written = None;
        let (head, tail) = chunk.as_slices();
        for event in head.iter().chain(tail) {
            let start_ns = self.clock.unix_ns(event.start);
            match event.name {
                SAMPLES => self.samples(nest, event.dur),
                RESIDENT => self.keep("process_rss_bytes", start_ns, event.dur as f64),
                PEAK_RESIDENT => self.keep("process_peak_rss_bytes", start_ns, event.dur as f64),
                CPU_TIME => self.keep("process_cpu_seconds", start_ns, event.dur as f64 / 1e9),
                name => {
                    let end_ns = self.clock.unix_ns(event.start + event.dur);
                    self.region(nest, event, start_ns, end_ns);
                    let Some(pending) = &mut self.pending else { continue };
                    // Readings between two spans leave the track as it is.
                    if task_written != Some(event.task) {
                        task_written = Some(event.task);
                        pending.start_track(*thread_id, event.task, &thread_name.lock(), start_ns);
                    }
                    pending.span(name, start_ns, end_ns);
                }
            }
        }
        chunk.commit_all();
    }

    fn region(&mut self, nest: &mut Nest, event: &Event, start_ns: i64, end_ns: i64) {
        let inside_ns = nest.leave(event, end_ns - start_ns);
        let inner_samples = nest.leave_samples(event);
        self.regions += 1;
        let Some(known) = self.known(event.name) else { return };
        known.totals.add(start_ns, end_ns, inside_ns, event.depth == 0);
        if let Some(samples) = inner_samples {
            known.totals.add_inner_samples(samples, end_ns - start_ns);
        }
        let scope = known.scope;
        self.left(scope, event, start_ns, end_ns);
    }

    fn samples(&mut self, nest: &mut Nest, samples: u64) {
        let Some(last) = nest.last else { return };
        nest.add_samples(&last, samples);
        if let Some(known) = self.known(last.name) {
            known.totals.add_samples(samples, last.dur_ns);
        }
        if let Some(pending) = &mut self.pending {
            pending.samples_of_last(samples);
        }
    }

    fn known(&mut self, name: NameId) -> Option<&mut Known> {
        let index = name.0 as usize;
        if self.known.get(index).is_none_or(Option::is_none) {
            let (scope, text) = resolve(name)?;
            if self.known.len() <= index {
                self.known.resize_with(index + 1, || None);
            }
            self.known[index] = Some(Known { scope, text, totals: Totals::default() });
            self.order.push(name);
        }
        self.known[index].as_mut()
    }

    fn left(&mut self, scope: Scope, event: &Event, start_ns: i64, end_ns: i64) {
        let left = Outermost { name: event.name, depth: event.depth, start_ns, end_ns };
        let last = self.outermost.entry(scope).or_insert_with(|| left.clone());
        // Before the first one has ended that lies in no other, the last one of those in it is the next best.
        let is_further_in =
            left.depth > 0 && (last.depth == 0 || (left.depth > last.depth && left.start_ns < last.end_ns));
        if left.end_ns >= last.end_ns && !is_further_in {
            *last = left;
        }
    }

    /// Takes a reading.
    pub(crate) fn keep(&mut self, series: &str, at_ns: i64, value: f64) {
        // Few series, many readings: the text is shared.
        let known = self.readings.iter().rev().take(64).find(|reading| &*reading.series == series);
        let series = known.map_or_else(|| Arc::from(series), |reading| Arc::clone(&reading.series));
        if let Some(pending) = &mut self.pending {
            pending.reading(&series, at_ns, value);
        }
        if self.readings.len() == MAX_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(Reading { series, at_ns, value });
    }

    /// What is known of each name of a scope, in the order in which they were first left.
    pub(crate) fn totals(&self, scope: Scope) -> Vec<(Arc<str>, Totals)> {
        let known = self.order.iter().filter_map(|name| Some((name, self.known[name.0 as usize].as_ref()?)));
        known
            .filter(|(_, known)| known.scope == scope)
            .map(|(name, known)| {
                let totals = Totals { has_dropped: losses::has_dropped(*name), ..known.totals.clone() };
                (Arc::clone(&known.text), totals)
            })
            .collect()
    }

    /// The outermost region that a scope left last.
    pub(crate) fn last_outermost(&self, scope: Scope) -> Option<Arc<str>> {
        resolve(self.outermost.get(&scope)?.name).map(|(_, text)| text)
    }

    /// Readings from the last one before `start_ns` of each series to the first one after `end_ns`.
    pub(crate) fn readings(&self, start_ns: i64, end_ns: i64) -> BTreeMap<Arc<str>, Vec<(i64, f64)>> {
        let mut all: BTreeMap<Arc<str>, Vec<(i64, f64)>> = BTreeMap::new();
        for reading in &self.readings {
            all.entry(Arc::clone(&reading.series)).or_default().push((reading.at_ns, reading.value));
        }
        for readings in all.values_mut() {
            // Threads are emptied one after the other.
            readings.sort_by_key(|(at_ns, _)| *at_ns);
            let first = readings.partition_point(|(at_ns, _)| *at_ns <= start_ns).saturating_sub(1);
            let last = (readings.partition_point(|(at_ns, _)| *at_ns < end_ns) + 1).min(readings.len());
            readings.truncate(last);
            readings.drain(..first.min(last));
        }
        all.retain(|_, readings| !readings.is_empty());
        all
    }

    /// Regions that came out of the rings.
    pub(crate) fn regions(&self) -> u64 {
        self.regions
    }

    /// Regions that a full ring had no place for.
    pub(crate) fn lost_in_rings(&self) -> u64 {
        let now: u64 = self.rings.iter().map(|track| track.ring.lost.load(Ordering::Relaxed)).sum();
        self.lost_before + now
    }

    /// Says in the recording what is missing from it.
    pub(crate) fn put_lost(&mut self) {
        let by_threads = WITHOUT_RING.load(Ordering::Relaxed) + LEFT_ELSEWHERE.load(Ordering::Relaxed);
        let lost = self.lost_in_rings() + by_threads;
        if let Some(pending) = &mut self.pending {
            let regions = lost + pending.lost;
            if regions > pending.lost_said {
                pending.lost_said = regions;
                pending.put(&SegmentRecord::Dropped { regions });
            }
        }
    }

    /// In a process that was just forked: the rings and their threads are the parent's.
    pub(crate) fn forget_after_fork(&mut self) {
        std::mem::forget(std::mem::replace(self, Self::new()));
    }
}

impl Nest {
    /// A region was left; gives the time of the regions inside.
    fn leave(&mut self, event: &Event, dur_ns: i64) -> i64 {
        let depth = usize::from(event.depth);
        let inside_ns = self.inside_ns.entry(event.task).or_default();
        if inside_ns.len() < depth + 2 {
            inside_ns.resize(depth + 2, 0);
        }
        inside_ns[depth] = if depth == 0 { 0 } else { inside_ns[depth] + dur_ns };
        self.last = Some(Last { name: event.name, dur_ns, task: event.task, depth: event.depth });
        std::mem::take(&mut inside_ns[depth + 1])
    }

    /// The region that was left last gave samples; they matter to those around it.
    fn add_samples(&mut self, last: &Last, samples: u64) {
        let depth = usize::from(last.depth);
        if depth == 0 {
            return;
        }
        let by_depth = self.samples.entry(last.task).or_default();
        if by_depth.len() <= depth {
            by_depth.resize(depth + 1, Vec::new());
        }
        add_samples_of(&mut by_depth[depth], last.name, samples);
    }

    /// A region was left; gives the samples of the regions inside, of the name that has the most.
    fn leave_samples(&mut self, event: &Event) -> Option<u64> {
        let by_depth = self.samples.get_mut(&event.task)?;
        let depth = usize::from(event.depth);
        let inside = std::mem::take(by_depth.get_mut(depth + 1)?);
        by_depth.truncate(depth + 1);
        let most = inside.iter().map(|(_, samples)| *samples).max()?;
        // The region around this one works on them too.
        if let Some(own) = by_depth.get_mut(depth).filter(|_| depth > 0) {
            for (name, samples) in inside {
                add_samples_of(own, name, samples);
            }
        }
        Some(most)
    }
}

fn add_samples_of(of_names: &mut Vec<(NameId, u64)>, name: NameId, samples: u64) {
    match of_names.iter_mut().find(|(known, _)| *known == name) {
        Some((_, sum)) => *sum += samples,
        None => of_names.push((name, samples)),
    }
}

/// Does something with everything that was recorded so far.
pub(crate) fn with_collector<T>(act: impl FnOnce(&mut Collector) -> T) -> T {
    let mut collector = COLLECTOR.lock();
    let collector = collector.get_or_insert_with(Collector::new);
    collector.drain();
    act(collector)
}
