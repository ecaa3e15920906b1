//! Which rows of a file to read.

use std::ops::Range;

use crate::{FileError, Result};

/// Rows of a file, as sorted, disjoint, non-empty ranges.
///
/// ```
/// use pennon_file::RowRanges;
///
/// let rows = RowRanges::from_sorted_indices(&[3, 4, 5, 9])?;
/// assert_eq!(rows.ranges(), [3..6, 9..10]);
/// assert_eq!(rows.len(), 4);
/// # Ok::<(), pennon_file::FileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowRanges {
    ranges: Vec<Range<u64>>,
    len: u64,
}

impl RowRanges {
    /// The rows of one range, which may be empty.
    pub fn from_range(range: Range<u64>) -> Self {
        if range.is_empty() {
            return Self::default();
        }
        Self {
            len: range.end - range.start,
            ranges: vec![range],
        }
    }

    /// The rows of several ranges. Neighbours that touch become one.
    ///
    /// # Errors
    /// `InvalidInput` when they are not sorted, overlap, or one ends before it starts.
    pub fn from_ranges(ranges: impl IntoIterator<Item = Range<u64>>) -> Result<Self> {
        let mut rows = Self::default();
        for range in ranges {
            if range.start > range.end {
                return Err(FileError::invalid_input(format!(
                    "row range {}..{} ends before it starts",
                    range.start, range.end
                )));
            }
            rows.push(range)?;
        }
        Ok(rows)
    }

    /// The rows at `indices`, which must be strictly ascending.
    ///
    /// # Errors
    /// `InvalidInput` when they are not.
    pub fn from_sorted_indices(indices: &[u64]) -> Result<Self> {
        let mut rows = Self::default();
        for &index in indices {
            let end = index
                .checked_add(1)
                .ok_or_else(|| FileError::invalid_input(format!("row {index} cannot exist")))?;
            rows.push(index..end)?;
        }
        Ok(rows)
    }

    /// The ranges: sorted, disjoint, non-empty.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// How many rows there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// One past the last row; 0 when there are none.
    pub(crate) fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.end)
    }

    fn push(&mut self, range: Range<u64>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.len += range.end - range.start;
        match self.ranges.last_mut() {
            Some(last) if range.start < last.end => Err(FileError::invalid_input(format!(
                "rows are not in ascending order: {} after {}",
                range.start,
                last.end - 1
            ))),
            Some(last) if range.start == last.end => {
                last.end = range.end;
                Ok(())
            }
            _ => {
                self.ranges.push(range);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_ranges_become_one_and_empty_ones_vanish() {
        let rows = RowRanges::from_ranges([0..2, 2..2, 2..5, 7..8]).unwrap();
        assert_eq!(rows.ranges(), [0..5, 7..8]);
        assert_eq!(rows.len(), 6);
        assert_eq!(rows.end(), 8);
    }

    #[test]
    fn disorder_is_refused() {
        assert!(RowRanges::from_ranges([3..5, 4..6]).is_err());
        #[expect(clippy::reversed_empty_ranges, reason = "the point of the test")]
        let backwards = [3..1, 4..5];
        assert!(RowRanges::from_ranges(backwards).is_err());
        assert!(RowRanges::from_sorted_indices(&[1, 1]).is_err());
        assert!(RowRanges::from_sorted_indices(&[u64::MAX]).is_err());
    }

    #[test]
    fn no_rows_are_fine() {
        assert!(RowRanges::from_range(4..4).is_empty());
        assert_eq!(RowRanges::from_sorted_indices(&[]).unwrap().len(), 0);
    }
}
