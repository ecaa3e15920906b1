//! A data file in the making.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use pennon_io::Sink;
use pennon_proto::file::{FileDescriptor, Schema as SchemaMessage};
use prost::Message;

use super::column::{Column, Page};
use super::leaf::leaves_of;
use super::options::WriteOptions;
use super::workers::for_each_parallel;
use crate::container::footer::{Footer, write_offset_table};
use crate::container::{ALIGNMENT, PADDING};
use crate::{Field, FileError, FileVersion, Result, Schema};

/// A batch of more bytes than this is handled in parts, so that what waits to be written stays
/// bounded.
const PART_BYTES: usize = 32 << 20;

/// Writes batches as one data file.
///
/// Columns gather rows until they fill a page; pages that are due at the same time are encoded in
/// parallel, and written in the order of the columns, so that the same batches give the same bytes.
/// Without [`finish`](Self::finish) there is no file.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{Int32Array, RecordBatch};
/// use pennon_file::{FileReader, FileWriter, Projection, RowRanges, Schema, WriteOptions};
///
/// let batch = RecordBatch::try_from_iter([(
///     "a",
///     Arc::new(Int32Array::from(vec![1, 2, 3])) as arrow_array::ArrayRef,
/// )])?;
/// let schema = Schema::from_arrow(&batch.schema())?;
/// let store = pennon_io::open_store("memory://writer-example")?;
/// let mut writer =
///     FileWriter::new(store.create("a.lance")?, schema, WriteOptions::default())?;
/// writer.write(&batch)?;
/// assert_eq!(writer.finish(false)?.rows, 3);
///
/// let reader = FileReader::open(store.open("a.lance", None)?)?;
/// let read = reader.read(&Projection::all(&reader)?, &RowRanges::from_range(0..3))?;
/// assert_eq!(read.column(0), batch.column(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileWriter {
    sink: Box<dyn Sink>,
    schema: Schema,
    arrow: SchemaRef,
    options: WriteOptions,
    columns: Vec<Column>,
    global_buffers: Vec<Range<u64>>,
    rows: u64,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes it has.
    pub size: u64,
    /// Its version.
    pub version: FileVersion,
    /// For each field that owns a column, its id and the column's number.
    pub columns: Vec<(i32, u32)>,
}

impl FileWriter {
    /// Begins a file of `schema`.
    ///
    /// # Errors
    ///
    /// `Schema` when files of that version cannot hold the schema, or its metadata asks for
    /// something that does not exist; `Unsupported` for version 2.0.
    pub fn new(sink: Box<dyn Sink>, schema: Schema, options: WriteOptions) -> Result<Self> {
        let prepared = prepare(&schema, &options);
        let (arrow, columns) = prepared.map_err(|error| error.in_file(sink.location()))?;
        Ok(Self {
            sink,
            schema,
            arrow,
            options,
            columns,
            global_buffers: Vec::new(),
            rows: 0,
        })
    }

