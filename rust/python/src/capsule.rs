//! Arrow's C data interface in Python capsules: the only unsafe code of the bindings.
#![expect(unsafe_code, reason = "the C data interface hands over raw structures")]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
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
pub(crate) fn import_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<StreamReader> {
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
    StreamReader::try_new(stream).map_err(arrow_error)
}

/// The batches of a stream. Arrow's own reader cannot take structs within structs that start behind
/// the first row of their memory, as slices do.
#[derive(Debug)]
pub(crate) struct StreamReader {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
}

impl StreamReader {
    fn try_new(mut stream: FFI_ArrowArrayStream) -> Result<Self, ArrowError> {
        let mut schema = FFI_ArrowSchema::empty();
        let code = match stream.get_schema {
            // SAFETY: the stream was not released, and both pointers are valid for the call.
            Some(get_schema) => unsafe { get_schema(&raw mut stream, &raw mut schema) },
            None => -1,
        };
        if code != 0 {
            return Err(failure(&mut stream));
        }
        let schema = Arc::new(Schema::try_from(&schema)?);
        Ok(Self { stream, schema })
    }
}

impl Iterator for StreamReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut array = FFI_ArrowArray::empty();
        let get_next = self.stream.get_next?;
        // SAFETY: the stream was not released, and both pointers are valid for the call.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Some(Err(failure(&mut self.stream)));
        }
        if array.is_released() {
            return None;
        }
        let rows = DataType::Struct(self.schema.fields().clone());
        // SAFETY: the producer guarantees that the array is laid out as the stream's schema says.
        let data = unsafe { from_ffi_and_data_type(array, rows) };
        let batch = data.and_then(|data| batch_of(&data));
        Some(batch.and_then(|batch| batch.with_schema(Arc::clone(&self.schema))))
    }
}

impl RecordBatchReader for StreamReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The record batch that a struct array stands for.
fn batch_of(data: &ArrayData) -> Result<RecordBatch, ArrowError> {
    if data.null_count() > 0 {
        return Err(ArrowError::CDataInterface(
            "a record batch with null rows".to_owned(),
        ));
    }
    Ok(RecordBatch::from(StructArray::from(rebased(data))))
}

/// What the producer of a stream says about its last failure.
fn failure(stream: &mut FFI_ArrowArrayStream) -> ArrowError {
    let text = match stream.get_last_error {
        // SAFETY: the stream was not released; the text, if there is one, is valid until the next
        // call, and copied before that.
        Some(last_error) => unsafe {
            let text = last_error(&raw mut *stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        },
        None => None,
    };
    ArrowError::CDataInterface(text.unwrap_or_else(|| "the Arrow stream failed".to_owned()))
}

/// The same values, with the offsets of structs moved into their children, level by level.
fn rebased(data: &ArrayData) -> ArrayData {
    let (offset, len) = (data.offset(), data.len());
    let is_struct = matches!(data.data_type(), DataType::Struct(_));
    let children = data.child_data().iter().map(|child| {
        rebased(&if is_struct {
            part_of(child, offset, len)
        } else {
            child.clone()
        })
    });
    let builder = data.clone().into_builder().child_data(children.collect());
    let builder = if is_struct {
        builder.offset(0)
    } else {
        builder
    };
    // SAFETY: the values are those of `data`; where the offset of a struct went, its nulls, which
    // Arrow keeps with an offset of their own, stay, and its children start there instead.
    unsafe { builder.build_unchecked() }
}

/// Some of the values of a child; a struct's own children stay as they are.
fn part_of(data: &ArrayData, offset: usize, len: usize) -> ArrayData {
    let len = len.min(data.len().saturating_sub(offset));
    let nulls = data.nulls().map(|nulls| nulls.slice(offset, len));
    let builder = data.clone().into_builder();
    let builder = builder.offset(data.offset() + offset).len(len).nulls(nulls);
    // SAFETY: values from `offset` on, of which there are `len` by the line above.
    unsafe { builder.build_unchecked() }
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
    let batch = batch_of(&data).map_err(arrow_error)?;
    batch.with_schema(arrow.into()).map_err(arrow_error)
}

fn arrow_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
