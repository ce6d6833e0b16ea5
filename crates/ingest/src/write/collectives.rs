//! The collectives of a rank: what each of them transfers, and for which group (metrics, section 14).
//!
//! What a kernel does not say itself, the spans around its launch may say. Kernels and those spans meet in the order of
//! the spans that issued the launches; then the kernels are put into the order of the launches and counted.

mod host;
mod kind;

pub use self::kind::bus_factor;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stepscope_model::args::SpanArgColumn;
use stepscope_model::null_reason::{COLLECTIVE_METADATA_NOT_RECORDED, UNKNOWN_DTYPE, argument_not_recorded};
use stepscope_model::tables::ALL_COLLECTIVES;
use stepscope_store::{SourceWriter, layout};

use self::host::HostCollectives;
use super::rows::Rows;
use crate::collect::header::ProcessGroup;
use crate::collect::names::NameFacts;
use crate::collect::record::{CellValue, SpanId, TrackId};
use crate::derive::link::{LinkRow, Links};
use crate::derive::stream::Span;
use crate::error::IngestError;
use crate::spill::row::row;
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};
use crate::spill::strings::Strings;

/// What the recording says about a collective.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Metadata {
    collective_name: String,
    process_group: Option<String>,
    process_group_ranks: Option<String>,
    group_size: Option<i64>,
    dtype: Option<String>,
    in_elements: Option<i64>,
    out_elements: Option<i64>,
}

/// A span around a launch that has metadata or is the call of a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Speaking {
    name: String,
    metadata: Option<Metadata>,
    input_dims: Option<String>,
    input_types: Option<String>,
}

/// A communication kernel, or a span on the host in its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kernel {
    name: String,
    metadata: Option<Metadata>,
    seq: Option<i64>,
    step: Option<u32>,
    start_ns: i64,
    dur_ns: i64,
    launch_ns: Option<i64>,
    span_id: u64,
    position: u64,
    device_id: Option<i64>,
    stream_id: Option<i64>,
}

row! {
    /// A kernel, or what is around launches, by the span that issued the launch; around comes first.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    ByOwner { owner: Option<SpanId>, is_kernel: bool, id: SpanId, }
}

row! {
    /// A kernel by its launch; by its own start if it was launched before the recording.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    ByLaunch { time: i64, position: u64, }
}

row! {
    /// A span that issued the launch of a communication kernel.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    OwnerId { id: SpanId, }
}

/// The spans that issued the launches of communication kernels, in the order of the table.
pub(crate) fn owners(links: &Links, scratch: &Arc<Scratch>) -> Result<Sorted<OwnerId>, IngestError> {
    let mut owners = Sorter::new(scratch);
    let mut rows = links.rows.reader()?;
    while let Some(row) = rows.next_key()? {
        if let (Some(_), Some(id)) = (row.comm_rule, row.owner) {
            owners.push(OwnerId { id })?;
        }
    }
    owners.finish()
}

/// The collectives of a source being put together.
pub(crate) struct Collectives {
    /// Spans around the current one that say something, outermost first, with their depth.
    around: Vec<(u32, Speaking)>,
    track: TrackId,
    met: Sorter<ByOwner>,
    on_host: HostCollectives,
    scratch: Arc<Scratch>,
}

impl Collectives {
    /// `groups` are the process groups of the rank, as the header lists them.
    pub(crate) fn new(groups: &[ProcessGroup], scratch: &Arc<Scratch>) -> Self {
        Self {
            around: Vec::new(),
            track: 0,
            met: Sorter::new(scratch),
            on_host: HostCollectives::new(groups, scratch),
            scratch: Arc::clone(scratch),
        }
    }

