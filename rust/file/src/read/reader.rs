//! An open file: its schema, and what has been learnt about its columns.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_array::RecordBatch;
use bytes::Bytes;
use pennon_io::ReadAt;
use pennon_proto::file::FileDescriptor;
use prost::Message;

use super::column::{Column, PageReader};
use super::plan::ReadPlan;
use super::projection::{Leaf, Projection};
use super::rows::RowRanges;
use super::source::Source;
use crate::container::footer::{Footer, checked_range, parse_offset_table};
use crate::container::metadata::ColumnMetadata;
use crate::{FileError, FileVersion, OpenSidecar, Result, Schema, blob, v0_1, v2_0};

/// How much memory prepared pages may take per file before the oldest are forgotten.
const CACHE_BYTES: usize = 64 << 20;

/// A data file, ready to be read by any number of threads.
///
/// Opening reads the end of the file. What a column's metadata, chunk tables and dictionaries say
/// is read when the column is first asked for, and kept for the reads that follow.
#[derive(Debug)]
pub struct FileReader {
    pub(super) source: Source,
    version: FileVersion,
    schema: Schema,
    num_rows: u64,
    pub(super) global_buffers: Vec<Range<u64>>,
    pub(super) column_metadata: Vec<Range<u64>>,
    columns: Columns,
    cache: Mutex<PageCache>,
}

/// What has been read of the columns, in the way of a family of file versions.
#[derive(Debug)]
enum Columns {
    /// Of 2.1 and newer.
    Structural(Vec<OnceLock<Column>>),
    /// Of 2.0.
    Arrays(Vec<OnceLock<v2_0::Column>>),
    /// Of 0.1, whose columns are found through the page table.
    Pages(v0_1::Metadata),
}

/// Which pages are prepared, oldest first, and the memory that they take.
#[derive(Debug, Default)]
struct PageCache {
    pages: VecDeque<(PageId, usize)>,
    bytes: usize,
}

/// A page, by the numbers of its column and of itself.
pub(crate) type PageId = (usize, usize);

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether what is read is verified where the file has checksums.
    pub verify_checksums: bool,
}

impl Default for ReadOptions {
    /// With verification.
    fn default() -> Self {
        Self {
            verify_checksums: true,
        }
    }
}

