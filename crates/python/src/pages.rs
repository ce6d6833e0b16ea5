//! The pages of the browser for a server in Python: reads a log folder in the background, and answers requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stepscope_server::{App, HostedRequest, Keeper};
use stepscope_workspace::{CancelFlag, Settings};

/// Status, headers and body.
type Answer<'py> = (u16, Vec<(String, String)>, Bound<'py, PyBytes>);

/// The pages about the runs in some folders.
#[pyclass(frozen)]
pub(crate) struct NativePages {
    app: Arc<App>,
    stop: CancelFlag,
}

#[pymethods]
impl NativePages {
    /// Reads what is in the folders, and what comes, until it is thrown away.
    #[new]
    fn new(paths: Vec<PathBuf>) -> PyResult<Self> {
        let (app, stop) = (Arc::new(App::default()), CancelFlag::default());
        let keeper = Keeper {
            app: Arc::clone(&app),
            paths,
            settings: Settings::default(),
            stop: stop.clone(),
            // The page tells about runs that cannot be read.
            tell: Box::new(|_| {}),
        };
        thread::Builder::new().name("stepscope-keeper".to_owned()).spawn(move || keeper.run())?;
        Ok(Self { app, stop })
    }

    /// Whether any run was found.
    fn has_runs(&self) -> bool {
        !self.app.session().runs.is_empty()
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python gives values")]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        target: &str,
        headers: Vec<(String, String)>,
        body: &[u8],
    ) -> Answer<'py> {
        let request = HostedRequest { method, target, headers: &headers, body };
        let response = py.detach(|| self.app.answer_hosted(&request));
        let mut headers = vec![("content-type".to_owned(), response.content_type.to_owned())];
        headers.extend(response.headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
        (response.status.as_u16(), headers, PyBytes::new(py, &response.body))
    }
}

impl Drop for NativePages {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
