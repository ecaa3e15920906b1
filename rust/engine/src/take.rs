//! Rows by their positions, in the order asked for.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, new_empty_array};
use arrow_schema::DataType;
use arrow_select::concat::{concat, concat_batches};
use arrow_select::take::{take, take_record_batch};
use pennon_file::RowRanges;
use roaring::RoaringBitmap;

use crate::fragment::FragmentReader;
use crate::ordered::{Next, Ordered};
use crate::scan::select;
use crate::{Dataset, EngineError, Result};

/// Fewer rows than this are read by the calling thread.
const MIN_PARALLEL_ROWS: usize = 64;

impl Dataset {
    /// The rows at these positions, counted over the rows that are not deleted, in the order
    /// given; a position may be given more than once. `columns` names the columns to return, all
    /// when `None`.
    ///
    /// # Errors
    ///
    /// When a position is beyond the last row, or a column does not exist.
    pub fn take(&self, positions: &[u64], columns: Option<&[String]>) -> Result<RecordBatch> {
        let names: Vec<&str> = match columns {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => self
                .schema()
                .fields
                .iter()
                .map(|f| f.name.as_str())
                .collect(),
        };
        let schema = select(self.schema(), &names)?;
        let arrow = Arc::new(schema.to_arrow()?);
        let wanted = sorted(positions);
        let batches = TakePlan::new(self, &wanted)?
            .run(move |reader, rows| reader.read(&reader.project(&schema)?, rows))?;
        let found = match batches.as_slice() {
            [one] => one.clone(),
            many => concat_batches(&arrow, many)?,
        };
        match places(positions, &wanted) {
            None => Ok(found),
            Some(places) => Ok(take_record_batch(&found, &places)?),
        }
    }

    /// The bytes of large objects: those of `column` in the rows at these positions, which are
    /// counted as by [`take`](Dataset::take), as a large binary array.
    ///
    /// # Errors
    ///
    /// When there is no such column or it has no large objects, when a position is beyond the last
    /// row, or when objects lie outside of the dataset.
    pub fn take_blobs(&self, column: &str, positions: &[u64]) -> Result<ArrayRef> {
        select(self.schema(), &[column])?;
        let field = self
            .schema()
            .fields
            .iter()
            .find(|field| field.name == column);
        let Some(field) = field.filter(|field| field.is_blob()).cloned() else {
            return Err(EngineError::invalid_input(format!(
                "column '{column}' has no large objects: its values are read by a scan or a take"
            )));
        };
        let wanted = sorted(positions);
        let arrays = TakePlan::new(self, &wanted)?
            .run(move |reader, rows| reader.read_blobs(&field, rows))?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        let found = match arrays.as_slice() {
            [] => new_empty_array(&DataType::LargeBinary),
            many => concat(many)?,
        };
        match places(positions, &wanted) {
            None => Ok(found),
            Some(places) => Ok(take(&found, &places, None)?),
        }
    }
}

/// Each position once, in order.
fn sorted(positions: &[u64]) -> Vec<u64> {
    let mut sorted = positions.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

/// Rows to read, by the fragment that holds them.
#[derive(Debug)]
struct TakePlan {
    dataset: Dataset,
    parts: Vec<Part>,
}

/// Rows of one fragment.
#[derive(Debug)]
struct Part {
    /// The fragment's place among those of the dataset.
    fragment: usize,
    /// The number of the first row that is not deleted, within the dataset.
    first_row: u64,
    positions: Vec<u64>,
}

impl TakePlan {
    fn new(dataset: &Dataset, wanted: &[u64]) -> Result<Self> {
        let mut parts = Vec::new();
        let mut rest = wanted;
        let mut first_row = 0;
        for (at, fragment) in dataset.fragments().iter().enumerate() {
            if rest.is_empty() {
                break;
            }
            let rows = dataset.count_fragment(fragment)?;
            let (here, behind) =
                rest.split_at(rest.partition_point(|&position| position < first_row + rows));
            if !here.is_empty() {
                parts.push(Part {
                    fragment: at,
                    first_row,
                    positions: here.to_vec(),
                });
            }
            rest = behind;
            first_row += rows;
        }
        match rest.last() {
            Some(&index) => Err(EngineError::RowOutOfRange {
                index,
                rows: first_row,
            }),
            None => Ok(Self {
                dataset: dataset.clone(),
                parts,
            }),
        }
    }

    /// What `read` makes of the rows of each fragment; of several fragments in parallel, unless the
    /// rows are so few that waking another thread would take longer.
    fn run<R: Send + 'static>(
        self,
        read: impl Fn(&FragmentReader, &RowRanges) -> Result<R> + Send + Sync + 'static,
    ) -> Result<Vec<R>> {
        let rows: usize = self.parts.iter().map(|part| part.positions.len()).sum();
        let total = self.parts.len();
        if total < 2 || rows < MIN_PARALLEL_ROWS {
            return (0..total).map(|part| self.read(part, &read)).collect();
        }
        let workers = self.dataset.store().read_parallelism();
        let mut tasks = Ordered::new(total, workers, move |part| self.read(part, &read));
        let mut results = Vec::with_capacity(total);
        loop {
            match tasks.next() {
                Next::Ready(result) => results.push(result?),
                Next::Done => return Ok(results),
                Next::Forked => return Err(EngineError::Forked),
            }
        }
    }

    fn read<R>(
        &self,
        part: usize,
        read: impl Fn(&FragmentReader, &RowRanges) -> Result<R>,
    ) -> Result<R> {
        let part = &self.parts[part];
        let fragment = &self.dataset.fragments()[part.fragment];
        let reader = self.dataset.open_fragment(fragment)?;
        let offsets = physical_rows(&reader, &part.positions, part.first_row)?;
        read(&reader, &RowRanges::from_sorted_indices(&offsets)?)
    }
}

/// Where live rows lie in the files: the n-th row that is not deleted.
fn physical_rows(reader: &FragmentReader, positions: &[u64], first_row: u64) -> Result<Vec<u64>> {
    let Some(deleted) = reader.deleted() else {
        return Ok(positions
            .iter()
            .map(|position| position - first_row)
            .collect());
    };
    let end = reader.physical_rows();
    positions
        .iter()
        .map(|position| {
            nth_live(deleted, position - first_row, end).ok_or_else(|| EngineError::RowOutOfRange {
                index: *position,
                rows: first_row + reader.live_rows(),
            })
        })
        .collect()
}

/// The smallest row with exactly `n` live rows before it that is live itself.
fn nth_live(deleted: &RoaringBitmap, n: u64, end: u64) -> Option<u64> {
    let deleted_up_to = |row: u64| u32::try_from(row).map_or(deleted.len(), |r| deleted.rank(r));
    let (mut low, mut high) = (n, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if middle + 1 - deleted_up_to(middle) > n {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (low < end).then_some(low)
}

/// For each position its place among the sorted ones; `None` if they are the same.
fn places(positions: &[u64], sorted: &[u64]) -> Option<UInt64Array> {
    let place = |position: &u64| {
        let place = sorted.partition_point(|p| p < position);
        u64::try_from(place).unwrap_or(u64::MAX)
    };
    (positions != sorted).then(|| positions.iter().map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_skip_deleted_rows() {
        let deleted = RoaringBitmap::from_iter([0, 1, 4, 9]);
        let live: Vec<u64> = (0..6).filter_map(|n| nth_live(&deleted, n, 10)).collect();
        assert_eq!(live, [2, 3, 5, 6, 7, 8]);
        assert_eq!(nth_live(&deleted, 6, 10), None);
    }
}
