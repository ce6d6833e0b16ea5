//! The door of a worker: who may ask, for which store, in which version, and whether there is room.
//!
//! Requests are answered on the threads for queries; the one for the network stays free to answer pings, so that a busy
//! worker does not look like a lost one.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Request, Response};
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tonic::body::Body;
use tonic::{Code as StatusCode, Status};
use tower::{Layer, Service};

use super::load::{Load, Part, count_panics, panics};
use crate::failure::{Code, Failure};
use crate::identity::{QUERY_HEADER, STORE_HEADER, VERSION_HEADER};
use crate::secrets::Token;

/// The request that asks for the version of a worker; it needs no version itself.
const INFO: &str = "GetWorkerInfo";
/// The request that brings a part of a query.
const NEW_PART: &str = "CoordinatorChannel";

/// What the door looks at.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) token: Option<Token>,
    pub(crate) version: String,
    pub(crate) store: String,
    pub(crate) load: Arc<Load>,
    pub(crate) compute: Handle,
}

impl Rules {
    /// Lets a request pass or refuses it by name.
    fn check(&self, path: &str, headers: &HeaderMap) -> Result<Option<Part>, Failure> {
        if let Some(token) = &self.token {
            let shown = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
            match shown {
                None => return Err(Failure::refusal(Code::NotAllowed, "found no token, expected one")),
                Some(shown) if !token.admits(shown) => {
                    return Err(Failure::refusal(Code::NotAllowed, "found another token than that of the worker"));
                }
                Some(_) => {}
            }
        }
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("none");
        if path.ends_with(INFO) {
            return self.load.check().map(|()| None);
        }
        if text(VERSION_HEADER) != self.version {
            let message = format!("found version {}, expected {}", text(VERSION_HEADER), self.version);
            return Err(Failure::refusal(Code::OtherVersion, message));
        }
        if text(STORE_HEADER) != self.store {
            let message = format!("the worker reads {}, the run is in {}", self.store, text(STORE_HEADER));
            return Err(Failure::refusal(Code::OtherStore, message));
        }
        if path.ends_with(NEW_PART) { self.load.take(text(QUERY_HEADER)).map(Some) } else { Ok(None) }
    }
}

/// Puts the door in front of a service.
#[derive(Clone)]
pub(crate) struct GateLayer(Arc<Rules>);

impl GateLayer {
    pub(crate) fn new(rules: Rules) -> Self {
        count_panics();
        Self(Arc::new(rules))
    }
}

impl<S> Layer<S> for GateLayer {
    type Service = Gate<S>;

    fn layer(&self, inner: S) -> Gate<S> {
        Gate { inner, rules: Arc::clone(&self.0) }
    }
}

/// A service behind a door.
#[derive(Clone)]
pub(crate) struct Gate<S> {
    inner: S,
    rules: Arc<Rules>,
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<S> Service<Request<Body>> for Gate<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        let part = match self.rules.check(request.uri().path(), request.headers()) {
            Ok(part) => part,
            Err(failure) => {
                let answer = Status::new(status_code(failure.code), failure.marked()).into_http();
                return Box::pin(async move { Ok(answer) });
            }
        };
        let panics_before = panics();
        let answer = self.inner.call(request);
        let task = self.rules.compute.spawn(answer);
        let abort = AbortOnDrop(task.abort_handle());
        Box::pin(async move {
            let answered = task.await;
            drop(abort);
            let Ok(Ok(answer)) = answered else { return Ok(panicked().into_http()) };
            Ok(answer.map(|inner| Body::new(Guarded { inner, panics_before, _part: part })))
        })
    }
}

/// Ends work that nobody waits for.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The rows of an answer. The library ends a stream as if it were complete when the thread behind it panicked; so an end
/// after a panic, whoever's it was, is an error.
struct Guarded {
    inner: Body,
    panics_before: u64,
    _part: Option<Part>,
}

impl http_body::Body for Guarded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let next = Pin::new(&mut self.inner).poll_frame(context);
        let is_end = match &next {
            Poll::Ready(None) => true,
            Poll::Ready(Some(Ok(frame))) => frame.is_trailers(),
            _ => false,
        };
        if is_end && panics() > self.panics_before {
            return Poll::Ready(Some(Err(panicked())));
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn panicked() -> Status {
    Status::internal(Failure::refusal(Code::WorkerLost, "a thread of the worker panicked").marked())
}

fn status_code(code: Code) -> StatusCode {
    match code {
        Code::WorkerLost | Code::WorkerDraining => StatusCode::Unavailable,
        Code::WorkerBusy | Code::WorkerOutOfMemory => StatusCode::ResourceExhausted,
        Code::OtherVersion | Code::OtherStore => StatusCode::FailedPrecondition,
        Code::NotAllowed => StatusCode::Unauthenticated,
        Code::PlanRefused => StatusCode::InvalidArgument,
    }
}
