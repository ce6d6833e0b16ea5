//! Writes the jobs that findings are judged by, a folder each, with `traces` and `truth.json`:
//! `cargo run --release -p stepscope-simulate --example jobs -- FOLDER [FIRST_SEED] [EVERY]`, in a target folder of its own.
//! EVERY writes only each so many-th job.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers")]

use std::env;
use std::path::PathBuf;
use std::time::Instant;

use stepscope_simulate::faults::{population, write_folder};

fn main() {
    let mut args = env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap());
    let first_seed = args.next().map_or(1, |seed| seed.parse().unwrap());
    let every = args.next().map_or(1, |every| every.parse().unwrap());
    let start = Instant::now();
    let jobs: Vec<_> = population(first_seed).into_iter().step_by(every).collect();
    for job in &jobs {
        write_folder(job, &folder.join(job.name())).unwrap();
    }
    println!("{} jobs in {:.1} s", jobs.len(), start.elapsed().as_secs_f64());
}
