//! The curves along a timeline: memory in use, launches that wait for a device, and the counters of the trace.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use stepscope_analyses::launch_queue::{self, Queues};
use stepscope_engine::CancelFlag;
use stepscope_model::tables::{COUNTERS, LAUNCHES, MEMORY_EVENTS};
use stepscope_model::{SourceId, SourceRecord, Table, TimelineCurve, TimelineCurves, Unit};
use stepscope_runs::{Frame, RunError};

use super::{Timelines, condition, zero_of};

/// Stretches that a curve is kept in; of each stay at most four points.
const KEPT_COLUMNS: u32 = 1 << 16;
/// Counters that are drawn at most: enough for everything that is read of a machine with eight GPUs.
const MOST_COUNTERS: usize = 64;

/// Which part of the curves.
#[derive(Clone, Copy, Debug)]
pub struct CurveRange {
    /// The value at this time is the first.
    pub from_ns: i64,
    /// What changes at this time or later is left out.
    pub to_ns: i64,
    /// Pixels that there are for it.
    pub width: u32,
}

/// The curves of the recording that was asked for last: to know them takes a walk over all changes.
#[derive(Debug, Default)]
pub(crate) struct CurveCache(Mutex<Option<(SourceId, Arc<TimelineCurves>)>>);

impl Timelines {
    /// The curves of a recording. Where more changes than a screen can show, of each pixel stay the first, the lowest,
    /// the highest and the last value, which draw the same.
    pub fn curves(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        range: CurveRange,
        cancel: &CancelFlag,
    ) -> Result<TimelineCurves, RunError> {
        let source = self.run.source(rank, window)?;
        let whole = self.whole_curves(source, cancel)?;
        // Nothing lies outside the recording, however far a screen shows.
        let end = source.last_event_ns.map_or(0, |last| last - zero_of(source));
        let range = CurveRange { from_ns: range.from_ns.max(0), to_ns: range.to_ns.min(end + 1), ..range };
        let part = |curve: &TimelineCurve| TimelineCurve {
            kind: curve.kind.clone(),
            name: curve.name.clone(),
            place: curve.place.clone(),
            points: cut(&curve.points, range),
            ..*curve
        };
        Ok(TimelineCurves { curves: whole.curves.iter().map(part).collect(), ..*whole })
    }

