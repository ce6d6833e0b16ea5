//! Events as records: what is left of an event once its texts are numbers.

use std::num::NonZeroU32;

use stepscope_model::args::{ArgForm, SPAN_ARGS, SpanArgColumn};
use stepscope_model::{Kind, Phase};

use super::names::NameFacts;
use crate::spill::row::{Field, byte_fields, row};
use crate::spill::strings::Text;

/// Whether a time can be kept: 146 years around the epoch, so that the difference of any two fits too.
pub(crate) fn is_in_range(time: i64) -> bool {
    (-i64::MAX / 2..=i64::MAX / 2).contains(&time)
}

/// Number of a track in this source.
pub(crate) type TrackId = u32;

/// Number of a span in this source: its place in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpanId(NonZeroU32);

impl SpanId {
    /// Spans that one source may have.
    pub(crate) const MAX_SPANS: u64 = u32::MAX as u64 - 1;

    /// The id of the span at `index`, which is below `MAX_SPANS`.
    pub(crate) fn new(index: u64) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }

    /// The number as the table has it.
    pub(crate) fn index(self) -> u64 {
        u64::from(self.0.get() - 1)
    }
}

impl Field for SpanId {
    const BYTES: usize = u32::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.0.get().put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        Self(NonZeroU32::new(u32::take(bytes)).unwrap_or(NonZeroU32::MIN))
    }
}

impl Field for Option<SpanId> {
    const BYTES: usize = u32::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.map(|id| id.0).put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        <Option<NonZeroU32> as Field>::take(bytes).map(SpanId)
    }
}

row! {
    /// The order of spans: by track, start, longest first. What follows decides who encloses whom when times are equal.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    SpanKey {
        track: TrackId,
        start: i64,
        /// `!end`, so that of two that start together the longer one comes first.
        not_end: i64,
        /// A runtime call comes after the operator that issues it, a Python frame before the operator that it calls.
        rank: u8,
        /// Nested operators of equal extent were numbered from the outside in; those without a number come last.
        id_range: u8,
        id_within: i64,
        position: u64,
    }
}

/// Where an External id stands among others, whatever its size; none comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IdOrder {
    /// Of the ranges that 64 bits can tell the numbers of: below them, signed, unsigned, beyond.
    range: u8,
    within: i64,
}

impl IdOrder {
    pub(crate) const NONE: Self = Self { range: u8::MAX, within: 0 };

    /// Numbers more than half of 64 bits beyond what 64 bits hold are all alike.
    pub(crate) fn of(id: i128) -> Self {
        const SIGNED_END: i128 = i64::MAX as i128 + 1;
        let (range, from) = match id {
            _ if id < i128::from(i64::MIN) => (0, i128::from(i64::MIN)),
            _ if id < SIGNED_END => (1, 0),
            _ if id <= i128::from(u64::MAX) => (2, SIGNED_END),
            _ => (3, i128::from(u64::MAX)),
        };
        let within = id.saturating_sub(from).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Self { range, within: within as i64 }
    }

    /// The same of digits of any number.
    pub(crate) fn of_digits(digits: &str) -> Self {
        let beyond = if digits.starts_with('-') { i128::MIN } else { i128::MAX };
        Self::of(digits.parse().unwrap_or(beyond))
    }
}

impl Field for IdOrder {
    const BYTES: usize = u8::BYTES + i64::BYTES;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        self.range.put(out);
        self.within.put(out);
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        Self { range: u8::take(bytes), within: i64::take(bytes) }
    }
}

impl SpanKey {
    pub(crate) fn new(
        track: TrackId,
        (start, end): (i64, i64),
        position: u64,
        head: &SpanHead,
        order: IdOrder,
    ) -> Self {
        let rank = match head.kind {
            Kind::Python => 0,
            Kind::Runtime => 2,
            _ => 1,
        };
        let order = if head.kind == Kind::Runtime { IdOrder::NONE } else { order };
        Self { track, start, not_end: !end, rank, id_range: order.range, id_within: order.within, position }
    }

    pub(crate) fn end(&self) -> i64 {
        !self.not_end
    }

    pub(crate) fn dur(&self) -> i64 {
        self.end() - self.start
    }

    /// The same span, later by `base`.
    pub(crate) fn later_by(self, base: i64) -> Self {
        Self { start: self.start + base, not_end: !(self.end() + base), ..self }
    }
}

row! {
    /// What a span is, beside its key.
    SpanHead {
        kind: Kind,
        phase: Phase,
        flag: Option<Flag>,
        facts: NameFacts,
        /// It has a number of a Python module.
        is_module: bool,
        /// It names its collective.
        names_collective: bool,
        category: Option<Text>,
        name: Option<Text>,
        /// Arguments without a column, as JSON.
        rest: Option<Text>,
        /// As links compare it; 0 in the trace means none.
        correlation: Option<i64>,
        external_id: Option<i64>,
        cells: u32,
    }
}

/// A span as it lies in a sorter: its head, its typed arguments, and texts that the table of strings had no room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanRecord<'a> {
    pub head: SpanHead,
    cells: &'a [u8],
    pub texts: &'a [u8],
}

impl<'a> SpanRecord<'a> {
    #[inline]
    pub(crate) fn read(mut bytes: &'a [u8]) -> Self {
        let head = SpanHead::take(&mut bytes);
        let (cells, texts) = bytes.split_at((head.cells as usize * Cell::BYTES).min(bytes.len()));
        Self { head, cells, texts }
    }

    /// Appends a record to `out`.
    #[inline]
    pub(crate) fn write(mut head: SpanHead, cells: &[Cell], texts: &[u8], out: &mut Vec<u8>) {
        head.cells = cells.len() as u32;
        head.put(out);
        for &cell in cells {
            cell.put(out);
        }
        out.extend_from_slice(texts);
    }

