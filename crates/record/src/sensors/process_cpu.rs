//! CPU time of this process, all its threads together.

use std::time::{Duration, Instant};

use super::{NotMeasured, Reading, Sensor, add, rates};
use crate::clock::process_cpu_time;

/// The clock counts nanoseconds; `/proc/self/stat` counts hundredths of a second, too coarse for ten readings a second.
#[derive(Default)]
pub(super) struct ProcessCpu {
    before: Option<(Instant, Duration)>,
}

impl ProcessCpu {
    fn percent(&mut self, now: Instant, used: Duration) -> Result<f64, NotMeasured> {
        let (then, used_before) = self.before.replace((now, used)).ok_or_else(rates::second_reading_needed)?;
        let used_since = used.checked_sub(used_before).ok_or_else(rates::went_backwards)?;
        Ok(100.0 * used_since.as_secs_f64() / rates::elapsed(then, now)?.as_secs_f64())
    }
}

impl Sensor for ProcessCpu {
    fn read(&mut self, now: Instant, readings: &mut Vec<Reading>) {
        let used = process_cpu_time();
        let percent = self.percent(now, used);
        add(readings, ["process_cpu_percent"], percent.map(|percent| [percent]));
        add(readings, ["process_cpu_seconds"], Ok([used.as_secs_f64()]));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::ProcessCpu;

    #[test]
    fn percent_is_of_one_core() {
        let start = Instant::now();
        let mut sensor = ProcessCpu::default();
        let mut percent = |wall_ms: u64, used_ms: u64| {
            let now = start + Duration::from_millis(wall_ms);
            sensor.percent(now, Duration::from_millis(used_ms)).map_err(|reason| reason.to_string())
        };
        assert_eq!(percent(0, 1000), Err("rates need a second reading".to_owned()));
        assert_eq!(percent(100, 1250), Ok(250.0));
        assert_eq!(percent(100, 1250), Err("the two readings are too close together for a rate".to_owned()));
        let backwards = "a counter of the kernel went backwards between the two readings";
        assert_eq!(percent(300, 1000), Err(backwards.to_owned()));
        assert_eq!(percent(500, 1100), Ok(50.0));
    }
}
