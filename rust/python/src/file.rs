//! Single data files, without a dataset around them.

use std::sync::{Arc, Mutex, PoisonError};

use pennon::EngineError;
use pennon::file::{
    Field, FileError, FileReader, FileVersion, FileWriter, Projection, ReadOptions, RowRanges,
    Schema, WriteOptions,
};
use pennon::io::{Store, open_store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{Interruptible, reader_of, reading, schema_of};
use crate::capsule;
use crate::error::{Raised, Result};
use crate::scan::NativeBatch;

/// Where a file is: the store of its directory, and its name there.
fn locate(path: &str) -> Result<(Arc<dyn Store>, String)> {
    let (directory, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((directory, name)) => (directory, name),
        None => (".", path),
    };
    let store = open_store(directory).map_err(EngineError::from)?;
    Ok((store, name.to_owned()))
}

/// Position and size of a buffer.
type Place = (u64, u64);
/// The buffers and the encoding of each page, and the buffers that belong to no page.
type ColumnTuple = (Vec<(Vec<Place>, String)>, Vec<Place>);

fn places(ranges: &[std::ops::Range<u64>]) -> Vec<Place> {
    ranges
        .iter()
        .map(|range| (range.start, range.end - range.start))
        .collect()
}

/// A data file, opened.
#[pyclass(frozen, name = "FileReader", module = "pennon._native")]
pub(crate) struct NativeFileReader {
    reader: FileReader,
    projection: Projection,
}

#[pymethods]
impl NativeFileReader {
    #[staticmethod]
    #[pyo3(signature = (path, columns=None, *, verify_checksums=true))]
    fn open(
        py: Python<'_>,
        path: &str,
        columns: Option<Vec<String>>,
        verify_checksums: bool,
    ) -> Result<Self> {
        let (store, name) = locate(path)?;
        let options = ReadOptions { verify_checksums };
        let opened = py.detach(|| {
            let reader = FileReader::open_with(store.open(&name, None)?, options)?;
            let projection = project(&reader, columns.as_deref())?;
            Ok::<_, EngineError>(Self { reader, projection })
        });
        Ok(opened?)
    }

    #[getter]
    fn num_rows(&self) -> u64 {
        self.reader.num_rows()
    }

    /// The numbers of the version in the file's footer.
    #[getter]
    fn version(&self) -> (u16, u16) {
        self.reader.version().footer_pair()
    }

    /// The file's own schema, whatever columns are read.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        let schema = self.reader.schema().to_arrow().map_err(file_error)?;
        Ok(capsule::export_schema(py, &schema)?)
    }

    /// Rows, given the first one and how many of each range; the ranges are in order.
    fn read(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> Result<NativeBatch> {
        let ranges = ranges
            .into_iter()
            .map(|(start, count)| start..start.saturating_add(count));
        let batch = py.detach(|| {
            let rows = RowRanges::from_ranges(ranges)?;
            self.reader.read(&self.projection, &rows)
        });
        Ok(NativeBatch(batch.map_err(EngineError::from)?))
    }

    fn global_buffer(&self, py: Python<'_>, index: usize) -> Result<Vec<u8>> {
        let bytes = py
            .detach(|| self.reader.global_buffer(index))
            .map_err(EngineError::from)?;
        Ok(bytes.to_vec())
    }

    fn global_buffers(&self) -> Vec<Place> {
        places(self.reader.global_buffer_ranges())
    }

    fn column_metadata_bytes(&self) -> u64 {
        let ranges = self.reader.column_metadata_ranges().iter();
        ranges.map(|range| range.end - range.start).sum()
    }

    fn columns(&self, py: Python<'_>) -> Result<Vec<ColumnTuple>> {
        let columns = py
            .detach(|| self.reader.describe_columns())
            .map_err(EngineError::from)?;
        let describe = |column: pennon::file::ColumnDescription| {
            let pages = column.pages.into_iter();
            let pages = pages.map(|page| (places(&page.buffers), page.encoding));
            (pages.collect(), places(&column.buffers))
        };
        Ok(columns.into_iter().map(describe).collect())
    }
}

fn project(reader: &FileReader, names: Option<&[String]>) -> pennon::Result<Projection> {
    let Some(names) = names else {
        return Ok(Projection::all(reader)?);
    };
    let schema = reader.schema();
    let find = |name: &String| {
        let field = schema
            .fields
            .iter()
            .find(|field| field.name == *name)
            .cloned();
        field.ok_or_else(|| EngineError::UnknownColumn {
            name: name.clone(),
            hint: String::new(),
            available: schema
                .fields
                .iter()
                .map(|f| f.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
    };
    let fields = names
        .iter()
        .map(find)
        .collect::<pennon::Result<Vec<Field>>>()?;
    let columns = schema.columns(reader.version());
    let ids: Vec<i32> = columns.iter().map(|field| field.id).collect();
    Ok(Projection::new(fields, |id| {
        let column = ids.iter().position(|&column| column == id)?;
        u32::try_from(column).ok()
    })?)
}

/// A data file in the making.
#[pyclass(frozen, name = "FileWriter", module = "pennon._native")]
pub(crate) struct NativeFileWriter(Mutex<Option<FileWriter>>);

impl NativeFileWriter {
    /// Does something with the writer, unless it was finished.
    fn with<T: Send>(
        &self,
        work: impl FnOnce(&mut FileWriter) -> pennon::Result<T> + Send,
    ) -> pennon::Result<T> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.as_mut() {
            Some(writer) => work(writer),
            None => Err(EngineError::InvalidInput(
                "the file was closed before".to_owned(),
            )),
        }
    }
}

#[pymethods]
impl NativeFileWriter {
    #[staticmethod]
    #[pyo3(signature = (path, schema, *, version, page_bytes, checksums))]
    fn create(
        path: &str,
        schema: &Bound<'_, PyAny>,
        version: Option<&str>,
        page_bytes: Option<u64>,
        checksums: bool,
    ) -> Result<Self> {
        let version = version.map(str::parse).transpose().map_err(file_error)?;
        let version = version.unwrap_or(FileVersion::DEFAULT);
        let schema = Schema::from_arrow_for(&schema_of(schema)?, version).map_err(file_error)?;
        let defaults = WriteOptions::default();
        let options = WriteOptions {
            version,
            page_bytes: page_bytes.unwrap_or(defaults.page_bytes),
            checksums,
            ..defaults
        };
        let (store, name) = locate(path)?;
        let sink = store.create(&name).map_err(EngineError::from)?;
        let writer = FileWriter::new(sink, schema, options).map_err(file_error)?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Appends the batches of any object with an Arrow interface.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> Result<()> {
        let batches = Interruptible(reader_of(data)?);
        reading(py, || {
            self.with(|writer| {
                for batch in batches {
                    let batch = batch.map_err(|error| EngineError::Source(error.to_string()))?;
                    writer.write(&batch)?;
                }
                Ok(())
            })
        })
    }

    fn add_global_buffer(&self, py: Python<'_>, bytes: &[u8]) -> Result<usize> {
        let bytes = bytes.to_vec();
        Ok(py.detach(|| self.with(|writer| Ok(writer.add_global_buffer(&bytes)?)))?)
    }

    fn add_schema_metadata(&self, key: String, value: String) -> Result<()> {
        Ok(self.with(|writer| {
            writer.add_schema_metadata(key, value);
            Ok(())
        })?)
    }

    /// Completes the file and returns how many rows it has.
    fn finish(&self, py: Python<'_>) -> Result<u64> {
        let writer = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else {
            return Err(Raised::from(PyValueError::new_err(
                "the file was closed before",
            )));
        };
        let written = py.detach(|| writer.finish(true)).map_err(file_error)?;
        Ok(written.rows)
    }

    /// Leaves no file.
    fn abort(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn file_error(error: FileError) -> Raised {
    Raised::from(EngineError::File(error))
}
