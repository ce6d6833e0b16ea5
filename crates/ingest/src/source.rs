//! One trace on its way to a source: read it, then derive and write.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_formats::{FormatError, Limits, read_trace};
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_model::warning::damage;
use stepscope_model::{Content, Note, RankFrom, RowCounts, SourceId, SourceRecord};
use stepscope_store::{SourceWriter, Store};
use twox_hash::XxHash3_128;

use crate::collect::counts::Counts;
use crate::collect::header::Header;
use crate::collect::names::Names;
use crate::collect::pair;
use crate::collect::record::{MomentKey, SpanId, SpanKey};
use crate::collect::shift;
use crate::collect::stacks::{BlockRow, Snapshot};
use crate::collect::tracks::Tracks;
use crate::collect::{Collector, Records, ToldProgram};
use crate::derive::memory_level::LevelsByDevice;
use crate::derive::stream::SpanStream;
use crate::derive::{Derivation, derive};
use crate::error::{IngestError, shown};
use crate::runs::{Extras, Progress};
use crate::spill::scratch::Scratch;
use crate::spill::sorter::{Sorted, Sorter};
use crate::spill::strings::Strings;
use crate::threads::both;
use crate::watch::Watch;
use crate::write::rollups::Rollups;
use crate::write::tiles::Tiles;
use crate::write::{Made, Tables};

/// Bytes read from a file at once.
const READ_BYTES: usize = 1 << 20;

const NANOSECONDS_PER_MINUTE: i64 = 60_000_000_000;

/// Minutes from 1970 to 2020.
const MINUTES_TO_2020: i64 = 26_297_280;

/// A trace that has been read but not yet placed in a run. Times are as recorded, without the base time.
pub(crate) struct ReadTrace {
    path: PathBuf,
    digest: String,
    bytes_in: u64,
    format: &'static str,
    content: Content,
    bytes_plain: u64,
    pub notes: Vec<Note>,
    pub strings: Strings,
    pub tracks: Tracks,
    pub header: Header,
    pub counts: Counts,
    pub spans: Sorted<SpanKey>,
    span_count: u64,
    pub flows: Sorted<MomentKey>,
    pub counters: Sorted<MomentKey>,
    pub memory: Sorted<MomentKey>,
    functions: Sorted<u64>,
    programs: Vec<ToldProgram>,
    snapshot: Snapshot,
    blocks: Sorted<BlockRow>,
    pub levels: LevelsByDevice,
    time_range: Option<(i64, i64)>,
    first_profiler_step: Option<u64>,
    pub scratch: Arc<Scratch>,
}

/// Where a recording goes.
pub(crate) struct Placing {
    pub run: String,
    pub id: SourceId,
    pub rank_from: RankFrom,
    /// Why it is not in the run of the files beside it.
    pub apart_because: Option<String>,
}

