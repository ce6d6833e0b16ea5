//! A job, played: when each rank starts each step, and when each collective ends on all of them.

use crate::job::Job;
use crate::player::Player;
use crate::step::Step;
use crate::training;

/// What all clocks count from: the beginning of 2026.
pub const BASE_TIME_NS: i64 = 1_767_225_600_000_000_000;
/// When rank 0 starts its first step, by its clock. Far enough from 0 for clocks that run behind.
const FIRST_START_NS: i64 = 1_000_000_000;
/// Between the marks of two steps.
const BETWEEN_STEPS_NS: i64 = 12_000;

/// A job, played. It remembers little; what happened in a step is played again when it is asked for.
#[derive(Clone, Debug)]
pub struct Run<'j> {
    job: &'j Job,
    /// By step, then by rank.
    starts_ns: Vec<Vec<i64>>,
    /// By step, then by place in the step.
    ends_ns: Vec<Vec<i64>>,
}

impl<'j> Run<'j> {
    pub(crate) fn new(job: &'j Job) -> Self {
        let mut run = Self { job, starts_ns: Vec::new(), ends_ns: Vec::new() };
        let mut starts_ns = vec![FIRST_START_NS; job.ranks as usize];
        for step in 0..job.steps {
            let ends_ns = collective_ends(job, step, &starts_ns);
            let next_ns = (0..job.ranks).map(|rank| {
                let played = play(job, rank, step, starts_ns[rank as usize], Some(&ends_ns));
                played.now_ns + BETWEEN_STEPS_NS
            });
            let next_ns = next_ns.collect();
            run.starts_ns.push(std::mem::replace(&mut starts_ns, next_ns));
            run.ends_ns.push(ends_ns);
        }
        run
    }

    /// The job.
    #[must_use]
    pub fn job(&self) -> &'j Job {
        self.job
    }

    /// The steps of a rank, on its own clock.
    pub fn rank(&self, rank: u32) -> impl Iterator<Item = Step> + '_ {
        (0..self.job.steps).map(move |step| self.step(rank, step))
    }

    fn step(&self, rank: u32, number: u32) -> Step {
        let start_ns = self.starts_ns[number as usize][rank as usize];
        let played = play(self.job, rank, number, start_ns, Some(&self.ends_ns[number as usize]));
        let offset_ns = self.job.clock_offset_ns(rank);
        let (mut happenings, mut collectives) = (played.happenings, played.collectives);
        for happening in &mut happenings {
            happening.start_ns += offset_ns;
        }
        for collective in &mut collectives {
            collective.launch_ns += offset_ns;
            collective.start_ns += offset_ns;
        }
        let (start_ns, end_ns) = (start_ns + offset_ns, played.now_ns + offset_ns);
        Step { number, start_ns, end_ns, happenings, collectives }
    }
}

/// When each collective of a step ends: the last rank has arrived, the one before is over, the data has been moved.
fn collective_ends(job: &Job, step: u32, starts_ns: &[i64]) -> Vec<i64> {
    let mut arrivals_ns = vec![i64::MIN; job.collectives_per_step as usize];
    for (rank, &start_ns) in (0..).zip(starts_ns) {
        let played = play(job, rank, step, start_ns, None);
        for (latest_ns, ready_ns) in arrivals_ns.iter_mut().zip(played.ready_ns) {
            *latest_ns = ready_ns.max(*latest_ns);
        }
    }
    let mut before_ns = i64::MIN;
    let ends = (0..).zip(arrivals_ns).map(|(index, arrival_ns)| {
        before_ns = arrival_ns.max(before_ns) + job.transfer_ns(index);
        before_ns
    });
    ends.collect()
}

fn play<'a>(job: &'a Job, rank: u32, step: u32, start_ns: i64, ends_ns: Option<&'a [i64]>) -> Player<'a> {
    let mut player = Player::new(job, rank, step, start_ns, ends_ns);
    training::train(&mut player);
    player
}