    /// Takes the next host span, in the order of the table.
    pub(crate) fn push_host(
        &mut self,
        span: &Span<'_>,
        depth: u32,
        step: Option<u32>,
        is_owner: bool,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        if span.key.track != self.track {
            self.around.clear();
            self.track = span.key.track;
        }
        while self.around.last().is_some_and(|(outer, _)| *outer >= depth) {
            self.around.pop();
        }
        let head = &span.record.head;
        if head.facts.has(NameFacts::HOST_COLLECTIVE) || head.facts.has(NameFacts::COLLECTIVE_CALL) {
            self.on_host.push(span, step, strings)?;
        }
        if head.names_collective || head.facts.has(NameFacts::COMMUNICATION_OWNER) {
            let speaking = speaking(span, strings);
            if speaking.metadata.is_some() || kind::is_backend_call(&speaking.name) {
                self.around.push((depth, speaking));
            }
        }
        if is_owner && !self.around.is_empty() {
            let nearest_first: Vec<&Speaking> = self.around.iter().rev().map(|(_, speaking)| speaking).collect();
            let key = ByOwner { owner: Some(span.id), is_kernel: false, id: span.id };
            self.met.push_with(key, |out| write_json(&nearest_first, out))?;
        }
        Ok(())
    }

    /// Takes a communication kernel.
    pub(crate) fn push_kernel(
        &mut self,
        span: &Span<'_>,
        link: &LinkRow,
        step: Option<u32>,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        let kernel = Kernel {
            name: name(span, strings),
            metadata: metadata(span, strings),
            seq: span.record.integer(SpanArgColumn::collective_seq),
            step,
            start_ns: span.key.start,
            dur_ns: span.key.dur(),
            launch_ns: link.launch.map(|_| link.launch_start),
            span_id: span.id.index(),
            position: span.key.position,
            device_id: span.record.integer(SpanArgColumn::device_id),
            stream_id: span.record.integer(SpanArgColumn::stream_id),
        };
        let key = ByOwner { owner: link.owner, is_kernel: true, id: span.id };
        self.met.push_with(key, |out| write_json(&kernel, out))
    }

    /// Writes a row for each, in the order of the launches.
    pub(crate) fn finish(self, writer: &mut SourceWriter, strings: &Strings) -> Result<(), IngestError> {
        let mut in_order: Sorter<ByLaunch> = Sorter::new(&self.scratch);
        let met = self.met.finish()?;
        let mut reader = met.reader()?;
        let mut around: (Option<SpanId>, Vec<Speaking>) = (None, Vec::new());
        while let Some((key, bytes)) = reader.next()? {
            if !key.is_kernel {
                around = (key.owner, self.scratch.read_row(bytes)?);
                continue;
            }
            let kernel: Kernel = self.scratch.read_row(bytes)?;
            let is_around = key.owner.is_some() && key.owner == around.0;
            let collective = describe(kernel, if is_around { &around.1 } else { &[] });
            let kernel = &collective.kernel;
            let time = kernel.launch_ns.unwrap_or(kernel.start_ns);
            in_order.push_with(ByLaunch { time, position: kernel.position }, |out| write_json(&collective, out))?;
        }
        self.on_host.finish(&mut in_order, &self.scratch)?;
        let in_order = in_order.finish()?;
        let mut reader = in_order.reader()?;
        let mut launched: HashMap<(Option<String>, bool), i64> = HashMap::new();
        // Groups may share a partition.
        let mut partitions: BTreeMap<u32, Rows<'_>> = BTreeMap::new();
        while let Some((_, bytes)) = reader.next()? {
            let collective: Collective = self.scratch.read_row(bytes)?;
            let group = collective.process_group();
            let partition = layout::collectives_partition(group.unwrap_or_default());
            let launched = launched.entry((group.map(str::to_owned), collective.is_host)).or_default();
            let ordinal = collective.can_be_matched.then_some(*launched);
            *launched += i64::from(ordinal.is_some());
            let rows = match partitions.entry(partition) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(writer.partition_rows(&ALL_COLLECTIVES, partition, strings)?),
            };
            collective.write(ordinal, rows)?;
        }
        Ok(partitions.into_values().try_for_each(Rows::finish)?)
    }
}

