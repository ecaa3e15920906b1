//! Scans and their batches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon::scan::{BatchStream, Step};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::ScanReader;
use crate::capsule;
use crate::error::{Raised, Result};

/// A record batch that offers the Arrow C array interface.
#[pyclass(frozen, name = "Batch", module = "pennon._native")]
pub(crate) struct NativeBatch(pub(crate) RecordBatch);

#[pymethods]
impl NativeBatch {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        capsule::export_batch(py, self.0.clone())
    }
}

/// The batches of one scan. Can be gone through once.
#[pyclass(frozen, name = "Scan", module = "pennon._native")]
pub(crate) struct NativeScan {
    schema: SchemaRef,
    stream: Mutex<Option<BatchStream>>,
}

impl NativeScan {
    pub(crate) fn new(stream: BatchStream) -> Self {
        Self {
            schema: SchemaRef::clone(stream.schema()),
            stream: Mutex::new(Some(stream)),
        }
    }

    fn stream(&self) -> MutexGuard<'_, Option<BatchStream>> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<BatchStream> {
        let taken = self.stream().take();
        taken.ok_or_else(|| PyValueError::new_err("the scan's batches were consumed before"))
    }

    /// One piece of work, with the interpreter released.
    fn step(&self, py: Python<'_>) -> Result<Step> {
        py.detach(|| match self.stream().as_mut() {
            Some(stream) => stream.step().map_err(Raised::from),
            None => Ok(Step::Done),
        })
    }
}

#[pymethods]
impl NativeScan {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> Result<Option<NativeBatch>> {
        loop {
            py.check_signals()?;
            match self.step(py)? {
                Step::Batch(batch) => return Ok(Some(NativeBatch(batch))),
                Step::Nothing => {}
                Step::Done => return Ok(None),
            }
        }
    }

    /// Reads all that is left and returns it as one object with the Arrow C stream interface.
    fn read_all(&self, py: Python<'_>) -> Result<Collected> {
        let mut stream = self.take()?;
        let mut batches = Vec::new();
        loop {
            py.check_signals()?;
            match py.detach(|| stream.step()).map_err(Raised::from)? {
                Step::Batch(batch) => batches.push(batch),
                Step::Nothing => {}
                Step::Done => break,
            }
        }
        Ok(Collected {
            schema: SchemaRef::clone(&self.schema),
            batches,
        })
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        capsule::export_stream(py, Box::new(ScanReader(self.take()?)))
    }
}

/// Batches in memory that offer the Arrow C stream interface.
#[pyclass(frozen, module = "pennon._native")]
pub(crate) struct Collected {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Collected {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = arrow_array::RecordBatchIterator::new(batches, SchemaRef::clone(&self.schema));
        capsule::export_stream(py, Box::new(reader))
    }
}
