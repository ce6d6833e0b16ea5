//! Texts of pairs that say more about device work: `regs:32 grid:80,1,1 block:256,1,1`.

use stepscope_model::framework_op::operator_type;

use super::arguments::Arguments;
use super::metadata::Metadata;
use super::names::Known;

/// The value of a key in `key:value` pairs that are separated by white space; the last one of several.
fn value<'t>(details: &'t str, key: &str) -> Option<&'t str> {
    let pairs = details.split_whitespace().filter_map(|pair| pair.split_once(':'));
    pairs.rev().find(|(name, _)| *name == key).map(|(_, value)| value)
}

fn integer(details: &str, key: &str) -> Option<i64> {
    value(details, key)?.parse().ok()
}

/// The sizes of `80,1,1`.
fn sizes(details: &str, key: &str) -> Option<[i64; 3]> {
    let mut sizes = value(details, key)?.split(',').map(|size| size.parse().ok().filter(|size: &i64| *size >= 0));
    let found = [sizes.next()??, sizes.next().unwrap_or(Some(1))?, sizes.next().unwrap_or(Some(1))?];
    sizes.next().is_none().then_some(found)
}

/// Turns what a kernel says about its launch into arguments. `cores` are the multiprocessors of the device.
pub(super) fn kernel(arguments: &mut Arguments, metadata: &Metadata, cores: Option<i64>) {
    let Some(details) = arguments.text(Known::KernelDetails, metadata).map(str::to_owned) else { return };
    arguments.remove(Known::KernelDetails);
    if let Some(registers) = integer(&details, "regs") {
        arguments.put_number(Known::Registers, registers);
    }
    let shared = [integer(&details, "static_shared"), integer(&details, "dynamic_shared")];
    let shared = integer(&details, "shm").or_else(|| match shared {
        [None, None] => None,
        [fixed, dynamic] => fixed.unwrap_or(0).checked_add(dynamic.unwrap_or(0)),
    });
    if let Some(shared) = shared {
        arguments.put_number(Known::SharedMemory, shared);
    }
    let grid = sizes(&details, "grid");
    for (key, sizes) in [(Known::Grid, grid), (Known::Block, sizes(&details, "block"))] {
        if let Some([x, y, z]) = sizes {
            arguments.put_json(key, format_args!("[{x}, {y}, {z}]"));
        }
    }
    if let (Some(grid), Some(cores @ 1..)) = (grid, cores) {
        arguments.put_number(Known::BlocksPerCore, grid.map(|size| size as f64).iter().product::<f64>() / cores as f64);
    }
    let occupancy = value(&details, "occ_pct").and_then(|percent| percent.parse::<f64>().ok());
    if let Some(percent) = occupancy.filter(|percent| percent.is_finite()) {
        arguments.put_number(Known::Occupancy, percent);
    }
}

/// Turns what a copy or a fill says about itself into arguments.
pub(super) fn copy(arguments: &mut Arguments, metadata: &Metadata) {
    for key in [Known::CopyDetails, Known::FillDetails, Known::OldFillDetails] {
        let Some(details) = arguments.text(key, metadata).map(str::to_owned) else { continue };
        let bytes = value(&details, "size").or_else(|| value(&details, "num_bytes"));
        // What does not fit stays readable as it was recorded.
        let Some(bytes) = bytes.and_then(|bytes| bytes.parse::<i64>().ok()) else { continue };
        arguments.remove(key);
        arguments.put_number(Known::Bytes, bytes);
        if let Some(kind) = value(&details, "kind") {
            arguments.put_text(Known::CopyKind, kind);
        }
    }
}

/// Finds the operator of the framework that device work belongs to.
pub(super) fn framework_op(arguments: &mut Arguments, metadata: &Metadata) {
    for key in [Known::TfOp, Known::Name, Known::Annotation] {
        let Some(text) = arguments.text(key, metadata).filter(|text| !text.starts_with("XlaModule:")) else { continue };
        let text = text.split('#').next().unwrap_or_default();
        if !operator_type(text).is_empty() {
            let text = text.to_owned();
            arguments.remove(key);
            arguments.put_text(Known::FrameworkOp, &text);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        let details = "regs:32 static_shared:0 dynamic_shared:1024 grid:80,2 block:256,1,1 occ_pct:50";
        assert_eq!((integer(details, "regs"), value(details, "occ_pct")), (Some(32), Some("50")));
        assert_eq!((sizes(details, "grid"), sizes(details, "block")), (Some([80, 2, 1]), Some([256, 1, 1])));
        assert_eq!((sizes("grid:1,x,1", "grid"), sizes("grid:1,1,1,1", "grid"), sizes("", "grid")), (None, None, None));
    }
}