/// Reads a trace. `on_progress` is told the bytes of the file read so far, and stops the reading with `false`.
pub(crate) fn read(
    path: &std::path::Path,
    input: impl Read + Send,
    names: Names,
    scratch: Arc<Scratch>,
    on_progress: &mut dyn FnMut(u64) -> bool,
) -> Result<ReadTrace, IngestError> {
    let hashed = AtomicU64::new(0);
    let mut input =
        BufReader::with_capacity(READ_BYTES, Hashing { inner: input, hasher: XxHash3_128::new(), bytes: &hashed });
    let mut progress = |_plain_bytes: u64| on_progress(hashed.load(Ordering::Relaxed));
    let mut collector = Collector::new(names, &scratch, &mut progress);
    let summary = read_trace(&mut input, &Limits::default(), &mut collector);
    if let Some(error) = collector.error.take() {
        return Err(error);
    }
    let summary = summary.map_err(|source| match source {
        FormatError::Stopped => IngestError::Canceled,
        source => IngestError::Format { path: path.to_owned(), source },
    })?;
    let Collector { mut records, marks, .. } = collector;
    // What follows the last member of a gzip file is not part of the trace, but it is part of the digest.
    drain(&mut input).map_err(|source| IngestError::Open { path: path.to_owned(), source })?;
    pair::pair(&mut records, &marks.finish()?)?;
    shift::drop_out_of_range(&mut records, &scratch)?;
    if records.spans.count() > SpanId::MAX_SPANS {
        return Err(IngestError::TooManyEvents { limit: SpanId::MAX_SPANS, path: path.to_owned() });
    }
    let hashing = input.into_inner();
    let Records {
        strings,
        tracks,
        header,
        counts,
        spans,
        flows,
        counters,
        memory,
        functions,
        programs,
        mut snapshot,
        mut levels,
        time_range,
        names,
        ..
    } = records;
    let span_count = spans.count();
    let moments = || Ok::<_, IngestError>((flows.finish()?, counters.finish()?, memory.finish()?));
    let (moments, spans) = both(moments, || spans.finish());
    let (flows, counters, memory) = moments?;
    let blocks = std::mem::replace(&mut snapshot.blocks, Sorter::new(&scratch)).finish()?;
    let is_damaged = summary.notes.iter().any(|note| matches!(note, Note::PickleTruncated | Note::PickleBroken));
    let has_state = !is_damaged && header.circumstances.get("snapshot_state").is_some_and(|state| state == "whole");
    levels.rewind(has_state, &snapshot.segments);
    let mut reader = blocks.reader()?;
    while let Some(block) = reader.next_key()? {
        levels.add_block(&block);
    }
    drop(reader);
    Ok(ReadTrace {
        path: path.to_owned(),
        digest: format!("{:032x}", hashing.hasher.finish_128()),
        bytes_in: hashed.load(Ordering::Relaxed),
        format: summary.format,
        content: summary.content,
        bytes_plain: summary.bytes_plain,
        notes: summary.notes,
        strings,
        tracks,
        header,
        counts,
        spans: spans?,
        span_count,
        flows,
        counters,
        memory,
        functions: functions.finish()?,
        programs,
        snapshot,
        blocks,
        levels,
        time_range,
        first_profiler_step: names.first_profiler_step(),
        scratch,
    })
}

impl ReadTrace {
    /// The file, as given.
    #[must_use]
    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Hash of the bytes as stored.
    #[must_use]
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// The rank that the header gives.
    #[must_use]
    pub(crate) fn header_rank(&self) -> Option<u32> {
        self.header.rank_number()
    }

    /// Start of the first and end of the last complete event.
    #[must_use]
    pub(crate) fn time_range(&self) -> Option<(i64, i64)> {
        let base = self.header.base_time_ns;
        self.time_range.map(|(first, last)| (first + base, last + base))
    }

    /// A number for the recording that other ranks of the job arrive at too, without being told: that of its first
    /// profiler step, else the minute of its first event.
    #[must_use]
    pub(crate) fn window_by_content(&self) -> u32 {
        let minute = self.time_range().map(|(first, _)| first / NANOSECONDS_PER_MINUTE - MINUTES_TO_2020);
        let by_step = self.first_profiler_step.and_then(|step| i32::try_from(step).ok());
        let by_time = minute.and_then(|minute| i32::try_from(minute).ok());
        // Columns of windows are signed.
        by_step.or(by_time).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
    }

    /// Whether it is a profile of functions, without times of day.
    #[must_use]
    pub(crate) fn is_profile(&self) -> bool {
        self.content == Content::FunctionTotals
    }

