//! An HTTP proxy that breaks a part of the requests, in the ways in which object stores and networks do. The same seed
//! breaks the same requests in the same ways, as far as they come in the same order.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::random::Random;

/// Longest head of a request.
const HEAD_MAX: usize = 64 << 10;

/// Longest body of a request.
const BODY_MAX: usize = 256 << 20;

/// A way to break a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// 500; nothing is stored.
    Error,
    /// 503; nothing is stored.
    Busy,
    /// 503 after the request was done.
    BusyStored,
    /// 409; nothing is stored. Only for requests with a condition.
    Conflict,
    /// The connection ends in the middle of the body of the request or, without one, of the answer.
    Reset,
    /// The connection ends before the answer, after the request was done.
    ResetStored,
    /// No answer; nothing is stored.
    Silence,
    /// No answer, after the request was done.
    SilenceStored,
    /// 1 KB per second.
    Slow,
    /// Half of a listing, with a length that fits. Only for listings.
    TruncatedList,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 10] = [
        Self::Error,
        Self::Busy,
        Self::BusyStored,
        Self::Conflict,
        Self::Reset,
        Self::ResetStored,
        Self::Silence,
        Self::SilenceStored,
        Self::Slow,
        Self::TruncatedList,
    ];
}

/// What a proxy breaks.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// Decides which requests break, and how.
    pub seed: u64,
    /// Requests of a hundred that break.
    pub percent: usize,
    /// Ways to break them.
    pub faults: Vec<Fault>,
    /// How long every answer takes at least.
    pub latency: Duration,
}

impl FaultPlan {
    /// Nothing breaks; requests are only counted.
    #[must_use]
    pub fn none() -> Self {
        Self { seed: 0, percent: 0, faults: Vec::new(), latency: Duration::ZERO }
    }

    /// So many of a hundred requests break, in every way.
    #[must_use]
    pub fn every_way(seed: u64, percent: usize) -> Self {
        Self { seed, percent, faults: Fault::ALL.to_vec(), latency: Duration::ZERO }
    }

    /// Every request breaks in one way.
    #[must_use]
    pub fn always(fault: Fault) -> Self {
        Self { seed: 0, percent: 100, faults: vec![fault], latency: Duration::ZERO }
    }
}

/// A proxy before one server, on a port of its own. Ends when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: SocketAddr,
    plan: Mutex<(FaultPlan, Random)>,
    is_over: AtomicBool,
    requests: Mutex<BTreeMap<String, u64>>,
    broken: Mutex<BTreeMap<Fault, u64>>,
    answered_bytes: AtomicU64,
    /// When the requests since the last change of the plan came, and when they were answered. Without broken ones.
    round_trips: Mutex<Vec<(Instant, Instant)>>,
}

impl FaultProxy {
    /// Starts a proxy before `server`.
    pub fn start(server: SocketAddr, plan: FaultPlan) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let random = Random::new(plan.seed);
        let shared = Arc::new(Shared {
            server,
            plan: Mutex::new((plan, random)),
            is_over: AtomicBool::new(false),
            requests: Mutex::default(),
            broken: Mutex::default(),
            answered_bytes: AtomicU64::new(0),
            round_trips: Mutex::default(),
        });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming() {
                if own.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(client) = client else { continue };
                let shared = Arc::clone(&own);
                // A client that gives up is what this is about.
                thread::spawn(move || shared.serve(&client).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what breaks from now on.
    pub fn change(&self, plan: FaultPlan) {
        let random = Random::new(plan.seed);
        *locked(&self.shared.plan) = (plan, random);
        locked(&self.shared.round_trips).clear();
    }

    /// The longest chain of requests since the last change of the plan, each of which came when the one before it was
    /// answered. So often a client waits for the network, however many requests it makes at once.
    #[must_use]
    pub fn rounds(&self) -> usize {
        let mut round_trips = locked(&self.shared.round_trips).clone();
        round_trips.sort_by_key(|(_, answered)| *answered);
        let mut rounds = 0;
        let mut last = None;
        for (came, answered) in round_trips {
            if last.is_none_or(|last| came >= last) {
                (rounds, last) = (rounds + 1, Some(answered));
            }
        }
        rounds
    }

    /// Requests so far by method, broken ones too. Listings are counted as `LIST` instead of `GET`.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<String, u64> {
        locked(&self.shared.requests).clone()
    }

    /// Bytes of the server's answers so far, without their heads.
    #[must_use]
    pub fn answered_bytes(&self) -> u64 {
        self.shared.answered_bytes.load(Ordering::Relaxed)
    }

    /// Requests so far that were broken.
    #[must_use]
    pub fn broken(&self) -> BTreeMap<Fault, u64> {
        locked(&self.shared.broken).clone()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a client.
        drop(TcpStream::connect(self.address));
    }
}

/// A request whose body was not read yet.
struct Request {
    head: String,
    /// What came of the body with the head.
    body: Vec<u8>,
    body_len: usize,
}

impl Request {
    fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    fn is_list(&self) -> bool {
        let target = self.head.split(' ').nth(1).unwrap_or_default();
        self.method() == "GET" && ["list-type=2", "comp=list"].iter().any(|part| target.contains(part))
    }

