//! Gives the events of a plane to the sink, once their names are known.

use hashbrown::HashMap;
use stepscope_model::warning::{AGGREGATED_EVENT, BAD_TIME, BROKEN_EVENT, MISSING_METADATA, NEGATIVE_DURATION};
use stepscope_model::{Kind, Phase};

use super::Teller;
use super::arguments::Arguments;
use super::details;
use super::kinds::{DeviceStats, HostName, HostStats, LineRole, PlaneRole, Span};
use super::metadata::{EventKind, Faults, Metadata, Stat};
use super::names::{Known, NameId, Names};
use super::plane::{Line, Plane, RawEvent};
use super::tracks::Tracks;
use crate::error::FormatError;
use crate::event::{Args, Event, Time, Value};
use crate::memory::MemoryChange;

/// A timestamp below this is relative to the start of the recording: as one of the epoch it would be of 1973.
const EPOCH_NS: i64 = 100_000_000_000_000_000;

/// What delivering planes needs and finds out.
pub(super) struct Delivery {
    names: Names,
    arguments: Arguments,
    pub tracks: Tracks,
    /// No timestamp so far is one of the epoch.
    pub times_are_relative: bool,
}

/// A kind of event, with what its name says.
struct KnownKind<'m> {
    kind: &'m EventKind,
    says: HostName,
    stat_names: Vec<NameId>,
}

/// Where the events of a line are.
struct Lane<'l> {
    line: &'l Line,
    role: LineRole,
    track: u32,
    /// Multiprocessors of the device.
    cores: Option<i64>,
}

impl Delivery {
    pub(super) fn new() -> Self {
        Self {
            names: Names::new(),
            arguments: Arguments::default(),
            tracks: Tracks::default(),
            times_are_relative: true,
        }
    }

    /// Gives every event of a plane.
    pub(super) fn plane(&mut self, plane: &mut Plane, teller: &mut Teller<'_>) -> Result<(), FormatError> {
        let (plane_name, lines, metadata, mut events) = plane.parts()?;
        let role = PlaneRole::of(plane_name);
        self.names.enter_plane(metadata);
        self.tracks.enter_plane(plane_name, &role, metadata);
        let kinds: HashMap<i64, KnownKind<'_>> = metadata
            .event_kinds
            .iter()
            .map(|(&id, kind)| {
                let stat_names = kind.stats.iter().map(|stat| self.names.of_stat(stat.key)).collect();
                (id, KnownKind { kind, says: HostName::of(&kind.name), stat_names })
            })
            .collect();
        let cores = metadata.of_plane("core_count").and_then(super::metadata::StatValue::as_i64);
        for line in lines {
            let track = self.tracks.of_line(line, teller.sink);
            self.times_are_relative &= line.events == 0 || line.timestamp_ns < EPOCH_NS;
            let lane = Lane { line, role: LineRole::of(&role, &line.name), track, cores };
            events.of_line(line, |bytes| {
                self.event(bytes, &lane, metadata, &kinds, teller);
                teller.progress(line.offset_bytes)
            })?;
        }
        Ok(())
    }

    fn event(
        &mut self,
        bytes: &[u8],
        lane: &Lane<'_>,
        metadata: &Metadata,
        kinds: &HashMap<i64, KnownKind<'_>>,
        teller: &mut Teller<'_>,
    ) {
        let offset_bytes = lane.line.offset_bytes;
        let mut faults = Faults::default();
        self.arguments.clear();
        // Stats of the event win over those of its kind, so they come last; the kind is known when the event is read.
        let Ok(raw) = RawEvent::read(bytes, |_| {}) else {
            return teller.lose(BROKEN_EVENT, offset_bytes, "");
        };
        let known = kinds.get(&raw.metadata);
        if let Some(known) = known {
            for (stat, &name) in known.kind.stats.iter().zip(&known.stat_names) {
                self.arguments.put_stat(name, &stat.value);
            }
        } else {
            teller.warn(MISSING_METADATA, offset_bytes, &raw.metadata.to_string());
        }
        let _ = RawEvent::read(bytes, |stat| {
            let stat = Stat::read(stat, teller.limits.max_string_bytes, &mut faults);
            let name = self.names.of_stat(stat.key);
            self.arguments.put_stat(name, &stat.value);
        });
        if faults.any() {
            teller.faults(faults, offset_bytes);
        }
        if raw.occurrences.is_some() {
            return teller.lose(AGGREGATED_EVENT, offset_bytes, "");
        }
        if raw.duration_ps < 0 {
            return teller.lose(NEGATIVE_DURATION, offset_bytes, &format!("{} ps", raw.duration_ps));
        }
        let Some((start_ns, end_ns)) = times(lane.line.timestamp_ns, &raw) else {
            return teller.lose(BAD_TIME, offset_bytes, "out of range");
        };
        let name = known.map_or("", |known| known.kind.name.as_str());
        let says = known.map_or(HostName::Other, |known| known.says);
        match (lane.role, says) {
            (LineRole::Thread, HostName::Allocation) => self.memory(lane, metadata, start_ns, true, teller),
            (LineRole::Thread, HostName::Deallocation) => self.memory(lane, metadata, start_ns, false, teller),
            (LineRole::Counters, _) => self.counter(lane, metadata, start_ns, name, teller),
            _ => {
                let short = known.map(|known| known.kind.display_name.as_str()).filter(|name| !name.is_empty());
                let span = self.span(lane, name, short.unwrap_or(name), says, metadata);
                if short.is_some() && matches!(lane.role, LineRole::Work { .. }) {
                    self.arguments.put_text(Known::LongName, name);
                }
                self.tell_span(lane, metadata, (start_ns, end_ns), span, known.is_some(), teller);
            }
        }
    }

