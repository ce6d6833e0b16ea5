//! Packs that come in by and by, in no order.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use stepscope_objects::Bucket;
use stepscope_store::pack::Depth;
use stepscope_testkit::{Random, TinySource};

use super::{RUN, Wanted};

/// Ranks of a window.
const RANKS: u32 = 25;

/// Of so many packs one comes in both depths, and of so many one contradicts another.
const IN_BOTH_DEPTHS: u32 = 20;
const IN_CONFLICT: u32 = 50;

/// What is uploaded, in this order.
pub(super) struct Feed {
    packs: Vec<(TinySource, Depth)>,
    recordings: u64,
    random: Random,
}

impl Feed {
    pub(super) fn new(wanted: Wanted) -> Self {
        let mut random = Random::new(wanted.seed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let (mut packs, mut recordings, mut place) = (Vec::new(), 0, 0..);
        for number in 0..wanted.packs {
            // A pack that repeats another one is one of those that were asked for.
            let previous = packs.last().map(|(source, _): &(TinySource, Depth)| source.clone());
            let (source, depth) = match previous {
                Some(source) if number % IN_BOTH_DEPTHS == 1 => (source, Depth::Full),
                Some(source) if number % IN_CONFLICT == 2 => (TinySource { seed: 1, ..source }, Depth::Sums),
                _ => {
                    let place: u32 = place.next().unwrap_or_default();
                    (TinySource::new(place % RANKS, place / RANKS, RANKS, now_ns), Depth::Sums)
                }
            };
            recordings += u64::from(depth == Depth::Sums);
            packs.push((source, depth));
        }
        for last in (1..packs.len()).rev() {
            packs.swap(last, random.below(last + 1));
        }
        Self { packs, recordings, random }
    }

    /// Uploads all; how many recordings they are of.
    pub(super) fn upload(mut self, bucket: &Bucket) -> Result<u64> {
        for (source, depth) in &self.packs {
            let (name, bytes) = source.pack(RUN, *depth)?;
            bucket.put_new(&name.object_key(RUN), bytes)?;
            thread::sleep(Duration::from_millis(self.random.below(4) as u64));
        }
        Ok(self.recordings)
    }
}
