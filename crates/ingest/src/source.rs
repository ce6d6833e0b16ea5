//! One trace on its way to a source: read it, then derive and write.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_formats::{FormatError, Limits, read_trace};
use stepscope_model::version::{DERIVATION_VERSION, SCHEMA_VERSION};
use stepscope_model::warning::damage;
use stepscope_model::{RankFrom, SourceId, SourceRecord};
use stepscope_store::{SourceWriter, Store};
use twox_hash::XxHash3_128;

use crate::collect::{Collector, Records};
use crate::derived::Derived;
use crate::error::{IngestError, shown};
use crate::names::Names;
use crate::record::SpanId;
use crate::steps::Steps;
use crate::write::Tables;
use crate::{forward, health, link, nest, order, pair, points, steps};

/// Bytes read from a file at once.
const READ_BYTES: usize = 1 << 20;

/// A trace that has been read but not yet placed in a run.
pub(crate) struct Recording {
    path: PathBuf,
    digest: String,
    bytes_in: u64,
    format: &'static str,
    bytes_plain: u64,
    notes: Vec<String>,
    records: Records,
}

/// Reads a trace. `on_progress` is told the bytes of the file read so far, and stops the reading with `false`.
pub(crate) fn read(
    path: &std::path::Path,
    input: impl Read + Send,
    communication_names: &str,
    on_progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Recording, IngestError> {
    let hashed = AtomicU64::new(0);
    let mut input =
        BufReader::with_capacity(READ_BYTES, Hashing { inner: input, hasher: XxHash3_128::new(), bytes: &hashed });
    let mut progress = |_plain_bytes: u64| on_progress(hashed.load(Ordering::Relaxed));
    let mut collector = Collector::new(Names::new(communication_names)?, &mut progress);
    let summary = read_trace(&mut input, &Limits::default(), &mut collector).map_err(|source| match source {
        FormatError::Stopped => IngestError::Cancelled,
        source => IngestError::Format { path: path.to_owned(), source },
    })?;
    let Collector { mut records, open, .. } = collector;
    // What follows the last member of a gzip file is not part of the trace, but it is part of the digest.
    drain(&mut input).map_err(|source| IngestError::Open { path: path.to_owned(), source })?;
    open.pair(&mut records);
    pair::shift_times(&mut records);
    if records.spans.len() > SpanId::MAX as usize {
        return Err(IngestError::TooManyEvents { limit: u64::from(SpanId::MAX), path: path.to_owned() });
    }
    let hashing = input.into_inner();
    Ok(Recording {
        path: path.to_owned(),
        digest: format!("{:032x}", hashing.hasher.finish_128()),
        bytes_in: hashed.load(Ordering::Relaxed),
        format: summary.format,
        bytes_plain: summary.bytes_plain,
        notes: summary.notes.iter().map(|&note| note.to_owned()).collect(),
        records,
    })
}

impl Recording {
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
        self.records.header.rank_number()
    }

    /// Start of the first and end of the last complete event.
    #[must_use]
    pub(crate) fn time_range(&self) -> Option<(i64, i64)> {
        let complete = || self.records.spans.iter().filter(|span| span.is_complete_event());
        Some((complete().map(|span| span.start).min()?, complete().map(|span| span.end).max()?))
    }

    /// What is broken or lost, in words; `None` when the trace is whole.
    #[must_use]
    pub(crate) fn damage(&self) -> Option<String> {
        damage(&self.notes, self.records.counts.lost())
    }

    /// Events that have a row or belong to one.
    #[must_use]
    pub(crate) fn kept_events(&self) -> u64 {
        self.records.counts.events_in - self.records.counts.lost()
    }

    /// The file, and where it ends if it ends early.
    #[must_use]
    pub(crate) fn location(&self) -> String {
        let path = shown(&self.path);
        let is_cut = self.notes.iter().any(|note| note.ends_with("_truncated"));
        if is_cut { format!("{path}, byte {}", self.bytes_in) } else { path }
    }

    /// Derives everything and writes the source.
    pub(crate) fn write(
        mut self,
        store: &Store,
        run: &str,
        id: SourceId,
        rank_from: RankFrom,
    ) -> Result<SourceRecord, IngestError> {
        let derivation = self.derive();
        let mut writer = SourceWriter::begin(store, run, id)?;
        let mut tables = Tables { writer: &mut writer, id, records: &self.records };
        tables.spans(&derivation.derived)?;
        tables.tracks()?;
        tables.counters()?;
        tables.memory_events()?;
        tables.flows()?;
        tables.steps(&derivation.steps)?;
        tables.warnings()?;
        tables.health(&derivation.health)?;
        let record = self.record(run, id, rank_from, &derivation.steps);
        Ok(writer.commit(record)?)
    }

    fn derive(&mut self) -> Derivation {
        let records = &mut self.records;
        order::sort(&mut records.spans);
        cover_tracks(records);
        let mut derived = vec![Derived::default(); records.spans.len()];
        let crossing = nest::nest(records, &mut derived);
        points::bind(records);
        let links = link::link(records, &mut derived);
        forward::link(records, &mut derived);
        let steps = steps::find(records, &mut derived);
        let facts = health::Facts { records, derived: &derived, steps: &steps, links, crossing, notes: &self.notes };
        let health = health::figures(&facts);
        Derivation { derived, steps, health }
    }

    fn record(&self, run: &str, id: SourceId, rank_from: RankFrom, steps: &Steps) -> SourceRecord {
        let Records { header, counts, spans, .. } = &self.records;
        let time_range = self.time_range();
        let is_fine = spans
            .iter()
            .filter(|span| span.is_complete_event())
            .any(|span| span.start % 1000 != 0 || span.dur() % 1000 != 0);
        SourceRecord {
            schema_version: SCHEMA_VERSION,
            derivation_version: DERIVATION_VERSION,
            stepscope: env!("CARGO_PKG_VERSION").to_owned(),
            run: run.to_owned(),
            id,
            rank_from,
            path: self.path.display().to_string(),
            digest: self.digest.clone(),
            format: self.format.to_owned(),
            bytes_in: self.bytes_in,
            bytes_plain: self.bytes_plain,
            bytes_out: 0,
            events_in: counts.events_in,
            rows: std::collections::BTreeMap::new(),
            dropped: counts.dropped.clone(),
            warnings: counts.warnings.clone(),
            notes: self.notes.clone(),
            events_by_phase_and_category: counts.by_phase_and_category(),
            trace_schema_version: header.schema_version.clone(),
            base_time_ns: header.base_time_ns,
            header_rank: header.rank.clone(),
            header_world_size: header.world_size.clone(),
            devices: header.devices.clone(),
            clock_resolution_ns: if is_fine { 1 } else { 1000 },
            first_event_ns: time_range.map(|(first, _)| first),
            last_event_ns: time_range.map(|(_, last)| last),
            step_source: steps.source.to_owned(),
        }
    }
}

struct Derivation {
    derived: Vec<Derived>,
    steps: Steps,
    health: std::collections::BTreeMap<String, health::Figure>,
}

/// Counts the spans of each track and the time it covers.
fn cover_tracks(records: &mut Records) {
    let Records { tracks, spans, flows, counters, memory, .. } = records;
    for span in spans.iter() {
        let track = &mut tracks.list[span.track as usize];
        track.spans += 1;
        track.cover(span.start, span.end);
    }
    let moments = flows.iter().map(|flow| (flow.track, flow.ts));
    let moments = moments.chain(counters.iter().map(|counter| (counter.track, counter.ts)));
    for (track, ts) in moments.chain(memory.iter().map(|event| (event.track, event.ts))) {
        tracks.list[track as usize].cover(ts, ts);
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
