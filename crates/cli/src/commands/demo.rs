//! `stepscope demo`: writes the traces of a small training job with known faults, to try everything without a GPU.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use stepscope_model::Exit;
use stepscope_simulate::{Job, SimulateError, write_traces};

use super::{Command, parsed};
use crate::failure::Failure;
use crate::{Context, standard_output};

pub(super) static COMMAND: Command = Command {
    name: "demo",
    options: |command| {
        Options::augment_args(command)
            .about("Write simulated traces of a job with known faults; needs no GPU")
            .after_help(
                "\
Examples:
  stepscope demo                    writes demo-run/
  stepscope demo --fixed fixed      the same job with its data loading fixed
  stepscope open demo-run fixed     both, to compare them",
            )
    },
    run,
};

#[derive(Args)]
struct Options {
    /// Write to this folder; created if missing
    #[arg(value_name = "FOLDER", default_value = "demo-run")]
    folder: PathBuf,
    /// Write the same job after its data loading was fixed, to compare the two
    #[arg(long)]
    fixed: bool,
}

fn run(matches: &ArgMatches, _context: Context) -> Result<Exit, Failure> {
    let Options { folder, fixed } = parsed(matches)?;
    let shown = folder.display().to_string();
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage("the folder is not empty")
            .at(shown)
            .with_hint("name another one: `stepscope demo FOLDER`"));
    }
    let job = if fixed { Job::demo_with_fast_loading() } else { Job::demo() };
    let was_there = folder.is_dir();
    let files = write_traces(&job, &folder).map_err(|error| {
        clean(&folder, was_there);
        match error {
            SimulateError::Write { path, source } => Failure::unwritable(&path, source),
            SimulateError::Store(error) => Failure::usage(error.to_string()).at(&shown).with_exit(Exit::Bug),
        }
    })?;
    let truth = job.truth();
    let slow = truth.slow_rank.map_or_else(String::new, |rank| format!(", and rank {rank} is slower than the others"));
    let loading = if fixed { "" } else { "a third of each step waits for data, " };
    standard_output::write(
        format!(
            "Wrote {} simulated traces to {shown}: {} ranks, {} steps.\n\
         Known faults: {loading}copies come from pageable memory, many kernels are tiny,\n\
         matrix products run in fp32{slow}.\n\n\
         next  stepscope {shown}\n      stepscope diagnose {shown}\n      stepscope comms {shown}\n",
            files.len(),
            job.ranks,
            job.steps
        )
        .as_bytes(),
    )?;
    Ok(Exit::Done)
}

/// Leaves the folder as it was: empty, or not there.
fn clean(folder: &Path, was_there: bool) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let _ = std::fs::remove_file(entry.path());
    }
    if !was_there {
        let _ = std::fs::remove_dir(folder);
    }
}
