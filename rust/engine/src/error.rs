//! What can go wrong with a dataset.

use pennon_expr::ExprError;
use pennon_file::FileError;
use pennon_io::IoError;
use pennon_table::TableError;

/// Called by long operations between pieces of work; an error ends them. The caller decides which:
/// [`EngineError::Interrupted`] is there for it.
pub type Pulse<'a> = &'a mut dyn FnMut() -> Result<()>;

/// A result whose error is an [`EngineError`].
pub type Result<T> = std::result::Result<T, EngineError>;

/// A failure of an operation on a dataset.
///
/// The layers below keep their own kinds and facts; this type says which layer failed and adds
/// the failures that only arise where the layers meet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A store failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A data file is damaged, unsupported, or cannot hold the data.
    #[error(transparent)]
    File(#[from] FileError),
    /// A version could not be read or made.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A predicate or an expression is wrong.
    #[error(transparent)]
    Expr(#[from] ExprError),
    /// Arrow refused a computation.
    #[error("{0}")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// A column that the dataset does not have.
    #[error("no column named '{name}'{hint}; the columns are: {available}")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// A sentence part that offers a near name, or nothing.
        hint: String,
        /// The names that exist.
        available: String,
    },
    /// Data whose schema does not fit the dataset's.
    #[error("the data's schema does not match the dataset's:\n{difference}")]
    SchemaMismatch {
        /// One line per difference.
        difference: String,
    },
    /// An argument out of its range, or of the wrong kind.
    #[error("{0}")]
    InvalidInput(String),
    /// A row position beyond the dataset's end.
    #[error("row {index} is out of range: the dataset has {rows} rows")]
    RowOutOfRange {
        /// The position asked for.
        index: u64,
        /// How many rows there are.
        rows: u64,
    },
    /// Something that this release does not do yet.
    #[error("{0} is not supported by this version of pennon")]
    Unsupported(String),
    /// The source of the data failed.
    #[error("reading the input data failed: {0}")]
    Source(String),
    /// The operation lost against other writers too often.
    #[error("too many concurrent writers: gave up after {attempts} attempts; {last}")]
    TooMuchContention {
        /// How often the operation was tried.
        attempts: u32,
        /// The last conflict.
        last: Box<TableError>,
    },
    /// The caller's [`Pulse`](crate::Pulse) asked for the end of the operation.
    #[error("the operation was interrupted")]
    Interrupted,
    /// A stream that was begun before the process forked.
    #[error(
        "this stream was begun before the process forked and cannot go on in the child; \
         begin a new scan there"
    )]
    Forked,
}

impl EngineError {
    /// An argument out of its range, or of the wrong kind.
    pub(crate) fn invalid_input(message: impl Into<String>) -> Self {
        Self::InvalidInput(message.into())
    }
}
