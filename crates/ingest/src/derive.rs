//! The first walk over the spans of a source: who encloses whom, and everything that is joined from it.

mod device_marks;
pub(crate) mod evidence;
mod forward;
mod function_runs;
mod graph;
pub(crate) mod health;
pub(crate) mod launches;
pub(crate) mod link;
mod mark;
pub(crate) mod memory_level;
pub(crate) mod nest;
mod points;
pub(crate) mod steps;
pub(crate) mod stream;
pub(crate) mod work_time;

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_model::{Kind, Phase};

use self::forward::{ForwardInputs, ForwardRow};
use self::health::{Facts, Figure, HealthInputs};
use self::link::{LinkInputs, Links};
use self::memory_level::LevelsByDevice;
use self::nest::Nest;
use self::points::{Holder, Points};
use self::steps::{StepInputs, Steps};
use self::stream::{Span, SpanStream};
use self::work_time::{WorkTime, WorkTimeInputs};
use crate::collect::record::{FlowHead, MemoryHead, MomentKey, TrackId};
use crate::collect::tracks::Tracks;
use crate::error::IngestError;
use crate::source::ReadTrace;
use crate::spill::late::LateColumn;
use crate::spill::row::Field;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Reader, Sorted};
use crate::spill::strings::Strings;
use crate::watch::Watch;
use crate::write::Tables;
use crate::write::collectives::{OwnerId, owners};
use crate::write::rows::Rows;

/// What is derived about the spans and cannot be told from the ones before them.
pub(crate) struct Derivation {
    pub self_ns: LateColumn,
    /// Of device work that nests.
    pub work_times: Sorted<WorkTime>,
    pub links: Links,
    pub forwards: Sorted<ForwardRow>,
    pub steps: Steps,
    /// Spans that issued the launch of a communication kernel.
    pub communication_issuers: Sorted<OwnerId>,
    pub health: BTreeMap<String, Figure>,
    /// Some time is no whole number of microseconds.
    pub has_nanoseconds: bool,
}

/// Walks over the spans. Writes on the way what has nothing to wait for: ends of arrows, memory events, counters.
pub(crate) fn derive(
    trace: &mut ReadTrace,
    tables: &mut Tables<'_>,
    watch: &mut Watch<'_>,
) -> Result<Derivation, IngestError> {
    let base = trace.header.base_time_ns;
    let levels = std::mem::take(&mut trace.levels);
    let ReadTrace { strings, tracks, counts, scratch, header, .. } = trace;
    let mut walk = Walk::new(scratch, levels, base);
    let mut flows = Moments::new(&trace.flows, base, tables.flow_rows(strings)?)?;
    let mut memory = Moments::new(&trace.memory, base, tables.memory_rows(strings)?)?;
    let mut counters = Moments::new(&trace.counters, base, tables.counter_rows(strings)?)?;
    counters.until(None, |moment, bytes, rows| {
        tracks.list[moment.track as usize].cover(moment.ts, moment.ts);
        Tables::counter(rows, &moment, bytes)
    })?;
    counters.rows.finish()?;

    let mut stream = SpanStream::new(&trace.spans, base)?;
    loop {
        let span = stream.next()?;
        let before = span.map(|span| (span.key.track, span.key.start));
        flows.until(before, |moment, bytes, rows| walk.flow(&moment, bytes, tracks, rows))?;
        memory.until(before, |moment, bytes, rows| walk.memory(&moment, bytes, (tracks, strings), rows))?;
        let Some(span) = span else { break };
        walk.span(&span, strings, tracks)?;
        watch.tick()?;
    }
    walk.nest.end_all();
    walk.keep_self_times()?;
    flows.rows.finish()?;
    memory.rows.finish()?;

    let work_times = walk.work_times.nest()?;
    let links = walk.links.link()?;
    let communication_issuers = owners(&links, scratch)?;
    let forwards = walk.forwards.link(counts)?;
    let steps = walk.steps.find(&links.rows, header)?;
    let facts = Facts { counts, links: &links, steps: &steps, crossing: walk.nest.crossing, notes: &trace.notes };
    let health = walk.health.figures(&facts)?;
    let (self_ns, has_nanoseconds) = (walk.self_ns, walk.has_nanoseconds);
    Ok(Derivation { self_ns, work_times, links, forwards, steps, communication_issuers, health, has_nanoseconds })
}

struct Walk {
    nest: Nest,
    points: Points,
    self_ns: LateColumn,
    work_times: WorkTimeInputs,
    links: LinkInputs,
    forwards: ForwardInputs,
    steps: StepInputs,
    health: HealthInputs,
    has_nanoseconds: bool,
    /// How much memory is in use, where a snapshot says it.
    levels: LevelsByDevice,
    base_time_ns: i64,
}

