//! What can go wrong between us and a store.

use std::fmt;

/// A result whose error is an [`IoError`].
pub type Result<T> = std::result::Result<T, IoError>;

/// The kinds of failure that callers branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoErrorKind {
    /// The object does not exist.
    NotFound,
    /// The object exists already, and creating it must not replace it.
    AlreadyExists,
    /// A range lies outside of the object, or the object is shorter than it said.
    OutOfRange,
    /// A relative path leaves its root, or is not a path at all.
    InvalidPath,
    /// The address names a scheme, an option or a feature that this build does not have.
    Unsupported,
    /// The store refused the credentials.
    PermissionDenied,
    /// Anything else that the operating system or the store reported.
    Other,
}

/// A failure of a store, with the object it concerns.
#[derive(Debug)]
pub struct IoError {
    kind: IoErrorKind,
    location: String,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl IoError {
    /// An error of `kind` at `location`, described by `message`.
    pub fn new(kind: IoErrorKind, location: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            location: location.into(),
            message: message.into(),
            source: None,
        }
    }

    /// Adds the error that caused this one.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// An operating system error at `location`.
    pub fn from_os(location: impl Into<String>, error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                IoErrorKind::NotFound
            }
            std::io::ErrorKind::AlreadyExists => IoErrorKind::AlreadyExists,
            std::io::ErrorKind::PermissionDenied => IoErrorKind::PermissionDenied,
            std::io::ErrorKind::UnexpectedEof => IoErrorKind::OutOfRange,
            _ => IoErrorKind::Other,
        };
        Self::new(kind, location, error.to_string()).with_source(error)
    }

    /// The kind of failure.
    pub fn kind(&self) -> IoErrorKind {
        self.kind
    }

    /// The object that the failure concerns: an absolute path or URL.
    pub fn location(&self) -> &str {
        &self.location
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|e| e as &(dyn std::error::Error + 'static))
    }
}
