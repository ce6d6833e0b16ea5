//! What a job is said to be is what its traces show.

use stepscope_model::Class;
use stepscope_simulate::{Job, write_traces};
use tempfile::TempDir;

use crate::recording::Recording;

fn slow_job() -> Job {
    Job {
        ranks: 5,
        steps: 3,
        layers: 12,
        collectives_per_step: 6,
        slow_rank: Some(3),
        slowdown: 0.05,
        ..Job::default()
    }
}

#[test]
fn the_slow_rank_waits_least_at_every_collective_and_all_end_together() {
    for job in [slow_job(), Job::demo(), Job { clock_skew_ns: 5_000_000, ..slow_job() }] {
        let folder = TempDir::new().unwrap();
        let recordings: Vec<_> =
            write_traces(&job, folder.path()).unwrap().iter().map(|path| Recording::read(path)).collect();
        let collectives: Vec<_> = recordings.iter().map(Recording::collectives).collect();
        let count = (job.steps * job.collectives_per_step) as usize;
        assert!(collectives.iter().all(|of_rank| of_rank.len() == count));
        let slow = job.slow_rank.unwrap() as usize;
        for place in 0..count {
            let of_ranks: Vec<_> = collectives.iter().map(|of_rank| of_rank[place]).collect();
            let least_ns = of_ranks[slow].dur_ns;
            assert_eq!(least_ns, job.transfer_ns(place as u32 % job.collectives_per_step));
            for (rank, kernel) in of_ranks.iter().enumerate() {
                let true_end_ns = kernel.end_ns() - job.clock_offset_ns(rank as u32);
                assert_eq!(true_end_ns, of_ranks[0].end_ns(), "all end together");
                assert!(rank == slow || kernel.dur_ns > least_ns, "rank {rank} waits at {place}");
                assert_eq!(kernel.int("Seq"), Some(place as i64));
            }
        }
    }
}

#[test]
fn a_faster_job_has_no_straggler_for_good() {
    let job = Job { slow_rank: None, ..slow_job() };
    let truth = job.truth();
    assert!(truth.ranks.iter().all(|rank| rank.last_arrivals < truth.collectives));
    assert!(truth.ranks.iter().any(|rank| rank.wait_ns > 0));
}

#[test]
fn the_slow_rank_causes_all_waiting() {
    let truth = slow_job().truth();
    assert_eq!(truth.collectives, 18);
    let waiting_ns: i64 = truth.ranks.iter().map(|rank| rank.wait_ns).sum();
    for (rank, of_rank) in (0..).zip(&truth.ranks) {
        let is_slow = Some(rank) == truth.slow_rank;
        assert_eq!(of_rank.last_arrivals, if is_slow { 18 } else { 0 });
        assert_eq!(of_rank.wait_caused_ns, if is_slow { waiting_ns } else { 0 });
        assert_eq!(of_rank.wait_ns == 0, is_slow);
        assert_eq!(of_rank.communication_ns, truth.transfer_ns + of_rank.wait_ns);
        assert_eq!(of_rank.shares.class_ns.iter().sum::<i64>(), of_rank.step_ns);
    }
}

#[test]
fn the_demo_has_the_faults_that_it_is_said_to_have() {
    let job = Job::demo();
    let truth = job.truth();
    assert_eq!(truth.slow_rank, Some(1));
    assert_eq!(truth.steps, 6);
    for rank in 0..2 {
        let ratio = truth.dataloader_ratio(rank);
        assert!((0.31..0.36).contains(&ratio), "{ratio}");
    }
    assert_eq!(truth.ranks[0].shares.of(Class::Dataloader), 6 * job.dataloader_ns);
    assert_eq!(truth.small_kernels_per_step, 300);
    assert_eq!(truth.pageable_copies_per_step, 2);

    let folder = TempDir::new().unwrap();
    let paths = write_traces(&job, folder.path()).unwrap();
    let recording = Recording::read(&paths[0]);
    let of_one_step = |count: usize| (count / 6) as u64;
    let computing = recording.of("kernel").filter(|kernel| !kernel.name.starts_with("nccl"));
    assert_eq!(of_one_step(computing.count()), truth.kernels_per_step);
    let pageable = || recording.of("gpu_memcpy").filter(|copy| copy.name == "Memcpy HtoD (Pageable -> Device)");
    assert_eq!(of_one_step(pageable().count()), truth.pageable_copies_per_step);
    assert_eq!(pageable().filter_map(|copy| copy.int("bytes")).sum::<i64>(), 6 * truth.pageable_bytes_per_step);
    let loader = recording.of("user_annotation").filter(|mark| mark.name.starts_with("enumerate(DataLoader)#"));
    assert_eq!(loader.map(|wait| wait.dur_ns).sum::<i64>(), 6 * job.dataloader_ns);
    let marks: Vec<_> = recording.of("user_annotation").filter(|mark| mark.name.starts_with("ProfilerStep#")).collect();
    assert_eq!(marks.iter().map(|mark| mark.dur_ns).sum::<i64>(), truth.ranks[0].step_ns);
    assert!(marks.windows(2).all(|pair| pair[0].end_ns() < pair[1].start_ns));
}

#[test]
fn one_rank_needs_no_one_else() {
    let job = Job { ranks: 1, steps: 1, ..Job::default() };
    let truth = job.truth();
    assert_eq!(truth.ranks[0].wait_ns, 0);
    assert_eq!(truth.ranks[0].communication_ns, truth.transfer_ns);
    let none = Job { collectives_per_step: 0, ..job };
    assert_eq!(none.truth().collectives, 0);
}
