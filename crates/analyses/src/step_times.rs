//! Steps and what their time goes to, as several analyses need them (metrics, sections 5 and 6).

use serde_json::{Value as Json, json};
use stepscope_model::{Class, Figure, KernelCategory, Look, ReportColumn, ReportTable, Sentence, say};
use stepscope_rules::{Bound, Waits};
use stepscope_runs::RunError;

use super::Asking;
use super::step_numbers::StepNumbers;

/// One step of one recording.
#[derive(Clone, Debug)]
pub(super) struct StepTime {
    pub rank: i64,
    pub window: i64,
    pub step: i64,
    /// What people call it: the number that the recording gives it, else its place.
    pub number: i64,
    pub name: String,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub host_dur_ns: i64,
    pub device_events: i64,
    pub is_complete: bool,
    /// Samples that it worked on, if they were recorded.
    pub samples: Option<i64>,
    /// Missing when sums were left out at ingest.
    pub shares: Option<Shares>,
}

/// What the time of a step goes to.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    pub by_class: [i64; Class::ALL.len()],
    pub all_communication_ns: i64,
    pub overlap_ns: i64,
    pub kernel_busy_ns: i64,
    pub device_busy_ns: i64,
}

impl Shares {
    pub(super) fn of(&self, class: Class) -> i64 {
        self.by_class[class as usize]
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.by_class.iter_mut().zip(other.by_class).for_each(|(sum, ns)| *sum += ns);
        self.all_communication_ns += other.all_communication_ns;
        self.overlap_ns += other.overlap_ns;
        self.kernel_busy_ns += other.kernel_busy_ns;
        self.device_busy_ns += other.device_busy_ns;
    }
}

const STEPS: &str = "
    SELECT step.rank, step.\"window\", step.step, name, start_ns, dur_ns, host_dur_ns, device_events, is_complete,
      samples, kernel_ns, memcpy_ns, memset_ns, communication_ns, runtime_ns, dataloader_ns, cpu_exec_ns, other_ns,
      all_communication_ns, overlap_ns, kernel_busy_ns, device_busy_ns
    FROM (SELECT * FROM steps WHERE {events}) AS step
    LEFT JOIN (SELECT * FROM step_breakdown WHERE {steps} AND step IS NOT NULL) AS shares
      ON shares.rank = step.rank AND shares.\"window\" = step.\"window\" AND shares.step = step.step
    ORDER BY step.rank, step.\"window\", step.step";

/// The steps that are asked about, by rank, window and step.
pub(super) fn read(asking: &Asking<'_>) -> Result<Vec<StepTime>, RunError> {
    let mut steps = Vec::new();
    let all = StepNumbers::read(asking)?;
    asking.walk(STEPS, |frame| {
        let required = |name: &str| frame.required_i64(name);
        let (ranks, windows, numbers) = (required("rank")?, required("window")?, required("step")?);
        let (starts, durations, host) = (required("start_ns")?, required("dur_ns")?, required("host_dur_ns")?);
        let (device_events, complete) = (required("device_events")?, frame.bool("is_complete")?);
        let samples = frame.i64("samples")?;
        let classes = Class::ALL.iter().map(|class| frame.i64(&format!("{}_ns", class.as_text())));
        let classes = classes.collect::<Result<Vec<_>, _>>()?;
        let (communication, overlap) = (frame.i64("all_communication_ns")?, frame.i64("overlap_ns")?);
        let (kernel_busy, device_busy) = (frame.i64("kernel_busy_ns")?, frame.i64("device_busy_ns")?);
        for (row, name) in frame.text("name")?.into_iter().enumerate() {
            let shares = kernel_busy[row].map(|kernel_busy_ns| Shares {
                by_class: std::array::from_fn(|class| classes[class][row].unwrap_or(0)),
                all_communication_ns: communication[row].unwrap_or(0),
                overlap_ns: overlap[row].unwrap_or(0),
                kernel_busy_ns,
                device_busy_ns: device_busy[row].unwrap_or(0),
            });
            steps.push(StepTime {
                rank: ranks[row],
                window: windows[row],
                step: numbers[row],
                number: all.of(ranks[row], windows[row], numbers[row]).unwrap_or(numbers[row]),
                name: name.unwrap_or_default(),
                start_ns: starts[row],
                dur_ns: durations[row],
                host_dur_ns: host[row],
                device_events: device_events[row],
                is_complete: complete[row] == Some(true),
                samples: samples[row],
                shares,
            });
        }
        Ok(())
    })?;
    Ok(steps)
}

