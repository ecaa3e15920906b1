//! A key of an object store together with everything that a request for it needs.

use std::future::Future;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

use super::runtime;
use crate::{IoError, IoErrorKind, Result};

/// One key, and the URL that messages name.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) key: Path,
    pub(crate) location: String,
}

impl Target {
    /// Makes a request for this key and waits for its result.
    pub(crate) fn run<F, T>(
        &self,
        request: impl FnOnce(Arc<dyn ObjectStore>, Path) -> F,
    ) -> Result<T>
    where
        F: Future<Output = object_store::Result<T>> + Send + 'static,
        T: Send + 'static,
    {
        let request = request(Arc::clone(&self.store), self.key.clone());
        runtime::wait(&self.location, request)?.map_err(|e| from_store(&self.location, e))
    }
}

/// An object store's error at `location`.
pub(crate) fn from_store(location: &str, error: object_store::Error) -> IoError {
    use object_store::Error;

    let kind = match &error {
        Error::NotFound { .. } => IoErrorKind::NotFound,
        // Stores answer a conditional put that lost with either of the two.
        Error::AlreadyExists { .. } | Error::Precondition { .. } => IoErrorKind::AlreadyExists,
        Error::InvalidPath { .. } => IoErrorKind::InvalidPath,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            IoErrorKind::PermissionDenied
        }
        Error::NotSupported { .. }
        | Error::NotImplemented { .. }
        | Error::UnknownConfigurationKey { .. } => IoErrorKind::Unsupported,
        _ => IoErrorKind::Other,
    };
    IoError::new(kind, location, error.to_string()).with_source(error)
}
