//! Failures of workers, in a form that survives the way through other workers.
//!
//! The library hands errors from worker to worker as text. A failure is therefore written into the text between marks
//! that occur nowhere else, and found again by them.

use datafusion::error::DataFusionError;
use stepscope_engine::RunnerError;
use tonic::Status;
use url::Url;

/// Begins and ends the fields of a failure.
const MARK: char = '\u{1f}';

/// What kind of failure, by a stable name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A worker does not answer any more.
    WorkerLost,
    /// A worker has as many queries as it takes.
    WorkerBusy,
    /// A worker ends soon and takes no more.
    WorkerDraining,
    /// A worker has too little memory for its part.
    WorkerOutOfMemory,
    /// A worker is of another version.
    OtherVersion,
    /// A worker reads another store.
    OtherStore,
    /// A worker does not let this one ask.
    NotAllowed,
    /// A worker does not run such a plan.
    PlanRefused,
}

/// Every code.
const CODES: [Code; 8] = [
    Code::WorkerLost,
    Code::WorkerBusy,
    Code::WorkerDraining,
    Code::WorkerOutOfMemory,
    Code::OtherVersion,
    Code::OtherStore,
    Code::NotAllowed,
    Code::PlanRefused,
];

impl Code {
    /// The name that programs see.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::WorkerLost => "worker_lost",
            Self::WorkerBusy => "worker_busy",
            Self::WorkerDraining => "worker_draining",
            Self::WorkerOutOfMemory => "worker_out_of_memory",
            Self::OtherVersion => "other_version",
            Self::OtherStore => "other_store",
            Self::NotAllowed => "not_allowed",
            Self::PlanRefused => "plan_refused",
        }
    }

    /// Whether the same query may succeed on other workers.
    pub(crate) fn is_worth_another_attempt(self) -> bool {
        matches!(self, Self::WorkerLost | Self::WorkerBusy | Self::WorkerDraining)
    }

    fn hint(self) -> &'static str {
        match self {
            Self::WorkerLost => "run the query again; if it fails again, look at the log of that worker",
            Self::WorkerBusy | Self::WorkerDraining => "run the query again in a moment, or start more workers",
            Self::WorkerOutOfMemory => {
                "start the workers with a larger `--memory-limit`, or query fewer rows or groups"
            }
            Self::OtherVersion => "run the same version of stepscope-cluster here and on the workers",
            Self::OtherStore => "start workers with `--store` on the store that you query, or leave out `--cluster`",
            Self::NotAllowed => "pass the token and the certificates that the workers expect",
            Self::PlanRefused => "leave out `--cluster` to run the query here",
        }
    }
}

/// A failure of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub code: Code,
    /// Which worker; empty when the worker itself speaks.
    pub worker: String,
    /// What happened.
    pub message: String,
}

impl Failure {
    /// A failure of a worker that has an address.
    pub(crate) fn of(code: Code, worker: &Url, message: impl Into<String>) -> Self {
        let worker = worker.as_str().trim_end_matches('/').to_owned();
        Self { code, worker, message: message.into() }
    }

    /// What a worker answers with when it refuses something.
    pub(crate) fn refusal(code: Code, message: impl Into<String>) -> Self {
        Self { code, worker: String::new(), message: message.into() }
    }

    /// The text that goes over the wire.
    pub(crate) fn marked(&self) -> String {
        let Self { code, worker, message } = self;
        format!("{MARK}{}{MARK}{worker}{MARK}{}{MARK}", code.name(), message.replace(MARK, " "))
    }

    /// The failure as an error that the library carries.
    pub(crate) fn into_error(self) -> DataFusionError {
        DataFusionError::Execution(self.marked())
    }

    /// The failure in an error, however deep.
    pub(crate) fn inside(error: &DataFusionError) -> Option<Self> {
        Self::parse(&error.to_string())
    }

    /// The failure in a text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(MARK).skip(1);
        let (name, worker, message) = (fields.next()?, fields.next()?, fields.next()?);
        let code = CODES.into_iter().find(|code| code.name() == name)?;
        Some(Self { code, worker: worker.to_owned(), message: message.to_owned() })
    }

    /// What a status of a request to a worker means.
    pub(crate) fn of_status(worker: &Url, status: &Status) -> Self {
        match Self::parse(status.message()) {
            Some(told) if told.worker.is_empty() => Self::of(told.code, worker, told.message),
            Some(told) => told,
            None if status.code() == tonic::Code::OutOfRange => {
                Self::of(Code::PlanRefused, worker, format!("the plan is too large: {}", status.message()))
            }
            None => Self::of(Code::WorkerLost, worker, one_line(status)),
        }
    }

    /// The failure as the engine shows it.
    pub(crate) fn shown(&self, attempts: usize) -> DataFusionError {
        let Self { code, worker, message } = self;
        let worker = if worker.is_empty() { "a worker" } else { worker.as_str() };
        let times = if attempts > 1 { format!(", after {attempts} attempts") } else { String::new() };
        let message = format!("{message}{times}: {worker}");
        DataFusionError::External(Box::new(RunnerError { code: code.name(), message, hint: Some(code.hint().into()) }))
    }
}

/// What a status says, with the reasons below it.
fn one_line(status: &Status) -> String {
    let mut text = if status.message().is_empty() { status.code().to_string() } else { status.message().to_owned() };
    let mut next = std::error::Error::source(status);
    while let Some(reason) = next {
        let words = reason.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = reason.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_survives_the_way_through_other_errors() {
        let worker = Url::parse("http://10.0.0.1:7070").unwrap_or_else(|_| unreachable!());
        for code in CODES {
            let failure = Failure::of(code, &worker, "broken\u{1f} pipe");
            let error = DataFusionError::Shared(std::sync::Arc::new(
                DataFusionError::External(failure.clone().into_error().to_string().into()).context("stage 2"),
            ));
            let found = Failure::inside(&error);
            assert_eq!(found.map(|found| (found.code, found.worker, found.message)), {
                Some((code, "http://10.0.0.1:7070".to_owned(), "broken  pipe".to_owned()))
            });
        }
        assert_eq!(Failure::parse("nothing of it"), None);
        assert_eq!(Failure::parse("\u{1f}no_code\u{1f}a\u{1f}b\u{1f}"), None);
    }

    #[test]
    fn a_status_without_a_mark_is_a_loss() {
        let worker = Url::parse("http://10.0.0.1:7070").unwrap_or_else(|_| unreachable!());
        assert_eq!(Failure::of_status(&worker, &Status::unknown("h2 error")).code, Code::WorkerLost);
        let refused = Status::unauthenticated(Failure::refusal(Code::NotAllowed, "no token").marked());
        let failure = Failure::of_status(&worker, &refused);
        assert_eq!((failure.code, failure.worker.as_str()), (Code::NotAllowed, "http://10.0.0.1:7070"));
    }
}
