//! The frame of a timeline, the spans of its tracks, the critical path, and its curves.

use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use axum::http::{Method, StatusCode};
use stepscope_workspace::{CurveRange, PathRange, TrackRange};

use super::{Asked, Route};
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;

pub(super) static ROUTE: Route = Route { method: Method::GET, path: "api/runs/{run}/timeline", answer };

pub(super) static TRACK_ROUTE: Route =
    Route { method: Method::GET, path: "api/runs/{run}/timeline/tracks/{track}", answer: answer_track };

pub(super) static PATH_ROUTE: Route =
    Route { method: Method::GET, path: "api/runs/{run}/timeline/path", answer: answer_path };

pub(super) static CURVES_ROUTE: Route =
    Route { method: Method::GET, path: "api/runs/{run}/timeline/counters", answer: answer_curves };

/// Pixels unless the page says otherwise.
const USUAL_WIDTH: u32 = 1_200;
/// Pixels that no screen has more of.
const LARGEST_WIDTH: u32 = 20_000;

fn answer(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let (rank, window) = (request.number("rank")?, request.number("window")?);
    Response::json(&asked.workspace()?.timeline(rank, window, &request.cancel)?)
}

fn answer_track(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let track = asked.part(1);
    let track = track.parse().map_err(|_| Failure::malformed(format!("track is not a number: {track}")))?;
    let (from_ns, to_ns, width) = stretch(request)?;
    let (rank, window) = (request.number("rank")?, request.number("window")?);
    let range = TrackRange { track, from_ns, to_ns, width };
    spans(&asked.workspace()?.track(rank, window, range, &request.cancel)?)
}

fn answer_path(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let (from_ns, to_ns, width) = stretch(request)?;
    let (rank, window) = (request.number("rank")?, request.number("window")?);
    let range = PathRange { from_ns, to_ns, width };
    spans(&asked.workspace()?.path(rank, window, range, &request.cancel)?)
}

fn spans(batch: &RecordBatch) -> Result<Response, Failure> {
    let body = stream(batch)
        .map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the spans: {error}")))?;
    Ok(Response::new(StatusCode::OK, "application/vnd.apache.arrow.stream", body))
}

fn answer_curves(asked: &Asked<'_>) -> Result<Response, Failure> {
    let request = asked.request;
    let (from_ns, to_ns, width) = stretch(request)?;
    let (rank, window) = (request.number("rank")?, request.number("window")?);
    let range = CurveRange { from_ns, to_ns, width };
    Response::json(&asked.workspace()?.curves(rank, window, range, &request.cancel)?)
}

/// Start, end and pixels of what is on screen.
pub(super) fn stretch(request: &Request) -> Result<(i64, i64, u32), Failure> {
    let from_ns = request.number("from")?.unwrap_or(0);
    let to_ns = request.number("to")?.unwrap_or(i64::MAX / 4);
    if !(-i64::MAX / 4..to_ns).contains(&from_ns) || to_ns > i64::MAX / 4 {
        return Err(Failure::malformed("the time range ends before it begins, or is too long"));
    }
    Ok((from_ns, to_ns, width(request)?))
}

/// Pixels that there are for an answer.
pub(super) fn width(request: &Request) -> Result<u32, Failure> {
    Ok(request.number("width")?.unwrap_or(USUAL_WIDTH).clamp(1, LARGEST_WIDTH))
}

fn stream(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    writer.finish()?;
    writer.into_inner()
}
