//! The page in the browser: loopback HTTP over [`stepscope_workspace::Workspace`].
//!
//! Every endpoint is a plain function from a request to a response (`routes`), so that it can be tested without a
//! socket and called by another host. Before them stands the `door`, which lets in only who knows the token; around
//! both lies `serve`, the only part that knows sockets and async. The `keeper` reads traces in the background and
//! notices new ones.

mod app;
mod assets;
mod compress;
mod door;
mod failure;
mod hosted;
mod keeper;
mod meter;
mod query;
mod request;
mod response;
mod routes;
mod serve;

pub use app::App;
pub use assets::is_placeholder;
pub use door::Door;
pub use failure::Failure;
pub use hosted::HostedRequest;
pub use keeper::Keeper;
pub use request::Request;
pub use response::Response;
pub use serve::Server;
