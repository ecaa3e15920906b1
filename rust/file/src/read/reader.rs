//! An open file: its schema, and what has been learnt about its columns.

use std::collections::VecDeque;
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
use crate::container::footer::{FOOTER_BYTES, Footer, parse_offset_table};
use crate::container::metadata::ColumnMetadata;
use crate::{FileError, FileVersion, OpenSidecar, Result, Schema, blob};

/// How much of the end of a file is read when it is opened.
const TAIL_BYTES: u64 = 64 << 10;
/// How much memory prepared pages may take per file before the oldest are forgotten.
const CACHE_BYTES: usize = 64 << 20;

/// A data file, ready to be read by any number of threads.
///
/// Opening reads the end of the file. What a column's metadata, chunk tables and dictionaries say
/// is read when the column is first asked for, and kept for the reads that follow.
#[derive(Debug)]
pub struct FileReader {
    source: Arc<dyn ReadAt>,
    size: u64,
    footer: Footer,
    schema: Schema,
    num_rows: u64,
    global_buffers: Vec<Range<u64>>,
    column_metadata: Vec<Range<u64>>,
    /// The end of the file, and where it starts.
    tail: (u64, Bytes),
    columns: Vec<OnceLock<Column>>,
    cache: Mutex<PageCache>,
}

/// Which pages are prepared, oldest first, and the memory that they take.
#[derive(Debug, Default)]
struct PageCache {
    pages: VecDeque<(PageId, usize)>,
    bytes: usize,
}

/// A page, by the numbers of its column and of itself.
pub(crate) type PageId = (usize, usize);

impl FileReader {
    /// Opens a file.
    ///
    /// # Errors
    /// `Corrupt` when it is not a Lance file or is damaged, `Unsupported` when its version is not
    /// one of ours, `Io` when it cannot be read.
    pub fn open(source: Arc<dyn ReadAt>) -> Result<Self> {
        let location = source.location().to_owned();
        Self::open_source(source).map_err(|error| error.in_file(&location))
    }

    fn open_source(source: Arc<dyn ReadAt>) -> Result<Self> {
        let size = source.len()?;
        let tail_start = size.saturating_sub(TAIL_BYTES);
        let tail = (tail_start, source.read(tail_start..size)?);
        let footer = Footer::parse(&tail.1, size)?;
        let end = size - FOOTER_BYTES;
        let table = fetch(source.as_ref(), &tail, footer.global_table())?;
        let global_buffers = parse_offset_table(&table, end)?;
        let table = fetch(source.as_ref(), &tail, footer.column_table())?;
        let column_metadata = parse_offset_table(&table, end)?;
        let descriptor = global_buffers.first().cloned().unwrap_or_default();
        let descriptor = FileDescriptor::decode(fetch(source.as_ref(), &tail, descriptor)?)
            .map_err(|error| {
                FileError::corrupt("the file's schema cannot be decoded").with_source(error)
            })?;
        let schema = descriptor.schema.unwrap_or_default();
        let schema = Schema::from_proto(&schema.fields, &schema.metadata)?;
        let columns = column_metadata.iter().map(|_| OnceLock::new()).collect();
        let num_rows = descriptor.length;
        let cache = Mutex::default();
        Ok(Self {
            source,
            size,
            footer,
            schema,
            num_rows,
            global_buffers,
            column_metadata,
            tail,
            columns,
            cache,
        })
    }

    /// The file's version.
    pub fn version(&self) -> FileVersion {
        self.footer.version
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
        self.columns.len()
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
        let bytes = range.and_then(|range| fetch(self.source.as_ref(), &self.tail, range));
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
        let bytes = self.source.read_ranges(plan.byte_ranges());
        let bytes = bytes.map_err(|error| FileError::from(error).in_file(self.location()))?;
        plan.decode_with(bytes, &|descriptions| {
            blob::fetch(descriptions, self.source.as_ref(), sidecar)
        })
    }

    /// The columns that some leaves need, with their pages.
    pub(super) fn columns(&self, leaves: &[Arc<Leaf>]) -> Result<Vec<&Column>> {
        if self.footer.version == FileVersion::V2_0 && !leaves.is_empty() {
            return Err(FileError::unsupported(
                "reading columns of file version 2.0",
            ));
        }
        let missing = |leaf: &&Arc<Leaf>| {
            self.columns
                .get(leaf.column)
                .is_some_and(|column| column.get().is_none())
        };
        let missing: Vec<&Arc<Leaf>> = leaves.iter().filter(missing).collect();
        if !missing.is_empty() {
            self.load_columns(&missing)?;
        }
        leaves.iter().map(|leaf| self.column(leaf)).collect()
    }

    fn column(&self, leaf: &Leaf) -> Result<&Column> {
        let column = self
            .columns
            .get(leaf.column)
            .and_then(OnceLock::get)
            .ok_or_else(|| {
                FileError::corrupt(format!(
                    "column {} of {} does not exist",
                    leaf.column,
                    self.columns.len()
                ))
                .in_column(&leaf.name)
            })?;
        if self.num_rows.checked_mul(leaf.items_per_row) != Some(column.num_rows()) {
            return Err(FileError::corrupt(format!(
                "{} rows in a file of {}",
                column.num_rows(),
                self.num_rows
            ))
            .in_column(&leaf.name));
        }
        Ok(column)
    }

    fn load_columns(&self, leaves: &[&Arc<Leaf>]) -> Result<()> {
        let (start, _) = self.tail;
        let ranges = leaves
            .iter()
            .filter_map(|leaf| self.column_metadata.get(leaf.column));
        let remote: Vec<Range<u64>> = ranges
            .filter(|range| range.start < start)
            .cloned()
            .collect();
        let mut fetched = self.source.read_ranges(&remote)?.into_iter();
        for leaf in leaves {
            let (Some(range), Some(slot)) = (
                self.column_metadata.get(leaf.column),
                self.columns.get(leaf.column),
            ) else {
                continue;
            };
            let bytes = match slice_of(&self.tail, range) {
                Some(bytes) => bytes,
                None => fetched
                    .next()
                    .ok_or_else(|| FileError::corrupt("too few bytes"))?,
            };
            let metadata = ColumnMetadata::parse(&bytes, self.size)
                .and_then(Column::new)
                .map_err(|error| error.in_column(&leaf.name))?;
            slot.get_or_init(|| metadata);
        }
        Ok(())
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
        let bytes = if ranges.is_empty() {
            Vec::new()
        } else {
            self.source.read_ranges(&ranges)?
        };
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
            if let Some(column) = self.columns.get(column).and_then(OnceLock::get) {
                column.page(page).forget();
            }
        }
    }
}

/// The bytes of a range: from the end of the file that is in memory, or else from the source.
fn fetch(source: &dyn ReadAt, tail: &(u64, Bytes), range: Range<u64>) -> Result<Bytes> {
    match slice_of(tail, &range) {
        Some(bytes) => Ok(bytes),
        None => Ok(source.read(range)?),
    }
}

/// A range of the end of the file that is in memory, if it lies there.
fn slice_of((start, bytes): &(u64, Bytes), range: &Range<u64>) -> Option<Bytes> {
    let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
    let to = usize::try_from(range.end.checked_sub(*start)?).ok()?;
    (from <= to && to <= bytes.len()).then(|| bytes.slice(from..to))
}
