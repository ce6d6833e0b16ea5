//! What is open, and how far it is.

use axum::http::Method;

use super::Route;
use crate::response::Response;

pub(super) static ROUTE: Route =
    Route { method: Method::GET, path: "api/session", answer: |asked| Response::json(&asked.app.session()) };
