//! A dataset at one version.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pennon::file::ReadOptions;
use pennon::table::{CommitOptions, Fragment};
use pennon::{Dataset, DeleteOptions};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::interruptible;
use crate::capsule;
use crate::error::Result;
use crate::scan::{NativeBatch, NativeScan};

/// A version, its time in nanoseconds since 1970, and counts by name.
type VersionTuple = (u64, i128, Vec<(String, String)>);

/// A dataset at one version; immutable.
#[pyclass(frozen, name = "Dataset", module = "pennon._native")]
pub(crate) struct NativeDataset(Dataset);

impl NativeDataset {
    pub(crate) fn new(dataset: Dataset) -> Self {
        Self(dataset)
    }
}

/// What a scan returns.
#[derive(FromPyObject)]
struct ScanOptions {
    columns: Option<Vec<String>>,
    filter: Option<String>,
    limit: Option<u64>,
    offset: Option<u64>,
    batch_size: Option<usize>,
    fragments: Option<Vec<u64>>,
    with_row_id: bool,
    with_row_address: bool,
}

#[pymethods]
impl NativeDataset {
    #[staticmethod]
    #[pyo3(signature = (uri, version=None, *, verify_checksums=true))]
    fn open(
        py: Python<'_>,
        uri: &str,
        version: Option<u64>,
        verify_checksums: bool,
    ) -> Result<Self> {
        let options = ReadOptions { verify_checksums };
        Ok(Self(
            py.detach(|| Dataset::open_with(uri, version, options))?,
        ))
    }

    #[getter]
    fn version(&self) -> u64 {
        self.0.version()
    }

    #[getter]
    fn data_storage_version(&self) -> Result<String> {
        let version = self.0.manifest().data_version();
        Ok(version.map_err(pennon::EngineError::from)?.to_string())
    }

    fn latest_version(&self, py: Python<'_>) -> Result<u64> {
        Ok(py.detach(|| self.0.latest_version())?)
    }

    /// (version, nanoseconds since 1970, counts by name) of every version, oldest first.
    fn versions(&self, py: Python<'_>) -> Result<Vec<VersionTuple>> {
        let versions = py.detach(|| self.0.versions())?;
        let describe = |version: pennon::table::VersionInfo| {
            let metadata = version.metadata.into_iter().collect();
            (version.version, nanoseconds(version.timestamp), metadata)
        };
        Ok(versions.into_iter().map(describe).collect())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, self.0.arrow_schema())
    }

    fn scan(&self, py: Python<'_>, options: ScanOptions) -> Result<NativeScan> {
        let scan = self.builder(options);
        Ok(NativeScan::new(py.detach(|| scan.stream())?))
    }

    /// The schema of what a scan with these options returns, in a capsule.
    fn scan_schema<'py>(
        &self,
        py: Python<'py>,
        options: ScanOptions,
    ) -> Result<Bound<'py, PyCapsule>> {
        let schema = self.builder(options).schema()?;
        Ok(capsule::export_schema(py, &schema)?)
    }

    fn count(&self, py: Python<'_>, options: ScanOptions) -> Result<u64> {
        let scan = self.builder(options);
        interruptible(py, |pulse| scan.count_with(pulse))
    }

    #[pyo3(signature = (indices, columns=None))]
    fn take(
        &self,
        py: Python<'_>,
        indices: Vec<u64>,
        columns: Option<Vec<String>>,
    ) -> Result<NativeBatch> {
        Ok(NativeBatch(
            py.detach(|| self.0.take(&indices, columns.as_deref()))?,
        ))
    }

    /// The bytes of large objects, as a batch of one column.
    fn take_blobs(&self, py: Python<'_>, column: &str, indices: Vec<u64>) -> Result<NativeBatch> {
        let blobs = py.detach(|| self.0.take_blobs(column, &indices))?;
        let batch = arrow_array::RecordBatch::try_from_iter([(column, blobs)]);
        Ok(NativeBatch(batch.map_err(pennon::EngineError::from)?))
    }

    fn delete(
        &self,
        py: Python<'_>,
        predicate: &str,
        conflict_retries: u32,
        retry_timeout: f64,
        sync: bool,
    ) -> Result<(Self, u64)> {
        let options = DeleteOptions {
            conflict_retries,
            retry_timeout: Duration::try_from_secs_f64(retry_timeout).unwrap_or(Duration::MAX),
            commit: CommitOptions {
                sync,
                ..CommitOptions::default()
            },
        };
        let (dataset, deleted) =
            interruptible(py, |pulse| self.0.delete_with(predicate, &options, pulse))?;
        Ok((Self(dataset), deleted))
    }

    fn checkout(&self, py: Python<'_>, version: u64) -> Result<Self> {
        Ok(Self(py.detach(|| self.0.checkout(version))?))
    }

    fn checkout_latest(&self, py: Python<'_>) -> Result<Self> {
        Ok(Self(py.detach(|| self.0.checkout_latest())?))
    }

    fn restore(&self, py: Python<'_>, sync: bool) -> Result<Self> {
        let options = CommitOptions {
            sync,
            ..CommitOptions::default()
        };
        Ok(Self(py.detach(|| self.0.restore(&options))?))
    }

    /// The fragments as JSON.
    fn fragments(&self) -> Vec<String> {
        self.0.fragments().iter().map(Fragment::to_json).collect()
    }
}

impl NativeDataset {
    fn builder(&self, options: ScanOptions) -> pennon::scan::ScanBuilder {
        self.0
            .scan()
            .columns(options.columns)
            .filter(options.filter)
            .limit(options.limit)
            .offset(options.offset.unwrap_or(0))
            .batch_rows(
                options
                    .batch_size
                    .unwrap_or(pennon::scan::DEFAULT_BATCH_ROWS),
            )
            .fragments(options.fragments)
            .with_row_id(options.with_row_id)
            .with_row_address(options.with_row_address)
    }
}

fn nanoseconds(time: SystemTime) -> i128 {
    let count = |d: Duration| i128::try_from(d.as_nanos()).unwrap_or(i128::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => count(after),
        Err(before) => -count(before.duration()),
    }
}