    fn has_condition(&self) -> bool {
        self.header("if-none-match").or_else(|| self.header("if-match")).is_some()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }
}

impl Shared {
    /// One request a connection: whoever asks again connects again.
    fn serve(&self, mut client: &TcpStream) -> io::Result<()> {
        let came = Instant::now();
        let mut request = read_head(client)?;
        let name = if request.is_list() { "LIST" } else { request.method() };
        *locked(&self.requests).entry(name.to_owned()).or_default() += 1;
        let (fault, latency) = self.draw(&request);
        if fault == Some(Fault::Reset) && request.body_len > 1 {
            // What is not read makes the system answer with a reset.
            return read_body(client, &mut request, |length| length / 2);
        }
        if fault == Some(Fault::Slow) {
            pace(client, &mut request)?;
        }
        read_body(client, &mut request, |length| length)?;
        thread::sleep(latency);
        match fault {
            None => {
                let answer = self.forward(&request)?;
                locked(&self.round_trips).push((came, Instant::now()));
                client.write_all(&answer)
            }
            Some(Fault::Error) => client.write_all(&refusal(&request, "500 Internal Server Error", "InternalError")),
            Some(Fault::Busy) => client.write_all(&refusal(&request, "503 Slow Down", "SlowDown")),
            Some(Fault::BusyStored) => {
                self.forward(&request)?;
                client.write_all(&refusal(&request, "503 Slow Down", "SlowDown"))
            }
            Some(Fault::Conflict) => client.write_all(&refusal(&request, "409 Conflict", "ConditionalRequestConflict")),
            Some(Fault::Reset) => {
                let answer = self.forward(&request)?;
                let head = head_len(&answer);
                client.write_all(&answer[..head + (answer.len() - head) / 2])
            }
            Some(Fault::ResetStored) => self.forward(&request).map(drop),
            Some(Fault::Silence) => self.keep_silent(client),
            Some(Fault::SilenceStored) => {
                self.forward(&request)?;
                self.keep_silent(client)
            }
            Some(Fault::Slow) => {
                let answer = self.forward(&request)?;
                for part in answer.chunks(1024) {
                    client.write_all(part)?;
                    thread::sleep(Duration::from_secs(u64::from(part.len() == 1024)));
                }
                Ok(())
            }
            Some(Fault::TruncatedList) => {
                let answer = self.forward(&request)?;
                client.write_all(&truncated(&answer))
            }
        }?;
        client.shutdown(Shutdown::Write)
    }

    fn draw(&self, request: &Request) -> (Option<Fault>, Duration) {
        let mut plan = locked(&self.plan);
        let (plan, random) = &mut *plan;
        let latency = plan.latency;
        if plan.faults.is_empty() || random.below(100) >= plan.percent {
            return (None, latency);
        }
        let fault = plan.faults[random.below(plan.faults.len())];
        let fits = match fault {
            Fault::Conflict => request.has_condition(),
            Fault::TruncatedList => request.is_list(),
            _ => true,
        };
        if fits {
            *locked(&self.broken).entry(fault).or_default() += 1;
        }
        (fits.then_some(fault), latency)
    }

    /// What the server answers, to the end of the connection.
    fn forward(&self, request: &Request) -> io::Result<Vec<u8>> {
        let mut server = TcpStream::connect(self.server)?;
        let lines = request.head.trim_end().lines().filter(|line| {
            let name = line.split(':').next().unwrap_or_default();
            !name.eq_ignore_ascii_case("connection")
        });
        let head: String = lines.flat_map(|line| [line, "\r\n"]).collect();
        server.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())?;
        server.write_all(&request.body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        self.answered_bytes.fetch_add((answer.len() - head_len(&answer)) as u64, Ordering::Relaxed);
        Ok(answer)
    }

