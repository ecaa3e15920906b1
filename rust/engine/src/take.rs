//! Rows by their positions, in the order asked for.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use pennon_file::RowRanges;
use roaring::RoaringBitmap;

use crate::fragment::FragmentReader;
use crate::scan::select;
use crate::{Dataset, EngineError, Result};

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
        let mut wanted = positions.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mut batches = Vec::new();
        let mut rest = wanted.as_slice();
        let mut first_row = 0;
        for fragment in self.fragments() {
            if rest.is_empty() {
                break;
            }
            let rows = self.count_fragment(fragment)?;
            let here = rest.partition_point(|&position| position < first_row + rows);
            if here > 0 {
                let reader = self.open_fragment(fragment)?;
                let offsets = physical_rows(&reader, &rest[..here], first_row)?;
                let ranges = RowRanges::from_sorted_indices(&offsets)?;
                batches.push(reader.read(&reader.project(&schema)?, &ranges)?);
            }
            rest = &rest[here..];
            first_row += rows;
        }
        if let Some(&index) = rest.last() {
            return Err(EngineError::RowOutOfRange {
                index,
                rows: first_row,
            });
        }
        let found = match batches.as_slice() {
            [one] => one.clone(),
            many => concat_batches(&Arc::new(schema.to_arrow()?), many)?,
        };
        in_order(found, positions, &wanted)
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

/// Rearranges rows that were read in ascending order.
fn in_order(found: RecordBatch, positions: &[u64], sorted: &[u64]) -> Result<RecordBatch> {
    if positions == sorted {
        return Ok(found);
    }
    let places: UInt64Array = positions
        .iter()
        .map(|position| {
            let place = sorted.partition_point(|p| p < position);
            u64::try_from(place).unwrap_or(u64::MAX)
        })
        .collect();
    Ok(take_record_batch(&found, &places)?)
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