/// Sums over steps; none over nothing, or if any is not known.
pub(super) fn sum(steps: &[&StepTime]) -> Option<Shares> {
    let mut sum = Shares::default();
    for step in steps {
        sum.add(step.shares.as_ref()?);
    }
    (!steps.is_empty()).then_some(sum)
}

/// The times of complete steps in one row, with a picture of each where they are of one recording.
pub(super) fn table(name: &str, asking: &Asking<'_>, times: &Distribution, complete: &[&StepTime]) -> ReportTable {
    let is_one = asking.sources.len() == 1;
    let named = ReportColumn::named;
    let figure = |name: &str| named(name).look(Look::Figure);
    let each: Vec<f64> = complete.iter().map(|step| step.dur_ns as f64).collect();
    let table = ReportTable::of(name, [()])
        .column(named("each").label("").look(if is_one { Look::Spark } else { Look::Hidden }), |()| each.clone())
        .column(named("steps").look(Look::Hidden), |()| times.count() as i64)
        .column(figure("p50_ns"), |()| times.percentile(50))
        .column(figure("p90_ns"), |()| times.percentile(90))
        .column(figure("p95_ns"), |()| times.percentile(95))
        .column(figure("p99_ns"), |()| times.percentile(99))
        .column(figure("mean_ns"), |()| times.mean())
        .column(figure("min_ns"), |()| times.min())
        .column(figure("max_ns"), |()| times.max())
        .table();
    ReportTable { title: Some("STEP TIME".to_owned()), ..table }
}

/// How many samples per second steps work on, and what must be said of that figure.
pub(super) struct Throughput {
    pub samples_per_s: f64,
    pub notes: Vec<Sentence>,
}

/// The throughput, with the samples that are asked with or else those that were recorded; none without any.
pub(super) fn throughput(asking: &Asking<'_>, times: &Distribution, complete: &[&StepTime]) -> Option<Throughput> {
    if let Some(samples) = asking.question.samples_per_step {
        return Some(Throughput { samples_per_s: samples / times.mean() * 1e9, notes: Vec::new() });
    }
    let told: Vec<(i64, i64)> = complete.iter().filter_map(|step| Some((step.samples?, step.dur_ns))).collect();
    let samples: i64 = told.iter().map(|(samples, _)| samples).sum();
    let dur_ns: i64 = told.iter().map(|(_, dur_ns)| dur_ns).sum();
    // Ranks may share a batch or split it, so their samples are not added up.
    let of_a_rank = (asking.ranks().len() > 1).then(|| "samples/s are those of one rank, on average".into());
    let left_out = complete.len() - told.len();
    let left_out = (left_out > 0)
        .then(|| say!("samples/s without {} whose samples are not known", say::counted(left_out, "step")));
    (dur_ns > 0).then(|| Throughput {
        samples_per_s: samples as f64 / dur_ns as f64 * 1e9,
        notes: of_a_rank.into_iter().chain(left_out).collect(),
    })
}

/// The condition on what belongs to a complete step, as averages over steps need it.
pub(super) fn in_complete(steps: &[StepTime]) -> String {
    let not = |StepTime { rank, window, step, .. }: &StepTime| {
        format!(" AND NOT (rank = {rank} AND \"window\" = {window} AND step = {step})")
    };
    let incomplete: String = steps.iter().filter(|step| !step.is_complete).map(not).collect();
    format!("step IS NOT NULL{incomplete}")
}

/// Times of some steps.
#[derive(Clone, Debug)]
pub(super) struct Distribution {
    /// From the shortest to the longest.
    sorted: Vec<i64>,
}

impl Distribution {
    /// None over nothing.
    pub(super) fn of(durations: impl Iterator<Item = i64>) -> Option<Self> {
        let mut sorted: Vec<i64> = durations.collect();
        sorted.sort_unstable();
        (!sorted.is_empty()).then_some(Self { sorted })
    }