    /// Waits until the client gives up.
    fn keep_silent(&self, mut client: &TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(Duration::from_millis(100)))?;
        while !self.is_over.load(Ordering::Relaxed) {
            match client.read(&mut [0; 1024]) {
                Ok(0) => break,
                Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => break,
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_head(mut client: &TcpStream) -> io::Result<Request> {
    let mut read = Vec::new();
    let mut part = [0; 4096];
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let count = client.read(&mut part)?;
        if count == 0 || read.len() > HEAD_MAX {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read.extend_from_slice(&part[..count]);
    };
    let body = read.split_off(end);
    let head = String::from_utf8(read).map_err(io::Error::other)?;
    let mut request = Request { head, body, body_len: 0 };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    if length > BODY_MAX || request.header("transfer-encoding").is_some() {
        return Err(io::Error::other("a body without a length, or too long"));
    }
    request.body_len = length;
    Ok(request)
}

/// Reads the body, or as much of it as `wanted` says.
fn read_body(mut client: &TcpStream, request: &mut Request, wanted: impl Fn(usize) -> usize) -> io::Result<()> {
    let wanted = wanted(request.body_len);
    let mut part = vec![0; 64 << 10];
    while request.body.len() < wanted {
        let room = part.len().min(wanted - request.body.len());
        let count = client.read(&mut part[..room])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.body.extend_from_slice(&part[..count]);
    }
    Ok(())
}

/// Reads the body at 1 KB per second.
fn pace(client: &TcpStream, request: &mut Request) -> io::Result<()> {
    while request.body.len() < request.body_len {
        let next = request.body.len() + 1024;
        read_body(client, request, |length| length.min(next))?;
        if request.body.len() < request.body_len {
            thread::sleep(Duration::from_secs(1));
        }
    }
    Ok(())
}

fn refusal(request: &Request, status: &str, code: &str) -> Vec<u8> {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>A fault.</Message></Error>");
    let body = if request.method() == "HEAD" { "" } else { &body };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body.as_bytes()].concat()
}

/// The first half of the body, as if it were all.
fn truncated(answer: &[u8]) -> Vec<u8> {
    let (head, body) = answer.split_at(head_len(answer));
    let status = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let body = &body[..body.len() / 2];
    let rest =
        format!("\r\nContent-Type: application/xml\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [status, rest.as_bytes(), body].concat()
}

fn head_len(answer: &[u8]) -> usize {
    answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(answer.len(), |end| end + 4)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers every request with its body, and counts.
    fn echo() -> (SocketAddr, Arc<Mutex<u64>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, count) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(0)));
        let own = Arc::clone(&count);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(mut request) = read_head(&client) else { continue };
                read_body(&client, &mut request, |length| length).unwrap();
                *locked(&own) += 1;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.body.len());
                (&client).write_all(&[head.as_bytes(), &request.body].concat()).unwrap();
            }
        });
        (address, count)
    }

    fn ask(proxy: &FaultProxy, head: &str, body: &str) -> io::Result<String> {
        let mut socket = TcpStream::connect(proxy.address())?;
        socket.set_read_timeout(Some(Duration::from_millis(400)))?;
        write!(
            socket,
            "{head} HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn each_fault_is_what_it_says() {
        let (server, count) = echo();
        let proxy = FaultProxy::start(server, FaultPlan::none()).unwrap();
        let check = |fault: Fault, head: &str, want: &str, is_stored: bool| {
            proxy.change(FaultPlan::always(fault));
            let before = *locked(&count);
            let answer = ask(&proxy, head, "a body").unwrap_or_else(|error| format!("{:?}", error.kind()));
            assert!(answer.contains(want), "{fault:?}: {answer}");
            thread::sleep(Duration::from_millis(20));
            assert_eq!(*locked(&count) - before, u64::from(is_stored), "{fault:?}");
        };
        check(Fault::Error, "PUT /a", "HTTP/1.1 500", false);
        check(Fault::Busy, "PUT /a", "HTTP/1.1 503", false);
        check(Fault::BusyStored, "PUT /a", "HTTP/1.1 503", true);
        check(Fault::Conflict, "PUT /a", "HTTP/1.1 409", false);
        check(Fault::Reset, "PUT /a", "", false);
        check(Fault::ResetStored, "PUT /a", "", true);
        check(Fault::Silence, "PUT /a", "WouldBlock", false);
        check(Fault::SilenceStored, "PUT /a", "WouldBlock", true);
        check(Fault::Slow, "PUT /a", "a body", true);
        check(Fault::TruncatedList, "GET /?list-type=2", "Content-Length: 3\r\nConnection: close\r\n\r\na b", true);
        check(Fault::TruncatedList, "GET /a", "a body", true);
        assert_eq!(proxy.requests(), BTreeMap::from([("GET".into(), 1), ("LIST".into(), 1), ("PUT".into(), 9)]));
        assert_eq!(proxy.broken().values().sum::<u64>(), 10);
    }

    #[test]
    fn requests_at_once_are_one_round() {
        let (server, _) = echo();
        let proxy = FaultProxy::start(server, FaultPlan::none()).unwrap();
        let in_turn = |count: usize| (0..count).for_each(|_| drop(ask(&proxy, "GET /a", "").unwrap()));
        in_turn(3);
        assert_eq!(proxy.rounds(), 3);
        proxy.change(FaultPlan { latency: Duration::from_millis(200), ..FaultPlan::none() });
        assert_eq!(proxy.rounds(), 0);
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| in_turn(1)))));
        in_turn(1);
        assert_eq!(proxy.rounds(), 2);
    }

    #[test]
    fn the_same_seed_breaks_the_same_requests() {
        let (server, _) = echo();
        let outcomes = |seed| -> Vec<String> {
            let plan =
                FaultPlan { seed, percent: 30, faults: vec![Fault::Error, Fault::Busy], latency: Duration::ZERO };
            let proxy = FaultProxy::start(server, plan).unwrap();
            (0..40).map(|_| ask(&proxy, "PUT /a", "x").unwrap()[9..12].to_owned()).collect()
        };
        assert_eq!(outcomes(1), outcomes(1));
        assert_ne!(outcomes(1), outcomes(2));
        let broken = outcomes(1).iter().filter(|status| *status != "200").count();
        assert!((4..20).contains(&broken), "{broken}");
    }
}
