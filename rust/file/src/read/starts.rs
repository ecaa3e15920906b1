//! Where the pages of a column begin.

use std::ops::Range;

use crate::{FileError, Result};

/// The first row of each page, and one past the last row.
#[derive(Debug)]
pub(crate) struct PageStarts(Vec<u64>);

impl PageStarts {
    /// Of pages with so many rows each.
    pub(crate) fn new(rows: impl IntoIterator<Item = u64>) -> Result<Self> {
        let mut starts = vec![0_u64];
        let mut row = 0_u64;
        for rows in rows {
            row = row
                .checked_add(rows)
                .ok_or_else(|| FileError::corrupt("a column of too many rows"))?;
            starts.push(row);
        }
        Ok(Self(starts))
    }

    /// How many rows the pages have together.
    pub(crate) fn num_rows(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// The first row of a page.
    pub(crate) fn start(&self, page: usize) -> u64 {
        self.0.get(page).copied().unwrap_or(u64::MAX)
    }

    /// The pages that hold some of `rows`, each with its own part of them, counted from its first
    /// row. Rows past the end are left out.
    pub(crate) fn split(&self, rows: &[Range<u64>]) -> Vec<(usize, Vec<Range<u64>>)> {
        let mut parts: Vec<(usize, Vec<Range<u64>>)> = Vec::new();
        for range in rows {
            let first = self.0.partition_point(|&start| start <= range.start);
            for number in first.saturating_sub(1)..self.0.len() - 1 {
                let (first, end) = (self.0[number], self.0[number + 1]);
                if first >= range.end {
                    break;
                }
                let part = range.start.max(first)..range.end.min(end);
                if part.is_empty() {
                    continue;
                }
                let part = part.start - first..part.end - first;
                match parts.last_mut() {
                    Some((last, ranges)) if *last == number => ranges.push(part),
                    _ => parts.push((number, vec![part])),
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_among_the_pages_that_hold_them() {
        let starts = PageStarts::new([3, 0, 4]).unwrap();
        assert_eq!(starts.num_rows(), 7);
        let parts = starts.split(&[1..2, 2..5, 6..9]);
        assert_eq!(parts, [(0, vec![1..2, 2..3]), (2, vec![0..2, 3..4])]);
        assert!(PageStarts::new([u64::MAX, 1]).is_err());
    }
}