impl Walk {
    fn new(scratch: &Arc<Scratch>, levels: LevelsByDevice, base_time_ns: i64) -> Self {
        Self {
            levels,
            base_time_ns,
            nest: Nest::default(),
            points: Points::default(),
            self_ns: LateColumn::new(scratch),
            work_times: WorkTimeInputs::new(scratch),
            links: LinkInputs::new(scratch),
            forwards: ForwardInputs::new(scratch),
            steps: StepInputs::default(),
            health: HealthInputs::new(scratch),
            has_nanoseconds: false,
        }
    }

    fn span(&mut self, span: &Span<'_>, strings: &Strings, tracks: &mut Tracks) -> Result<(), IngestError> {
        let (key, head) = (&span.key, &span.record.head);
        let is_told = tracks.list[key.track as usize].told.is_some();
        let nested = self.nest.push(&span.for_nest(tracks.work_nests(key.track), is_told));
        self.keep_self_times()?;
        let operator = if head.kind == Kind::Op { Some(span.id) } else { nested.parent_op };
        self.points.push(key.track, key.start, head.kind, Holder { id: span.id, end: key.end(), operator });
        let track = &mut tracks.list[key.track as usize];
        track.spans += 1;
        track.lanes.cover(head.kind, nested.depth);
        track.cover(key.start, key.end());
        self.has_nanoseconds |= head.phase == Phase::Complete && (key.start % 1000 != 0 || key.dur() % 1000 != 0);
        self.links.add(span, &nested, is_told)?;
        self.forwards.add_span(span)?;
        self.steps.add(span, &nested, &tracks.list[key.track as usize], strings);
        if head.kind.is_device() && tracks.work_nests(key.track) {
            self.work_times.add(span)?;
        }
        self.health.add(span)
    }

    fn keep_self_times(&mut self) -> Result<(), IngestError> {
        for (id, self_ns) in self.nest.ended.drain(..) {
            self.self_ns.set(id, self_ns)?;
        }
        Ok(())
    }

    fn flow(
        &mut self,
        moment: &MomentKey,
        bytes: &[u8],
        tracks: &mut Tracks,
        rows: &mut Rows<'_>,
    ) -> Result<(), IngestError> {
        let mut texts = bytes;
        let flow = FlowHead::take(&mut texts);
        let holder = self.points.span_at(moment.track, moment.ts);
        self.forwards.add_flow(moment.position, &flow, holder.and_then(|holder| holder.operator))?;
        tracks.list[moment.track as usize].cover(moment.ts, moment.ts);
        Tables::flow(rows, moment, &flow, texts, holder.map(|holder| holder.id))
    }

    fn memory(
        &mut self,
        moment: &MomentKey,
        bytes: &[u8],
        (tracks, strings): (&mut Tracks, &Strings),
        rows: &mut Rows<'_>,
    ) -> Result<(), IngestError> {
        let mut texts = bytes;
        let mut event = MemoryHead::take(&mut texts);
        let holder = self.points.operator_at(moment.track, moment.ts);
        if let Some(ts) = event.ts_ns {
            tracks.list[moment.track as usize].cover(ts + self.base_time_ns, ts + self.base_time_ns);
        }
        if let (true, Some(device), Some(action)) = (tracks.keeps_order(moment.track), event.device_id, event.action) {
            let action = strings.resolve(action, texts);
            if let Some(levels) = self.levels.after(device, action, event.size_bytes.unwrap_or(0)) {
                event.total_allocated_bytes = Some(levels.allocated_bytes);
                event.total_reserved_bytes = Some(levels.reserved_bytes);
                event.active_bytes = Some(levels.active_bytes);
            }
        }
        Tables::memory_event(rows, moment, &event, texts, (holder.map(|holder| holder.id), self.base_time_ns))
    }
}

/// Moments in the order of the spans, and the rows they become.
struct Moments<'a> {
    reader: Reader<'a, MomentKey>,
    base_time_ns: i64,
    rows: Rows<'a>,
}

impl<'a> Moments<'a> {
    fn new(moments: &'a Sorted<MomentKey>, base_time_ns: i64, rows: Rows<'a>) -> Result<Self, IngestError> {
        Ok(Self { reader: moments.reader()?, base_time_ns, rows })
    }

    /// Takes every moment before a place on a track; all that are left, without one.
    #[inline]
    fn until(
        &mut self,
        before: Option<(TrackId, i64)>,
        mut take: impl FnMut(MomentKey, &[u8], &mut Rows<'a>) -> Result<(), IngestError>,
    ) -> Result<(), IngestError> {
        while let Some(next) = self.reader.peek()? {
            if before.is_some_and(|before| (next.track, next.ts + self.base_time_ns) >= before) {
                break;
            }
            let Some((key, bytes)) = self.reader.next()? else { break };
            take(MomentKey { ts: key.ts + self.base_time_ns, ..key }, bytes, &mut self.rows)?;
        }
        Ok(())
    }
}
