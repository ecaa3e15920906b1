//! Ends of lists and of byte strings, which say by their size which of them are null.
//!
//! ```text
//! stored[i] = what rows 0..=i of the page own together, plus the adjustment when row i is null
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::encoding::ArrayEncoding;
use super::page::Page;
use super::stream::{Rounds, Run, Stream, Supply};
use crate::{FileError, Result};

/// Bits of an end.
const END_BITS: u64 = 64;

/// The ends of some rows of a page, yet to be read.
#[derive(Debug)]
pub(super) struct EndsReader {
    stream: Stream,
    rows: Vec<Range<u64>>,
    adjustment: u64,
}

/// The ends of consecutive rows.
#[derive(Debug, PartialEq)]
pub(super) struct Ends {
    /// Where the first row begins.
    pub(super) start: u64,
    /// Where each row ends; never less than where it begins.
    pub(super) ends: Vec<u64>,
    /// Which rows are null; empty when none is.
    nulls: Vec<bool>,
}

impl EndsReader {
    /// The ends of `rows`, whose nulls were adjusted by `adjustment`.
    pub(super) fn new(
        page: &Arc<Page>,
        encoding: &ArrayEncoding,
        adjustment: u64,
        rows: Vec<Range<u64>>,
    ) -> Result<Self> {
        let with_start = |row: &Range<u64>| row.start.saturating_sub(1)..row.end;
        let values = rows.iter().map(with_start).collect();
        Ok(Self {
            stream: Stream::new(page, encoding, END_BITS)?.taking(values)?,
            rows,
            adjustment,
        })
    }

    /// The ends, one item for each range of rows.
    pub(super) fn decode(&self, bytes: &mut Supply) -> Result<Vec<Ends>> {
        let mut all = Vec::with_capacity(self.rows.len());
        let mut rows = self.rows.iter();
        self.stream.decode(bytes, |run| {
            let has_start = rows.next().is_some_and(|rows| rows.start > 0);
            all.push(Ends::new(run, has_start, self.adjustment)?);
            Ok(())
        })?;
        Ok(all)
    }
}

impl Rounds for EndsReader {
    fn is_ready(&self) -> bool {
        self.stream.is_ready()
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        self.stream.round_needs(out);
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        self.stream.supply(bytes)
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        self.stream.needs(out);
    }
}

impl Ends {
    fn new(run: Run<'_>, has_start: bool, adjustment: u64) -> Result<Self> {
        let (words, _) = run.bytes.as_chunks::<8>();
        let mut stored = words.iter().map(|word| u64::from_le_bytes(*word));
        let plain = |end: u64| end.checked_sub(adjustment).unwrap_or(end);
        let start = match has_start {
            true => stored.next().map_or(0, plain),
            false => 0,
        };
        let mut nulls = Vec::new();
        let mut last = start;
        let mut ends = Vec::with_capacity(stored.len());
        for end in stored {
            if end >= adjustment {
                nulls.resize(ends.len(), false);
                nulls.push(true);
            }
            let end = plain(end);
            if end < last {
                return Err(FileError::corrupt("a row that ends before it begins"));
            }
            ends.push(end);
            last = end;
        }
        if !nulls.is_empty() {
            nulls.resize(ends.len(), false);
        }
        Ok(Self { start, ends, nulls })
    }

    /// Where the last row ends.
    pub(super) fn end(&self) -> u64 {
        self.ends.last().copied().unwrap_or(self.start)
    }

    /// Whether any row is null.
    pub(super) fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Where each row is, and whether it is null.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Range<u64>, bool)> {
        let starts = [self.start].into_iter().chain(self.ends.iter().copied());
        let nulls = self.nulls.iter().copied().chain(std::iter::repeat(false));
        let spans = starts.zip(&self.ends).map(|(start, &end)| start..end);
        spans.zip(nulls)
    }

    /// Which rows are null; empty when none is.
    pub(super) fn nulls(&self) -> &[bool] {
        &self.nulls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(stored: &[u64], has_start: bool, adjustment: u64) -> Result<Ends> {
        let bytes: Vec<u8> = stored.iter().flat_map(|end| end.to_le_bytes()).collect();
        let count = stored.len();
        let run = Run {
            bytes: &bytes,
            skip: 0,
            count,
        };
        Ends::new(run, has_start, adjustment)
    }

    #[test]
    fn a_null_may_own_something_as_in_the_specification() {
        let list = ends(&[0x02, 0x0d, 0x05, 0x07], false, 8).unwrap();
        let rows: Vec<_> = list.rows().collect();
        assert_eq!(
            rows,
            [(0..2, false), (2..5, true), (5..5, false), (5..7, false)]
        );
        let tail = ends(&[0x0d, 0x05, 0x07], true, 8).unwrap();
        assert_eq!((tail.start, tail.ends), (5, vec![5, 7]));
    }

    #[test]
    fn rows_that_end_before_they_begin_are_corrupt() {
        assert!(ends(&[3, 2], false, 9).is_err());
        assert!(ends(&[3, 2], true, 9).is_err());
        assert!(ends(&[3, 12, 2], false, 9).is_err());
        assert!(!ends(&[3, 3], false, 9).unwrap().has_nulls());
    }

    #[test]
    fn without_an_adjustment_everything_is_null() {
        assert_eq!(ends(&[0, 1], false, 0).unwrap().nulls(), [true, true]);
    }
}
