//! A server over a small trace whose answers are known: asked as functions, and over a socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use arrow::ipc::reader::StreamReader;
use axum::http::{HeaderName, HeaderValue, Method};
use serde_json::Value;
use stepscope_server::{App, Door, Request, Response, Server};
use stepscope_testkit::TraceBuilder;
use stepscope_workspace::{CancelFlag, Progress, Settings, Workspace};

/// Port that the functions are asked for; nobody listens there.
pub(crate) const PORT: u16 = 4321;

/// One step of 100 µs: a Python frame, an operator in it, its launch, its kernel, and a late copy.
pub(crate) fn small_trace() -> String {
    TraceBuilder::new()
        .header("deviceProperties", r#"[{"id": 0, "name": "Test GPU"}]"#)
        .metadata("process_name", TraceBuilder::HOST_PROCESS, 0, "python")
        .annotation("ProfilerStep#1", 1, "1000", "100")
        .complete("python_function", "train.py(3): step", TraceBuilder::HOST_PROCESS, 1, "1001", "90")
        .op("aten::mm", 1, "1010", "50")
        .arg("External id", "1")
        .runtime("cudaLaunchKernel", 1, "1020", "5", 9)
        .arg("External id", "1")
        .kernel("gemm", 0, 7, "1040", "30", 9)
        .arg("External id", "1")
        .memcpy("Memcpy HtoD", 0, 7, "1080", "10", 10)
        .finish()
}

/// Says nothing and never stops.
pub(crate) struct Silent;

impl Progress for Silent {
    fn update(&self, _file: &str, _bytes_done: u64, _bytes_total: Option<u64>) {}

    fn finished_file(&self) {}

    fn canceled(&self) -> bool {
        false
    }

    fn notice(&self, _message: &str) {}
}

pub(crate) fn settings() -> Settings {
    Settings { no_cache: true, ..Settings::default() }
}

pub(crate) fn open_text(trace: &str) -> Workspace {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("trace.json");
    std::fs::write(&path, trace).unwrap();
    Workspace::open(&[path], &settings(), &Silent).unwrap()
}

/// An app with one run called `job`.
pub(crate) fn app(trace: &str) -> App {
    let app = App::default();
    app.add("job", open_text(trace)).unwrap();
    app
}

/// The server as functions, for somebody who was let in.
pub(crate) struct Inside {
    pub(crate) app: App,
    pub(crate) door: Door,
}

impl Inside {
    pub(crate) fn new(trace: &str) -> Self {
        Self { app: app(trace), door: Door::new(PORT).unwrap() }
    }

    /// A request that the door lets pass.
    pub(crate) fn request(&self, method: Method, target: &str) -> Request {
        let mut request = Request::new(method, target).unwrap();
        set(&mut request, "host", &format!("127.0.0.1:{PORT}"));
        set(&mut request, "authorization", &format!("Bearer {}", token(&self.door.url())));
        request
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.door.answer(&self.app, &self.request(Method::GET, target))
    }

    /// The answer to a question that must succeed.
    #[track_caller]
    pub(crate) fn json(&self, target: &str) -> Value {
        let response = self.get(target);
        assert_eq!(response.status, 200, "{target}: {}", String::from_utf8_lossy(&response.body));
        serde_json::from_slice(&response.body).unwrap()
    }
}

/// A row of a track: lane, start, length, busy time, count, class, name.
pub(crate) type Row = (i32, i64, i64, i64, i64, String, String);

/// The rows of a track.
pub(crate) fn rows(inside: &Inside, target: &str) -> Vec<Row> {
    let response = inside.get(target);
    assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.body));
    assert_eq!(response.content_type, "application/vnd.apache.arrow.stream");
    let batches = StreamReader::try_new(response.body.as_slice(), None).unwrap().map(Result::unwrap);
    batches.flat_map(|batch| (0..batch.num_rows()).map(|row| one(&batch, row)).collect::<Vec<_>>()).collect()
}

fn one(batch: &RecordBatch, row: usize) -> Row {
    let number = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().value(row);
    let text = |name: &str| {
        let column = batch.column_by_name(name).unwrap();
        assert!(matches!(column.data_type(), DataType::Dictionary(..)), "{name}");
        cast(column, &DataType::Utf8).unwrap().as_string::<i32>().value(row).to_owned()
    };
    let depth = batch.column_by_name("depth").unwrap().as_primitive::<Int32Type>().value(row);
    (depth, number("start_ns"), number("dur_ns"), number("busy_ns"), number("count"), text("class"), text("name"))
}

pub(crate) fn set(request: &mut Request, name: &str, value: &str) {
    let name: HeaderName = name.parse().unwrap();
    request.headers.insert(name, HeaderValue::from_str(value).unwrap());
}

pub(crate) fn token(url: &str) -> &str {
    url.split_once("token=").unwrap().1
}

/// A server on a socket, which ends with it.
pub(crate) struct Outside {
    pub(crate) port: u16,
    pub(crate) token: String,
    stop: CancelFlag,
    serving: Option<JoinHandle<std::io::Result<()>>>,
}

impl Outside {
    pub(crate) fn new(app: App) -> Self {
        let server = Server::bind(Arc::new(app), 0).unwrap();
        let url = server.url();
        let port = url.split(['/', ':']).find_map(|part| part.parse().ok()).unwrap();
        let stop = CancelFlag::default();
        let flag = stop.clone();
        let serving = Some(std::thread::spawn(move || server.run(&flag)));
        Self { port, token: token(&url).to_owned(), stop, serving }
    }

    /// Sends bytes as they are.
    pub(crate) fn connect(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        // A server that has refused already need not take the rest.
        let _ = stream.write_all(bytes);
        stream
    }

    /// Sends bytes as they are, and gives the answer with its headers.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut answer = Vec::new();
        let _ = self.connect(bytes).read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The answer to a JSON body, its pieces put together.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answered {
        let text = self.text(&format!("POST {path} HTTP/1.1"), &["Content-Type: application/json"], body);
        let mut answer = Vec::new();
        self.connect(text.as_bytes()).read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&answer[..end]).to_lowercase().replace("http/1.1", "HTTP/1.1");
        let mut rest = &answer[end + 4..];
        if !head.contains("transfer-encoding: chunked") {
            return Answered { head, body: rest.to_vec() };
        }
        let mut body = Vec::new();
        loop {
            let line = rest.windows(2).position(|bytes| bytes == b"\r\n").unwrap();
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
            if size == 0 {
                return Answered { head, body };
            }
            body.extend_from_slice(&rest[line + 2..line + 2 + size]);
            rest = &rest[line + 4 + size..];
        }
    }

    /// The text of a request; lines are whole headers.
    pub(crate) fn text(&self, first: &str, headers: &[&str], body: &str) -> String {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        let bearer = format!("Authorization: Bearer {}", self.token);
        let length = format!("Content-Length: {}", body.len());
        let has = |name: &str| headers.iter().any(|header| header.starts_with(name));
        let mut lines = vec![first, "Connection: close", &length];
        lines.extend([host.as_str()].into_iter().filter(|_| !has("Host:")));
        lines.extend([bearer.as_str()].into_iter().filter(|_| !has("Authorization:")));
        // A header that is named without a value is left out.
        lines.extend(headers.iter().filter(|header| !header.ends_with(':')));
        format!("{}\r\n\r\n{body}", lines.join("\r\n"))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.stop.cancel();
        let ended = self.serving.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap().unwrap();
        }
    }
}

/// What came over the socket.
pub(crate) struct Answered {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// The number in the first line of an answer; 0 if there is none.
pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
