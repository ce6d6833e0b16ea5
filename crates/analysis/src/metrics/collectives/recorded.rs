//! What the recording says about collectives: metadata of kernels, and spans around their launches.

use std::collections::{HashMap, HashSet};
use std::iter;

use super::super::Measuring;
use super::super::path::Path;
use crate::error::AnalysisError;
use crate::frame::Frame;

/// Spans that say something about the collectives launched below them.
const SPEAKING: &str = "
    SELECT span_id, name, input_dims, input_types,
      collective_name, collective_dtype, in_msg_nelems, out_msg_nelems, group_size, process_group_name
    FROM spans
    WHERE {source} AND kind IN ('op', 'ann', 'rt')
      AND (collective_name <> '' OR name LIKE 'nccl:%' OR name LIKE 'xccl:%' OR name LIKE 'hccl:%')";

/// Every host span in the order of nesting.
const HOST_SPANS: &str = "
    SELECT span_id, parent_id FROM spans WHERE {source} AND kind IN ('op', 'ann', 'rt') ORDER BY span_id";

/// What the recording says about a collective.
#[derive(Clone)]
pub(super) struct Metadata {
    pub collective_name: String,
    pub process_group: Option<String>,
    pub group_size: Option<i64>,
    pub dtype: Option<String>,
    pub in_elements: Option<i64>,
    pub out_elements: Option<i64>,
}

/// A span around a launch that has metadata or is the call of a library.
pub(super) struct Enclosing {
    pub name: String,
    pub metadata: Option<Metadata>,
    pub input_dims: Option<String>,
    pub input_types: Option<String>,
}

/// The spans around launches that say something about them.
#[derive(Default)]
pub(super) struct Surroundings {
    speaking: HashMap<i64, Enclosing>,
    /// By the owner of a launch: the nearest speaking span, itself included.
    nearest: HashMap<i64, i64>,
    /// By a speaking span: the next one that encloses it.
    next: HashMap<i64, i64>,
}

impl Surroundings {
    /// Reads what encloses the launches of these owners.
    pub(super) fn read(measuring: &Measuring<'_>, owners: &HashSet<i64>) -> Result<Self, AnalysisError> {
        let mut found = Self { speaking: speaking(measuring)?, ..Self::default() };
        if found.speaking.is_empty() {
            return Ok(found);
        }
        let mut path = Path::new();
        measuring.walk(HOST_SPANS, |rows| {
            for (id, parent) in rows.required_i64("span_id")?.into_iter().zip(rows.i64("parent_id")?) {
                let above = path.up_to(parent).flatten();
                let speaks = found.speaking.contains_key(&id);
                let nearest = if speaks { Some(id) } else { above };
                path.down_to(id, nearest);
                found.next.extend(above.filter(|_| speaks).map(|above| (id, above)));
                found.nearest.extend(nearest.filter(|_| owners.contains(&id)).map(|nearest| (id, nearest)));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// What encloses a launch of this owner, nearest first.
    pub(super) fn of(&self, owner_id: Option<i64>) -> Vec<&Enclosing> {
        let nearest = owner_id.and_then(|owner| self.nearest.get(&owner));
        iter::successors(nearest, |id| self.next.get(id)).filter_map(|id| self.speaking.get(id)).collect()
    }
}

fn speaking(measuring: &Measuring<'_>) -> Result<HashMap<i64, Enclosing>, AnalysisError> {
    let rows = measuring.query(SPEAKING)?;
    let (ids, names) = (rows.required_i64("span_id")?, rows.text("name")?);
    let inputs = rows.text("input_dims")?.into_iter().zip(rows.text("input_types")?);
    let spans = names.into_iter().zip(metadata(&rows)?).zip(inputs);
    let span = |((name, metadata), (input_dims, input_types)): ((Option<String>, _), _)| Enclosing {
        name: name.unwrap_or_default(),
        metadata,
        input_dims,
        input_types,
    };
    Ok(ids.into_iter().zip(spans.map(span)).collect())
}

/// The metadata of each row; none where the collective has no name.
pub(super) fn metadata(rows: &Frame) -> Result<Vec<Option<Metadata>>, AnalysisError> {
    let (groups, dtypes) = (rows.text("process_group_name")?, rows.text("collective_dtype")?);
    let (sizes, ins, outs) = (rows.i64("group_size")?, rows.i64("in_msg_nelems")?, rows.i64("out_msg_nelems")?);
    let of_row = |(row, name): (usize, Option<String>)| {
        Some(Metadata {
            collective_name: name.filter(|name| !name.is_empty())?,
            process_group: groups[row].clone(),
            group_size: sizes[row],
            dtype: dtypes[row].clone(),
            in_elements: ins[row],
            out_elements: outs[row],
        })
    };
    Ok(rows.text("collective_name")?.into_iter().enumerate().map(of_row).collect())
}
