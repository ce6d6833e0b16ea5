//! A bucket of a real server, behind a proxy that counts requests.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use stepscope_testkit::{FaultPlan, FaultProxy, S3Server};

use crate::command::{Ended, Place, ended};

/// A bucket, and a folder to work in.
pub(crate) struct Cloud {
    pub(crate) place: Place,
    pub(crate) server: S3Server,
    pub(crate) proxy: FaultProxy,
}

impl Cloud {
    pub(crate) fn new() -> Self {
        let server = S3Server::start().unwrap();
        let proxy = FaultProxy::start(server.address(), FaultPlan::none()).unwrap();
        Self { place: Place::new(), server, proxy }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command.envs(S3Server::environment(self.proxy.address()));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments).output().unwrap())
    }

    #[track_caller]
    pub(crate) fn stdout(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {}", ended.stderr);
        ended.stdout
    }

    /// The requests of a command, by method.
    #[track_caller]
    pub(crate) fn requests(&self, arguments: &[&str]) -> BTreeMap<String, u64> {
        let before = self.proxy.requests();
        self.stdout(arguments);
        let mut after = self.proxy.requests();
        for (method, count) in &mut after {
            *count -= before.get(method).copied().unwrap_or(0);
        }
        after.retain(|_, count| *count > 0);
        after
    }

    /// How often a command waits for a network with a latency of 100 ms, and how long it takes: the shortest of several
    /// times, because other tests take the processors away.
    #[track_caller]
    pub(crate) fn rounds(&self, arguments: &[&str]) -> (usize, Duration) {
        let latency = Duration::from_millis(100);
        let ask = |_| {
            self.proxy.change(FaultPlan { latency, ..FaultPlan::none() });
            let begin = Instant::now();
            self.stdout(arguments);
            (self.proxy.rounds(), begin.elapsed())
        };
        let (rounds, times): (Vec<usize>, Vec<Duration>) = (0..5).map(ask).unzip();
        self.proxy.change(FaultPlan::none());
        (rounds.into_iter().min().unwrap(), times.into_iter().min().unwrap())
    }
}
