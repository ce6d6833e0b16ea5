//! Adds up the operators of each step, by name and input shape (metrics, section 10).

use std::sync::Arc;

use hashbrown::HashMap;
use stepscope_model::args::SpanArgColumn;
use twox_hash::XxHash3_128;

use crate::error::IngestError;
use crate::record::{CellValue, SpanId};
use crate::row::{Field, row};
use crate::rows::Rows;
use crate::scratch::Scratch;
use crate::sorter::Sorter;
use crate::stream::Span;
use crate::strings::{Strings, Text, TextId};

/// Groups that are added up in memory; past that, sums of parts go to a sorter.
const GROUPS_IN_MEMORY: usize = 1 << 16;

row! {
    /// Sums of a group.
    #[derive(Default, PartialEq)]
    Sums {
        spans: i64,
        calls: i64,
        host_self_ns: i64,
        host_total_ns: i64,
        device_events: i64,
        device_self_ns: i64,
        device_total_ns: i64,
    }
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.spans += other.spans;
        self.calls += other.calls;
        self.host_self_ns = self.host_self_ns.saturating_add(other.host_self_ns);
        self.host_total_ns = self.host_total_ns.saturating_add(other.host_total_ns);
        self.device_events += other.device_events;
        self.device_self_ns = self.device_self_ns.saturating_add(other.device_self_ns);
        self.device_total_ns = self.device_total_ns.saturating_add(other.device_total_ns);
    }
}

/// What is added up together: operators of a step with one name and one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Group {
    step: Option<u32>,
    /// `None` for device work without an operator.
    name: Option<TextId>,
    dims: Option<TextId>,
}

row! {
    /// A group by the hash of its texts, as sums of parts are sorted.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    PartKey { step: u32, hash_high: u64, hash_low: u64, part: u64, }
}

/// Stands for no step; numbers of steps are far below.
const NO_STEP: u32 = u32::MAX;

/// An operator that has not ended.
struct Open {
    id: SpanId,
    group: Part,
    /// Tells names apart.
    name: u64,
    is_outermost: bool,
    sums: Sums,
    /// Device time of it and of the operators below.
    device_ns: i64,
    child_ops: u64,
    /// The last child, if it has the same name.
    same_child: Option<Part>,
}

/// Where a part is added to: a group in memory, or one whose texts have no numbers.
#[derive(Clone)]
enum Part {
    Group(Group),
    Texts { step: Option<u32>, name: String, dims: Option<String> },
}

/// Device work that belongs to an operator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceWork {
    pub events: i64,
    pub time_ns: i64,
}

/// The operators of a source being added up.
pub(crate) struct OpRollup {
    open: Vec<Open>,
    groups: HashMap<Group, Sums>,
    parts: Sorter<PartKey>,
}

