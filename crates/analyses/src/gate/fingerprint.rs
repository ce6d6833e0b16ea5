//! What two runs must have in common to be compared, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use stepscope_model::SourceRecord;
use stepscope_runs::RunError;

use crate::Asking;
use crate::listings::health;

/// The fields of a run; null where the trace does not say.
pub(super) type Fingerprint = BTreeMap<String, Json>;

/// Fields that must be equal: with another value the work or its cost is another.
pub(super) const MUST_AGREE: [&str; 11] = [
    "devices",
    "device_count",
    "compute_capability",
    "world_size",
    "step_source",
    "input_shapes",
    "precision",
    "record_shapes",
    "with_stack",
    "profile_memory",
    "with_flops",
];

/// Fields that are only reported.
pub(super) const REPORTED: [&str; 5] =
    ["runtime_version", "driver_version", "host_name", "clock_resolution_ns", "grade"];

/// The grade with which a trace decides nothing.
pub(super) const POOR: &str = "poor";

/// The fields of the traces that are asked about.
pub(super) fn of(asking: &Asking<'_>) -> Result<Fingerprint, RunError> {
    let sources = &asking.sources;
    let first = |value: &dyn Fn(&SourceRecord) -> Json| {
        sources.iter().map(|source| value(source)).find(|value| !value.is_null()).unwrap_or(Json::Null)
    };
    let header = |name: &'static str| first(&|source| source.header.get(name).map_or(Json::Null, flag));
    let listed: Vec<&str> =
        sources.iter().flat_map(|source| source.devices.iter().flatten()).filter_map(|it| it.name.as_deref()).collect();
    let names: BTreeSet<&str> = listed.iter().copied().collect();
    let majors: BTreeSet<i64> = sources
        .iter()
        .flat_map(|source| source.devices.iter().flatten())
        .filter_map(|device| device.compute_major)
        .collect();
    let grades = health::grades(asking.engine, sources.iter().copied())?;
    let of_asked = |source: &&SourceRecord| grades.get(&source.id).and_then(|standing| standing.grade);
    let worst = sources.iter().filter_map(of_asked).max();
    let world_size = first(&|source| source.header_world_size.clone());
    let fields = [
        ("devices", known(&names.iter().copied().collect::<Vec<&str>>())),
        ("device_count", if listed.is_empty() { Json::Null } else { json!(listed.len()) }),
        ("compute_capability", known(&majors.into_iter().collect::<Vec<i64>>())),
        ("world_size", if world_size.is_null() { json!(asking.ranks().len()) } else { world_size }),
        ("step_source", first(&|source| json!(source.step_source.as_text()))),
        ("input_shapes", first_shapes(asking)?),
        ("precision", precision(asking)?),
        ("record_shapes", header("record_shapes")),
        ("with_stack", header("with_stack")),
        ("profile_memory", header("profile_memory")),
        ("with_flops", header("with_flops")),
        ("runtime_version", header("cuda_runtime_version")),
        ("driver_version", header("cuda_driver_version")),
        ("host_name", header("host_name")),
        ("clock_resolution_ns", first(&|source| json!(source.clock_resolution_ns))),
        ("grade", worst.map_or(Json::Null, |grade| json!(grade.as_text()))),
    ];
    Ok(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A list that says nothing when it is empty.
fn known<Value: serde::Serialize>(values: &[Value]) -> Json {
    if values.is_empty() { Json::Null } else { json!(values) }
}

/// Traces write flags as numbers or as truth values.
fn flag(value: &Json) -> Json {
    match value.as_i64() {
        Some(number @ (0 | 1)) => json!(number == 1),
        _ => value.clone(),
    }
}

/// Operators of a model whose shapes tell the batch. Others come first in a step, such as those of a data loader without
/// workers, and say nothing about the model.
const OF_MODEL: &str = "name IN ('aten::linear', 'aten::addmm', 'aten::mm', 'aten::bmm', 'aten::matmul',
    'aten::baddbmm', 'aten::embedding', 'aten::conv1d', 'aten::conv2d', 'aten::conv3d', 'aten::convolution')";

/// The name and the shapes of the first of them in a step.
fn first_shapes(asking: &Asking<'_>) -> Result<Json, RunError> {
    let rows = asking.query(&format!(
        "SELECT name, input_dims FROM spans
         WHERE {{source}} AND kind = 'op' AND step IS NOT NULL AND {OF_MODEL} AND input_dims ~ '[0-9]'
         ORDER BY rank, \"window\", step, start_ns, position LIMIT 1"
    ))?;
    let (names, shapes) = (rows.text("name")?, rows.text("input_dims")?);
    let first = names.into_iter().flatten().zip(shapes.into_iter().flatten()).next();
    Ok(first.map_or(Json::Null, |(name, shape)| json!(format!("{name} {shape}"))))
}

/// Types of the inputs of matrix products.
fn precision(asking: &Asking<'_>) -> Result<Json, RunError> {
    let rows = asking.query(
        "SELECT DISTINCT input_types FROM spans
         WHERE {source} AND kind = 'op' AND input_types IS NOT NULL
           AND name IN ('aten::mm', 'aten::addmm', 'aten::bmm', 'aten::linear', 'aten::matmul', 'aten::baddbmm')
         ORDER BY input_types",
    )?;
    let mut types: BTreeSet<String> = BTreeSet::new();
    for list in rows.text("input_types")?.into_iter().flatten() {
        let names: Vec<Json> = serde_json::from_str(&list).unwrap_or_default();
        types.extend(names.iter().filter_map(Json::as_str).filter(|name| is_of_tensor(name)).map(str::to_owned));
    }
    Ok(known(&types.into_iter().collect::<Vec<String>>()))
}

/// Whether it is the type of a tensor: scalars and lists begin with a capital.
fn is_of_tensor(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// One field of both sides.
pub(super) struct Field {
    pub name: &'static str,
    /// The values of the baseline runs that differ from each other, and of the candidates.
    pub baseline: Vec<Json>,
    pub candidate: Vec<Json>,
    pub agrees: Agreement,
}

/// What two sides of a field say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    Equal,
    /// Unknown on a side.
    Unknown,
    /// Differs, and that is only reported.
    Reported,
    /// Differs, so that the runs are not comparable.
    Differs,
}

impl Agreement {
    pub(super) fn as_text(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Unknown => "not compared",
            Self::Reported => "reported",
            Self::Differs => "differs",
        }
    }
}

