//! How many ranks a window should have.

use std::collections::BTreeMap;

use serde_json::Value;
use stepscope_objects::Bucket;
use stepscope_store::pack::PackName;

use super::error::CompactError;
use super::plan::Window;
use super::read;

/// The worlds of windows, as one of their ranks recorded it.
#[derive(Debug, Default)]
pub(super) struct Worlds {
    sizes: BTreeMap<u32, Option<u64>>,
}

impl Worlds {
    /// Whether all ranks of a window are there. Reads one pack of it, once.
    pub(super) fn is_complete(
        &mut self,
        bucket: &Bucket,
        run: &str,
        window: &Window,
        refused: &mut BTreeMap<PackName, String>,
    ) -> Result<bool, CompactError> {
        if let Some(size) = self.sizes.get(&window.number) {
            return Ok(size.is_some_and(|size| window.ranks.len() as u64 >= size));
        }
        for pack in &window.new {
            match read::record(bucket, run, &pack.name, pack.size_bytes)? {
                Ok(record) => {
                    let size = world_of(&record.header_world_size);
                    self.sizes.insert(window.number, size);
                    return Ok(size.is_some_and(|size| window.ranks.len() as u64 >= size));
                }
                Err(bad) => drop(refused.insert(pack.name.clone(), bad.to_string())),
            }
        }
        Ok(false)
    }
}

/// A world as recorded: most profilers write a number, some a text.
fn world_of(recorded: &Value) -> Option<u64> {
    let size = recorded.as_u64().or_else(|| recorded.as_str()?.parse().ok());
    size.filter(|size| *size > 0)
}
