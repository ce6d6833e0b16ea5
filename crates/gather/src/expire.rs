//! Deletes what is too old, and what nobody needs any more.
//!
//! Blocks go in two steps: a manifest without them, and after a day their objects. So a reader that holds an older
//! manifest finds what it names. Objects that no manifest names, as killed compactors leave them, go the same way.
//! Packs go at once, when they are old and a block has their sums.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use stepscope_model::SourceId;
use stepscope_objects::{Bucket, Entry, UNWATCHED, Watch, parallel};
use stepscope_store::block::{self, BlockId};
use stepscope_store::layout;
use stepscope_store::manifest::{self, Manifest};
use stepscope_store::pack::{Depth, ListedPack, NO_HOUR, is_hour, list_packs, packs_folder};

use crate::compact::{
    ATTEMPTS, Change, CompactError, GRACE, Held, Published, before, check_conditions, go_on, jitter, nanoseconds,
    publish, system_ns,
};

/// Hours whose packs are in memory at once.
const HOURS_AT_ONCE: usize = 24;

/// What is too old, and whether to delete it.
#[derive(Clone, Debug)]
pub struct ExpireOptions {
    /// How long packs are kept that a block has the sums of.
    pub events: Duration,
    /// How long blocks are kept, and packs of any kind.
    pub sums: Duration,
    /// Deletes; else it is only said what would be.
    pub yes: bool,
    /// Nobody else writes, so the object store need not keep to conditions.
    pub single_writer: bool,
    /// The time since 1970; the system's if not given.
    pub now_ns: Option<i64>,
}

impl Default for ExpireOptions {
    fn default() -> Self {
        let day = Duration::from_hours(24);
        Self { events: 7 * day, sums: 90 * day, yes: false, single_writer: false, now_ns: None }
    }
}

/// What was deleted, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// The run is pinned: nothing of it expires.
    pub is_pinned: bool,
    /// Packs by hour.
    pub packs: BTreeMap<String, Amount>,
    /// Packs that are old enough, and kept because no block has their sums: compact with `all` first.
    pub unmerged: u64,
    /// Blocks that are too old.
    pub retired: Vec<BlockId>,
    /// Blocks that no manifest names.
    pub orphans: Vec<BlockId>,
    /// Blocks whose objects go now.
    pub deleted: BTreeMap<BlockId, Amount>,
}

/// Some objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
    }
}

/// The object that keeps a run from expiring.
#[must_use]
pub fn pinned_key(run: &str) -> String {
    format!("runs/{}/pinned", layout::run_folder_name(run))
}

/// Deletes what is too old of a run, or says what it would delete. `watch` hears the bytes of such packs so far.
pub fn expire(bucket: &Bucket, run: &str, options: &ExpireOptions, watch: Watch<'_>) -> Result<Expiry, CompactError> {
    let run = layout::run_folder_name(run);
    let now_ns = options.now_ns.unwrap_or_else(system_ns);
    if bucket.head(&pinned_key(&run))?.is_some() {
        return Ok(Expiry { is_pinned: true, ..Expiry::default() });
    }
    if options.yes {
        check_conditions(bucket, options.single_writer)?;
    }
    let mut expiry = Expiry::default();
    let events = before(now_ns, options.events);
    let mut hours = bucket.folders(&packs_folder(&run), UNWATCHED)?;
    hours.retain(|hour| is_hour(hour) && *hour < events);
    // Readers know from the manifest what is not there any more, so it comes before the deletion.
    let expired_before = hours.iter().any(|hour| hour != NO_HOUR).then_some(events);
    let base = expire_blocks(bucket, &run, expired_before.as_deref(), options, now_ns, &mut expiry)?;
    for hours in hours.chunks(HOURS_AT_ONCE) {
        go_on(watch, expiry.packs.values().map(|amount| amount.bytes).sum())?;
        expire_packs(bucket, &run, hours, base.as_ref(), options, now_ns, &mut expiry)?;
    }
    Ok(expiry)
}

