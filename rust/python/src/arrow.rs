//! Python objects with an Arrow interface, in and out.

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
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

/// A reader that asks, before every batch, whether the user pressed Ctrl-C.
pub(crate) struct Interruptible<I> {
    batches: I,
    schema: SchemaRef,
}

impl<I> Interruptible<I> {
    pub(crate) fn new(schema: SchemaRef, batches: I) -> Self {
        Self { batches, schema }
    }
}

impl<I, E> Iterator for Interruptible<I>
where
    I: Iterator<Item = Result<RecordBatch, E>>,
    E: std::fmt::Display,
{
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            return Some(Err(ArrowError::ExternalError(Box::new(error))));
        }
        let batch = self.batches.next()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(error.to_string().into())))
    }
}

impl<I, E> RecordBatchReader for Interruptible<I>
where
    I: Iterator<Item = Result<RecordBatch, E>>,
    E: std::fmt::Display,
{
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}