/// One collective of this rank.
#[derive(Debug, Serialize, Deserialize)]
struct Collective {
    kernel: Kernel,
    metadata: Option<Metadata>,
    /// Which collective.
    name: String,
    named_by: String,
    /// Bytes, or why they are not known.
    volume: Result<i64, String>,
    volume_from: String,
    is_host: bool,
    /// Whether its place among the others is the same on all ranks.
    can_be_matched: bool,
}

impl Collective {
    fn process_group(&self) -> Option<&str> {
        self.metadata.as_ref().and_then(|metadata| metadata.process_group.as_deref())
    }

    fn write(&self, ordinal: Option<i64>, rows: &mut Rows<'_>) -> Result<(), IngestError> {
        let Self { kernel, metadata, .. } = self;
        let text = |figure: fn(&Metadata) -> Option<&str>| metadata.as_ref().and_then(figure);
        let ranks = text(|metadata| metadata.process_group_ranks.as_deref());
        rows.text(self.process_group())
            .i64(layout::process_group_id(self.process_group(), ranks, self.is_host))
            .i64(ordinal)
            .i64(kernel.seq)
            .i32(kernel.step.map(|step| step as i32))
            .text(self.name.as_str())
            .i64(kernel.start_ns)
            .i64(kernel.dur_ns)
            .i64(kernel.launch_ns)
            .i64(kernel.span_id as i64)
            .i64(kernel.position as i64)
            .i64(kernel.device_id)
            .i64(kernel.stream_id)
            .text(kernel.name.as_str())
            .text(ranks)
            .i64(metadata.as_ref().and_then(|metadata| metadata.group_size))
            .text(text(|metadata| metadata.dtype.as_deref()))
            .i64(self.volume.as_ref().ok().copied())
            .text(self.volume.as_ref().ok().map(|_| self.volume_from.as_str()))
            .text(self.volume.as_ref().err().map(String::as_str))
            .text(self.named_by.as_str())
            .bool(self.is_host)
            .end_row()?;
        Ok(())
    }
}

/// Puts together what the kernel, the spans around its launch, nearest first, and the names say.
fn describe(kernel: Kernel, around: &[Speaking]) -> Collective {
    let above = || around.iter().find_map(|span| span.metadata.as_ref()).map(|metadata| (metadata, "span"));
    let known = kernel.metadata.as_ref().map(|metadata| (metadata, "kernel")).or_else(above);
    let metadata = known.map(|(metadata, _)| metadata.clone());
    let calls = || around.iter().filter(|span| kind::is_backend_call(&span.name));
    let by_metadata = metadata.as_ref().and_then(|metadata| kind::collective(&metadata.collective_name));
    let by_call = || calls().find_map(|span| kind::collective(&span.name));
    let collective = by_metadata.or_else(by_call).or_else(|| kind::collective(&kernel.name));
    let named_by = known.map(|(_, named_by)| named_by).or_else(|| calls().next().map(|_| "span_name"));
    let (volume, volume_from) = match &metadata {
        Some(metadata) => (recorded_volume(metadata, collective), "metadata"),
        None => (volume_of_call(calls().next(), collective), "input shapes"),
    };
    Collective {
        name: collective.unwrap_or("unknown").to_owned(),
        named_by: named_by.unwrap_or("kernel_name").to_owned(),
        volume,
        volume_from: volume_from.to_owned(),
        metadata,
        is_host: false,
        can_be_matched: kernel.launch_ns.is_some(),
        kernel,
    }
}

