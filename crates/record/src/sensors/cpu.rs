//! How busy all cores are, and how much of their time goes to waiting for disks.

use std::time::Instant;

use super::kernel_file::KernelFile;
use super::{NotMeasured, Reading, Sensor, Sources, add, rates};

/// User, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen. What guests take is in the first.
type Ticks = [u64; 8];
const IDLE: usize = 3;
const IO_WAIT: usize = 4;
const USED: [usize; 6] = [0, 1, 2, 5, 6, 7];

/// The kernel counts in hundredths of a second, so at ten readings a second on two cores a tick is 5 %.
pub(super) struct Cpu {
    stat: KernelFile,
    before: Option<Ticks>,
    /// Shares of the last two readings between which a tick passed.
    shares: Option<[f64; 2]>,
}

impl Cpu {
    pub(super) fn open(sources: &Sources) -> Self {
        Self { stat: KernelFile::open(sources.proc.join("stat")), before: None, shares: None }
    }

    fn measure(&mut self) -> Result<[f64; 2], NotMeasured> {
        let Some(now) = ticks(self.stat.first_line()?) else {
            return Err(self.stat.lacks("a first line with the time of all cores"));
        };
        let before = self.before.replace(now).ok_or_else(rates::second_reading_needed)?;
        // Somebody asks between two ticks: what the last tick told is the newest there is.
        if now == before {
            return self.shares.ok_or_else(rates::too_close);
        }
        self.shares = None;
        // Idle and waiting time are known to go back a little (proc(5)); that is no time that passed.
        let passed: [f64; 8] = std::array::from_fn(|kind| now[kind].saturating_sub(before[kind]) as f64);
        let unused = passed[IDLE] + passed[IO_WAIT];
        let used: f64 = USED.iter().map(|kind| passed[*kind]).sum();
        if used + unused == 0.0 {
            return Err(rates::too_close());
        }
        let percent = |ticks: f64| 100.0 * ticks / (used + unused);
        let shares = [percent(used), percent(passed[IO_WAIT])];
        self.shares = Some(shares);
        Ok(shares)
    }
}

impl Sensor for Cpu {
    fn read(&mut self, _now: Instant, readings: &mut Vec<Reading>) {
        add(readings, ["cpu_percent", "disk_io_wait_percent"], self.measure());
    }
}

fn ticks(line: &str) -> Option<Ticks> {
    let mut words = line.strip_prefix("cpu ")?.split_ascii_whitespace();
    let mut ticks = Ticks::default();
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    Some(ticks)
}
