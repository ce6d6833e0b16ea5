//! Steps and what their time goes to, as several analyses need them (metrics, sections 5 and 6).

use stepscope_model::{Cell, Class, Look, ReportColumn, ReportTable};

use super::Asking;
use super::step_numbers::StepNumbers;
use crate::error::AnalysisError;
use crate::words;

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
pub(super) fn read(asking: &Asking<'_>) -> Result<Vec<StepTime>, AnalysisError> {
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
    let figures = ["p50_ns", "p90_ns", "p95_ns", "p99_ns", "mean_ns", "min_ns", "max_ns"];
    let mut columns = vec![
        ReportColumn::named("each").label("").look(if is_one { Look::Spark } else { Look::Hidden }),
        ReportColumn::named("steps").look(Look::Hidden),
    ];
    columns.extend(figures.map(|name| ReportColumn::named(name).look(Look::Figure)));
    let row = vec![
        Cell::Numbers(complete.iter().map(|step| step.dur_ns as f64).collect()),
        Cell::Int(times.count() as i64),
        Cell::Int(times.percentile(50)),
        Cell::Int(times.percentile(90)),
        Cell::Int(times.percentile(95)),
        Cell::Int(times.percentile(99)),
        Cell::Float(times.mean()),
        Cell::Int(times.min()),
        Cell::Int(times.max()),
    ];
    ReportTable { title: Some("STEP TIME".to_owned()), ..ReportTable::named(name, columns, vec![row]) }
}

/// How many samples a second steps work on, and what must be said of that figure.
pub(super) struct Throughput {
    pub samples_per_s: f64,
    pub notes: Vec<String>,
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
    let of_a_rank = (asking.ranks().len() > 1).then(|| "samples/s are those of one rank, on average".to_owned());
    let left_out = complete.len() - told.len();
    let left_out = (left_out > 0)
        .then(|| format!("samples/s without {} whose samples are not known", words::counted(left_out, "step")));
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

/// The sentence that says what a step mostly is: how long it takes, what the devices do, and what they wait for.
pub(super) fn sentence(mean_ns: f64, shares: Option<&Shares>, steps: usize) -> String {
    let takes = format!("A step takes {}", words::ns(mean_ns));
    let Some(shares) = shares.filter(|_| steps > 0) else { return format!("{takes}.") };
    let mean = |ns: i64| ns as f64 / steps as f64;
    let waits = [
        (Class::Dataloader, "waits {} for data"),
        (Class::Communication, "waits {} for other ranks"),
        (Class::Runtime, "waits {} for calls into the runtime"),
        (Class::CpuExec, "waits {} for operators on the host"),
        (Class::Memcpy, "waits {} for copies"),
        (Class::Other, "waits {} for code outside of operators"),
    ];
    let longest = waits.iter().max_by_key(|(class, _)| shares.of(*class));
    let Some((class, wait)) = longest.filter(|_| shares.device_busy_ns > 0) else {
        let host = mean(shares.of(Class::CpuExec));
        return format!("{takes}, of which operators on the host take {}.", words::ns(host));
    };
    let computes = words::ns(mean(shares.of(Class::Kernel)));
    if mean(shares.of(*class)) < 0.02 * mean_ns {
        return format!("{takes}: the GPU computes {computes} of it.");
    }
    let wait = wait.replace("{}", &words::ns(mean(shares.of(*class))));
    format!("{takes}: the GPU computes {computes} and {wait}.")
}