    pub(super) fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The smallest value with at least `percent` % of the values at or below it.
    pub(super) fn percentile(&self, percent: usize) -> i64 {
        let place = (percent * self.sorted.len()).div_ceil(100).max(1);
        self.sorted[place.min(self.sorted.len()) - 1]
    }

    pub(super) fn min(&self) -> i64 {
        self.sorted[0]
    }

    pub(super) fn max(&self) -> i64 {
        self.sorted[self.sorted.len() - 1]
    }

    pub(super) fn total(&self) -> i64 {
        self.sorted.iter().sum()
    }

    pub(super) fn mean(&self) -> f64 {
        self.total() as f64 / self.sorted.len() as f64
    }
}

/// Classes in which the device does nothing and the host is not loading data.
const IDLE: [Class; 3] = [Class::Runtime, Class::CpuExec, Class::Other];

/// What a device that bounds the step is busy with.
pub(super) fn busy_with(bound: Bound, device: &str) -> Sentence {
    let (busy, share) = (say::ratio(bound.busy_ratio), say::ratio(bound.category_ratio));
    match bound.category {
        KernelCategory::Other => say!("the {} is busy {} of the time.", device, busy),
        known => {
            say!("the {} is busy {} of the time; {} takes {} of device time.", device, busy, known.in_words(), share)
        }
    }
}

/// What the sentence about a step is made of.
pub(super) struct Headline<'a> {
    pub mean_ns: f64,
    pub steps: usize,
    /// Whether steps are marked; else the trace counts as one.
    pub is_marked: bool,
    /// Of all steps together.
    pub shares: Option<&'a Shares>,
    /// The part of them in which the device was busy with work from before the trace began.
    pub before_recording: [i64; Class::ALL.len()],
    /// What ranks wait for each other, where that is known.
    pub waits: Option<&'a Waits>,
    /// What the device is busy with, where that bounds the step.
    pub bound: Option<Bound>,
    /// What a device is called.
    pub device: &'static str,
}

