//! What plans may read: the store of the worker, and nothing else.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use stepscope_engine::STORE_ADDRESS;
use url::Url;

use crate::failure::{Code, Failure};

/// A registry of one object store. The usual one also has the file system of the machine.
#[derive(Debug)]
pub(crate) struct OnlyStore {
    objects: Arc<dyn ObjectStore>,
}

impl OnlyStore {
    pub(crate) fn new(objects: Arc<dyn ObjectStore>) -> Self {
        Self { objects }
    }
}

impl ObjectStoreRegistry for OnlyStore {
    /// Adds nothing.
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let is_store =
            Url::parse(STORE_ADDRESS).is_ok_and(|ours| (ours.scheme(), ours.host()) == (url.scheme(), url.host()));
        if is_store {
            return Ok(Arc::clone(&self.objects));
        }
        Err(Failure::refusal(Code::PlanRefused, format!("found an address outside of the store: {url}")).into_error())
    }
}
