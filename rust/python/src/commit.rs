//! Committing fragments that were written elsewhere.

use pennon::file::FileVersion;
use pennon::table::{CommitOptions, DataFile, Fragment, Operation, TableError, Transaction};
use pennon::{Dataset, EngineError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dataset::NativeDataset;
use crate::error::{Raised, Result};
use crate::write::fresh_schema;

/// An operation as Python describes it: its name and its parts, fragments as JSON.
#[derive(FromPyObject)]
pub(crate) struct NativeOperation<'py> {
    name: String,
    #[pyo3(attribute("fragments"))]
    fragments: Vec<String>,
    #[pyo3(attribute("deleted_fragment_ids"))]
    deleted_fragment_ids: Vec<u64>,
    #[pyo3(attribute("predicate"))]
    predicate: Option<String>,
    #[pyo3(attribute("schema"))]
    schema: Option<Bound<'py, PyAny>>,
    #[pyo3(attribute("version"))]
    version: Option<u64>,
}

impl NativeOperation<'_> {
    fn into_operation(self) -> Result<Operation> {
        let fragments = self
            .fragments
            .iter()
            .map(|json| Fragment::from_json(json))
            .collect::<std::result::Result<Vec<_>, TableError>>()
            .map_err(EngineError::from)?;
        match (self.name.as_str(), self.schema, self.version) {
            ("Append", ..) => Ok(Operation::Append { fragments }),
            ("Delete", ..) => Ok(Operation::Delete {
                updated_fragments: fragments,
                deleted_fragment_ids: self.deleted_fragment_ids,
                predicate: self.predicate.unwrap_or_default(),
            }),
            ("Overwrite", Some(schema), _) => {
                let files = fragments.iter().flat_map(|fragment| &fragment.files);
                let version = files.filter_map(DataFile::version).max();
                let schema = fresh_schema(&schema, version.unwrap_or(FileVersion::DEFAULT))?;
                Ok(Operation::overwrite(schema, fragments))
            }
            ("Restore", _, Some(version)) => Ok(Operation::Restore { version }),
            (name, ..) => Err(Raised::from(PyValueError::new_err(format!(
                "unknown operation '{name}'"
            )))),
        }
    }
}

/// Commits an operation to the dataset at `uri`, based on `read_version`, and returns the dataset
/// at the new version. `read_version` may be left out for operations that read nothing; 0 is what
/// there is before the first version, and stands for the creation of the dataset.
#[pyfunction]
#[pyo3(signature = (uri, operation, *, read_version, max_retries, sync))]
pub(crate) fn commit_fragments(
    py: Python<'_>,
    uri: &str,
    operation: NativeOperation<'_>,
    read_version: Option<u64>,
    max_retries: u32,
    sync: bool,
) -> Result<NativeDataset> {
    let operation = operation.into_operation()?;
    let committed = py.detach(|| {
        let options = CommitOptions {
            sync,
            max_attempts: max_retries.max(1),
            ..CommitOptions::default()
        };
        if matches!(read_version, None | Some(0)) {
            match pennon::open_existing(uri)? {
                Some(dataset) if read_version.is_none() => {
                    return dataset
                        .commit(Transaction::new(dataset.version(), operation), &options);
                }
                _ => return pennon::create_dataset(uri, operation, &options),
            }
        }
        let base = read_version.unwrap_or_default();
        Dataset::open(uri, None)?.commit(Transaction::new(base, operation), &options)
    });
    Ok(NativeDataset::new(committed?))
}