    /// The typed arguments.
    #[inline]
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + 'a {
        let mut left = self.cells;
        std::iter::from_fn(move || (!left.is_empty()).then(|| Cell::take(&mut left)))
    }

    /// The text in a typed column.
    #[inline]
    pub(crate) fn text(&self, column: SpanArgColumn) -> Option<Text> {
        self.cells().find(|cell| cell.column == column).and_then(|cell| match cell.value {
            CellValue::Text(text) => Some(text),
            _ => None,
        })
    }

    /// The number in a typed column.
    #[inline]
    pub(crate) fn float(&self, column: SpanArgColumn) -> Option<f64> {
        self.cells().find(|cell| cell.column == column).and_then(|cell| match cell.value {
            CellValue::Float(value) => Some(value),
            _ => None,
        })
    }

    /// The integer in a typed column.
    #[inline]
    pub(crate) fn integer(&self, column: SpanArgColumn) -> Option<i64> {
        self.cells().find(|cell| cell.column == column).and_then(|cell| match cell.value {
            CellValue::Int(value) => Some(value),
            _ => None,
        })
    }
}

/// What is special about a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    /// It has no length.
    Instant,
    /// Its end was not recorded.
    OpenEnd,
}

impl Flag {
    pub(crate) fn as_text(self) -> &'static str {
        match self {
            Self::Instant => "instant",
            Self::OpenEnd => "open_end",
        }
    }
}

/// The value of one typed argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub column: SpanArgColumn,
    pub value: CellValue,
}

/// A value of a typed column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellValue {
    Int(i64),
    Float(f64),
    Text(Text),
}

impl Field for Cell {
    const BYTES: usize = 1 + 8;

    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        (self.column as u8).put(out);
        match self.value {
            CellValue::Int(value) => value.put(out),
            CellValue::Float(value) => value.to_bits().put(out),
            CellValue::Text(text) => Some(text).put(out),
        }
    }

    #[inline]
    fn take(bytes: &mut &[u8]) -> Self {
        let arg = &SPAN_ARGS[usize::from(u8::take(bytes)) % SPAN_ARGS.len()];
        let value = match arg.form {
            ArgForm::Int => CellValue::Int(i64::take(bytes)),
            ArgForm::Float => CellValue::Float(f64::from_bits(u64::take(bytes))),
            ArgForm::Text | ArgForm::List | ArgForm::Digits => {
                CellValue::Text(<Option<Text> as Field>::take(bytes).unwrap_or_default())
            }
        };
        Self { column: arg.column, value }
    }
}

row! {
    /// A moment on a track.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    MomentKey { track: TrackId, ts: i64, position: u64, }
}

row! {
    /// One end of an arrow, beside its key.
    FlowHead {
        phase: Phase,
        is_forward_backward: bool,
        category: Option<Text>,
        name: Option<Text>,
        id: Option<i64>,
        id_text: Option<Text>,
    }
}

row! {
    /// A change of a counter, beside its key.
    CounterHead { name: Option<Text>, series: Option<Text>, value_bits: Option<i64>, args: Option<Text>, }
}

row! {
    /// An allocation or a free, beside its key.
    #[derive(Default)]
    MemoryHead {
        /// When, as recorded; its key may have the order only.
        ts_ns: Option<i64>,
        size_bytes: Option<i64>,
        address: Option<i64>,
        device_type: Option<i64>,
        device_id: Option<i64>,
        total_allocated_bytes: Option<i64>,
        total_reserved_bytes: Option<i64>,
        event_index: Option<i64>,
        action: Option<Text>,
        allocator: Option<Text>,
        stream_id: Option<i64>,
        stack_id: Option<i64>,
        category: Option<Text>,
        active_bytes: Option<i64>,
        args: Option<Text>,
    }
}

byte_fields! {
    Kind: Kind::ALL, |kind| kind as u8;
    Phase: Phase::ALL, |phase| phase as u8;
    Option<Flag>: [None, Some(Flag::Instant), Some(Flag::OpenEnd)], |flag| flag.map_or(0, |flag| flag as u8 + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_keep_their_order() {
        let ids = [
            "-36893488147419103232",
            "-9223372036854775809",
            "-9223372036854775808",
            "-1",
            "0",
            "3",
            "9223372036854775807",
            "9223372036854775808",
            "9223372036854775809",
            "18446744073709551615",
            "18446744073709551616",
            "18446744073709551617",
            "999999999999999999999999999999999999999999999999",
        ];
        let orders: Vec<IdOrder> = ids.into_iter().map(IdOrder::of_digits).chain([IdOrder::NONE]).collect();
        assert!(orders.windows(2).all(|pair| pair[0] < pair[1]), "{orders:?}");
        for order in orders {
            let mut bytes = Vec::new();
            order.put(&mut bytes);
            assert_eq!((IdOrder::take(&mut &bytes[..]), bytes.len()), (order, IdOrder::BYTES));
        }
    }

    #[test]
    fn bytes_stand_for_what_they_stood_for() {
        for kind in Kind::ALL {
            assert_eq!(Kind::ALL[kind as usize], kind);
        }
        for phase in Phase::ALL {
            assert_eq!(Phase::ALL[phase as usize], phase);
        }
        for flag in [None, Some(Flag::Instant), Some(Flag::OpenEnd)] {
            let mut bytes = Vec::new();
            flag.put(&mut bytes);
            assert_eq!(<Option<Flag> as Field>::take(&mut &bytes[..]), flag);
        }
    }
}