/// The size of a message is that of the larger side: the output of a gather to all, else the input.
fn recorded_volume(metadata: &Metadata, collective: Option<&str>) -> Result<i64, String> {
    let (elements, argument) = match collective {
        Some("all_gather") => (metadata.out_elements, "Out msg nelems"),
        _ => (metadata.in_elements, "In msg nelems"),
    };
    let size = metadata.dtype.as_deref().and_then(kind::element_bytes).ok_or_else(|| UNKNOWN_DTYPE.to_owned())?;
    elements.and_then(|elements| elements.checked_mul(size)).ok_or_else(|| argument_not_recorded(argument))
}

/// Older recordings have the shapes of the library's call. They are those of the inputs, which is not enough for gathers.
fn volume_of_call(call: Option<&Speaking>, collective: Option<&str>) -> Result<i64, String> {
    let call = call.filter(|_| !matches!(collective, None | Some("all_gather" | "gather")));
    let inputs = call.and_then(|call| call.input_dims.as_deref().zip(call.input_types.as_deref()));
    inputs
        .and_then(|(dims, types)| kind::bytes_of_inputs(dims, types))
        .ok_or_else(|| COLLECTIVE_METADATA_NOT_RECORDED.to_owned())
}

fn speaking(span: &Span<'_>, strings: &Strings) -> Speaking {
    Speaking {
        name: name(span, strings),
        metadata: metadata(span, strings),
        input_dims: text(span, SpanArgColumn::input_dims, strings),
        input_types: text(span, SpanArgColumn::input_types, strings),
    }
}

/// The metadata of a span; none where the collective has no name.
fn metadata(span: &Span<'_>, strings: &Strings) -> Option<Metadata> {
    if !span.record.head.names_collective {
        return None;
    }
    let text = |column| text(span, column, strings);
    Some(Metadata {
        collective_name: text(SpanArgColumn::collective_name).filter(|name| !name.is_empty())?,
        process_group: text(SpanArgColumn::process_group_name),
        process_group_ranks: text(SpanArgColumn::process_group_ranks),
        group_size: span.record.integer(SpanArgColumn::group_size),
        dtype: text(SpanArgColumn::collective_dtype),
        in_elements: span.record.integer(SpanArgColumn::in_msg_nelems),
        out_elements: span.record.integer(SpanArgColumn::out_msg_nelems),
    })
}

fn name(span: &Span<'_>, strings: &Strings) -> String {
    span.record.head.name.map_or_else(String::new, |name| strings.resolve(name, span.record.texts).to_owned())
}

fn text(span: &Span<'_>, column: SpanArgColumn, strings: &Strings) -> Option<String> {
    let cell = span.record.cells().find(|cell| cell.column == column)?;
    match cell.value {
        CellValue::Text(text) => Some(strings.resolve(text, span.record.texts).to_owned()),
        _ => None,
    }
}

/// Only plain structs are written, so that it cannot fail; reading would tell.
fn write_json(value: &impl Serialize, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use stepscope_model::SourceId;
    use stepscope_store::Store;

    use super::*;

    /// What becomes of collectives to which `spoil` adds a row that cannot be read.
    fn finish(spoil: impl FnOnce(&mut Collectives) -> Result<(), IngestError>) -> Result<(), IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(folder.path(), 0);
        let store = Store::create(&folder.path().join("store"))?;
        let mut writer = SourceWriter::begin(&store, "run", SourceId { rank: 0, window: 0 })?;
        let mut collectives = Collectives::new(&[], &scratch);
        spoil(&mut collectives)?;
        collectives.finish(&mut writer, &Strings::new(&scratch))
    }

    #[test]
    fn a_row_that_cannot_be_read_back_is_an_error() {
        let cut = |out: &mut Vec<u8>| out.extend_from_slice(b"{\"name\": \"ncc");
        let id = SpanId::new(0);
        for is_kernel in [false, true] {
            let spoiled =
                finish(|collectives| collectives.met.push_with(ByOwner { owner: Some(id), is_kernel, id }, cut));
            assert!(matches!(spoiled, Err(IngestError::UnreadableRow { .. })), "{spoiled:?}");
        }
        finish(|_| Ok(())).unwrap();
    }
}