/// Retires and deletes blocks. Whatever another writer does meanwhile, only what the newest manifest calls retired for
/// long enough is deleted, and it is forgotten only afterwards.
fn expire_blocks(
    bucket: &Bucket,
    run: &str,
    expired_before: Option<&str>,
    options: &ExpireOptions,
    now_ns: i64,
    expiry: &mut Expiry,
) -> Result<Option<Manifest>, CompactError> {
    let mut objects: BTreeMap<BlockId, Vec<Entry>> = BTreeMap::new();
    for entry in bucket.list(&block::folder(run), UNWATCHED)? {
        if let Some(id) = block::id_of(run, &entry.key) {
            objects.entry(id).or_default().push(entry);
        }
    }
    for attempt in 0..ATTEMPTS {
        let base = manifest::read_newest(bucket, run)?;
        let blocks = base.as_ref().map_or(&[][..], |base| &base.blocks);
        let retired = base.as_ref().map_or(&[][..], |base| &base.retired);
        let oldest_ns = now_ns.saturating_sub(nanoseconds(options.sums));
        let is_old = |last_ns: Option<i64>| last_ns.is_some_and(|last_ns| last_ns < oldest_ns);
        let old: Vec<BlockId> = blocks.iter().filter(|block| is_old(block.last_ns)).map(|block| block.id).collect();
        let is_named =
            |id: &BlockId| blocks.iter().any(|block| block.id == *id) || retired.iter().any(|block| block.id == *id);
        let is_idle = |entries: &[Entry]| {
            let newest_ns = entries.iter().map(|entry| entry.modified_ns).max().unwrap_or(0);
            newest_ns.saturating_add(nanoseconds(GRACE)) <= now_ns
        };
        let orphans = objects.iter().filter(|(id, entries)| !is_named(id) && is_idle(entries));
        let orphans: Vec<BlockId> = orphans.map(|(id, _)| *id).collect();
        let leaving = retired.iter().filter(|block| block.delete_after_ns <= now_ns).map(|block| block.id);
        let leaving: Vec<BlockId> = leaving.collect();

        (expiry.retired, expiry.orphans) = (old.clone(), orphans.clone());
        for id in &leaving {
            let mut amount = Amount::default();
            let entries = objects.get(id).map_or(&[][..], Vec::as_slice);
            for entry in entries {
                amount.add(entry.size_bytes);
            }
            if options.yes {
                // Who still finds it described may take it for whole.
                bucket.delete(&block::descriptor_key(run, *id))?;
                parallel::each(entries, |entry| bucket.delete(&entry.key))?;
            }
            expiry.deleted.insert(*id, amount);
        }
        let known = base.as_ref().map_or(expired_before, |base| base.expired_before_hour.as_deref());
        let news = expired_before.filter(|hour| known.is_none_or(|known| known < *hour)).map(str::to_owned);
        let change = Change { retire: [old, orphans].concat(), forget: leaving, expire: news, ..Change::default() };
        let is_idle = change.retire.is_empty() && change.forget.is_empty() && change.expire.is_none();
        if is_idle || !options.yes {
            return Ok(base);
        }
        match publish(bucket, run, base.as_ref(), &change, now_ns)? {
            Published::Won(manifest) => return Ok(Some(manifest)),
            Published::Lost(_) => thread::sleep(jitter(attempt)?),
        }
    }
    Err(CompactError::Contended { attempts: ATTEMPTS, run: run.to_owned() })
}

/// Deletes the packs of some hours that are too old.
fn expire_packs(
    bucket: &Bucket,
    run: &str,
    hours: &[String],
    base: Option<&Manifest>,
    options: &ExpireOptions,
    now_ns: i64,
    expiry: &mut Expiry,
) -> Result<(), CompactError> {
    let (events, sums) = (before(now_ns, options.events), before(now_ns, options.sums));
    let is_older = |pack: &ListedPack, hour: &str, age: Duration| {
        // Without a clock in the recording the time of the upload counts.
        let is_unknown = pack.name.hour == NO_HOUR;
        let upload_limit_ns = now_ns.saturating_sub(nanoseconds(age));
        if is_unknown { pack.modified_ns < upload_limit_ns } else { pack.name.hour.as_str() < hour }
    };
    let listed = list_packs(bucket, run, hours, &mut false)?;
    let blocks = base.map_or(&[][..], |base| &base.blocks);
    let is_touched =
        |windows: (u32, u32)| listed.iter().any(|pack| (windows.0..=windows.1).contains(&pack.name.id.window));
    let mut held = Held::default();
    held.load(bucket, run, blocks.iter().filter(|block| is_touched(block.windows)))?;
    let merged = merged_packs(&held, blocks);
    let mut gone = Vec::new();
    for pack in listed.iter().filter(|pack| is_older(pack, &events, options.events)) {
        let depth = merged.get(&(pack.name.id, pack.name.key));
        let is_merged = depth.is_some_and(|depth| *depth >= pack.name.depth);
        if is_merged || is_older(pack, &sums, options.sums) {
            expiry.packs.entry(pack.name.hour.clone()).or_default().add(pack.size_bytes);
            gone.push(pack.name.object_key(run));
        } else {
            expiry.unmerged += 1;
        }
    }
    if options.yes {
        parallel::each(&gone, |key| bucket.delete(key))?;
    }
    Ok(())
}

/// The recordings whose sums blocks have, and how deep their packs are.
fn merged_packs(held: &Held, blocks: &[manifest::BlockEntry]) -> BTreeMap<(SourceId, u128), Depth> {
    let packs = held.of(blocks).into_iter().flat_map(|(_, packs)| packs).filter(|pack| !pack.is_conflict);
    packs.map(|pack| ((pack.name.id, pack.name.key), pack.name.depth)).collect()
}
