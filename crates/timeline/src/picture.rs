//! A still picture of a stretch of a recording, for reports and notebooks.
//!
//! Which tracks and lanes it has follows the pages in the browser: processes before devices, the busiest tracks first,
//! quiet ones and Python frames left out.

use std::collections::BTreeMap;

use stepscope_engine::CancelFlag;
use stepscope_model::{PictureSpan, PictureTrack, SourceId, TimelinePicture, TimelineTrack};
use stepscope_runs::{Frame, RunError};

use super::{Timelines, TrackRange};

/// Lanes at most: of a whole picture, of the processes in it if there are devices too, and of one track.
const MOST_LANES: i64 = 36;
const MOST_LANES_BESIDE_DEVICES: i64 = 22;
const MOST_LANES_OF_TRACK: i64 = 8;
/// Tracks with fewer spans than this share of the busiest are left out, unless they are streams and few.
const QUIET_SHARE: f64 = 0.01;
const FEW_STREAMS: usize = 12;
/// Columns that a bucket takes; shorter spans are drawn together.
const BUCKET_COLUMNS: i64 = 2;

/// Which part of a recording, and for how many columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Start, from the first event of the recording.
    pub from_ns: i64,
    /// End.
    pub to_ns: i64,
    /// Columns to draw it with.
    pub columns: u32,
}

impl Timelines {
    /// A still picture of a stretch of a recording: what so many columns can show of it.
    pub fn picture(&self, id: SourceId, stretch: Stretch, cancel: &CancelFlag) -> Result<TimelinePicture, RunError> {
        let Stretch { from_ns, to_ns, columns } = stretch;
        let (rank, window) = (Some(id.rank), Some(id.window));
        let timeline = self.outline(rank, window, cancel)?;
        let asked = timeline.tracks.iter().filter(|track| touches(track, stretch)).count();
        let ordered = in_order(&timeline.tracks, stretch);
        let has_devices = ordered.iter().any(|track| track.kind == "stream");
        let mut tracks: Vec<PictureTrack> = Vec::new();
        for track in ordered {
            let is_beside = has_devices && track.kind != "stream";
            let most = if is_beside { MOST_LANES_BESIDE_DEVICES } else { MOST_LANES };
            let room = most - tracks.iter().map(|track| track.lanes).sum::<i64>();
            if room <= 0 {
                continue;
            }
            let range = TrackRange { track: track.track, from_ns, to_ns, width: columns };
            let frame = Frame::of_batch(self.track(rank, window, range, cancel)?);
            let drawn = drawn(track, read(&frame)?, stretch, room.min(MOST_LANES_OF_TRACK));
            if !drawn.spans.is_empty() {
                tracks.push(drawn);
            }
        }
        let steps = timeline.steps.into_iter().filter(|step| step.start_ns < to_ns && step.end_ns > from_ns).collect();
        let left_out = asked - tracks.len();
        Ok(TimelinePicture { from_ns, to_ns, zero_ns: timeline.zero_ns, columns, steps, tracks, left_out })
    }
}

fn touches(track: &TimelineTrack, stretch: Stretch) -> bool {
    track.spans > 0
        && track.first_ns.is_some_and(|first| first < stretch.to_ns)
        && track.last_ns.is_some_and(|last| last >= stretch.from_ns)
}

/// The tracks to draw: processes, then devices, as hosts launch what devices do; the busiest of each first.
fn in_order(tracks: &[TimelineTrack], stretch: Stretch) -> Vec<&TimelineTrack> {
    let busiest = tracks.iter().map(|track| track.spans).max().unwrap_or(0);
    let streams = tracks.iter().filter(|track| track.kind == "stream").count();
    let is_quiet = |track: &TimelineTrack| {
        (track.spans as f64) < busiest as f64 * QUIET_SHARE && (track.kind != "stream" || streams > FEW_STREAMS)
    };
    let mut weights: BTreeMap<(&str, Option<i64>), i64> = BTreeMap::new();
    for track in tracks {
        *weights.entry((&track.process, track.device)).or_default() += track.spans;
    }
    let mut kept: Vec<&TimelineTrack> =
        tracks.iter().filter(|track| touches(track, stretch) && !is_quiet(track)).collect();
    kept.sort_by_key(|track| {
        let weight = weights.get(&(track.process.as_str(), track.device)).copied().unwrap_or(0);
        (track.kind == "stream", track.device, -weight, track.kind == "async", -track.spans, track.track)
    });
    kept
}

/// The rows of a track, as [`Timelines::track`] gives them.
fn read(frame: &Frame) -> Result<Vec<PictureSpan>, RunError> {
    let integers = |name: &str| frame.required_i64(name);
    let (lanes, starts, lengths) = (integers("depth")?, integers("start_ns")?, integers("dur_ns")?);
    let (busy, counts) = (integers("busy_ns")?, integers("count")?);
    let texts = frame.text("class")?.into_iter().zip(frame.text("name")?);
    let spans = texts.enumerate().map(|(row, (class, name))| PictureSpan {
        lane: lanes[row],
        start_ns: starts[row],
        dur_ns: lengths[row],
        busy_ns: busy[row],
        count: counts[row],
        class: class.unwrap_or_default(),
        name: name.unwrap_or_default(),
    });
    Ok(spans.collect())
}

