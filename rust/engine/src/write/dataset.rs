//! Rows as a new version.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;
use pennon_file::{FileVersion, ReadOptions, Schema};
use pennon_io::open_store;
use pennon_table::{CommitOptions, Operation, TableErrorKind, Transaction, commit};

use super::fragments::{FileOptions, write_fragments};
use crate::session::Session;
use crate::{Dataset, EngineError, Result};

/// What a write does with the dataset that may be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteMode {
    /// Makes a new dataset; an existing one is an error.
    #[default]
    Create,
    /// Adds rows to the dataset, or makes it.
    Append,
    /// Replaces rows and schema by a new version; older versions stay readable.
    Overwrite,
}

/// How [`write_dataset`] writes.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// What happens to an existing dataset.
    pub mode: WriteMode,
    /// The file version; an existing dataset's own when not given.
    pub version: Option<FileVersion>,
    /// How files are cut. Its version is set from the field above.
    pub files: FileOptions,
    /// How the version is committed.
    pub commit: CommitOptions,
}

/// Writes batches of the given schema to the dataset at `uri` and returns it at the new version.
///
/// # Errors
///
/// When the dataset exists and may not, when the data does not fit its schema, when a type cannot
/// be stored, when the source or the store fails, or when a commit is lost for good.
pub fn write_dataset(
    uri: &str,
    schema: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    options: &WriteOptions,
) -> Result<Dataset> {
    match (open_existing(uri)?, options.mode) {
        (None, _) => create(uri, schema, batches, options),
        (Some(dataset), WriteMode::Append) => dataset.append(schema, batches, options),
        (Some(dataset), WriteMode::Overwrite) => dataset.overwrite(schema, batches, options),
        (Some(_), WriteMode::Create) => Err(pennon_table::TableError::already_exists(uri).into()),
    }
}

fn create(
    uri: &str,
    schema: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    options: &WriteOptions,
) -> Result<Dataset> {
    let store = open_store(uri)?;
    let version = options.version.unwrap_or(FileVersion::DEFAULT);
    let target = Schema::from_arrow_for(schema, version)?;
    target.check_version(version)?;
    let files = FileOptions {
        version,
        ..options.files.clone()
    };
    let fragments = write_fragments(store.as_ref(), &target, schema, batches, &files)?;
    let commit_options = CommitOptions {
        data_version: Some(version),
        ..options.commit.clone()
    };
    create_dataset(
        uri,
        Operation::overwrite(target, fragments),
        &commit_options,
    )
}

impl Dataset {
    /// Adds batches of the given schema in a new version.
    ///
    /// # Errors
    ///
    /// As for [`write_dataset`].
    pub fn append(
        &self,
        schema: &ArrowSchema,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
        options: &WriteOptions,
    ) -> Result<Self> {
        // Files of the old version and newer ones do not mix.
        self.manifest().data_version()?;
        let files = self.file_options(options)?;
        let target = self.schema();
        let fragments = write_fragments(self.store().as_ref(), target, schema, batches, &files)?;
        let append = Operation::Append { fragments };
        self.commit(Transaction::new(self.version(), append), &options.commit)
    }

    /// Replaces rows and schema in a new version.
    ///
    /// # Errors
    ///
    /// As for [`write_dataset`].
    pub fn overwrite(
        &self,
        schema: &ArrowSchema,
        batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
        options: &WriteOptions,
    ) -> Result<Self> {
        let files = self.file_options(options)?;
        let target = Schema::from_arrow_for(schema, files.version)?;
        target.check_version(files.version)?;
        let fragments = write_fragments(self.store().as_ref(), &target, schema, batches, &files)?;
        let commit = CommitOptions {
            data_version: options.version,
            ..options.commit.clone()
        };
        let operation = Operation::overwrite(target, fragments);
        self.commit(Transaction::new(self.version(), operation), &commit)
    }

    fn file_options(&self, options: &WriteOptions) -> Result<FileOptions> {
        let version = match options.version {
            Some(version) => version,
            None => self.manifest().data_version()?,
        };
        Ok(FileOptions {
            version,
            ..options.files.clone()
        })
    }
}

/// Writes batches as data files for the dataset at `uri`, which need not exist yet, and returns
/// their fragments for a later commit by somebody else.
///
/// With `append`, columns are stored with the field ids of the dataset that exists; otherwise, or
/// when none exists, with ids that an overwrite with the same schema gives.
///
/// # Errors
///
/// As for [`write_fragments`].
pub fn write_uncommitted(
    uri: &str,
    schema: &ArrowSchema,
    batches: &mut dyn Iterator<Item = Result<RecordBatch>>,
    append: bool,
    version: Option<FileVersion>,
    files: &FileOptions,
) -> Result<Vec<pennon_table::Fragment>> {
    let existing = if append { open_existing(uri)? } else { None };
    let (target, version) = match (&existing, version) {
        (Some(dataset), None) => (dataset.schema().clone(), dataset.manifest().data_version()?),
        (Some(dataset), Some(version)) => {
            dataset.manifest().data_version()?;
            (dataset.schema().clone(), version)
        }
        (None, version) => {
            let version = version.unwrap_or(FileVersion::DEFAULT);
            (Schema::from_arrow_for(schema, version)?, version)
        }
    };
    target.check_version(version)?;
    let store = open_store(uri)?;
    let files = FileOptions {
        version,
        ..files.clone()
    };
    write_fragments(store.as_ref(), &target, schema, batches, &files)
}

/// Makes a dataset from an operation that needs none: an overwrite with fragments written before.
///
/// # Errors
///
/// When a dataset exists, or the operation is of another kind.
pub fn create_dataset(uri: &str, operation: Operation, options: &CommitOptions) -> Result<Dataset> {
    let store = open_store(uri)?;
    let snapshot = commit(&store, Transaction::new(0, operation), options)?;
    Dataset::new(
        uri.to_owned(),
        Arc::new(Session::new(store, ReadOptions::default())),
        snapshot,
    )
}

/// The dataset at `uri`, or `None` when there is none.
///
/// # Errors
///
/// When the dataset exists and cannot be opened.
pub fn open_existing(uri: &str) -> Result<Option<Dataset>> {
    match Dataset::open(uri, None) {
        Ok(dataset) => Ok(Some(dataset)),
        Err(EngineError::Table(e)) if e.kind() == TableErrorKind::DatasetNotFound => Ok(None),
        Err(error) => Err(error),
    }
}
