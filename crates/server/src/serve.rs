//! The edge: sockets in, sockets out. Everything behind it is plain functions on threads of their own.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as Incoming, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response as Outgoing;
use stepscope_workspace::CancelFlag;

use crate::app::App;
use crate::door::{Door, closed};
use crate::failure::Failure;
use crate::request::Request;
use crate::response::{Pieces, Response};

/// Bytes of a body at most.
const LARGEST_BODY: usize = 1 << 20;
/// Questions that are worked on at one time; the others wait.
const MOST_AT_ONCE: usize = 32;
/// Pieces of a body that wait to be sent.
const PIECES_AHEAD: usize = 2;
/// How often it is looked whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long questions that are being worked on may take to notice the end.
const FAREWELL: Duration = Duration::from_secs(1);

/// A server that listens on this machine only.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    door: Door,
    app: Arc<App>,
}

impl Server {
    /// Takes a port, any free one if it is 0.
    pub fn bind(app: Arc<App>, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let door = Door::new(listener.local_addr()?.port())?;
        Ok(Self { listener, shared: Arc::new(Shared { door, app }) })
    }

    /// The address to open, with its token.
    #[must_use]
    pub fn url(&self) -> String {
        self.shared.door.url()
    }

    /// Answers until it is stopped.
    pub fn run(self, stop: &CancelFlag) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(MOST_AT_ONCE)
            .thread_name("stepscope-server")
            .enable_io()
            .enable_time()
            .build()?;
        // Runs are closed at the very end: closing waits, and nothing may wait inside the runtime.
        let router = Router::new().fallback(answer).with_state(Arc::clone(&self.shared));
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                served = axum::serve(listener, router).into_future() => served,
                () = stopped(stop) => Ok(()),
            }
        });
        // Whoever still waits for an answer is let go, which ends the question.
        runtime.shutdown_timeout(FAREWELL);
        served
    }
}

async fn stopped(stop: &CancelFlag) {
    while !stop.is_canceled() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Ends the work on a question when nobody waits for the answer any more.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Dropped by the server when the client goes away.
async fn answer(State(shared): State<Arc<Shared>>, incoming: Incoming) -> Outgoing {
    let request = match read(incoming).await {
        Ok(request) => request,
        Err(failure) => return outgoing(closed(failure.into()), None),
    };
    let guard = CancelOnDrop(request.cancel.clone());
    let answered = tokio::task::spawn_blocking(move || shared.door.answer(&shared.app, &request)).await;
    let response = answered.unwrap_or_else(|_| {
        let failure = Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "bug: the work on this request panicked");
        closed(failure.with_hint("please report it with the address of the request").into())
    });
    outgoing(response, Some(guard))
}

/// A body that is made on a thread of its own, no faster than it is taken.
fn streamed(first: Vec<u8>, rest: Pieces, guard: Option<CancelOnDrop>) -> Body {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(PIECES_AHEAD);
    tokio::task::spawn_blocking(move || {
        for piece in std::iter::once(Ok(first)).chain(rest) {
            // What has begun cannot become another answer: the client sees that it does not end.
            let piece = piece.map_err(|failure| io::Error::other(failure.problem.to_string()));
            let is_failed = piece.is_err();
            if sender.blocking_send(piece).is_err() || is_failed {
                break;
            }
        }
    });
    Body::from_stream(futures::stream::poll_fn(move |context| {
        let _ = &guard;
        receiver.poll_recv(context)
    }))
}

async fn read(incoming: Incoming) -> Result<Request, Failure> {
    let (parts, body) = incoming.into_parts();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::new(parts.method, target)?;
    request.headers = parts.headers;
    let too_large = |_| {
        Failure::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is too large or incomplete, expected at most {LARGEST_BODY} bytes"),
        )
    };
    request.body = to_bytes(body, LARGEST_BODY).await.map_err(too_large)?.to_vec();
    Ok(request)
}

/// The guard lives as long as somebody waits for the body.
fn outgoing(response: Response, guard: Option<CancelOnDrop>) -> Outgoing {
    let body = match response.rest {
        None => Body::from(response.body),
        Some(rest) => streamed(response.body, rest, guard),
    };
    let mut outgoing = Outgoing::new(body);
    *outgoing.status_mut() = response.status;
    let headers = outgoing.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(response.content_type));
    for (name, value) in response.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    outgoing
}
