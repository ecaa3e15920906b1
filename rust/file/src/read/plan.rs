//! One read: the bytes that it takes, and what becomes of them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use bytes::Bytes;

use super::assemble::{FetchBlobs, assemble};
use super::builder::{ColumnBuilder, Scratch};
use super::column::{PagePlan, PageReader};
use super::projection::{Leaf, Projection};
use super::reader::FileReader;
use super::rows::RowRanges;
use crate::v0_1::PagesPlan;
use crate::v2_0::ArrayPlan;
use crate::{FileError, FileVersion, Result};

/// A read that knows which bytes it takes.
#[derive(Debug)]
pub struct ReadPlan {
    projection: Projection,
    location: String,
    num_rows: u64,
    columns: Columns,
    byte_ranges: Vec<Range<u64>>,
}

/// What to do with the bytes, in the way of a family of file versions.
#[derive(Debug)]
enum Columns {
    /// Layouts of 2.1 and newer.
    Structural(Vec<ColumnPlan>),
    /// Arrays of 2.0.
    Arrays(ArrayPlan),
    /// Pages of 0.1.
    Pages(PagesPlan),
}

/// The pages of one leaf that a read takes part of.
#[derive(Debug)]
struct ColumnPlan {
    leaf: Arc<Leaf>,
    pages: Vec<PageTask>,
}

#[derive(Debug)]
struct PageTask {
    number: usize,
    page: Arc<PageReader>,
    plan: PagePlan,
    /// Which of the plan's byte ranges are this page's.
    reads: Range<usize>,
}

impl ReadPlan {
    pub(super) fn new(
        reader: &FileReader,
        projection: &Projection,
        rows: &RowRanges,
    ) -> Result<Self> {
        if rows.end() > reader.num_rows() {
            return Err(FileError::invalid_input(format!(
                "row {} of a file of {} rows",
                rows.end() - 1,
                reader.num_rows()
            )));
        }
        let (columns, byte_ranges) = match reader.version() {
            FileVersion::V0_1 => {
                let metadata = reader.legacy()?;
                let (plan, byte_ranges) = PagesPlan::new(reader, metadata, projection, rows)?;
                (Columns::Pages(plan), byte_ranges)
            }
            FileVersion::V2_0 => {
                let (plan, byte_ranges) = ArrayPlan::new(reader, projection, rows)?;
                (Columns::Arrays(plan), byte_ranges)
            }
            _ => {
                let (columns, byte_ranges) = plan_columns(reader, projection, rows)?;
                (Columns::Structural(columns), byte_ranges)
            }
        };
        Ok(Self {
            projection: projection.clone(),
            location: reader.location().to_owned(),
            num_rows: rows.len(),
            columns,
            byte_ranges,
        })
    }

    /// The byte ranges of the file that [`decode`](Self::decode) wants, in this order.
    pub fn byte_ranges(&self) -> &[Range<u64>] {
        &self.byte_ranges
    }

    /// Makes a batch of the bytes of the plan's [`byte_ranges`](Self::byte_ranges).
    ///
    /// # Errors
    /// `Corrupt` when the bytes contradict the format or the schema, `InvalidInput` when they are
    /// not those of the byte ranges or make a batch too large for memory.
    pub fn decode(self, bytes: Vec<Bytes>) -> Result<RecordBatch> {
        self.decode_with(bytes, &|_| {
            Err(FileError::invalid_input(
                "large objects are read by FileReader::read; a plan gives their descriptions",
            ))
        })
    }

    /// As [`decode`](Self::decode), with a way to read large objects.
    pub(super) fn decode_with(
        self,
        bytes: Vec<Bytes>,
        fetch: &FetchBlobs<'_>,
    ) -> Result<RecordBatch> {
        let location = self.location.clone();
        self.decode_batch(bytes, fetch)
            .map_err(|error| error.in_file(&location))
    }