impl FileReader {
    /// Opens a file.
    ///
    /// # Errors
    /// `Corrupt` when it is not a Lance file or is damaged, `Unsupported` when its version is not
    /// one of ours, `Io` when it cannot be read.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        Self::open_with(source, ReadOptions::default())
    }

    /// Opens a file, with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(source: Arc<dyn ReadAt>, options: ReadOptions) -> Result<Self> {
        let location = source.location().to_owned();
        Self::open_source(source, options).map_err(|error| error.in_file(&location))
    }

    fn open_source(source: Arc<dyn ReadAt>, options: ReadOptions) -> Result<Self> {
        let mut source = Source::open(source)?;
        if v0_1::is_legacy(source.tail()) {
            return Self::open_legacy(source);
        }
        let footer = Footer::parse(source.tail(), source.size)?;
        let end = source.end_of_metadata();
        let table = source.metadata(footer.global_table())?;
        let global_buffers = parse_offset_table(&table, end)?;
        if options.verify_checksums {
            source.find_checksums(&global_buffers, footer.column_offsets)?;
        }
        let table = source.metadata(footer.column_table())?;
        let column_metadata = parse_offset_table(&table, end)?;
        let descriptor = global_buffers.first().cloned().unwrap_or_default();
        let descriptor = FileDescriptor::decode(source.metadata(descriptor)?).map_err(|error| {
            FileError::corrupt("the file's schema cannot be decoded").with_source(error)
        })?;
        let schema = descriptor.schema.unwrap_or_default();
        let schema = Schema::from_proto(&schema.fields, &schema.metadata)?;
        let columns = match footer.version {
            FileVersion::V2_0 => Columns::Arrays(unread(&column_metadata)),
            _ => Columns::Structural(unread(&column_metadata)),
        };
        let num_rows = descriptor.length;
        let cache = Mutex::default();
        Ok(Self {
            source,
            version: footer.version,
            schema,
            num_rows,
            global_buffers,
            column_metadata,
            columns,
            cache,
        })
    }

    fn open_legacy(source: Source) -> Result<Self> {
        let metadata = v0_1::Metadata::read(source.tail(), |position, size| {
            source.metadata(range_in(position, size, source.size)?)
        })?;
        Ok(Self {
            version: FileVersion::V0_1,
            schema: metadata.schema.clone(),
            num_rows: metadata.batches.num_rows(),
            global_buffers: Vec::new(),
            column_metadata: Vec::new(),
            columns: Columns::Pages(metadata),
            cache: Mutex::default(),
            source,
        })
    }

    /// What a file of version 0.1 says about itself.
    pub(super) fn legacy(&self) -> Result<&v0_1::Metadata> {
        match &self.columns {
            Columns::Pages(metadata) => Ok(metadata),
            _ => Err(FileError::unsupported("columns where pages belong")),
        }
    }

    /// Bytes that say where others are.
    pub(crate) fn read_metadata(&self, position: u64, size: u64) -> Result<Bytes> {
        let range = range_in(position, size, self.source.size)?;
        self.source.metadata(range)
    }

    /// The file's version.
    pub fn version(&self) -> FileVersion {
        self.version
    }

    /// The file's own schema: the fields that it stores, with the ids that the table gave them.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How many rows the file has.
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// How many columns the file has.
    pub fn num_columns(&self) -> usize {
        self.column_metadata.len()
    }

    /// The file's path or URL.
    pub fn location(&self) -> &str {
        self.source.location()
    }

    /// How many global buffers the file has; the first is its schema.
    pub fn num_global_buffers(&self) -> usize {
        self.global_buffers.len()
    }

    /// The bytes of a global buffer.
    ///
    /// # Errors
    /// `InvalidInput` when there is no such buffer, `Io` when it cannot be read.
    pub fn global_buffer(&self, index: usize) -> Result<Bytes> {
        let missing = || {
            FileError::invalid_input(format!(
                "global buffer {index} of {} does not exist",
                self.global_buffers.len()
            ))
        };
        let range = self.global_buffers.get(index).cloned().ok_or_else(missing);
        let bytes = range.and_then(|range| self.source.metadata(range));
        bytes.map_err(|error| error.in_file(self.location()))
    }

    /// Plans a read: which bytes it takes and what to do with them. This may read and keep the
    /// metadata of columns and pages that have not been read before.
    ///
    /// # Errors
    /// `InvalidInput` when the file does not have the rows, `Corrupt` or `Unsupported` when a page
    /// cannot be read, `Io` when metadata cannot be fetched.
    pub fn plan(&self, projection: &Projection, rows: &RowRanges) -> Result<ReadPlan> {
        ReadPlan::new(self, projection, rows).map_err(|error| error.in_file(self.location()))
    }

    /// Reads the byte ranges of a [plan](Self::plan), and verifies them where the file has checksums.
    ///
    /// # Errors
    /// `Corrupt` when the bytes changed since they were written, `Io` when they cannot be read.
    pub fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.source.pages(ranges);
        bytes.map_err(|error| error.in_file(self.location()))
    }

    /// Reads some rows of some columns. Large objects are read too, unless their fields are
    /// [described](crate::Field::described); those that lie beside the file are refused.
    ///
    /// # Errors
    /// As [`plan`](Self::plan) and [`ReadPlan::decode`].
    pub fn read(&self, projection: &Projection, rows: &RowRanges) -> Result<RecordBatch> {
        self.read_with_sidecars(projection, rows, &|name| {
            Err(FileError::unsupported(format!(
                "a large object lies in '{name}' beside the file"
            )))
        })
    }

    /// As [`read`](Self::read), with a way to open the files that hold large objects.
    ///
    /// # Errors
    /// As [`read`](Self::read), and those of `sidecar`.
    pub fn read_with_sidecars(
        &self,
        projection: &Projection,
        rows: &RowRanges,
        sidecar: &OpenSidecar<'_>,
    ) -> Result<RecordBatch> {
        let plan = self.plan(projection, rows)?;
        let bytes = self.fetch(plan.byte_ranges())?;
        plan.decode_with(bytes, &|descriptions| {
            blob::fetch(descriptions, &|ranges| self.fetch(ranges), sidecar)
        })
    }

    /// The columns that some leaves need, with their pages.
    pub(super) fn columns(&self, leaves: &[Arc<Leaf>]) -> Result<Vec<&Column>> {
        let Columns::Structural(columns) = &self.columns else {
            return Err(FileError::unsupported("arrays where layouts belong"));
        };
        let wanted: Vec<_> = leaves
            .iter()
            .map(|leaf| (leaf.column, leaf.name.as_str()))
            .collect();
        let read = self.load(columns, &wanted, |bytes| {
            ColumnMetadata::parse(bytes, self.source.size).and_then(Column::new)
        })?;
        for (column, leaf) in read.iter().zip(leaves) {
            if self.num_rows.checked_mul(leaf.items_per_row) != Some(column.num_rows()) {
                return Err(FileError::corrupt(format!(
                    "{} rows in a file of {}",
                    column.num_rows(),
                    self.num_rows
                ))
                .in_column(&leaf.name));
            }
        }
        Ok(read)
    }

    /// The columns with some numbers, by these; `wanted` has their names, too.
    pub(crate) fn array_columns(
        &self,
        wanted: &[(usize, &str)],
    ) -> Result<HashMap<usize, &v2_0::Column>> {
        let Columns::Arrays(columns) = &self.columns else {
            return Err(FileError::unsupported("layouts where arrays belong"));
        };
        let read = self.load(columns, wanted, |bytes| {
            v2_0::Column::parse(bytes, self.source.size)
        })?;
        let numbers = wanted.iter().map(|(number, _)| *number);
        Ok(numbers.zip(read).collect())
    }

    /// The columns with some numbers; `wanted` has their names, too. Those that were not read
    /// before are read now, and kept.
    fn load<'a, 'b, C>(
        &self,
        columns: &'a [OnceLock<C>],
        wanted: &[(usize, &'b str)],
        parse: impl Fn(&[u8]) -> Result<C>,
    ) -> Result<Vec<&'a C>> {
        let slot = |&(number, name): &(usize, &'b str)| {
            let slot = columns.get(number).ok_or_else(|| {
                FileError::corrupt(format!(
                    "column {number} of {} does not exist",
                    columns.len()
                ))
                .in_column(name)
            })?;
            Ok((slot, number, name))
        };
        let slots = wanted.iter().map(slot).collect::<Result<Vec<_>>>()?;
        let missing: Vec<_> = slots
            .iter()
            .filter(|(slot, _, _)| slot.get().is_none())
            .collect();
        let ranges: Vec<_> = missing
            .iter()
            .filter_map(|(_, number, _)| {
                Some((*number, self.column_metadata.get(*number)?.clone()))
            })
            .collect();
        let found = match ranges.as_slice() {
            [] => Vec::new(),
            ranges => self.source.column_metadata(ranges)?,
        };
        for ((slot, _, name), bytes) in missing.into_iter().zip(found) {
            let column = parse(&bytes).map_err(|error| error.in_column(name))?;
            slot.get_or_init(|| column);
        }
        let read = slots.iter().filter_map(|(slot, _, _)| slot.get());
        Ok(read.collect())
    }

    /// The size of the file in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.source.size
    }

    /// Parts of pages, verified where the file has checksums.
    pub(crate) fn read_pages(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.source.pages(ranges)
    }

    /// Notes what a read has kept of the pages of a column.
    pub(crate) fn remember_pages(&self, number: usize, column: &v2_0::Column) {
        for (page, bytes) in column.take_unaccounted() {
            self.remember((number, page), bytes);
        }
    }

    /// Prepares pages: those that are not cached are read and cached.
    pub(super) fn pages(&self, wanted: &[(&Leaf, &Column, usize)]) -> Result<Vec<Arc<PageReader>>> {
        let mut pages = Vec::with_capacity(wanted.len());
        let mut ranges = Vec::new();
        for (leaf, column, number) in wanted {
            let cached = column.page(*number).cached(&leaf.shape);
            let needs = match cached {
                Some(_) => Vec::new(),
                None => {
                    let needs = column.page(*number).needs();
                    needs.map_err(|error| error.in_page(*number).in_column(&leaf.name))?
                }
            };
            let first = ranges.len();
            ranges.extend(needs);
            pages.push((cached, first..ranges.len()));
        }
        let bytes = self.source.pages(&ranges)?;
        pages
            .into_iter()
            .zip(wanted)
            .map(|((cached, needs), (leaf, column, number))| match cached {
                Some(page) => Ok(page),
                None => self
                    .prepare(leaf, column, *number, bytes.get(needs).unwrap_or_default())
                    .map_err(|error| error.in_page(*number).in_column(&leaf.name)),
            })
            .collect()
    }

    fn prepare(
        &self,
        leaf: &Leaf,
        column: &Column,
        number: usize,
        bytes: &[Bytes],
    ) -> Result<Arc<PageReader>> {
        let page = Arc::new(column.page(number).load(leaf, bytes)?);
        column.page(number).cache(&leaf.shape, &page);
        self.remember((leaf.column, number), page.memory());
        Ok(page)
    }

    /// Notes that a page was cached, and forgets the oldest ones when there are too many.
    fn remember(&self, id: PageId, bytes: usize) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.pages.push_back((id, bytes));
        cache.bytes += bytes;
        while cache.bytes > CACHE_BYTES && cache.pages.len() > 1 {
            let Some(((column, page), bytes)) = cache.pages.pop_front() else {
                return;
            };
            cache.bytes -= bytes;
            match &self.columns {
                Columns::Structural(columns) => {
                    if let Some(column) = columns.get(column).and_then(OnceLock::get) {
                        column.page(page).forget();
                    }
                }
                Columns::Pages(_) => {}
                Columns::Arrays(columns) => {
                    if let Some(column) = columns.get(column).and_then(OnceLock::get) {
                        column.forget(page);
                    }
                }
            }
        }
    }
}

fn range_in(position: u64, size: u64, file_size: u64) -> Result<Range<u64>> {
    checked_range(position, size, file_size).ok_or_else(|| {
        FileError::corrupt(format!("{size} bytes at {position} are not in the file"))
    })
}

/// A place for each column.
fn unread<C>(metadata: &[Range<u64>]) -> Vec<OnceLock<C>> {
    metadata.iter().map(|_| OnceLock::new()).collect()
}
