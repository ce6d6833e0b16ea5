//! Finds the sources of a run among its blocks and packs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use stepscope_model::{SkippedFile, SourceId, SourceRecord};
use stepscope_objects::{Bucket, ObjectError, UNWATCHED, Watch};

use super::Holding;
use super::blocks::{self, Block, OpenedBlocks};
use super::pack_place::PackPlace;
use super::packs;
use super::scope::{self, LeftOut, Scope};
use crate::error::StoreError;
use crate::layout;
use crate::manifest::{self, Manifest};
use crate::pack::{Depth, ListedPack, NO_HOUR, PackName, hour_at, is_hour, list_packs, packs_folder};

const HOUR_NS: i64 = 3_600_000_000_000;

/// What was found.
pub(super) struct Found {
    pub(super) sources: BTreeMap<SourceId, (Box<SourceRecord>, Holding)>,
    pub(super) blocks: Vec<Block>,
    /// What cannot be used, and why.
    pub(super) skipped: Vec<SkippedFile>,
    pub(super) left_out: Option<LeftOut>,
}

/// Looks for the sources of a run. `watch` hears the bytes that were read so far.
pub(super) fn find(bucket: &Bucket, run: &str, scope: Scope, watch: Watch<'_>) -> Result<Found, StoreError> {
    match find_once(bucket, run, scope, watch) {
        // A block went away since the manifest was read: a newer one names others.
        Err(StoreError::Objects(ObjectError::NotFound { .. })) => find_once(bucket, run, scope, watch),
        found => found,
    }
}

fn find_once(bucket: &Bucket, run: &str, scope: Scope, watch: Watch<'_>) -> Result<Found, StoreError> {
    let run: &Arc<str> = &layout::run_folder_name(run).into();
    let folders = || bucket.folders(&packs_folder(run), UNWATCHED);
    let (manifest, hours) = at_once(|| scope.fresh.then(folders), || manifest::read_newest(bucket, run));
    let (manifest, hours) = (manifest?, hours.transpose()?);
    // Without a manifest packs are all there is.
    let hours = if manifest.is_none() && hours.is_none() { Some(folders()?) } else { hours };
    let hours = listed_hours(hours.unwrap_or_default(), manifest.as_ref());

    let (entries, left_out) = manifest.as_ref().map_or((Vec::new(), None), |manifest| scope::choose(manifest, scope));
    let is_meant = |id: SourceId| left_out.as_ref().is_none_or(|left_out| left_out.open == id.window);
    let is_many = manifest.as_ref().is_some_and(|manifest| !manifest.is_of_small_run());
    let list = || list_packs(bucket, run, &hours, &mut { is_many });
    let (read, listed) = at_once(list, || blocks::read(bucket, run, &entries, watch));
    let mut listed = listed?;
    listed.retain(|pack| is_meant(pack.name.id));
    let OpenedBlocks { blocks, sources, skipped } = read?;

    let expired_before = manifest.as_ref().and_then(|manifest| manifest.expired_before_hour.as_deref());
    let mut found = Found { sources: BTreeMap::new(), blocks, skipped, left_out };
    // Names tell which of the listed packs are merged: without a listing nobody asks.
    let (mut named, is_listed) = (Named::default(), !listed.is_empty());
    for (place, source) in
        sources.into_iter().enumerate().flat_map(|(place, of)| of.into_iter().map(move |it| (place, it)))
    {
        let (id, name) = (source.record.id, &source.pack.name);
        if is_listed {
            named.add(name);
        }
        if source.pack.is_conflict {
            found.skipped.push(packs::contradicted(bucket, &name.object_key(run), id));
        } else {
            let pack = PackPlace::named(run, source.pack, expired_before);
            found.sources.insert(id, (source.record, Holding::Block { place, pack }));
        }
    }
    add_fresh(&mut found, bucket, run, &named, listed, watch)?;
    Ok(found)
}

/// Adds what no block has: other recordings, and the events of those that a block has the sums of.
fn add_fresh(
    found: &mut Found,
    bucket: &Bucket,
    run: &Arc<str>,
    named: &Named,
    listed: Vec<ListedPack>,
    watch: Watch<'_>,
) -> Result<(), StoreError> {
    let (known, fresh): (Vec<ListedPack>, Vec<ListedPack>) =
        listed.into_iter().partition(|pack| named.ids.contains(&pack.name.id));
    let others = known.iter().filter(|pack| !named.recordings.contains_key(&(pack.name.id, pack.name.key)));
    found.skipped.extend(others.map(|pack| packs::not_in_block(bucket, &pack.name.object_key(run), pack.name.id)));
    let deeper = known.into_iter().filter(|pack| {
        let depth = named.recordings.get(&(pack.name.id, pack.name.key));
        depth.is_some_and(|depth| *depth < pack.name.depth)
    });
    for (name, pack) in packs::read(bucket, run, deeper.collect(), &mut found.skipped, watch)? {
        if let Some((_, Holding::Block { pack: place, .. })) = found.sources.get_mut(&pack.record.id) {
            *place = PackPlace::read(run, name, pack);
        }
    }
    let fresh = packs::choose(bucket, run, fresh, &mut found.skipped);
    for (name, pack) in packs::read(bucket, run, fresh, &mut found.skipped, watch)? {
        let record = Box::new(pack.record.clone());
        found.sources.insert(record.id, (record, Holding::Pack(PackPlace::read(run, name, pack))));
    }
    Ok(())
}

/// The packs that blocks name.
#[derive(Default)]
struct Named {
    ids: BTreeSet<SourceId>,
    /// How deep each recording is.
    recordings: BTreeMap<(SourceId, u128), Depth>,
}

impl Named {
    fn add(&mut self, name: &PackName) {
        self.ids.insert(name.id);
        let depth = self.recordings.entry((name.id, name.key)).or_insert(name.depth);
        *depth = (*depth).max(name.depth);
    }
}

/// The hours to list: those that packs can be in which no block has yet. Of a large run only the newest are: what comes
/// into others is found by the next compaction.
fn listed_hours(mut hours: Vec<String>, manifest: Option<&Manifest>) -> Vec<String> {
    let many = manifest.filter(|manifest| !manifest.is_of_small_run());
    let first = many.and_then(|manifest| {
        let newest = hour_at(manifest.created_ns.saturating_sub(HOUR_NS))?;
        Some(newest.max(manifest.sealed_before_hour.clone()))
    });
    hours.retain(|hour| is_hour(hour) && (hour == NO_HOUR || first.as_ref().is_none_or(|first| hour >= first)));
    hours
}

/// Does one thing on this thread and another one beside it.
fn at_once<A: Send, B>(beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (B, A) {
    thread::scope(|scope| {
        let beside = scope.spawn(beside);
        let here = here();
        let beside = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (here, beside)
    })
}
