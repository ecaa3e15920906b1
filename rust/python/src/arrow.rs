//! Python objects with an Arrow interface, in and out.

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pennon::scan::{BatchStream, Step};
use pennon::{EngineError, Pulse};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;

/// A reader over any object that offers the Arrow C stream or array interface.
pub(crate) fn reader_of(data: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    if data.hasattr("__arrow_c_stream__")? {
        let stream = data.call_method0("__arrow_c_stream__")?;
        return Ok(Box::new(capsule::import_stream(
            stream.cast::<PyCapsule>()?,
        )?));
    }
    if data.hasattr("__arrow_c_array__")? {
        let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
            data.call_method0("__arrow_c_array__")?.extract()?;
        let batch = capsule::import_batch(&schema, &array)?;
        let schema = batch.schema();
        return Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    }
    Err(PyTypeError::new_err(format!(
        "an object of type '{}' offers neither the Arrow C stream nor the Arrow C array interface",
        data.get_type().name()?
    )))
}

/// The schema of any object that offers the Arrow C schema interface.
pub(crate) fn schema_of(object: &Bound<'_, PyAny>) -> PyResult<arrow_schema::Schema> {
    let schema = object.call_method0("__arrow_c_schema__")?;
    capsule::import_schema(schema.cast::<PyCapsule>()?)
}

/// Does something long with the interpreter released, and stops when the user presses Ctrl-C.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Pulse<'_>) -> pennon::Result<T> + Send,
) -> crate::error::Result<T> {
    let mut raised = None;
    let done = py.detach(|| {
        work(&mut || {
            Python::attach(|py| py.check_signals()).map_err(|error| {
                raised = Some(error);
                EngineError::Interrupted
            })
        })
    });
    match raised {
        Some(error) => Err(error.into()),
        None => Ok(done?),
    }
}

/// Whether the user pressed Ctrl-C, for code whose error Python sees only as text: the signal is
/// raised again, and so becomes an exception when Python code runs next.
fn interrupted() -> Result<(), ArrowError> {
    Python::attach(|py| {
        py.check_signals().map_err(|_| {
            // If this fails as well, the text must do.
            let _ = py
                .import("_thread")
                .and_then(|thread| thread.call_method0("interrupt_main"));
            ArrowError::ExternalError("interrupted".into())
        })
    })
}

/// A reader of a foreign source that asks, before every batch, whether the user pressed Ctrl-C.
pub(crate) struct Interruptible<R>(pub(crate) R);

impl<R: RecordBatchReader> Iterator for Interruptible<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match interrupted() {
            Ok(()) => self.0.next(),
            Err(error) => Some(Err(error)),
        }
    }
}

/// A scan's batches for a foreign consumer. Between pieces of work it asks whether the user pressed
/// Ctrl-C.
pub(crate) struct ScanReader(pub(crate) BatchStream);

impl Iterator for ScanReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(error) = interrupted() {
                return Some(Err(error));
            }
            match self.0.step() {
                Ok(Step::Batch(batch)) => return Some(Ok(batch)),
                Ok(Step::Nothing) => {}
                Ok(Step::Done) => return None,
                Err(error) => {
                    return Some(Err(ArrowError::ExternalError(error.to_string().into())));
                }
            }
        }
    }
}

impl RecordBatchReader for ScanReader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(self.0.schema())
    }
}