    /// Appends the rows of a batch, whose columns are found by name.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when a column is missing, has another type, or has nulls where the schema
    /// allows none; `Io` when the store fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.write_batch(batch);
        written.map_err(|error| error.in_file(self.sink.location()))
    }

    /// Adds a buffer beside the columns and returns its number, by which readers ask for it.
    ///
    /// # Errors
    ///
    /// `Io` when the store fails.
    pub fn add_global_buffer(&mut self, bytes: &[u8]) -> Result<usize> {
        let range = self.put(bytes)?;
        self.global_buffers.push(range);
        Ok(self.global_buffers.len())
    }

    /// How many rows were appended so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// About how many bytes the file has so far, counting rows that wait at their size in memory.
    pub fn bytes(&self) -> u64 {
        let pending: usize = self.columns.iter().map(Column::pending_bytes).sum();
        self.sink
            .position()
            .saturating_add(u64::try_from(pending).unwrap_or(u64::MAX))
    }

    /// Writes what waits, completes the file and says what it holds. With `sync`, a local file has
    /// reached the disk.
    ///
    /// # Errors
    ///
    /// `Io` when the store fails; then there is no file.
    pub fn finish(mut self, sync: bool) -> Result<WrittenFile> {
        let written = self.write_rest();
        let columns = written.map_err(|error| error.in_file(self.sink.location()))?;
        let size = self.sink.finish(sync)?;
        Ok(WrittenFile {
            rows: self.rows,
            size,
            version: self.options.version,
            columns,
        })
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut arrays = Vec::with_capacity(self.arrow.fields().len());
        for field in self.arrow.fields() {
            let array = batch.column_by_name(field.name()).ok_or_else(|| {
                FileError::invalid_input("the batch has no such column").in_column(field.name())
            })?;
            if !array.data_type().equals_datatype(field.data_type()) {
                return Err(FileError::invalid_input(format!(
                    "the batch has {} where the schema has {}",
                    array.data_type(),
                    field.data_type()
                ))
                .in_column(field.name()));
            }
            if !field.is_nullable() && array.logical_null_count() > 0 {
                return Err(
                    FileError::invalid_input("the column is not nullable, and has nulls")
                        .in_column(field.name()),
                );
            }
            arrays.push(Arc::clone(array));
        }
        let rows_per_part = rows_per_part(batch);
        let mut start = 0;
        while start < batch.num_rows() {
            let len = rows_per_part.min(batch.num_rows() - start);
            let part: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(start, len)).collect();
            self.write_part(&part)?;
            start += len;
        }
        self.rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn write_part(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        let sink = self.sink.as_mut();
        let mut put = |bytes: &[u8]| put(sink, bytes);
        for column in &mut self.columns {
            column.push(arrays, &mut put)?;
        }
        self.write_due_pages()
    }

    fn write_rest(&mut self) -> Result<Vec<(i32, u32)>> {
        for column in &mut self.columns {
            column.cut();
        }
        self.write_due_pages()?;
        self.write_metadata()?;
        let ids = self.columns.iter().map(Column::field_id).zip(0_u32..);
        Ok(ids.collect())
    }

    /// Encodes the pages that are due, in parallel, and writes them.
    fn write_due_pages(&mut self) -> Result<()> {
        let version = self.options.version;
        let mut due: Vec<(usize, ArrayRef)> = Vec::new();
        for (number, column) in self.columns.iter_mut().enumerate() {
            due.extend(column.take_due()?.into_iter().map(|page| (number, page)));
        }
        let columns = &self.columns;
        let encoded = for_each_parallel(&due, self.options.parallelism, |(number, array)| {
            columns[*number].encode(version, array)
        });
        for ((number, _), pages) in due.iter().zip(encoded) {
            for page in pages? {
                self.write_page(*number, page)?;
            }
        }
        Ok(())
    }

    fn write_page(&mut self, column: usize, page: Page) -> Result<()> {
        let buffers = page
            .buffers
            .iter()
            .map(|buffer| self.put(buffer))
            .collect::<Result<_>>()?;
        self.columns[column].add_page(page.rows, buffers, page.layout);
        Ok(())
    }

    /// Writes the file's schema and everything after it.
    fn write_metadata(&mut self) -> Result<()> {
        let stored = Schema {
            fields: self.schema.fields.iter().map(Field::in_file).collect(),
            metadata: self.schema.metadata.clone(),
        };
        let (fields, metadata) = stored.to_proto();
        let schema = Some(SchemaMessage { fields, metadata });
        let descriptor = FileDescriptor {
            schema,
            length: self.rows,
        }
        .encode_to_vec();
        self.align()?;
        let start = self.sink.position();
        self.sink.write(&descriptor)?;
        let mut global_buffers = vec![start..self.sink.position()];
        global_buffers.append(&mut self.global_buffers);

        let column_metadata = self.sink.position();
        let mut entries = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let start = self.sink.position();
            self.sink.write(&column.metadata().to_bytes())?;
            entries.push(start..self.sink.position());
        }
        let column_offsets = self.sink.position();
        let mut tables = Vec::new();
        write_offset_table(&entries, &mut tables);
        let global_offsets = column_offsets + u64::try_from(tables.len()).unwrap_or(u64::MAX);
        write_offset_table(&global_buffers, &mut tables);
        self.sink.write(&tables)?;
        let too_many = |_| FileError::invalid_input("more columns or buffers than a file can have");
        let footer = Footer {
            column_metadata,
            column_offsets,
            global_offsets,
            num_global_buffers: u32::try_from(global_buffers.len()).map_err(too_many)?,
            num_columns: u32::try_from(entries.len()).map_err(too_many)?,
            version: self.options.version,
        };
        Ok(self.sink.write(&footer.to_bytes())?)
    }

    /// Writes a buffer where the next one may start, and says where that is.
    fn put(&mut self, bytes: &[u8]) -> Result<Range<u64>> {
        put(self.sink.as_mut(), bytes)
    }

    fn align(&mut self) -> Result<()> {
        align(self.sink.as_mut())
    }
}

fn put(sink: &mut dyn Sink, bytes: &[u8]) -> Result<Range<u64>> {
    align(sink)?;
    let start = sink.position();
    sink.write(bytes)?;
    Ok(start..sink.position())
}

fn align(sink: &mut dyn Sink) -> Result<()> {
    let gap = sink.position().next_multiple_of(ALIGNMENT) - sink.position();
    let padding = [PADDING; 64];
    Ok(sink.write(&padding[..usize::try_from(gap).unwrap_or(0)])?)
}

fn prepare(schema: &Schema, options: &WriteOptions) -> Result<(SchemaRef, Vec<Column>)> {
    if options.version == FileVersion::V2_0 {
        return Err(FileError::unsupported(
            "files of version 2.0 cannot be written yet: use data_storage_version 2.1 or 2.2",
        ));
    }
    schema.check_version(options.version)?;
    let leaves = leaves_of(schema, options.version)?;
    // Many columns share what one may buffer, so that a file of thousands does not hoard memory.
    let budget = usize::try_from(options.page_bytes)
        .unwrap_or(usize::MAX)
        .max(1);
    let shared = (MAX_PENDING_BYTES / leaves.len().max(1)).max(MIN_PAGE_BYTES);
    let page_bytes = budget.min(shared);
    let columns = leaves
        .into_iter()
        .map(|leaf| Column::new(leaf, page_bytes))
        .collect();
    Ok((Arc::new(schema.to_arrow()?), columns))
}

/// What all columns together may keep before they write.
const MAX_PENDING_BYTES: usize = 256 << 20;
/// A page is not made smaller than this for the sake of many columns.
const MIN_PAGE_BYTES: usize = 64 << 10;

fn rows_per_part(batch: &RecordBatch) -> usize {
    let rows = batch.num_rows().max(1);
    let bytes: usize = batch.columns().iter().map(super::leaf::bytes_of).sum();
    (rows * PART_BYTES / bytes.max(1)).clamp(1024.min(rows), rows)
}
