//! What the header of a trace says: the devices, the ranks and their groups, the beginning of time.

use std::fmt::Write as _;

use stepscope_formats::JsonValue;

use crate::run::BASE_TIME_NS;
use crate::trace::header::device_properties;

use crate::faults::setup::Setup;

/// The members of the header. A job of one rank has no groups, so there is nothing to say about them.
pub(super) fn entries<'a>(devices: &'a str, distributed: Option<&'a str>) -> Vec<(&'static str, JsonValue<'a>)> {
    let mut entries = vec![
        ("schemaVersion", JsonValue::Int(1)),
        ("deviceProperties", JsonValue::Json(devices)),
        ("cuda_runtime_version", JsonValue::Int(12_040)),
        ("record_shapes", JsonValue::Int(1)),
        ("profile_memory", JsonValue::Int(1)),
        ("displayTimeUnit", JsonValue::Text("ms")),
        ("baseTimeNanoseconds", JsonValue::Int(BASE_TIME_NS)),
    ];
    entries.extend(distributed.map(|info| ("distributedInfo", JsonValue::Json(info))));
    entries
}

/// The devices of the host.
pub(super) fn devices(setup: &Setup) -> String {
    device_properties(setup.ranks)
}

/// The rank, and the groups that it is in.
pub(super) fn distributed_info(setup: &Setup, rank: u32) -> Option<String> {
    let all: Vec<u32> = (0..setup.ranks).collect();
    let has_group_of_all = setup.groups.iter().any(|group| group.ranks == all);
    let mut groups: Vec<(&str, &str, &[u32])> = Vec::new();
    if !has_group_of_all {
        groups.push(("0", "default_pg", &all));
    }
    for group in setup.groups_of(rank) {
        let group = &setup.groups[group];
        groups.push((group.name, description(setup, &group.ranks), &group.ranks));
    }
    if setup.groups.is_empty() {
        return None;
    }
    let config = groups.iter().map(|(name, description, ranks)| {
        format!(
            "{{\"pg_name\": \"{name}\", \"pg_desc\": \"{description}\", \"backend_config\": \"cuda:nccl\", \
             \"pg_size\": {}, \"ranks\": {}}}",
            ranks.len(),
            list(ranks),
        )
    });
    Some(format!(
        "{{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {}, \"pg_count\": {}, \"pg_config\": [{}], \
         \"nccl_version\": \"2.21.5\"}}",
        setup.ranks,
        groups.len(),
        config.collect::<Vec<_>>().join(", "),
    ))
}

/// What a group is for.
pub(super) fn description(setup: &Setup, ranks: &[u32]) -> &'static str {
    match ranks {
        _ if ranks.len() == setup.ranks as usize => "default_pg",
        [first, second] if first + 1 == *second => "mesh_row",
        _ => "mesh_column",
    }
}

/// The ranks of a group, as the profiler writes them.
pub(super) fn list(ranks: &[u32]) -> String {
    let mut text = String::from("[");
    for (place, rank) in ranks.iter().enumerate() {
        let _ = write!(text, "{}{rank}", if place > 0 { ", " } else { "" });
    }
    text.push(']');
    text
}
