//! Errors of the core as exceptions of `pennon.exceptions`: one match.

use pennon::EngineError;
use pennon::expr::ExprError;
use pennon::file::{FileError, FileErrorKind};
use pennon::io::{IoError, IoErrorKind};
use pennon::table::{TableError, TableErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An error on its way to Python; `?` turns every error of the core into one.
pub(crate) struct Raised(PyErr);

/// What a bound function returns.
pub(crate) type Result<T> = std::result::Result<T, Raised>;

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        raised.0
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<EngineError> for Raised {
    fn from(error: EngineError) -> Self {
        Python::attach(|py| Self(raise(py, &error)))
    }
}

fn raise(py: Python<'_>, error: &EngineError) -> PyErr {
    let facts = PyDict::new(py);
    let class = class_of(error);
    let built = describe(error, &facts)
        .and_then(|()| py.import("pennon.exceptions")?.getattr(class))
        .and_then(|class| class.call((error.to_string(),), Some(&facts)));
    match built {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => {
            let lost = PyRuntimeError::new_err(error.to_string());
            lost.set_cause(py, Some(failure));
            lost
        }
    }
}

fn class_of(error: &EngineError) -> &'static str {
    match error {
        EngineError::Io(error) => class_of_io(error.kind()),
        EngineError::File(error) => class_of_file(error),
        EngineError::Table(error) => class_of_table(error),
        EngineError::Expr(ExprError::UnknownColumn { .. }) => "UnknownColumnError",
        EngineError::Expr(_) => "InvalidExpressionError",
        EngineError::UnknownColumn { .. } => "UnknownColumnError",
        EngineError::SchemaMismatch { .. } => "SchemaMismatchError",
        EngineError::RowOutOfRange { .. } => "RowIndexError",
        EngineError::Unsupported(_) => "UnsupportedFeatureError",
        EngineError::TooMuchContention { .. } => "CommitConflictError",
        EngineError::InvalidInput(_) => "InvalidInputError",
        EngineError::Source(_) => "InputDataError",
        _ => "LanceError",
    }
}

fn class_of_io(kind: IoErrorKind) -> &'static str {
    match kind {
        IoErrorKind::InvalidPath => "InvalidInputError",
        IoErrorKind::Unsupported => "UnsupportedFeatureError",
        _ => "StorageError",
    }
}

fn class_of_file(error: &FileError) -> &'static str {
    match error.kind() {
        FileErrorKind::Corrupt => "CorruptFileError",
        FileErrorKind::Unsupported => "UnsupportedFeatureError",
        FileErrorKind::Schema => "UnsupportedTypeError",
        FileErrorKind::InvalidInput => "InvalidInputError",
        FileErrorKind::Io(IoErrorKind::OutOfRange) => "CorruptFileError",
        FileErrorKind::Io(kind) => class_of_io(kind),
        _ => "LanceError",
    }
}

fn class_of_table(error: &TableError) -> &'static str {
    match error.kind() {
        TableErrorKind::DatasetNotFound => "DatasetNotFoundError",
        TableErrorKind::DatasetAlreadyExists => "DatasetAlreadyExistsError",
        TableErrorKind::VersionNotFound => "VersionNotFoundError",
        TableErrorKind::CommitConflict => "CommitConflictError",
        TableErrorKind::Incompatible => "IncompatibleTransactionError",
        TableErrorKind::UnsupportedFeature => "UnsupportedFeatureError",
        TableErrorKind::Corrupt => "CorruptFileError",
        TableErrorKind::InvalidInput => "InvalidInputError",
        TableErrorKind::Io(kind) => class_of_io(kind),
        _ => "LanceError",
    }
}

/// The facts that handlers may want, as keyword arguments of the exception.
fn describe(error: &EngineError, facts: &Bound<'_, PyDict>) -> PyResult<()> {
    match error {
        EngineError::Io(error) => describe_io(error, facts),
        EngineError::File(error) => {
            facts.set_item("uri", error.file())?;
            facts.set_item("column", error.column())?;
            facts.set_item("page", error.page())
        }
        EngineError::Table(error) => describe_table(error, facts),
        EngineError::TooMuchContention { attempts, last } => {
            describe_table(last, facts)?;
            facts.set_item("attempts", attempts)
        }
        EngineError::UnknownColumn { name, .. }
        | EngineError::Expr(ExprError::UnknownColumn { name, .. }) => {
            facts.set_item("column", name)
        }
        _ => Ok(()),
    }
}

fn describe_io(error: &IoError, facts: &Bound<'_, PyDict>) -> PyResult<()> {
    facts.set_item("uri", error.location())
}

fn describe_table(error: &TableError, facts: &Bound<'_, PyDict>) -> PyResult<()> {
    facts.set_item("uri", error.uri())?;
    facts.set_item("version", error.version())?;
    facts.set_item("attempts", error.attempts())
}
