//! Writing datasets and fragments.

use std::sync::Arc;

use arrow_array::RecordBatchReader;
use pennon::file::{FileVersion, Schema};
use pennon::table::CommitOptions;
use pennon::{EngineError, FileOptions, WriteMode, WriteOptions};
use pyo3::prelude::*;

use crate::arrow::{Interruptible, reader_of, reading, schema_of};
use crate::dataset::NativeDataset;
use crate::error::{Raised, Result};

type Batches = Box<dyn Iterator<Item = pennon::Result<arrow_array::RecordBatch>> + Send>;

fn batches_of(data: &Bound<'_, PyAny>) -> PyResult<(Arc<arrow_schema::Schema>, Batches)> {
    let reader = reader_of(data)?;
    let schema = reader.schema();
    let batches = Interruptible(reader)
        .map(|batch| batch.map_err(|error| EngineError::Source(error.to_string())));
    Ok((schema, Box::new(batches)))
}

fn file_options(
    max_rows: u64,
    max_bytes: u64,
    version: Option<FileVersion>,
    sync: bool,
) -> FileOptions {
    FileOptions {
        version: version.unwrap_or(FileVersion::DEFAULT),
        max_rows_per_file: max_rows,
        max_bytes_per_file: max_bytes,
        sync,
    }
}

fn parse_version(name: Option<&str>) -> Result<Option<FileVersion>> {
    let version = name.map(str::parse).transpose();
    version.map_err(|error| Raised::from(EngineError::File(error)))
}

/// Writes a stream of batches to a dataset and returns it at its new version.
#[pyfunction]
#[pyo3(signature = (
    data, uri, *, mode, max_rows_per_file, max_bytes_per_file, data_storage_version, sync
))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of one Python call"
)]
pub(crate) fn write_dataset(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    uri: &str,
    mode: &str,
    max_rows_per_file: u64,
    max_bytes_per_file: u64,
    data_storage_version: Option<&str>,
    sync: bool,
) -> Result<NativeDataset> {
    let version = parse_version(data_storage_version)?;
    let mode = match mode {
        "append" => WriteMode::Append,
        "overwrite" => WriteMode::Overwrite,
        _ => WriteMode::Create,
    };
    let (schema, mut batches) = batches_of(data)?;
    let options = WriteOptions {
        mode,
        version,
        files: file_options(max_rows_per_file, max_bytes_per_file, version, sync),
        commit: CommitOptions {
            sync,
            ..CommitOptions::default()
        },
    };
    let written = reading(py, || {
        let written = pennon::write_dataset(uri, &schema, &mut batches, &options);
        drop(batches);
        written
    })?;
    Ok(NativeDataset::new(written))
}

/// Writes a stream of batches as data files that no version refers to yet, and returns their
/// fragments as JSON.
#[pyfunction]
#[pyo3(signature = (
    data, uri, *, mode, max_rows_per_file, max_bytes_per_file, data_storage_version, sync
))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of one Python call"
)]
pub(crate) fn write_fragments(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    uri: &str,
    mode: &str,
    max_rows_per_file: u64,
    max_bytes_per_file: u64,
    data_storage_version: Option<&str>,
    sync: bool,
) -> Result<Vec<String>> {
    let version = parse_version(data_storage_version)?;
    let (schema, mut batches) = batches_of(data)?;
    let files = file_options(max_rows_per_file, max_bytes_per_file, version, sync);
    let append = mode == "append";
    let fragments = reading(py, || {
        let fragments =
            pennon::write_uncommitted(uri, &schema, &mut batches, append, version, &files);
        drop(batches);
        fragments
    })?;
    Ok(fragments
        .iter()
        .map(pennon::table::Fragment::to_json)
        .collect())
}

/// The schema of an object with the Arrow C schema interface, with fresh field ids, for files of
/// `version`.
pub(crate) fn fresh_schema(object: &Bound<'_, PyAny>, version: FileVersion) -> Result<Schema> {
    let schema = Schema::from_arrow_for(&schema_of(object)?, version);
    schema.map_err(|error| Raised::from(EngineError::File(error)))
}