impl Headline<'_> {
    /// How long a step takes, what the devices do in it, and what most of the other time is.
    pub(super) fn sentence(&self) -> Sentence {
        let subject = if self.is_marked { "A step" } else { "The trace" };
        let takes = say!("{} takes {}", subject, say::ns(self.mean_ns));
        let Some(shares) = self.shares.filter(|_| self.steps > 0) else { return say!("{}.", takes) };
        if shares.device_busy_ns == 0 {
            return say!("{}{}.", takes, self.on_host(shares));
        }
        if let Some(bound) = self.bound {
            return say!("{}: {}", takes, busy_with(bound, self.device));
        }
        let computes = self.per_step(shares.of(Class::Kernel));
        let rest = self.rest(shares).unwrap_or_else(|| " of it".into());
        let does = say!("computes {}{}", computes, rest);
        match self.before_recording.iter().sum() {
            0 => say!("{}: the {} {}.", takes, self.device, does),
            before => say!(
                "{}. For {} of it the device was busy with work from before the trace began; then the {} {}.",
                takes,
                self.per_step(before),
                self.device,
                does
            ),
        }
    }

    /// Its figures, all means per step.
    pub(super) fn figures(&self) -> Json {
        let mean = |total_ns: i64| total_ns as f64 / self.steps.max(1) as f64;
        let mut figures = json!({ "step_ns": self.mean_ns });
        let Some(shares) = self.shares else { return figures };
        figures["computes_ns"] = json!(mean(shares.of(Class::Kernel)));
        figures["busy_before_recording_ns"] = json!(mean(self.before_recording.iter().sum()));
        figures["idle_ns"] = json!(mean(IDLE.iter().map(|class| self.known_of(shares, *class)).sum()));
        for class in [Class::Dataloader, Class::Communication, Class::Memcpy, Class::Memset].iter().chain(&IDLE) {
            figures[format!("{}_ns", class.as_text())] = json!(mean(self.known_of(shares, *class)));
        }
        if let Some(waits) = self.waits {
            let exposed_ns = shares.of(Class::Communication);
            figures["exposed_wait_ns"] = json!(mean(waits.exposed_ns));
            figures["exposed_transfer_ns"] = json!(mean(exposed_ns - waits.exposed_ns));
        }
        if let Some(bound) = self.bound {
            figures["device_busy_ratio"] = json!(bound.busy_ratio);
            figures["largest_category"] = json!(bound.category.as_text());
            figures["largest_category_ratio"] = json!(bound.category_ratio);
        }
        figures
    }

    /// The time of a class without that in which the device was busy with work from before the trace began.
    fn known_of(&self, shares: &Shares, class: Class) -> i64 {
        shares.of(class) - self.before_recording[class as usize]
    }

    /// The first of these classes with the most time.
    fn longest(&self, shares: &Shares, classes: &[Class]) -> (Class, i64) {
        let known = classes.iter().map(|class| (*class, self.known_of(shares, *class)));
        known.rev().max_by_key(|(_, ns)| *ns).unwrap_or((Class::Other, 0))
    }

    /// What most of the time is where no device works.
    fn on_host(&self, shares: &Shares) -> Sentence {
        let classes = [Class::CpuExec, Class::Communication, Class::Dataloader, Class::Runtime, Class::Other];
        let (class, longest_ns) = self.longest(shares, &classes);
        let time = self.per_step(longest_ns);
        match (class, self.waits) {
            (Class::Communication, Some(waits)) => {
                let (wait, transfer) = self.wait_and_transfer(longest_ns, waits);
                say!(", of which {} is waiting for other ranks and {} communication", wait, transfer)
            }
            (Class::Communication, None) => say!(", of which communication takes {}", time),
            (Class::Dataloader, _) => say!(", of which data loading takes {}", time),
            (Class::Runtime, _) => say!(", of which runtime calls take {}", time),
            (Class::Other, _) => say!(", of which {} is outside of operators", time),
            _ => say!(", of which operators on the host take {}", time),
        }
    }

    /// What the device does most besides computing; nothing where that is less than 2 % of the step.
    fn rest(&self, shares: &Shares) -> Option<Sentence> {
        let others = [Class::Dataloader, Class::Communication, Class::Memcpy, Class::Memset];
        let (class, longest_ns) = self.longest(shares, &others);
        let idle_ns: i64 = IDLE.iter().map(|class| self.known_of(shares, *class)).sum();
        if (longest_ns.max(idle_ns) as f64) < 0.02 * self.mean_ns * self.steps as f64 {
            return None;
        }
        let time = self.per_step(longest_ns);
        Some(match class {
            _ if idle_ns > longest_ns => self.idle(shares, idle_ns),
            Class::Dataloader => say!(" and waits {} for data", time),
            Class::Communication => self.communication(longest_ns),
            Class::Memcpy => say!(" and copies for {}", time),
            _ => say!(" and fills memory for {}", time),
        })
    }

    /// Idle time, and what the host does in the largest part of it.
    fn idle(&self, shares: &Shares, idle_ns: i64) -> Sentence {
        let (class, largest_ns) = self.longest(shares, &IDLE);
        let host = match class {
            Class::Runtime => "the host is in runtime calls",
            Class::CpuExec => "operators run on the host",
            _ => "no operator runs on the host",
        };
        let (idle, largest) = (self.per_step(idle_ns), self.per_step(largest_ns));
        if largest_ns == idle_ns {
            return say!(" and is idle for {} while {}", idle, host);
        }
        say!(" and is idle for {}, {} of it while {}", idle, largest, host)
    }

    /// Waiting is told from transfer only by the traces of several ranks.
    fn communication(&self, exposed_ns: i64) -> Sentence {
        let Some(waits) = self.waits else {
            return say!("; {} is exposed communication", self.per_step(exposed_ns));
        };
        let (wait, transfer) = self.wait_and_transfer(exposed_ns, waits);
        if waits.exposed_ns * 2 > exposed_ns {
            say!(", waits {} for other ranks and communicates for {}", wait, transfer)
        } else {
            say!(", communicates for {} and waits {} for other ranks", transfer, wait)
        }
    }

    fn wait_and_transfer(&self, exposed_ns: i64, waits: &Waits) -> (Figure, Figure) {
        (self.per_step(waits.exposed_ns), self.per_step(exposed_ns - waits.exposed_ns))
    }

    fn per_step(&self, total_ns: i64) -> Figure {
        say::ns(total_ns as f64 / self.steps.max(1) as f64)
    }
}
