//! Sensors that are read now and then, as long as somebody watches.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::lock::Lock;

use crate::collector::{COLLECTOR, Collector};
use crate::sensors::{Group, Reading, Sensors, Sources};
use crate::{drainer, fork};

pub(crate) static WATCHES: Lock<Watches> = Lock::new(Watches::new());

/// Who watches what, and the sensors.
pub(crate) struct Watches {
    next: u64,
    wanted: BTreeMap<u64, Vec<(Group, Duration)>>,
    /// Each group with when it is due. Taken out while they are read, so that nobody waits for a slow one.
    watched: Vec<Watched>,
}

struct Watched {
    group: Group,
    every: Duration,
    due: Instant,
    sensors: Sensors,
}

/// Reads groups of sensors from now on, each as often as it says; gives what `unwatch` ends it with.
pub fn watch(groups: &[(Group, Duration)]) -> u64 {
    fork::prepare();
    let mut watches = WATCHES.lock();
    watches.next += 1;
    let watch = watches.next;
    watches.wanted.insert(watch, groups.to_vec());
    watches.arrange();
    drop(watches);
    // The first reading is there before the first region.
    read_what_is_due();
    drainer::ensure();
    watch
}

/// Ends a watch; nothing happens if it has ended.
pub fn unwatch(watch: u64) {
    let mut watches = WATCHES.lock();
    watches.wanted.remove(&watch);
    watches.arrange();
}

/// Reads groups of sensors at once. Rates are of the time since they were last read, or of a short while.
#[must_use]
pub fn read_now(groups: &[Group]) -> Vec<Reading> {
    /// A rate over less than this says little.
    const SHORT_WHILE: Duration = Duration::from_millis(20);
    let mut readings = Vec::new();
    for &group in groups {
        let place = |watches: &mut Watches| {
            let at = watches.watched.iter().position(|watched| watched.group == group)?;
            Some(watches.watched.swap_remove(at))
        };
        let watched = place(&mut WATCHES.lock());
        if let Some(mut watched) = watched {
            readings.extend(watched.sensors.read_group(group));
            WATCHES.lock().put_back(watched);
        } else {
            let mut sensors = Sensors::open(&[group], Sources::default());
            let mut first = sensors.read();
            if first.iter().any(|reading| reading.value.is_err()) {
                std::thread::sleep(SHORT_WHILE);
                first = sensors.read();
            }
            readings.extend(first);
        }
    }
    readings
}

/// Reads the sensors that are due, and keeps what they say.
pub(crate) fn read_what_is_due() {
    let now = Instant::now();
    let due = WATCHES.lock().take_due(now);
    for mut watched in due {
        let readings = watched.sensors.read();
        let at_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        keep(&readings, at_ns);
        watched.due = now + watched.every;
        WATCHES.lock().put_back(watched);
    }
}

fn keep(readings: &[Reading], at_ns: i64) {
    let mut collector = COLLECTOR.lock();
    let collector = collector.get_or_insert_with(Collector::new);
    for reading in readings {
        if let Ok(value) = reading.value {
            collector.keep(&reading.series, at_ns, value);
        }
    }
}

impl Watches {
    const fn new() -> Self {
        Self { next: 0, wanted: BTreeMap::new(), watched: Vec::new() }
    }

    /// How often a group is to be read: as often as the most eager watch wants it.
    fn every(&self, group: Group) -> Option<Duration> {
        let wanted = self.wanted.values().flatten().filter(|(wanted, _)| *wanted == group);
        wanted.map(|(_, every)| *every).min()
    }

    fn arrange(&mut self) {
        for group in Group::ALL {
            let at = self.watched.iter().position(|watched| watched.group == group);
            match (self.every(group), at) {
                (Some(every), Some(at)) => self.watched[at].every = every,
                (Some(every), None) => {
                    let sensors = Sensors::open(&[group], Sources::default());
                    self.watched.push(Watched { group, every, due: Instant::now(), sensors });
                }
                (None, Some(at)) => drop(self.watched.swap_remove(at)),
                (None, None) => {}
            }
        }
    }

    fn take_due(&mut self, now: Instant) -> Vec<Watched> {
        self.watched.extract_if(.., |watched| watched.due <= now).collect()
    }

    /// Puts sensors back, unless nobody wants them any more or others took their place.
    fn put_back(&mut self, mut watched: Watched) {
        let is_there = self.watched.iter().any(|other| other.group == watched.group);
        if let (Some(every), false) = (self.every(watched.group), is_there) {
            watched.every = every;
            self.watched.push(watched);
        }
    }

    /// In a process that was just forked: its parent goes on reading the machine.
    pub(crate) fn forget_after_fork(&mut self) {
        self.wanted.clear();
        // What a sensor holds may be in use by a thread that stayed behind.
        std::mem::forget(std::mem::take(&mut self.watched));
    }
}
