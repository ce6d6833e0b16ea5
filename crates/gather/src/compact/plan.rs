//! Which packs become which block. Pure: every compactor that sees the same plans the same.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_model::SourceId;
use stepscope_store::block::{BlockId, BlockPack};
use stepscope_store::pack::{Depth, ListedPack, PackName};

use super::held::HeldBlock;

/// So many blocks of one window become one.
const BLOCKS_PER_WINDOW: usize = 8;

/// A pack that goes into a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedPack {
    pub(super) name: PackName,
    pub(super) size_bytes: u64,
}

/// The packs of one window that no block holds yet, and the blocks that they are merged with.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) number: u32,
    pub(super) new: Vec<PlannedPack>,
    /// Packs of the blocks that are replaced.
    old: Vec<PlannedPack>,
    pub(super) replaces: Vec<BlockId>,
    /// When the newest pack was uploaded.
    pub(super) newest_ns: i64,
    /// Ranks that are there, in packs or in blocks.
    pub(super) ranks: BTreeSet<u32>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) windows: Vec<Window>,
    /// Packs that can be in no block, and why.
    pub(super) impossible: Vec<(PackName, String)>,
}

/// A block to make.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) id: BlockId,
    pub(super) window: u32,
    /// Sorted by window, rank and key: the order of the rows.
    pub(super) packs: Vec<PlannedPack>,
    /// Blocks whose packs are among these.
    pub(super) replaces: Vec<BlockId>,
}

impl Plan {
    pub(super) fn of(run: &str, window: &Window) -> Self {
        let packs = window.old.iter().chain(&window.new);
        let mut packs: Vec<PlannedPack> =
            deepest(packs.map(|pack| (&pack.name, pack))).into_values().cloned().collect();
        packs.sort_unstable_by_key(|pack| (pack.name.id.window, pack.name.id.rank, pack.name.key));
        let id = BlockId::of(run, packs.iter().map(|pack| &pack.name));
        Self { id, window: window.number, packs, replaces: window.replaces.clone() }
    }
}

/// Finds the packs that no block holds. A pack whose rank and window are in a block already is deeper or contradicts it:
/// then that block is made again with it. So a source is in one block at most, and so are sources that contradict each
/// other.
pub(super) fn draft(listed: &[&ListedPack], live: &[HeldBlock<'_>], frozen: &BTreeSet<BlockId>) -> Draft {
    let mut covered: BTreeMap<Identity, Depth> = BTreeMap::new();
    for pack in live.iter().flat_map(|(_, packs)| *packs) {
        let depth = covered.entry(identity(&pack.name)).or_insert(pack.name.depth);
        *depth = (*depth).max(pack.name.depth);
    }
    let is_new = |name: &PackName| covered.get(&identity(name)).is_none_or(|depth| *depth < name.depth);
    let new = deepest(listed.iter().filter(|pack| is_new(&pack.name)).map(|pack| (&pack.name, *pack)));
    let mut by_window: BTreeMap<u32, Vec<&ListedPack>> = BTreeMap::new();
    for pack in new.into_values() {
        by_window.entry(pack.name.id.window).or_default().push(pack);
    }
    let mut draft = Draft::default();
    for (window, new) in by_window {
        let of_window = |(_, packs): &&HeldBlock<'_>| packs.iter().any(|pack| pack.name.id.window == window);
        let blocks: Vec<&HeldBlock<'_>> = live.iter().filter(of_window).collect();
        draft_window(window, new, &blocks, frozen, &mut draft);
    }
    draft
}

fn draft_window(
    window: u32,
    mut new: Vec<&ListedPack>,
    blocks: &[&HeldBlock<'_>],
    frozen: &BTreeSet<BlockId>,
    draft: &mut Draft,
) {
    let (fixed, free): (Vec<_>, Vec<_>) = blocks.iter().partition(|(id, _)| frozen.contains(id));
    let ids_of = |blocks: &[&&HeldBlock<'_>]| -> BTreeSet<SourceId> {
        blocks.iter().flat_map(|(_, packs)| *packs).map(|pack| pack.name.id).collect()
    };
    let taken = ids_of(&fixed);
    let (usable, impossible): (Vec<&ListedPack>, Vec<&ListedPack>) =
        new.drain(..).partition(|pack| !taken.contains(&pack.name.id));
    let reason = "its rank and window are in a block that cannot be made again, as packs of it are deleted";
    draft.impossible.extend(impossible.iter().map(|pack| (pack.name.clone(), reason.to_owned())));
    if usable.is_empty() {
        return;
    }
    let new_ids: BTreeSet<SourceId> = usable.iter().map(|pack| pack.name.id).collect();
    let shares = |packs: &[BlockPack]| packs.iter().any(|pack| new_ids.contains(&pack.name.id));
    let is_full = blocks.len() + 1 >= BLOCKS_PER_WINDOW;
    let replaced: Vec<&&HeldBlock<'_>> = free.into_iter().filter(|(_, packs)| is_full || shares(packs)).collect();
    let old = replaced.iter().flat_map(|(_, packs)| *packs);
    let ranks = blocks.iter().flat_map(|(_, packs)| *packs).map(|pack| pack.name.id);
    draft.windows.push(Window {
        number: window,
        old: old.map(|pack| PlannedPack { name: pack.name.clone(), size_bytes: pack.size_bytes }).collect(),
        replaces: replaced.iter().map(|(id, _)| *id).collect(),
        newest_ns: usable.iter().map(|pack| pack.modified_ns).max().unwrap_or(0),
        ranks: ranks.filter(|id| id.window == window).chain(new_ids.iter().copied()).map(|id| id.rank).collect(),
        new: usable.iter().map(|pack| PlannedPack { name: pack.name.clone(), size_bytes: pack.size_bytes }).collect(),
    });
}

/// Of several packs of one recording the one that has most of it, sorted by rank and window.
pub(crate) fn in_one_depth(listed: &[ListedPack]) -> Vec<&ListedPack> {
    deepest(listed.iter().map(|pack| (&pack.name, pack))).into_values().collect()
}

/// Which recording a pack is of, whatever its depth.
type Identity = (SourceId, u128);

fn identity(name: &PackName) -> Identity {
    (name.id, name.key)
}

/// Of the packs of one recording the one that has most of it.
fn deepest<'p, P>(packs: impl Iterator<Item = (&'p PackName, P)>) -> BTreeMap<Identity, P> {
    let mut found: BTreeMap<Identity, (Depth, P)> = BTreeMap::new();
    for (name, pack) in packs {
        match found.get(&identity(name)) {
            Some((depth, _)) if *depth >= name.depth => {}
            _ => drop(found.insert(identity(name), (name.depth, pack))),
        }
    }
    found.into_iter().map(|(identity, (_, pack))| (identity, pack)).collect()
}