impl OpRollup {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self { open: Vec::new(), groups: HashMap::new(), parts: Sorter::new(scratch) }
    }

    /// Takes the next operator, in the order of the table, with what was derived about it.
    pub(crate) fn push(
        &mut self,
        span: &Span<'_>,
        parent_op: Option<SpanId>,
        step: Option<u32>,
        self_ns: i64,
        device: DeviceWork,
        strings: &Strings,
    ) -> Result<(), IngestError> {
        self.end_all_but(parent_op, strings)?;
        let (part, name) = part_of(span, step, strings);
        let is_outermost = !self.open.iter().any(|open| open.name == name);
        if let Some(parent) = self.open.last_mut() {
            parent.child_ops += 1;
            parent.same_child = (parent.name == name).then(|| part.clone());
        }
        let dur = span.key.dur();
        let sums = Sums {
            spans: 1,
            calls: 1,
            host_self_ns: self_ns,
            host_total_ns: if is_outermost { dur } else { 0 },
            device_events: device.events,
            device_self_ns: device.time_ns,
            device_total_ns: 0,
        };
        self.open.push(Open {
            id: span.id,
            group: part,
            name,
            is_outermost,
            sums,
            device_ns: device.time_ns,
            child_ops: 0,
            same_child: None,
        });
        Ok(())
    }

    /// Takes a device event that belongs to no operator.
    pub(crate) fn push_rest(&mut self, step: Option<u32>, time_ns: i64, strings: &Strings) -> Result<(), IngestError> {
        let sums = Sums { device_events: 1, device_self_ns: time_ns, device_total_ns: time_ns, ..Sums::default() };
        self.add(Part::Group(Group { step, name: None, dims: None }), &sums, strings)
    }

    /// Ends every operator and writes the groups.
    pub(crate) fn finish(mut self, mut rows: Rows<'_>, strings: &Strings) -> Result<(), IngestError> {
        self.end_all_but(None, strings)?;
        self.flush(strings)?;
        let parts = self.parts.finish()?;
        let mut reader = parts.reader()?;
        let mut current: Option<(PartKey, Sums, Vec<u8>)> = None;
        while let Some((key, mut texts)) = reader.next()? {
            let sums = Sums::take(&mut texts);
            match &mut current {
                Some((known, sum, _)) if same_group(known, &key) => sum.add(&sums),
                _ => {
                    if let Some((known, sum, texts)) = current.replace((key, sums, texts.to_vec())) {
                        write_row(&mut rows, &known, &sum, &texts)?;
                    }
                }
            }
        }
        if let Some((known, sum, texts)) = current {
            write_row(&mut rows, &known, &sum, &texts)?;
        }
        rows.finish()
    }

    /// Ends the operators inside `parent`: children come in the order of their starts.
    fn end_all_but(&mut self, parent: Option<SpanId>, strings: &Strings) -> Result<(), IngestError> {
        while self.open.last().is_some_and(|open| Some(open.id) != parent) {
            let Some(mut open) = self.open.pop() else { break };
            if open.is_outermost {
                open.sums.device_total_ns = open.device_ns;
            }
            if let Some(parent) = self.open.last_mut() {
                parent.device_ns = parent.device_ns.saturating_add(open.device_ns);
            }
            // An only child of the same name is the same call seen again.
            if let (1, Some(child)) = (open.child_ops, open.same_child.take()) {
                self.add(child, &Sums { calls: -1, ..Sums::default() }, strings)?;
            }
            self.add(open.group, &open.sums, strings)?;
        }
        Ok(())
    }

    fn add(&mut self, part: Part, sums: &Sums, strings: &Strings) -> Result<(), IngestError> {
        match part {
            Part::Group(group) => {
                self.groups.entry(group).or_default().add(sums);
                if self.groups.len() >= GROUPS_IN_MEMORY { self.flush(strings) } else { Ok(()) }
            }
            Part::Texts { step, name, dims } => self.push_part(step, Some(&name), dims.as_deref(), sums),
        }
    }

    fn flush(&mut self, strings: &Strings) -> Result<(), IngestError> {
        for (group, sums) in std::mem::take(&mut self.groups) {
            let (name, dims) = (group.name.map(|id| strings.get(id)), group.dims.map(|id| strings.get(id)));
            self.push_part(group.step, name, dims, &sums)?;
        }
        Ok(())
    }

    fn push_part(
        &mut self,
        step: Option<u32>,
        name: Option<&str>,
        dims: Option<&str>,
        sums: &Sums,
    ) -> Result<(), IngestError> {
        let mut texts = Vec::new();
        for text in [name, dims] {
            text.map_or(u32::MAX, |text| text.len() as u32).put(&mut texts);
            texts.extend_from_slice(text.unwrap_or_default().as_bytes());
        }
        let hash = XxHash3_128::oneshot(&texts);
        let key = PartKey {
            step: step.unwrap_or(NO_STEP),
            hash_high: (hash >> 64) as u64,
            hash_low: hash as u64,
            part: self.parts.count(),
        };
        self.parts.push_with(key, |out| {
            sums.put(out);
            out.extend_from_slice(&texts);
        })
    }
}

/// The group of an operator, and a number that tells its name apart.
fn part_of(span: &Span<'_>, step: Option<u32>, strings: &Strings) -> (Part, u64) {
    let texts = span.record.texts;
    let name = span.record.head.name.unwrap_or_default();
    let dims = span.record.cells().find(|cell| cell.column == SpanArgColumn::input_dims);
    let dims = dims.and_then(|cell| if let CellValue::Text(text) = cell.value { Some(text) } else { None });
    let name_number = match name {
        Text::Id(id) => id.index() as u64,
        Text::Behind { .. } => XxHash3_128::oneshot(strings.resolve(name, texts).as_bytes()) as u64 | 1 << 63,
    };
    let part = match (name, dims) {
        (Text::Id(name), None) => Part::Group(Group { step, name: Some(name), dims: None }),
        (Text::Id(name), Some(Text::Id(dims))) => Part::Group(Group { step, name: Some(name), dims: Some(dims) }),
        _ => Part::Texts {
            step,
            name: strings.resolve(name, texts).to_owned(),
            dims: dims.map(|dims| strings.resolve(dims, texts).to_owned()),
        },
    };
    (part, name_number)
}

fn same_group(a: &PartKey, b: &PartKey) -> bool {
    (a.step, a.hash_high, a.hash_low) == (b.step, b.hash_high, b.hash_low)
}

fn write_row(rows: &mut Rows<'_>, key: &PartKey, sums: &Sums, mut texts: &[u8]) -> Result<(), IngestError> {
    let (name, dims) = (take_text(&mut texts), take_text(&mut texts));
    rows.i32((key.step != NO_STEP).then_some(key.step as i32))
        .new_text(name)
        .new_text(dims)
        .i64(sums.spans)
        .i64(sums.calls)
        .i64(sums.host_self_ns)
        .i64(sums.host_total_ns)
        .i64(sums.device_events)
        .i64(sums.device_self_ns)
        .i64(sums.device_total_ns)
        .end_row()
}

fn take_text<'t>(bytes: &mut &'t [u8]) -> Option<&'t str> {
    let length = u32::take(bytes);
    if length == u32::MAX {
        return None;
    }
    let (text, rest) = bytes.split_at((length as usize).min(bytes.len()));
    *bytes = rest;
    std::str::from_utf8(text).ok()
}