    /// What an element of the file is called.
    #[must_use]
    pub(crate) fn element(&self) -> &'static str {
        self.content.element()
    }

    /// What is broken or lost, in words; `None` when the trace is whole.
    #[must_use]
    pub(crate) fn damage(&self) -> Option<String> {
        damage(&self.notes, self.counts.lost(), self.element())
    }

    /// Events that have a row or belong to one.
    #[must_use]
    pub(crate) fn kept_events(&self) -> u64 {
        self.counts.events_in - self.counts.lost()
    }

    /// The file, and where it ends if it ends early.
    #[must_use]
    pub(crate) fn location(&self) -> String {
        let path = shown(&self.path);
        let is_cut = self.notes.iter().any(|note| note.tells_early_end());
        if is_cut { format!("{path}, byte {}", self.bytes_in) } else { path }
    }

    /// Whether a source has as many events in as many plain bytes, but other bytes in its file: the same trace, packed
    /// in another way.
    #[must_use]
    pub(crate) fn is_compressed_otherwise(&self, record: &SourceRecord) -> bool {
        record.bytes_in != self.bytes_in
            && (record.bytes_plain, record.events_in) == (self.bytes_plain, self.counts.events_in)
    }

    /// Derives everything and writes the source.
    pub(crate) fn write(
        mut self,
        store: &Store,
        place: Placing,
        extras: Extras,
        progress: &dyn Progress,
    ) -> Result<SourceRecord, IngestError> {
        let mut writer = SourceWriter::begin(store, &place.run, place.id)?;
        let mut tables = Tables { writer: &mut writer };
        let file = self.path.display().to_string();
        let mut watch = Watch::new(progress, &file, 2 * self.span_count);
        let derivation = derive(&mut self, &mut tables, &mut watch)?;
        let stream = SpanStream::new(&self.spans, self.header.base_time_ns)?;
        let groups = &self.header.process_groups;
        let rollups = || Rollups::new(&self.scratch, tables.writer, &self.strings, groups, self.format == "xplane");
        let rollups = extras.rollups.then(rollups).transpose()?;
        let tiles = || Tiles::new(&self.scratch, tables.writer, &self.strings, &self.tracks);
        let tiles = extras.tiles.then(tiles).transpose()?;
        tables.spans(stream, &self.strings, &derivation, Made { rollups, tiles }, &self.tracks, &mut watch)?;
        tables.functions(&self.functions, &self.strings)?;
        tables.programs(&self.programs, &self.strings)?;
        tables.snapshot(&self.snapshot, &self.blocks, &self.strings)?;
        tables.tracks(&self.tracks, &self.strings)?;
        tables.steps(&derivation.steps, &self.strings)?;
        tables.warnings(&self.counts, &self.strings)?;
        tables.health(&derivation.health, &self.strings)?;
        let record = self.record(place, &derivation);
        Ok(writer.commit(record)?)
    }

    fn record(&self, place: Placing, derivation: &Derivation) -> SourceRecord {
        let Self { header, counts, .. } = self;
        let Placing { run, id, rank_from, apart_because } = place;
        let time_range = self.time_range();
        SourceRecord {
            schema_version: SCHEMA_VERSION,
            derivation_version: DERIVATION_VERSION,
            stepscope: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            id,
            rank_from,
            path: self.path.display().to_string(),
            digest: self.digest.clone(),
            format: self.format.to_owned(),
            content: self.content,
            bytes_in: self.bytes_in,
            bytes_plain: self.bytes_plain,
            bytes_out: 0,
            events_in: counts.events_in,
            rows: RowCounts::default(),
            partitions: std::collections::BTreeMap::new(),
            dropped: counts.dropped.clone(),
            warnings: counts.warnings.clone(),
            notes: self.notes.clone(),
            events_by_phase_and_category: counts.by_phase_and_category(),
            trace_schema_version: header.schema_version.clone(),
            base_time_ns: header.base_time_ns,
            header_rank: header.rank.clone(),
            header_world_size: header.world_size.clone(),
            header: header.circumstances.clone(),
            devices: header.devices.clone(),
            clock_resolution_ns: if derivation.has_nanoseconds { 1 } else { 1000 },
            first_event_ns: time_range.map(|(first, _)| first),
            last_event_ns: time_range.map(|(_, last)| last),
            step_source: derivation.steps.source,
            process_id: self.tracks.host_process(),
            run_id: header.run_id.clone(),
            apart_because,
        }
    }
}

/// Counts and hashes the bytes of a file as they pass.
struct Hashing<'a, R> {
    inner: R,
    hasher: XxHash3_128,
    bytes: &'a AtomicU64,
}

impl<R: Read> Read for Hashing<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.write(&buffer[..read]);
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

fn drain(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let length = input.fill_buf()?.len();
        if length == 0 {
            return Ok(());
        }
        input.consume(length);
    }
}