    fn whole_curves(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Arc<TimelineCurves>, RunError> {
        let known = || self.curves.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, curves)) = known().as_ref()
            && *id == source.id
        {
            return Ok(Arc::clone(curves));
        }
        let has = |table: &Table| source.rows.of(table) > 0;
        let mut curves = Vec::new();
        if has(&MEMORY_EVENTS) {
            curves.extend(self.memory_curves(source, cancel)?);
        }
        if has(&LAUNCHES) {
            curves.extend(self.queue_curves(source, cancel)?);
        }
        let mut counters_left_out = 0;
        if has(&COUNTERS) {
            let mut counters = self.counter_curves(source, cancel)?;
            if counters.len() > MOST_COUNTERS {
                counters_left_out = counters.len() - MOST_COUNTERS;
                // Those that never change say least.
                counters.sort_by_key(|curve| {
                    curve.points.iter().all(|(_, value)| value.total_cmp(&curve.points[0].1).is_eq())
                });
                counters.truncate(MOST_COUNTERS);
            }
            curves.extend(counters);
        }
        let zero = zero_of(source);
        let end = source.last_event_ns.map_or(0, |last| last - zero) + 1;
        for curve in &mut curves {
            curve.most = curve.points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
            curve.points.iter_mut().for_each(|(time, _)| *time -= zero);
            curve.points = cut(&curve.points, CurveRange { from_ns: 0, to_ns: end, width: KEPT_COLUMNS });
        }
        let curves = Arc::new(TimelineCurves { curves, counters_left_out });
        *known() = Some((source.id, Arc::clone(&curves)));
        Ok(curves)
    }

    /// What is in use on each device, or by how much it grew where that is all that is known.
    fn memory_curves(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Vec<TimelineCurve>, RunError> {
        let frame = Frame::new(self.run.ask(
            &format!(
                "SELECT device, ts_ns, total_allocated_bytes, level_bytes FROM memory_curve WHERE {}
                 ORDER BY device, ts_ns, event_index, position",
                condition(source)
            ),
            cancel,
        )?);
        let (times, totals) = (frame.required_i64("ts_ns")?, frame.i64("total_allocated_bytes")?);
        let levels = frame.required_i64("level_bytes")?;
        let devices: Vec<String> = frame.text("device")?.into_iter().flatten().collect();
        let mut curves = Vec::new();
        for rows in runs(&devices) {
            let is_absolute = totals[rows.clone()].iter().all(Option::is_some);
            let place = devices[rows.start].clone();
            let value = |row: usize| totals[row].filter(|_| is_absolute).unwrap_or(levels[row]) as f64;
            curves.push(TimelineCurve {
                kind: "memory".to_owned(),
                name: if is_absolute { "memory allocated" } else { "memory growth" }.to_owned(),
                device: place.strip_prefix("gpu").and_then(|number| number.parse().ok()),
                place,
                unit: Unit::Bytes,
                most: 0.0,
                points: rows.map(|row| (times[row], value(row))).collect(),
            });
        }
        Ok(curves)
    }

    /// Launches that wait, for the busiest stream of each device.
    fn queue_curves(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Vec<TimelineCurve>, RunError> {
        let mut queues = Queues::default();
        queues.take(&Frame::new(self.run.ask(&launch_queue::statement(&condition(source)), cancel)?))?;
        let mut curves: Vec<TimelineCurve> = Vec::new();
        for (place, levels) in queues.levels() {
            let busiest = curves.iter_mut().find(|curve| curve.device == place.device);
            if busiest.as_ref().is_some_and(|curve| curve.points.len() >= levels.len()) {
                continue;
            }
            let curve = TimelineCurve {
                kind: "queue".to_owned(),
                name: "launch queue".to_owned(),
                place: place.stream.map_or_else(String::new, |stream| format!("stream {stream}")),
                device: place.device,
                unit: Unit::Plain,
                most: 0.0,
                points: levels.into_iter().map(|(time, waiting)| (time, waiting as f64)).collect(),
            };
            match busiest {
                Some(less_busy) => *less_busy = curve,
                None => curves.push(curve),
            }
        }
        Ok(curves)
    }

    /// Counters as the trace names them; an event may tell several values.
    fn counter_curves(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Vec<TimelineCurve>, RunError> {
        let frame = Frame::new(self.run.ask(
            &format!(
                "SELECT name, series, track_id, ts_ns, value, args FROM counters
                 WHERE {} AND coalesce(args, series) IS NOT NULL ORDER BY ts_ns, position",
                condition(source)
            ),
            cancel,
        )?);
        let (names, series, args) = (frame.text("name")?, frame.text("series")?, frame.text("args")?);
        let (tracks, times, values) =
            (frame.required_i64("track_id")?, frame.required_i64("ts_ns")?, frame.f64("value")?);
        let mut by_place: BTreeMap<(String, String, i64), Vec<(i64, f64)>> = BTreeMap::new();
        for (row, name) in names.into_iter().enumerate() {
            let name = name.unwrap_or_default();
            let told = series[row].clone().zip(values[row]).into_iter();
            let several = args[row].as_deref().map(numbers_of).unwrap_or_default();
            for (series, value) in told.chain(several) {
                by_place.entry((name.clone(), series, tracks[row])).or_default().push((times[row], value));
            }
        }
        let processes = self.processes(source, cancel)?;
        let places: Vec<_> = by_place.into_iter().collect();
        let mut curves = Vec::new();
        for same_name in places.chunk_by(|(a, _), (b, _)| a.0 == b.0) {
            let (name, first_series, first_track) = &same_name[0].0;
            let has_several_series = same_name.iter().any(|(place, _)| place.1 != *first_series);
            let has_several_tracks = same_name.iter().any(|(place, _)| place.2 != *first_track);
            for ((_, series, track), points) in same_name {
                let process = processes.get(track).filter(|_| has_several_tracks);
                let series_of = has_several_series.then(|| series.clone());
                let place: Vec<String> =
                    series_of.into_iter().chain(process.map(|process| format!("process {process}"))).collect();
                curves.push(TimelineCurve {
                    kind: "counter".to_owned(),
                    name: if name.is_empty() { series.clone() } else { name.clone() },
                    place: place.join(", "),
                    device: None,
                    unit: Unit::of_name(name),
                    most: 0.0,
                    points: points.clone(),
                });
            }
        }
        Ok(curves)
    }

    /// The process of each track.
    fn processes(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<HashMap<i64, String>, RunError> {
        let statement = format!("SELECT track_id, process FROM tracks WHERE {}", condition(source));
        let frame = Frame::new(self.run.ask(&statement, cancel)?);
        let tracks = frame.required_i64("track_id")?.into_iter().zip(frame.text("process")?);
        Ok(tracks.filter_map(|(track, process)| Some((track, process?))).collect())
    }
}

/// The numbers of a JSON object, by name.
fn numbers_of(args: &str) -> Vec<(String, f64)> {
    let args: serde_json::Map<String, Json> = serde_json::from_str(args).unwrap_or_default();
    args.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()
}

/// The stretches of equal neighbors.
fn runs<T: PartialEq>(keys: &[T]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let mut start = 0;
    keys.chunk_by(|a, b| a == b).map(move |run| {
        let begin = start;
        start += run.len();
        begin..start
    })
}

/// The part of a curve that a screen shows: from the value at the start, and no more points than draw the same.
fn cut(points: &[(i64, f64)], range: CurveRange) -> Vec<(i64, f64)> {
    let first = points.partition_point(|(time, _)| *time <= range.from_ns).saturating_sub(1);
    let last = points.partition_point(|(time, _)| *time < range.to_ns).max(first);
    let seen = &points[first..last];
    if seen.len() <= 4 * range.width as usize {
        return seen.to_vec();
    }
    let column_ns = (range.to_ns - range.from_ns) / i64::from(range.width.max(1)) + 1;
    let column = |(time, _): &(i64, f64)| (time - range.from_ns).div_euclid(column_ns);
    let mut kept = Vec::new();
    for points in seen.chunk_by(|a, b| column(a) == column(b)) {
        let by_value = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let lowest = (0..points.len()).min_by(by_value).unwrap_or(0);
        let highest = (0..points.len()).max_by(by_value).unwrap_or(0);
        let mut places = vec![0, lowest, highest, points.len() - 1];
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().map(|place| points[place]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_curve_keeps_its_ends_and_extremes() {
        let check = |points: &[(i64, f64)], (from_ns, to_ns, width): (i64, i64, u32), want: &[(i64, f64)]| {
            assert_eq!(cut(points, CurveRange { from_ns, to_ns, width }), want);
        };
        let few = [(0, 1.0), (10, 2.0), (20, 3.0)];
        check(&few, (0, 30, 1), &few);
        // The value at the start is that of the change before it.
        check(&few, (15, 20, 1), &few[1..2]);
        check(&few, (15, 21, 1), &few[1..]);
        check(&[], (0, 10, 1), &[]);
        let many: Vec<(i64, f64)> =
            [5.0, 9.0, 4.0, 1.0, 7.0, 6.0].into_iter().zip(0..).map(|(value, time)| (time, value)).collect();
        check(&many, (0, 6, 1), &[(0, 5.0), (1, 9.0), (3, 1.0), (5, 6.0)]);
    }
}