/// Every field of two sides.
pub(super) fn compare(baseline: &[&Fingerprint], candidates: &[&Fingerprint]) -> Vec<Field> {
    let must = MUST_AGREE.into_iter().map(|name| (name, Agreement::Differs));
    let reported = REPORTED.into_iter().map(|name| (name, Agreement::Reported));
    let field = |(name, otherwise): (&'static str, Agreement)| {
        let values = |side: &[&Fingerprint]| {
            let mut values: Vec<Json> = Vec::new();
            for value in side.iter().filter_map(|fields| fields.get(name)).filter(|value| !value.is_null()) {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
            values
        };
        let (baseline, candidate) = (values(baseline), values(candidates));
        let agrees = if baseline.is_empty() || candidate.is_empty() {
            Agreement::Unknown
        } else if baseline.len() == 1 && baseline == candidate {
            Agreement::Equal
        } else {
            otherwise
        };
        Field { name, baseline, candidate, agrees }
    };
    must.chain(reported).map(field).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(changed: &str, value: &Json) -> Fingerprint {
        let all = MUST_AGREE.into_iter().chain(REPORTED);
        let of = |name: &str| if name == changed { value.clone() } else { json!("same") };
        all.map(|name| (name.to_owned(), of(name))).collect()
    }

    #[test]
    fn every_field_that_must_agree_is_compared_and_unknown_ones_are_not() {
        let same = fields("", &Json::Null);
        for name in MUST_AGREE.into_iter().chain(REPORTED) {
            let find = |other: &Fingerprint| {
                let found = compare(&[&same, &same], &[other]);
                assert!(found.iter().all(|field| field.name == name || field.agrees == Agreement::Equal), "{name}");
                found.iter().find(|field| field.name == name).unwrap().agrees
            };
            let differs = if MUST_AGREE.contains(&name) { Agreement::Differs } else { Agreement::Reported };
            assert_eq!(find(&fields(name, &json!("other"))), differs, "{name}");
            assert_eq!(find(&fields(name, &Json::Null)), Agreement::Unknown, "{name}");
        }
    }

    #[test]
    fn a_baseline_that_differs_in_itself_agrees_with_nothing() {
        let (a, b) = (fields("", &Json::Null), fields("devices", &json!("other")));
        let found = compare(&[&a, &b], &[&a]);
        assert_eq!(found[0].agrees, Agreement::Differs);
    }
}
