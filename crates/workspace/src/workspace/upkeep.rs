//! Runs in packs are kept in order: one row per run says what was done.

use std::path::Path;
use std::time::Duration;

use stepscope_ingest::Progress;
use stepscope_model::{Cell, Exit, Part, Report, ReportColumn, ReportTable, Text};
use stepscope_runs::{Amount, CompactOptions, Compaction, ExpireOptions, PackedRuns, RefusedPack, RunError, Settings};

use super::Workspace;

/// What a command did, and what it ends with.
pub type Kept = (Report, Exit);

impl Workspace {
    /// Merges the packs of runs into blocks.
    pub fn compact(
        path: &Path,
        settings: &Settings,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<Kept, RunError> {
        let done = PackedRuns::find(path, settings)?.compact(options, progress)?;
        Ok(merged("compact", &done))
    }

    /// Merges the packs of runs into blocks, round after round, until the user ends it; also of runs that come later.
    pub fn compact_every(
        path: &Path,
        settings: &Settings,
        pause: Duration,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<(), RunError> {
        PackedRuns::compact_every(path, settings, pause, options, progress)
    }

    /// Makes manifests and blocks again from packs.
    pub fn rebuild(
        path: &Path,
        settings: &Settings,
        options: &CompactOptions,
        progress: &dyn Progress,
    ) -> Result<Kept, RunError> {
        let done = PackedRuns::find(path, settings)?.rebuild(options, progress)?;
        Ok(merged("rebuild", &done))
    }

    /// Deletes what is too old, or says what would be deleted.
    pub fn expire(
        path: &Path,
        settings: &Settings,
        options: &ExpireOptions,
        progress: &dyn Progress,
    ) -> Result<Kept, RunError> {
        let done = PackedRuns::find(path, settings)?.expire(options, progress)?;
        let sum = |amounts: &mut dyn Iterator<Item = &Amount>| {
            amounts.fold((0, 0), |(objects, bytes), amount| (objects + amount.objects, bytes + amount.bytes))
        };
        let named = ReportColumn::named;
        let table = ReportTable::of("rows", &done)
            .column(named("run"), |(run, _)| run.clone())
            .column(named("is_pinned"), |(_, expiry)| expiry.is_pinned)
            .column(named("packs"), |(_, expiry)| count(sum(&mut expiry.packs.values()).0))
            .column(named("packs_size_bytes"), |(_, expiry)| count(sum(&mut expiry.packs.values()).1))
            .column(named("retired_blocks"), |(_, expiry)| expiry.retired.len() as i64)
            .column(named("orphan_blocks"), |(_, expiry)| expiry.orphans.len() as i64)
            .column(named("deleted_blocks"), |(_, expiry)| expiry.deleted.len() as i64)
            .column(named("deleted_size_bytes"), |(_, expiry)| count(sum(&mut expiry.deleted.values()).1))
            .column(named("unmerged_packs"), |(_, expiry)| count(expiry.unmerged))
            .table();
        let mut parts = vec![Part::Table(table)];
        if !options.yes {
            parts.push(text("Nothing was deleted. Add `--yes` to delete this."));
        }
        if done.iter().any(|(_, expiry)| expiry.unmerged > 0) {
            parts.push(text(
                "Unmerged packs are kept: no block has their sums. `stepscope store compact --all` merges them.",
            ));
        }
        Ok((Report::new("expire", parts), Exit::Done))
    }

    /// Reads every byte of runs, and compares blocks with manifests and packs.
    pub fn verify(path: &Path, settings: &Settings, progress: &dyn Progress) -> Result<Kept, RunError> {
        let done = PackedRuns::find(path, settings)?.verify(progress)?;
        let named = ReportColumn::named;
        let table = ReportTable::of("rows", &done)
            .column(named("run"), |(run, _)| run.clone())
            .column(named("manifest"), |(_, found)| count(found.manifest))
            .column(named("packs"), |(_, found)| count(found.packs))
            .column(named("packs_size_bytes"), |(_, found)| count(found.pack_bytes))
            .column(named("unmerged_packs"), |(_, found)| count(found.unmerged))
            .column(named("blocks"), |(_, found)| count(found.blocks))
            .column(named("files"), |(_, found)| count(found.files))
            .column(named("recordings"), |(_, found)| count(found.sources))
            .column(named("without_pack"), |(_, found)| count(found.without_pack))
            .column(named("problems"), |(_, found)| (found.problems.len() + found.refused.len()) as i64)
            .table();
        let broken =
            done.iter().flat_map(|(run, found)| found.problems.iter().map(move |problem| (run, problem.clone())));
        let mut problems: Vec<(&String, String)> = broken.collect();
        for (run, found) in &done {
            problems.extend(found.refused.iter().map(|pack| (run, format!("{}: {}", pack.reason, pack.key))));
        }
        let exit = if problems.is_empty() { Exit::Done } else { Exit::Unreadable };
        let mut parts = vec![Part::Table(table)];
        if !problems.is_empty() {
            let table = ReportTable::of("problems", &problems)
                .column(named("run"), |(run, _)| (*run).clone())
                .column(named("problem"), |(_, problem)| problem.clone())
                .table();
            parts.push(Part::Table(table));
        }
        Ok((Report::new("verify", parts), exit))
    }

    /// Writes runs into a store in a folder, a file per table and recording.
    pub fn export_runs(
        path: &Path,
        folder: &Path,
        settings: &Settings,
        progress: &dyn Progress,
    ) -> Result<Kept, RunError> {
        let done = PackedRuns::find(path, settings)?.export(folder, progress)?;
        let named = ReportColumn::named;
        let table = ReportTable::of("rows", &done)
            .column(named("run"), |(run, _)| run.clone())
            .column(named("recordings"), |(_, export)| count(export.sources))
            .column(named("sums_only"), |(_, export)| count(export.sums_only))
            .column(named("refused"), |(_, export)| export.refused.len() as i64)
            .table();
        let refused: Vec<&RefusedPack> = done.iter().flat_map(|(_, export)| &export.refused).collect();
        let mut parts = vec![Part::Table(table)];
        parts.extend(of_refused(&refused));
        Ok((Report::new("export", parts), Exit::Done))
    }
}

fn merged(name: &'static str, done: &[(String, Compaction)]) -> Kept {
    let named = ReportColumn::named;
    let table = ReportTable::of("rows", done)
        .column(named("run"), |(run, _)| run.clone())
        .column(named("manifest"), |(_, done)| count(done.manifest))
        .column(named("packs"), |(_, done)| count(done.listed))
        .column(named("merged"), |(_, done)| count(done.merged))
        .column(named("blocks"), |(_, done)| count(done.added))
        .column(named("retired_blocks"), |(_, done)| count(done.retired))
        .column(named("waiting"), |(_, done)| count(done.pending))
        .column(named("refused"), |(_, done)| done.refused.len() as i64)
        .table();
    let mut parts = vec![Part::Table(table)];
    if done.iter().any(|(_, done)| done.pending > 0) {
        parts.push(text(
            "Waiting packs are merged when all ranks of their window are there, or 15 minutes after the last one. \
             `--now` merges them at once.",
        ));
    }
    let refused: Vec<&RefusedPack> = done.iter().flat_map(|(_, done)| &done.refused).collect();
    parts.extend(of_refused(&refused));
    (Report::new(name, parts), Exit::Done)
}

/// Packs that are not used, if there are any.
fn of_refused(packs: &[&RefusedPack]) -> Option<Part> {
    let table = ReportTable::of("refused", packs)
        .column(ReportColumn::named("pack"), |pack| pack.key.clone())
        .column(ReportColumn::named("reason"), |pack| pack.reason.clone())
        .table();
    (!packs.is_empty()).then_some(Part::Table(table))
}

fn text(words: &'static str) -> Part {
    Part::Text(Text::from(words))
}

fn count(count: u64) -> Cell {
    Cell::Int(count as i64)
}
