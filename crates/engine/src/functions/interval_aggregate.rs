//! What every aggregate over intervals shares: the way from rows to sets, between partitions, and to a number.
//!
//! A state is one list of numbers a set, start and end in turn, merged. It crosses partitions and, by name, hosts.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, Int64Builder, ListArray, ListBuilder};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::function::StateFieldsArgs;
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion::scalar::ScalarValue;

use super::interval_set::IntervalSet;

/// The sets that an aggregate keeps a group, and what it makes of them.
pub(super) trait IntervalSets: Clone + Debug + Default + Send + Sync + 'static {
    /// Names of the sets, in the order of `sets`.
    const NAMES: &'static [&'static str];

    /// The sets.
    fn sets(&self) -> &[IntervalSet];

    /// The sets, to add to.
    fn sets_mut(&mut self) -> &mut [IntervalSet];

    /// Which set a row goes to; `None` for a row that does not count.
    fn set_of_row(values: &[ArrayRef], row: usize) -> Option<usize>;

    /// The answer.
    fn result(&mut self) -> i128;
}

/// The columns of a state.
pub(super) fn state_fields<S: IntervalSets>(args: &StateFieldsArgs) -> Vec<FieldRef> {
    let list = DataType::List(Arc::new(Field::new_list_field(DataType::Int64, true)));
    S::NAMES.iter().map(|set| Arc::new(Field::new(format_state_name(args.name, set), list.clone(), true))).collect()
}

/// One group.
#[derive(Debug, Default)]
pub(super) struct IntervalAccumulator<S>(S);

impl<S: IntervalSets> Accumulator for IntervalAccumulator<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = Rows::new(values)?;
        (0..rows.len()).for_each(|row| rows.add_to(&mut self.0, row));
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        in_range(self.0.result()).map(|length| ScalarValue::Int64(Some(length)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + heap_bytes(&self.0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let lists = lists(std::slice::from_mut(&mut self.0));
        Ok(lists.into_iter().map(|list| ScalarValue::List(Arc::new(list))).collect())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, Array::len);
        (0..rows).try_for_each(|row| add_state(&mut self.0, states, row))
    }
}

/// Many groups at once.
#[derive(Debug, Default)]
pub(super) struct IntervalGroups<S>(Vec<S>);

impl<S: IntervalSets> GroupsAccumulator for IntervalGroups<S> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.resize_with(total_num_groups, S::default);
        let rows = Rows::new(values)?;
        for (row, group) in group_indices.iter().enumerate() {
            if opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row)) {
                rows.add_to(&mut self.0[*group], row);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut groups = emit_to.take_needed(&mut self.0);
        let lengths = groups.iter_mut().map(|group| in_range(group.result()));
        Ok(Arc::new(Int64Array::from(lengths.collect::<Result<Vec<_>>>()?)))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut groups = emit_to.take_needed(&mut self.0);
        Ok(lists(&mut groups).into_iter().map(|list| Arc::new(list) as ArrayRef).collect())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.0.resize_with(total_num_groups, S::default);
        let mut groups = group_indices.iter().enumerate();
        groups.try_for_each(|(row, group)| add_state(&mut self.0[*group], values, row))
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut each = Self::default();
        let rows = values.first().map_or(0, Array::len);
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), opt_filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<S>() + self.0.iter().map(heap_bytes).sum::<usize>()
    }
}

/// The argument columns of a batch.
struct Rows<'a> {
    values: &'a [ArrayRef],
    starts: &'a Int64Array,
    ends: &'a Int64Array,
}

impl<'a> Rows<'a> {
    fn new(values: &'a [ArrayRef]) -> Result<Self> {
        let column = |place: usize| values.get(place).and_then(|column| column.as_primitive_opt::<Int64Type>());
        match (column(0), column(1)) {
            (Some(starts), Some(ends)) => Ok(Self { values, starts, ends }),
            _ => Err(DataFusionError::Internal("start and end of an interval must be int64".to_owned())),
        }
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    fn add_to<S: IntervalSets>(&self, group: &mut S, row: usize) {
        if self.starts.is_valid(row)
            && self.ends.is_valid(row)
            && let Some(set) = S::set_of_row(self.values, row)
        {
            group.sets_mut()[set].add(self.starts.value(row), self.ends.value(row));
        }
    }
}

fn add_state<S: IntervalSets>(group: &mut S, states: &[ArrayRef], row: usize) -> Result<()> {
    for (set, state) in group.sets_mut().iter_mut().zip(states) {
        let broken = || DataFusionError::Internal("an interval state must be a list of int64".to_owned());
        let list = state.as_list_opt::<i32>().ok_or_else(broken)?;
        if list.is_null(row) {
            continue;
        }
        let numbers = list.value(row);
        let numbers = numbers.as_primitive_opt::<Int64Type>().ok_or_else(broken)?.values();
        numbers.chunks_exact(2).for_each(|interval| set.add(interval[0], interval[1]));
    }
    Ok(())
}

fn lists<S: IntervalSets>(groups: &mut [S]) -> Vec<ListArray> {
    let mut builders: Vec<_> = S::NAMES.iter().map(|_| ListBuilder::new(Int64Builder::new())).collect();
    for group in groups {
        for (set, builder) in group.sets_mut().iter_mut().zip(&mut builders) {
            for (start, end) in set.merged() {
                builder.values().append_slice(&[*start, *end]);
            }
            builder.append(true);
        }
    }
    builders.iter_mut().map(ListBuilder::finish).collect()
}

fn heap_bytes<S: IntervalSets>(group: &S) -> usize {
    group.sets().iter().map(IntervalSet::heap_bytes).sum()
}

fn in_range(length: i128) -> Result<i64> {
    i64::try_from(length).map_err(|_| DataFusionError::Execution(format!("a length of {length} does not fit 64 bits")))
}
