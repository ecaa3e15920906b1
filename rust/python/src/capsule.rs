//! Arrow's C data interface in Python capsules: the only unsafe code of the bindings.
#![expect(unsafe_code, reason = "the C data interface hands over raw structures")]

use std::ffi::{CStr, c_void};

use arrow_array::RecordBatchReader;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A capsule that holds a schema.
pub(crate) fn export_schema<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(arrow_error)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Two capsules that hold a record batch, as a struct array with its schema.
pub(crate) fn export_batch<'py>(
    py: Python<'py>,
    batch: RecordBatch,
) -> PyResult<Bound<'py, PyTuple>> {
    let schema = FFI_ArrowSchema::try_from(batch.schema_ref().as_ref()).map_err(arrow_error)?;
    let array = FFI_ArrowArray::new(&StructArray::from(batch).to_data());
    let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
    let array = PyCapsule::new_with_value(py, array, ARRAY)?;
    PyTuple::new(py, [schema, array])
}

/// A capsule that holds a stream of record batches.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The reader behind a stream capsule, which is empty afterwards.
pub(crate) fn import_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowArrayStreamReader> {
    let pointer = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a pointer to a valid ArrowArrayStream, says the Arrow
    // PyCapsule interface; the capsule is alive and the interpreter is held, so nobody else uses
    // it now. `from_raw` moves the stream out and leaves a released one behind, which the
    // capsule's destructor recognises.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    if stream.release.is_none() {
        return Err(PyValueError::new_err(
            "the Arrow stream was consumed before",
        ));
    }
    ArrowArrayStreamReader::try_new(stream).map_err(arrow_error)
}

/// The C layout of an ArrowSchema, to see whether it was released: the Arrow crate assumes not.
#[repr(C)]
struct RawSchema {
    strings: [*const c_void; 3],
    numbers: [i64; 2],
    children: [*const c_void; 2],
    release: *const c_void,
}

/// The schema in a schema capsule, which keeps it.
pub(crate) fn import_schema(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    let pointer = capsule
        .pointer_checked(Some(SCHEMA))?
        .cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a pointer to an ArrowSchema, whose layout `RawSchema`
    // repeats; the capsule is alive and the interpreter is held for the length of this borrow.
    let raw = unsafe { pointer.cast::<RawSchema>().as_ref() };
    // SAFETY: as above.
    let schema = unsafe { pointer.as_ref() };
    if raw.release.is_null() {
        return Err(PyValueError::new_err(
            "the Arrow schema was consumed before",
        ));
    }
    Schema::try_from(schema).map_err(arrow_error)
}

/// The record batch in a schema and an array capsule, which are empty afterwards.
pub(crate) fn import_batch(
    schema: &Bound<'_, PyCapsule>,
    array: &Bound<'_, PyCapsule>,
) -> PyResult<RecordBatch> {
    let arrow = import_schema(schema)?;
    let schema = schema
        .pointer_checked(Some(SCHEMA))?
        .cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold pointers to a valid ArrowSchema and ArrowArray that
    // describe each other; both are alive and the interpreter is held. `from_raw` moves the array
    // out and leaves a released one behind.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    if array.is_released() {
        return Err(PyValueError::new_err("the Arrow array was consumed before"));
    }
    // SAFETY: the producer guarantees that the array is laid out as its schema says.
    let data = unsafe { from_ffi(array, schema) }.map_err(arrow_error)?;
    let batch = RecordBatch::from(StructArray::from(data));
    batch.with_schema(arrow.into()).map_err(arrow_error)
}

fn arrow_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
