//! The names of a recording by what they name, for a search that answers while somebody types.
//!
//! Spans are added up by name once; after that a search reads names alone, however many spans have them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::AsArray;
use arrow::record_batch::RecordBatch;
use stepscope_engine::CancelFlag;
use stepscope_model::tables::SPANS;
use stepscope_model::{FoundName, NameGroup, NameSearch, SourceId, SourceRecord};
use stepscope_runs::{Frame, RunError};

use super::Timelines;
use super::search::texts;

const COLUMNS: [&str; 5] = ["span_id", "kind", "comm_rule", "dur_ns", "name"];

/// Before the name of a module in a trace.
const MODULE_PREFIX: &str = "nn.Module: ";

/// Groups in the order of the pages.
const GROUPS: [&str; 9] =
    ["operators", "kernels", "modules", "transfers", "collectives", "regions", "frames", "calls", "others"];

/// A name of one group.
#[derive(Debug)]
struct Named {
    lower: String,
    found: FoundName,
}

/// The names of a recording, those of a group by the time they take.
type Names = [Vec<Named>; GROUPS.len()];

/// The names of the recording that was searched last.
#[derive(Debug, Default)]
pub(crate) struct NameCache(Mutex<Option<(SourceId, Arc<Names>)>>);

impl Timelines {
    /// The names that hold a text in upper or lower case: of each group their number, and the `most` likely ones.
    pub fn names(
        &self,
        rank: Option<u32>,
        window: Option<u32>,
        text: &str,
        most: usize,
        cancel: &CancelFlag,
    ) -> Result<NameSearch, RunError> {
        let names = self.all_names(self.run.source(rank, window)?, cancel)?;
        let text = text.to_lowercase();
        let groups = GROUPS.iter().zip(names.iter()).map(|(group, names)| found_in(group, names, &text, most));
        Ok(NameSearch { groups: groups.filter(|group| group.count > 0).collect() })
    }

    fn all_names(&self, source: &SourceRecord, cancel: &CancelFlag) -> Result<Arc<Names>, RunError> {
        let known = || self.names.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, names)) = known().as_ref()
            && *id == source.id
        {
            return Ok(Arc::clone(names));
        }
        let mut sums = Sums::default();
        self.read(source, &SPANS, (&COLUMNS, Vec::new()), cancel, &mut |batch| {
            sums.add(&batch)?;
            Ok(true)
        })?;
        let mut sorted = Names::default();
        for ((group, _), found) in sums.names {
            sorted[group].push(Named { lower: found.name.to_lowercase(), found });
        }
        for group in &mut sorted {
            group.sort_by_key(|named| Reverse(named.found.total_ns));
        }
        let names = Arc::new(sorted);
        *known() = Some((source.id, Arc::clone(&names)));
        Ok(names)
    }
}

/// What the spans of a name add up to, while they are read.
#[derive(Default)]
struct Sums {
    names: BTreeMap<(usize, String), FoundName>,
    /// The longest span of each so far.
    longest: BTreeMap<(usize, String), i64>,
}

impl Sums {
    fn add(&mut self, batch: &RecordBatch) -> Result<(), RunError> {
        let (names, kinds) = (texts(batch, "name")?, texts(batch, "kind")?);
        let rules = texts(batch, "comm_rule")?;
        let frame = Frame::of_batch(batch.clone());
        let (ids, lengths) = (frame.required_i64("span_id")?, frame.required_i64("dur_ns")?);
        // Rows of a batch repeat few names, so these are added up before a text is looked at.
        let mut sums: HashMap<(usize, usize, bool), Sum> = HashMap::new();
        for row in 0..batch.num_rows() {
            let (Some(name), Some(kind)) = (names.key(row), kinds.key(row)) else { continue };
            let sum = sums.entry((name, kind, rules.key(row).is_some())).or_default();
            if sum.count == 0 || lengths[row] > sum.longest_ns {
                (sum.longest_ns, sum.longest_span_id) = (lengths[row], ids[row]);
            }
            sum.count += 1;
            sum.total_ns += lengths[row];
        }
        let (names, kinds) = (names.values().as_string::<i32>(), kinds.values().as_string::<i32>());
        for ((name, kind, is_communication), sum) in sums {
            let name = names.value(name);
            let key = (group_of(kinds.value(kind), name, is_communication), name.to_owned());
            let longest = self.longest.entry(key.clone()).or_insert(-1);
            let found = self.names.entry(key).or_default();
            if sum.longest_ns > *longest {
                (*longest, found.longest_span_id) = (sum.longest_ns, sum.longest_span_id);
            }
            name.clone_into(&mut found.name);
            found.count += sum.count;
            found.total_ns += sum.total_ns;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Sum {
    count: i64,
    total_ns: i64,
    longest_ns: i64,
    longest_span_id: i64,
}

/// The place in [`GROUPS`] of what spans of a kind are.
fn group_of(kind: &str, name: &str, is_communication: bool) -> usize {
    let group = match kind {
        _ if is_communication => "collectives",
        "op" => "operators",
        "kernel" => "kernels",
        "memcpy" | "memset" => "transfers",
        "ann" => "regions",
        "py" if name.starts_with(MODULE_PREFIX) => "modules",
        "py" => "frames",
        "rt" => "calls",
        _ => "others",
    };
    GROUPS.iter().position(|known| *known == group).unwrap_or(GROUPS.len() - 1)
}

/// Those that begin with the text come first: `conv` means `conv2d` rather than what only mentions it.
fn found_in(group: &str, names: &[Named], text: &str, most: usize) -> NameGroup {
    let begins = |named: &Named| {
        let plain = named.lower.rsplit("::").next().unwrap_or_default();
        let module = named.lower.strip_prefix("nn.module: ").unwrap_or_default();
        [named.lower.as_str(), plain, module].iter().any(|start| start.starts_with(text))
    };
    let (mut count, mut first, mut rest) = (0, Vec::new(), Vec::new());
    for named in names.iter().filter(|named| named.lower.contains(text)) {
        count += 1;
        let place = if begins(named) { &mut first } else { &mut rest };
        if place.len() < most {
            place.push(named.found.clone());
        }
    }
    first.extend(rest);
    first.truncate(most);
    NameGroup { group: group.to_owned(), count, names: first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, total_ns: i64) -> Named {
        let found = FoundName { name: name.to_owned(), count: 1, total_ns, longest_span_id: 0 };
        Named { lower: name.to_lowercase(), found }
    }

    #[test]
    fn names_that_begin_with_the_text_come_first() {
        let names = [named("aten::cudnn_convolution", 9), named("aten::Conv2d", 5), named("conv_helper", 1)];
        let group = found_in("operators", &names, "conv", 2);
        let found: Vec<&str> = group.names.iter().map(|found| found.name.as_str()).collect();
        assert_eq!((group.count, found), (3, vec!["aten::Conv2d", "conv_helper"]));
    }

    #[test]
    fn every_kind_has_a_group() {
        let check = |kind: &str, name: &str, want: &str| assert_eq!(GROUPS[group_of(kind, name, false)], want);
        check("op", "aten::mm", "operators");
        check("py", "nn.Module: Linear_0", "modules");
        check("py", "train.py(3): step", "frames");
        check("memset", "Memset (Device)", "transfers");
        check("window", "Iteration Start", "others");
        assert_eq!(GROUPS[group_of("kernel", "ncclDevKernel_AllReduce", true)], "collectives");
    }
}
