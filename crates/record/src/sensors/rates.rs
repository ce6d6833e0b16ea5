//! Growth of counters between two readings.

use std::time::{Duration, Instant};

use super::NotMeasured;

/// Counters by the name of the device.
pub(super) type Counters<const N: usize> = Vec<(String, [u64; N])>;

/// Counters of several devices, to be compared with the next reading.
#[derive(Default)]
pub(super) struct DeviceCounters<const N: usize> {
    before: Option<(Instant, Counters<N>)>,
}

/// What the devices counted that are in both readings.
pub(super) struct Growth<const N: usize> {
    /// Time between the two readings.
    pub(super) elapsed: Duration,
    /// The counters of each device, before and now.
    pub(super) devices: Vec<([u64; N], [u64; N])>,
}

impl<const N: usize> DeviceCounters<N> {
    /// Takes in a reading and compares it with the one before.
    pub(super) fn grow(&mut self, now: Instant, counters: Counters<N>) -> Result<Growth<N>, NotMeasured> {
        let growth = match &self.before {
            Some((then, before)) => Growth::between(*then, before, now, &counters),
            None => Err(second_reading_needed()),
        };
        self.before = Some((now, counters));
        growth
    }
}

impl<const N: usize> Growth<N> {
    fn between(
        then: Instant,
        before: &[(String, [u64; N])],
        now: Instant,
        counters: &[(String, [u64; N])],
    ) -> Result<Self, NotMeasured> {
        let devices = counters.iter().filter_map(|(name, counts)| {
            let (_, counts_before) = before.iter().find(|(other, _)| other == name)?;
            Some((*counts_before, *counts))
        });
        let devices: Vec<_> = devices.collect();
        if devices.is_empty() {
            return Err(NotMeasured::new("no device is in both readings, so the rate is not known"));
        }
        Ok(Self { elapsed: elapsed(then, now)?, devices })
    }

    /// What one of the counters grew by in a second, in all devices together.
    pub(super) fn per_second(&self, counter: usize) -> Result<f64, NotMeasured> {
        let mut sum = 0.0;
        for (before, now) in &self.devices {
            sum += now[counter].checked_sub(before[counter]).ok_or_else(went_backwards)? as f64;
        }
        Ok(sum / self.elapsed.as_secs_f64())
    }
}

/// The time between two readings, which must have passed.
pub(super) fn elapsed(then: Instant, now: Instant) -> Result<Duration, NotMeasured> {
    let elapsed = now.saturating_duration_since(then);
    if elapsed.is_zero() { Err(too_close()) } else { Ok(elapsed) }
}

/// Why the first reading has no rate.
pub(super) fn second_reading_needed() -> NotMeasured {
    NotMeasured::new("rates need a second reading")
}

/// Why two readings at almost the same time have no rate.
pub(super) fn too_close() -> NotMeasured {
    NotMeasured::new("the two readings are too close together for a rate")
}

/// Why there is no rate when a counter started anew.
pub(super) fn went_backwards() -> NotMeasured {
    NotMeasured::new("a counter of the kernel went backwards between the two readings")
}
