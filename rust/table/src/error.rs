//! What can go wrong with a dataset's versions.

use std::fmt;

use pennon_file::{FileError, FileErrorKind};
use pennon_io::{IoError, IoErrorKind};

/// A result whose error is a [`TableError`].
pub type Result<T> = std::result::Result<T, TableError>;

/// The kinds of failure that callers branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TableErrorKind {
    /// There is no dataset at the address.
    DatasetNotFound,
    /// There is a dataset at the address, and there must be none.
    DatasetAlreadyExists,
    /// The dataset has no such version.
    VersionNotFound,
    /// Another writer was faster; doing the operation again may succeed.
    CommitConflict,
    /// Another writer changed the dataset so that the operation makes no sense any more.
    Incompatible,
    /// The dataset uses a feature that this release does not have.
    UnsupportedFeature,
    /// A manifest, transaction or deletion file contradicts the format.
    Corrupt,
    /// An argument that makes no sense.
    InvalidInput,
    /// The store failed.
    Io(IoErrorKind),
}

/// A failure with its facts: the dataset or file, the version, the number of attempts.
#[derive(Debug)]
pub struct TableError {
    kind: TableErrorKind,
    message: String,
    uri: Option<String>,
    version: Option<u64>,
    attempts: Option<u32>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl TableError {
    pub(crate) fn new(kind: TableErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            uri: None,
            version: None,
            attempts: None,
            source: None,
        }
    }

    pub(crate) fn corrupt(message: impl Into<String>) -> Self {
        Self::new(TableErrorKind::Corrupt, message)
    }

    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(TableErrorKind::InvalidInput, message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(TableErrorKind::UnsupportedFeature, message)
    }

    /// There is a dataset at `uri`, and there must be none.
    pub fn already_exists(uri: &str) -> Self {
        let message = "a dataset exists already; to add to it or to replace it, use the mode \
                       'append' or 'overwrite'";
        Self::new(TableErrorKind::DatasetAlreadyExists, message).at(uri)
    }

    /// Names the dataset or file, unless it is named already.
    #[must_use]
    pub(crate) fn at(mut self, uri: &str) -> Self {
        self.uri.get_or_insert_with(|| uri.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn in_version(mut self, version: u64) -> Self {
        self.version.get_or_insert(version);
        self
    }

    #[must_use]
    pub(crate) fn after(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> TableErrorKind {
        self.kind
    }

    /// The dataset or file.
    pub fn uri(&self) -> Option<&str> {
        self.uri.as_deref()
    }

    /// The version that the failure concerns.
    pub fn version(&self) -> Option<u64> {
        self.version
    }

    /// How often the operation was tried.
    pub fn attempts(&self) -> Option<u32> {
        self.attempts
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.uri {
            Some(uri) => write!(f, "{uri}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|e| e as &(dyn std::error::Error + 'static))
    }
}

impl From<IoError> for TableError {
    fn from(error: IoError) -> Self {
        let uri = error.location().to_owned();
        let text = error.to_string();
        let text = text
            .strip_prefix(&format!("{uri}: "))
            .unwrap_or(&text)
            .to_owned();
        let mut converted = Self::new(TableErrorKind::Io(error.kind()), text).at(&uri);
        converted.source = Some(Box::new(error));
        converted
    }
}

/// A schema in a manifest that cannot be read.
impl From<FileError> for TableError {
    fn from(error: FileError) -> Self {
        let kind = match error.kind() {
            FileErrorKind::Unsupported => TableErrorKind::UnsupportedFeature,
            FileErrorKind::InvalidInput | FileErrorKind::Schema => TableErrorKind::InvalidInput,
            FileErrorKind::Io(kind) => TableErrorKind::Io(kind),
            _ => TableErrorKind::Corrupt,
        };
        let mut converted = Self::new(kind, error.to_string());
        converted.source = Some(Box::new(error));
        converted
    }
}