/// The lanes of a track that there is room for, without those of Python frames above its work.
fn drawn(track: &TimelineTrack, spans: Vec<PictureSpan>, stretch: Stretch, room: i64) -> PictureTrack {
    let python = spans.iter().take_while(|span| span.class == "python").map(|span| span.lane + 1).max().unwrap_or(0);
    let deepest = spans.iter().map(|span| span.lane + 1).max().unwrap_or(0);
    let first = if python < deepest { python } else { 0 };
    let lanes = (deepest - first).min(room);
    let kept = spans.into_iter().filter(|span| (first..first + lanes).contains(&span.lane));
    let kept = kept.map(|span| PictureSpan { lane: span.lane - first, ..span }).collect();
    PictureTrack { track: track.clone(), lanes, hidden_lanes: deepest - first - lanes, spans: merged(kept, stretch) }
}

/// Spans that are shorter than a bucket are one with those of their lane that start in the same one. One that is alone
/// in its bucket stays what it is.
fn merged(spans: Vec<PictureSpan>, stretch: Stretch) -> Vec<PictureSpan> {
    let shown_ns = (stretch.to_ns - stretch.from_ns).max(1);
    let bucket_ns = (shown_ns * BUCKET_COLUMNS / i64::from(stretch.columns.max(1))).max(1);
    let mut buckets: BTreeMap<(i64, i64), Vec<PictureSpan>> = BTreeMap::new();
    let mut merged = Vec::new();
    for span in spans {
        if span.dur_ns >= bucket_ns {
            merged.push(span);
        } else {
            buckets.entry((span.lane, (span.start_ns - stretch.from_ns) / bucket_ns)).or_default().push(span);
        }
    }
    merged.extend(buckets.into_values().filter_map(one_of));
    merged.sort_by(|a, b| (a.lane, a.start_ns, a.dur_ns, &a.name).cmp(&(b.lane, b.start_ns, b.dur_ns, &b.name)));
    merged
}

/// Several spans as one.
fn one_of(spans: Vec<PictureSpan>) -> Option<PictureSpan> {
    let start_ns = spans.iter().map(|span| span.start_ns).min()?;
    let end_ns = spans.iter().map(|span| span.start_ns + span.dur_ns).max()?;
    let busy_ns: i64 = spans.iter().map(|span| span.busy_ns).sum();
    let count = spans.iter().map(|span| span.count).sum();
    let mut by_class: BTreeMap<&str, i64> = BTreeMap::new();
    for span in &spans {
        *by_class.entry(&span.class).or_default() += span.busy_ns;
    }
    let (class, _) = by_class.into_iter().max_by_key(|(_, busy_ns)| *busy_ns)?;
    let class = class.to_owned();
    let longest = spans.into_iter().max_by_key(|span| span.busy_ns)?;
    let dur_ns = end_ns - start_ns;
    Some(PictureSpan { start_ns, dur_ns, busy_ns: busy_ns.min(dur_ns), count, class, ..longest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRETCH: Stretch = Stretch { from_ns: 0, to_ns: 1_000, columns: 100 };

    fn span(lane: i64, start_ns: i64, dur_ns: i64, class: &str, name: &str) -> PictureSpan {
        let (class, name) = (class.to_owned(), name.to_owned());
        PictureSpan { lane, start_ns, dur_ns, busy_ns: dur_ns, count: 1, class, name }
    }

    fn track(number: i64, kind: &str, process: &str, device: Option<i64>, spans: i64) -> TimelineTrack {
        TimelineTrack {
            track: number,
            kind: kind.to_owned(),
            process: process.to_owned(),
            name: String::new(),
            device,
            stream: None,
            spans,
            depth: 1,
            first_ns: Some(0),
            last_ns: Some(1_000),
        }
    }

    #[test]
    fn short_spans_that_lie_close_together_are_one() {
        let spans = vec![
            span(0, 0, 200, "cpu_exec", "long"),
            span(0, 201, 3, "cpu_exec", "a"),
            span(0, 206, 8, "runtime", "b"), // In the bucket of `a`, and longer.
            span(0, 500, 2, "cpu_exec", "alone"),
            span(1, 203, 4, "cpu_exec", "another lane"),
        ];
        let merged = merged(spans.clone(), STRETCH);
        let both = PictureSpan { count: 2, busy_ns: 11, ..span(0, 201, 13, "runtime", "b") };
        assert_eq!(merged, [spans[0].clone(), both, spans[3].clone(), spans[4].clone()]);
    }

    #[test]
    fn python_frames_and_lanes_without_room_are_left_out() {
        let spans: Vec<_> = ["python", "python", "cpu_exec", "cpu_exec", "runtime"]
            .into_iter()
            .enumerate()
            .map(|(lane, class)| span(lane as i64, 0, 900, class, "x"))
            .collect();
        let drawn = drawn(&track(1, "thread", "python", None, 5), spans, STRETCH, 2);
        assert_eq!((drawn.lanes, drawn.hidden_lanes), (2, 1));
        assert_eq!(drawn.spans.iter().map(|span| span.lane).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn only_python_frames_are_better_than_nothing() {
        let spans = vec![span(0, 0, 900, "python", "main")];
        assert_eq!(drawn(&track(1, "thread", "python", None, 1), spans, STRETCH, 8).lanes, 1);
    }

    #[test]
    fn processes_come_before_devices_and_the_busiest_first() {
        let tracks = [
            track(1, "stream", "GPU", Some(1), 900),
            track(2, "stream", "GPU", Some(0), 800),
            track(3, "thread", "python", None, 300),
            track(4, "thread", "python", None, 1_000),
            track(5, "thread", "python", None, 2), // Next to nothing.
            track(6, "stream", "GPU", Some(0), 1),
        ];
        let order: Vec<i64> = in_order(&tracks, STRETCH).into_iter().map(|track| track.track).collect();
        assert_eq!(order, [4, 3, 2, 6, 1]);
    }
}