    /// What an event is as a span.
    fn span<'n>(
        &self,
        lane: &Lane<'_>,
        name: &'n str,
        short: &'n str,
        says: HostName,
        metadata: &Metadata,
    ) -> Span<'n> {
        let arguments = &self.arguments;
        match lane.role {
            LineRole::Thread => {
                let has = HostStats {
                    correlation: arguments.has(Known::Correlation),
                    step_number: arguments.has(Known::StepNumber),
                    input_stage: arguments.has(Known::InputStage),
                    hlo_op: arguments.has(Known::HloOp),
                };
                Span::on_host(name, says, has)
            }
            LineRole::Counters | LineRole::Other => Span::other(name),
            role => {
                let category = || arguments.text(Known::HloCategory, metadata);
                let has = DeviceStats {
                    correlation: arguments.has(Known::Correlation),
                    kernel_details: arguments.has(Known::KernelDetails),
                    copy_details: arguments.has(Known::CopyDetails),
                    fill_details: arguments.has(Known::FillDetails) || arguments.has(Known::OldFillDetails),
                    copies: matches!(role, LineRole::Work { is_async: true })
                        && category().is_some_and(|category| category.starts_with("copy")),
                };
                Span::on_device(role, &lane.line.name, name, short, has)
            }
        }
    }

    fn tell_span(
        &mut self,
        lane: &Lane<'_>,
        metadata: &Metadata,
        (start_ns, end_ns): (i64, i64),
        span: Span<'_>,
        has_name: bool,
        teller: &mut Teller<'_>,
    ) {
        if span.kind.is_device() {
            self.device_arguments(span.kind, lane, metadata);
        }
        if let Some(path) = span.framework_op {
            self.arguments.put_text(Known::FrameworkOp, path);
        }
        let shape = self.arguments.shape();
        let arguments = self.arguments.lazy(&self.names, metadata);
        teller.tell(Event {
            offset_bytes: lane.line.offset_bytes,
            category: Value::Text(span.category.into()),
            kind: Some(span.kind),
            name: if has_name { Value::Text(span.name.into()) } else { Value::Missing },
            start: Time::of_ns(start_ns),
            dur: Time::of_ns(end_ns - start_ns),
            track: Some(lane.track),
            args: Args::from_lazy(&arguments),
            shape: Some(shape),
            ..Event::of_phase(Phase::Complete)
        });
    }

    /// What device work says about itself, by the names that all formats use.
    fn device_arguments(&mut self, kind: Kind, lane: &Lane<'_>, metadata: &Metadata) {
        let arguments = &mut self.arguments;
        if kind == Kind::Kernel {
            details::kernel(arguments, metadata, lane.cores);
        } else {
            details::copy(arguments, metadata);
        }
        details::framework_op(arguments, metadata);
        let own = arguments.integer(Known::DeviceOffset).zip(arguments.integer(Known::DeviceDuration));
        if let (LineRole::Work { .. }, Some((offset_ps, duration_ps))) = (lane.role, own)
            && let Some(end_ps) = offset_ps.checked_add(duration_ps)
        {
            let start_ns = offset_ps.div_euclid(1000);
            arguments.remove(Known::DeviceOffset);
            arguments.remove(Known::DeviceDuration);
            arguments.put_number(Known::DeviceStart, start_ns);
            arguments.put_number(Known::DeviceLength, end_ps.div_euclid(1000) - start_ns);
        }
    }

    fn memory(
        &mut self,
        lane: &Lane<'_>,
        metadata: &Metadata,
        ts_ns: i64,
        is_allocation: bool,
        teller: &mut Teller<'_>,
    ) {
        let arguments = &mut self.arguments;
        let allocator = arguments.text(Known::Allocator, metadata).filter(|name| !name.is_empty()).map(str::to_owned);
        let number = || arguments.number(Known::DeviceOrdinal).or_else(|| arguments.number(Known::IndexOnHost));
        let allocator = allocator.or_else(|| number().map(str::to_owned)).unwrap_or_default();
        let size_bytes = arguments.integer(Known::AllocationBytes);
        let size_bytes = if is_allocation { size_bytes } else { size_bytes.and_then(i64::checked_neg) };
        let totals = [Known::BytesReserved, Known::BytesAllocated].map(|key| arguments.integer(key));
        let total_allocated_bytes = match totals {
            [None, None] => None,
            [reserved, allocated] => reserved.unwrap_or(0).checked_add(allocated.unwrap_or(0)),
        };
        let address = arguments.number(Known::Address).and_then(address);
        for key in [Known::Allocator, Known::AllocationBytes, Known::Address] {
            arguments.remove(key);
        }
        let (device_type, device_id) = device_of_allocator(&allocator);
        let arguments = arguments.lazy(&self.names, metadata);
        teller.tell_memory(MemoryChange {
            position: 0,
            offset_bytes: lane.line.offset_bytes,
            track: lane.track,
            ts_ns: Some(ts_ns),
            action: Some(if is_allocation { "alloc" } else { "free" }),
            size_bytes,
            address,
            device_type,
            device_id,
            total_allocated_bytes,
            allocator: Some(&allocator),
            stream_id: None,
            stack: None,
            category: None,
            args: Args::from_lazy(&arguments),
        });
    }

    fn counter(&mut self, lane: &Lane<'_>, metadata: &Metadata, ts_ns: i64, name: &str, teller: &mut Teller<'_>) {
        if let Some(value) = self.arguments.number(Known::CounterValue).map(str::to_owned) {
            self.arguments.clear();
            self.arguments.put_number(Known::CounterValue, value);
        }
        let arguments = self.arguments.lazy(&self.names, metadata);
        teller.tell(Event {
            offset_bytes: lane.line.offset_bytes,
            name: Value::Text(name.into()),
            start: Time::of_ns(ts_ns),
            track: Some(lane.track),
            args: Args::from_lazy(&arguments),
            ..Event::of_phase(Phase::Counter)
        });
    }
}

