//! A data file in the making.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeBinaryArray, RecordBatch};
use arrow_schema::SchemaRef;
use pennon_io::Sink;
use pennon_proto::file::{FileDescriptor, Schema as SchemaMessage};
use prost::Message;

use super::column::{Column, LeafEncoder, Page, PageEncoder};
use super::leaf::{Leaf, leaves_of};
use super::options::WriteOptions;
use super::output::Output;
use super::workers::for_each_parallel;
use crate::container::ALIGNMENT;
use crate::container::footer::{Footer, write_offset_table};
use crate::extension::{self, SectionKind};
use crate::{Field, FileError, FileVersion, Result, Schema, v2_0};

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
    output: Output,
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
    /// something that does not exist.
    pub fn new(sink: Box<dyn Sink>, schema: Schema, options: WriteOptions) -> Result<Self> {
        let prepared = prepare(&schema, &options);
        let (arrow, columns) = prepared.map_err(|error| error.in_file(sink.location()))?;
        Ok(Self {
            output: Output::new(sink, options.checksums),
            schema,
            arrow,
            columns,
            global_buffers: Vec::new(),
            rows: 0,
            options,
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
        written.map_err(|error| error.in_file(self.output.location()))
    }

    /// Adds a buffer beside the columns and returns its number, by which readers ask for it.
    ///
    /// # Errors
    ///
    /// `Io` when the store fails.
    pub fn add_global_buffer(&mut self, bytes: &[u8]) -> Result<usize> {
        let range = self.output.put(bytes)?;
        self.global_buffers.push(range);
        Ok(self.global_buffers.len())
    }

    /// Adds to the metadata of the file's schema.
    pub fn add_schema_metadata(&mut self, key: String, value: String) {
        self.schema.metadata.insert(key, value);
    }

    /// How many rows were appended so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// About how many bytes the file has so far, counting rows that wait at their size in memory.
    pub fn bytes(&self) -> u64 {
        let pending: usize = self.columns.iter().map(Column::pending_bytes).sum();
        self.output
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
        let columns = written.map_err(|error| error.in_file(self.output.location()))?;
        let size = self.output.finish(sync)?;
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
        let output = &mut self.output;
        let mut put = |bytes: &[u8]| output.put(bytes);
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
        self.columns.iter_mut().for_each(Column::complete);
        self.write_metadata()?;
        let ids = self.columns.iter().map(Column::field_id).zip(0_u32..);
        Ok(ids.collect())
    }

    /// Encodes the pages that are due, in parallel, and writes them.
    fn write_due_pages(&mut self) -> Result<()> {
        let mut due: Vec<(usize, ArrayRef)> = Vec::new();
        for (number, column) in self.columns.iter_mut().enumerate() {
            due.extend(column.take_due()?.into_iter().map(|page| (number, page)));
        }
        let columns = &self.columns;
        let encoded = for_each_parallel(&due, self.options.parallelism, |(number, array)| {
            columns[*number].encode(array)
        });
        for ((number, _), pages) in due.iter().zip(encoded) {
            for page in pages? {
                self.write_page(*number, page)?;
            }
        }
        Ok(())
    }

    fn write_page(&mut self, column: usize, page: Page) -> Result<()> {
        let places = match &page.outside {
            Some(values) => Some(self.put_values(values)?),
            None => None,
        };
        let buffers = page.buffers.iter().chain(places.as_ref());
        let buffers = buffers
            .map(|buffer| self.output.put(buffer))
            .collect::<Result<_>>()?;
        self.columns[column].add_page(page.rows, buffers, page.layout);
        Ok(())
    }

    /// Writes values outside of their page, and describes where they are.
    fn put_values(&mut self, values: &LargeBinaryArray) -> Result<Vec<u8>> {
        let mut places = Vec::with_capacity(values.len() * 16);
        for value in values {
            let place = match value {
                Some([]) => Some(0..0),
                Some(value) => Some(self.output.put(value)?),
                None => None,
            };
            places.extend_from_slice(&v2_0::descriptor(place));
        }
        Ok(places)
    }

    /// Writes the extension block, the file's schema and everything after it.
    fn write_metadata(&mut self) -> Result<()> {
        let stored = Schema {
            fields: self.schema.fields.iter().map(Field::in_file).collect(),
            metadata: self.schema.metadata.clone(),
        };
        let (fields, metadata) = stored.to_proto();
        let schema = Some(SchemaMessage { fields, metadata });
        let schema = FileDescriptor {
            schema,
            length: self.rows,
        }
        .encode_to_vec();
        let columns: Vec<Vec<u8>> = self
            .columns
            .iter()
            .map(|column| column.metadata().to_bytes())
            .collect();
        self.output.align()?;
        let block = self.output.take_recorder().map(|recorder| {
            let size = extension::block_size(&[recorder.section_size(columns.len())]);
            (recorder, range_of(self.output.position(), size))
        });
        self.global_buffers
            .extend(block.as_ref().map(|(_, range)| range.clone()));
        let start = block
            .as_ref()
            .map_or(self.output.position(), |(_, range)| range.end);
        let start = start.next_multiple_of(ALIGNMENT);
        let end = self.end_of_file(range_of(start, schema.len()), &columns)?;
        if let Some((recorder, _)) = block {
            let section = recorder.section(&schema, &columns, &end);
            self.output.emit(&extension::write_block(&[(
                SectionKind::Checksums,
                section,
            )]))?;
            self.output.align()?;
        }
        self.output.emit(&schema)?;
        columns
            .iter()
            .try_for_each(|column| self.output.emit(column))?;
        self.output.emit(&end)
    }

    /// The offset tables and the footer, given where the schema is and what follows it.
    fn end_of_file(&mut self, schema: Range<u64>, columns: &[Vec<u8>]) -> Result<Vec<u8>> {
        let column_metadata = schema.end;
        let mut position = schema.end;
        let mut entries = Vec::with_capacity(columns.len());
        for column in columns {
            entries.push(range_of(position, column.len()));
            position += column.len() as u64;
        }
        let global_buffers: Vec<_> = std::iter::once(schema)
            .chain(self.global_buffers.drain(..))
            .collect();
        let mut end = Vec::new();
        write_offset_table(&entries, &mut end);
        let global_offsets = position + end.len() as u64;
        write_offset_table(&global_buffers, &mut end);
        let too_many = |_| FileError::invalid_input("more columns or buffers than a file can have");
        let footer = Footer {
            column_metadata,
            column_offsets: position,
            global_offsets,
            num_global_buffers: u32::try_from(global_buffers.len()).map_err(too_many)?,
            num_columns: u32::try_from(entries.len()).map_err(too_many)?,
            version: self.options.version,
        };
        end.extend_from_slice(&footer.to_bytes());
        Ok(end)
    }
}

fn range_of(start: u64, size: usize) -> Range<u64> {
    start..start.saturating_add(size as u64)
}

fn prepare(schema: &Schema, options: &WriteOptions) -> Result<(SchemaRef, Vec<Column>)> {
    schema.check_version(options.version)?;
    let encoders = encoders_of(schema, options.version)?;
    // Many columns share what one may buffer, so that a file of thousands does not hoard memory.
    let budget = usize::try_from(options.page_bytes)
        .unwrap_or(usize::MAX)
        .max(1);
    let shared = (MAX_PENDING_BYTES / encoders.len().max(1)).max(MIN_PAGE_BYTES);
    let page_bytes = budget.min(shared);
    let columns = encoders
        .into_iter()
        .map(|(id, path, encoder)| Column::new(id, path, encoder, page_bytes))
        .collect();
    Ok((Arc::new(schema.to_arrow()?), columns))
}

/// The id and the path of each field that owns a column, and what encodes it.
type Encoders = Vec<(i32, String, Box<dyn PageEncoder>)>;

fn encoders_of(schema: &Schema, version: FileVersion) -> Result<Encoders> {
    if version == FileVersion::V2_0 {
        return v2_0::encoders_of(schema);
    }
    let encoder = |leaf: Leaf| {
        let (id, path) = (leaf.field.id, leaf.path.clone());
        let encoder: Box<dyn PageEncoder> = Box::new(LeafEncoder { leaf, version });
        (id, path, encoder)
    };
    let leaves = leaves_of(schema, version)?;
    Ok(leaves.into_iter().map(encoder).collect())
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