    fn decode_batch(self, bytes: Vec<Bytes>, fetch: &FetchBlobs<'_>) -> Result<RecordBatch> {
        self.check_bytes(&bytes)?;
        let rows = usize::try_from(self.num_rows)
            .map_err(|_| FileError::invalid_input("more rows than fit into memory"))?;
        let arrays = match self.columns {
            Columns::Structural(columns) => {
                decode_columns(&self.projection, &columns, &bytes, rows, fetch)?
            }
            Columns::Pages(plan) => plan.decode(&self.projection, bytes, rows)?,
            Columns::Arrays(plan) => plan.decode(&self.projection, bytes, rows)?,
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(self.projection.schema());
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    fn check_bytes(&self, bytes: &[Bytes]) -> Result<()> {
        let size = |bytes: &Bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let is_right = bytes.len() == self.byte_ranges.len()
            && bytes
                .iter()
                .zip(&self.byte_ranges)
                .all(|(bytes, range)| size(bytes) == range.end - range.start);
        if !is_right {
            return Err(FileError::invalid_input(
                "the bytes are not those of the byte ranges",
            ));
        }
        Ok(())
    }
}

/// Makes the columns of a batch of `rows` rows.
fn decode_columns(
    projection: &Projection,
    columns: &[ColumnPlan],
    bytes: &[Bytes],
    rows: usize,
    fetch: &FetchBlobs<'_>,
) -> Result<Vec<ArrayRef>> {
    let mut scratch = Scratch::default();
    let mut leaves = Vec::with_capacity(columns.len());
    for column in columns {
        let builder = column
            .decode(rows, bytes, &mut scratch)
            .map_err(|error| error.in_column(&column.leaf.name))?;
        let rows = usize::try_from(column.leaf.items_per_row)
            .ok()
            .and_then(|items| rows.checked_mul(items));
        let rows =
            rows.ok_or_else(|| FileError::invalid_input("more rows than fit into memory"))?;
        if builder.num_rows() != rows {
            return Err(FileError::corrupt(format!(
                "{} rows where {rows} were asked for",
                builder.num_rows()
            ))
            .in_column(&column.leaf.name));
        }
        leaves.push(Some(builder));
    }
    assemble(projection, &mut leaves, rows, fetch)
}

/// Plans the columns of a file of version 2.1 or newer, and says which bytes they take.
fn plan_columns(
    reader: &FileReader,
    projection: &Projection,
    rows: &RowRanges,
) -> Result<(Vec<ColumnPlan>, Vec<Range<u64>>)> {
    let columns = reader.columns(&projection.leaves)?;
    let mut parts = Vec::with_capacity(columns.len());
    let mut wanted = Vec::new();
    for (leaf, column) in projection.leaves.iter().zip(columns) {
        let split = column.split(&item_ranges(leaf, rows)?);
        wanted.extend(
            split
                .iter()
                .map(|(number, _)| (leaf.as_ref(), column, *number)),
        );
        parts.push(split);
    }
    let mut pages = reader.pages(&wanted)?.into_iter();
    let mut byte_ranges = Vec::new();
    let mut plans = Vec::with_capacity(parts.len());
    for (leaf, parts) in projection.leaves.iter().zip(parts) {
        let pages: Vec<_> = pages.by_ref().take(parts.len()).collect();
        let plan = ColumnPlan::new(leaf, parts, pages, &mut byte_ranges);
        plans.push(plan.map_err(|error| error.in_column(&leaf.name))?);
    }
    Ok((plans, byte_ranges))
}

impl ColumnPlan {
    fn new(
        leaf: &Arc<Leaf>,
        parts: Vec<(usize, Vec<Range<u64>>)>,
        pages: Vec<Arc<PageReader>>,
        byte_ranges: &mut Vec<Range<u64>>,
    ) -> Result<Self> {
        let mut tasks = Vec::with_capacity(parts.len());
        for ((number, rows), page) in parts.into_iter().zip(pages) {
            let first = byte_ranges.len();
            let plan = page.plan(rows, byte_ranges);
            let plan = plan.map_err(|error| error.in_page(number))?;
            tasks.push(PageTask {
                number,
                page,
                plan,
                reads: first..byte_ranges.len(),
            });
        }
        Ok(Self {
            leaf: Arc::clone(leaf),
            pages: tasks,
        })
    }

    fn decode(&self, rows: usize, bytes: &[Bytes], scratch: &mut Scratch) -> Result<ColumnBuilder> {
        let mut builder = ColumnBuilder::new(&self.leaf, u64::try_from(rows).unwrap_or(u64::MAX));
        for task in &self.pages {
            let bytes = bytes.get(task.reads.clone()).unwrap_or_default();
            task.page
                .decode(&task.plan, bytes, &mut builder, scratch)
                .map_err(|error| error.in_page(task.number))?;
        }
        Ok(builder)
    }
}

/// The rows of a column that some rows of the file are.
fn item_ranges(leaf: &Leaf, rows: &RowRanges) -> Result<Vec<Range<u64>>> {
    let scale = |row: u64| {
        row.checked_mul(leaf.items_per_row)
            .ok_or_else(|| FileError::corrupt("more items than a column can have"))
    };
    rows.ranges()
        .iter()
        .map(|range| Ok(scale(range.start)?..scale(range.end)?))
        .collect()
}
