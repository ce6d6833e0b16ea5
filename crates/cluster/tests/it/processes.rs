//! Workers as processes, which can be killed, stopped and started again.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use stepscope_cluster::{ClientOptions, Distributed, Source};

/// A worker in a process of its own. It ends with this.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    store: String,
    more: Vec<String>,
    environment: Vec<(String, String)>,
    said: Said,
}

/// What a worker says on standard error, until it ends.
type Said = Option<JoinHandle<Vec<String>>>;

impl Process {
    /// Starts a worker on a free port.
    pub(crate) fn start(store: &Path, more: &[&str]) -> Self {
        Self::start_with(&store.display().to_string(), more, &[])
    }

    /// Starts a worker that has some variables.
    pub(crate) fn start_with(store: &str, more: &[&str], environment: &[(String, String)]) -> Self {
        let (store, environment) = (store.to_owned(), environment.to_vec());
        let more: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
        let (child, address, said) = spawn(([127, 0, 0, 1], 0).into(), &store, &more, &environment);
        Self { child, address, store, more, environment, said }
    }

    /// Starts it again where it was.
    pub(crate) fn restart(&mut self) {
        self.end();
        (self.child, self.address, self.said) = spawn(self.address, &self.store, &self.more, &self.environment);
    }

    /// Kills it without a chance to say anything.
    pub(crate) fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    #[expect(unsafe_code, reason = "the standard library cannot send signals")]
    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the process is a child that was not waited for, so its number is its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(&mut self) -> (Option<i32>, Vec<String>) {
        let code = self.child.wait().unwrap().code();
        (code, self.said.take().unwrap().join().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Bytes in memory at most so far.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(
    listen: SocketAddr,
    store: &str,
    more: &[String],
    environment: &[(String, String)],
) -> (Child, SocketAddr, Said) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stepscope-cluster"))
        .args(["worker", "--listen", &listen.to_string(), "--store", store, "--threads", "2"])
        .args(more)
        .envs(environment.iter().cloned())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.rsplit(' ').next().unwrap().parse();
    let address = address.unwrap_or_else(|_| panic!("the worker did not start: {first}"));
    // A pipe that nobody reads would stop the worker.
    let said = std::thread::spawn(move || lines.map_while(Result::ok).collect());
    (child, address, Some(said))
}

/// A runner that asks some processes, and what it notes.
pub(crate) fn runner(processes: &[Process]) -> (Arc<Distributed>, Arc<Mutex<Vec<String>>>) {
    let sources = processes.iter().map(|process| process.address.to_string().parse::<Source>().unwrap());
    let mut options = ClientOptions::new(sources.collect());
    options.bytes_per_partition = 64 << 10;
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notes);
    let runner = options.runner(Arc::new(move |note: &str| kept.lock().unwrap().push(note.to_owned()))).unwrap();
    (Arc::new(runner), notes)
}
