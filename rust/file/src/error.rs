//! What can go wrong with one data file.

use std::fmt;

use pennon_io::{IoError, IoErrorKind};

/// A result whose error is a [`FileError`].
pub type Result<T> = std::result::Result<T, FileError>;

/// The kinds of failure that callers branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The bytes contradict the format.
    Corrupt,
    /// The file uses a version, a type or an encoding that this release does not read or write.
    Unsupported,
    /// A schema that the format, or the file version asked for, cannot hold.
    Schema,
    /// Data or arguments that do not fit the file.
    InvalidInput,
    /// The store failed.
    Io(IoErrorKind),
}

/// A failure with the place where it happened: file, column and page, as far as they are known.
///
/// The place is added on the way out, by the layer that knows it; the innermost wins.
#[derive(Debug)]
pub struct FileError {
    kind: FileErrorKind,
    message: String,
    file: Option<String>,
    column: Option<String>,
    page: Option<usize>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl FileError {
    /// An error of `kind`, described by `message`.
    pub fn new(kind: FileErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            file: None,
            column: None,
            page: None,
            source: None,
        }
    }

    /// Bytes that contradict the format.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(FileErrorKind::Corrupt, message)
    }

    /// Something that this release does not read or write.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(FileErrorKind::Unsupported, message)
    }

    /// A schema that cannot be stored.
    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(FileErrorKind::Schema, message)
    }

    /// Data or arguments that do not fit.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        Self::new(FileErrorKind::InvalidInput, message)
    }

    /// Names the file, unless it is named already.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// Names the column, unless it is named already.
    #[must_use]
    pub fn in_column(mut self, column: &str) -> Self {
        self.column.get_or_insert_with(|| column.to_owned());
        self
    }

    /// Names the page by its number within the column, unless it is named already.
    #[must_use]
    pub fn in_page(mut self, page: usize) -> Self {
        self.page.get_or_insert(page);
        self
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

    /// The kind of failure.
    pub fn kind(&self) -> FileErrorKind {
        self.kind
    }

    /// The file, as an absolute path or URL.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The column's name, with dots between the names of nested fields.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// The page's number within its column.
    pub fn page(&self) -> Option<usize> {
        self.page
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        match (&self.column, self.page) {
            (Some(column), Some(page)) => write!(f, "column '{column}', page {page}: ")?,
            (Some(column), None) => write!(f, "column '{column}': ")?,
            (None, Some(page)) => write!(f, "page {page}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|e| e as &(dyn std::error::Error + 'static))
    }
}

impl From<IoError> for FileError {
    fn from(error: IoError) -> Self {
        let file = error.location().to_owned();
        let message = error.to_string();
        let message = message
            .strip_prefix(&format!("{file}: "))
            .unwrap_or(&message)
            .to_owned();
        Self::new(FileErrorKind::Io(error.kind()), message)
            .in_file(&file)
            .with_source(error)
    }
}

impl From<pennon_codec::CodecError> for FileError {
    fn from(error: pennon_codec::CodecError) -> Self {
        Self::corrupt(error.to_string()).with_source(error)
    }
}

impl From<arrow_schema::ArrowError> for FileError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::corrupt(error.to_string()).with_source(error)
    }
}