/// Start and end. Both are rounded alike, so that what nested still nests.
fn times(timestamp_ns: i64, event: &RawEvent) -> Option<(i64, i64)> {
    let end_ps = event.offset_ps.checked_add(event.duration_ps)?;
    let at = |ps: i64| timestamp_ns.checked_add(ps.div_euclid(1000));
    Some((at(event.offset_ps)?, at(end_ps)?))
}

/// An address, which may be written as a signed or an unsigned number.
fn address(digits: &str) -> Option<u64> {
    digits.parse().ok().or_else(|| digits.parse().ok().map(i64::cast_unsigned))
}

/// Type and number of the device that an allocator belongs to.
fn device_of_allocator(allocator: &str) -> (Option<i64>, Option<i64>) {
    const HOST: i64 = 0;
    const GPU: i64 = 1;
    const XLA: i64 = 9;
    let gpu = allocator.strip_prefix("GPU_").and_then(|rest| rest.split('_').next());
    if let Some(number) = gpu.and_then(|number| number.parse().ok()) {
        (Some(GPU), Some(number))
    } else if allocator.contains("host") || allocator.starts_with("cpu") {
        (Some(HOST), Some(0))
    } else {
        // Accelerators of XLA number their allocators like themselves.
        allocator.parse().map_or((None, None), |number| (Some(XLA), Some(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_rounded_down() {
        let event = |offset_ps, duration_ps| RawEvent { offset_ps, duration_ps, ..RawEvent::default() };
        assert_eq!(times(10, &event(1999, 2)), Some((11, 12)));
        assert_eq!(times(10, &event(-1, 1)), Some((9, 10)));
        assert_eq!(times(10, &event(i64::MAX, 1)), None);
        assert_eq!(times(i64::MAX, &event(1000, 1)), None);
    }

    #[test]
    fn allocators_name_their_device() {
        assert_eq!(device_of_allocator("GPU_4_bfc"), (Some(1), Some(4)));
        assert_eq!(device_of_allocator("gpu_host_bfc"), (Some(0), Some(0)));
        assert_eq!(device_of_allocator("cpu"), (Some(0), Some(0)));
        assert_eq!(device_of_allocator("2"), (Some(9), Some(2)));
        assert_eq!(device_of_allocator("mystery"), (None, None));
    }
}
