//! Where the chunks of a mini-block page are and what they hold, as running sums.

use std::ops::Range;

use crate::{FileError, Result};

/// The chunks of one page.
#[derive(Debug)]
pub(crate) struct ChunkTable {
    /// Where each chunk starts within the data buffer, and where the last one ends.
    offsets: Vec<u64>,
    /// How many values precede each chunk, and how many there are.
    values: Vec<u64>,
    /// Which rows are where, when rows are not values.
    rows: Option<RowTable>,
}

/// The rows of a page whose rows are lists.
#[derive(Debug)]
struct RowTable {
    /// The first row that starts in a chunk or later; the last entry is the number of rows.
    first_starts: Vec<u64>,
    /// How many rows end before each chunk, and how many there are.
    ends: Vec<u64>,
}

/// Some rows of one chunk.
///
/// Positions count values when rows are values. When rows are lists they count the runs of levels
/// that belong to one row: run 0 continues a row of the chunk before and may be empty, run i is
/// the i-th row that starts in the chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) chunk: usize,
    pub(crate) positions: Range<usize>,
}

impl ChunkTable {
    /// Reads the chunk words: one for each chunk of a page of `num_items` values in a data buffer
    /// of `data_bytes` bytes.
    pub(crate) fn parse(
        words: &[u8],
        large: bool,
        num_items: u64,
        data_bytes: u64,
    ) -> Result<Self> {
        let width = if large { 4 } else { 2 };
        if !words.len().is_multiple_of(width) {
            return Err(FileError::corrupt("the chunk table ends within a word"));
        }
        let count = words.len() / width;
        let mut table = Self {
            offsets: Vec::with_capacity(count + 1),
            values: Vec::with_capacity(count + 1),
            rows: None,
        };
        let (mut offset, mut value) = (0, 0);
        for (index, word) in words.chunks_exact(width).enumerate() {
            let word = word
                .iter()
                .rev()
                .fold(0, |word, &byte| (word << 8) | u64::from(byte));
            table.offsets.push(offset);
            table.values.push(value);
            offset += ((word >> 4) + 1) * 8;
            value += if index + 1 < count {
                full_chunk(word & 15)?
            } else {
                0
            };
        }
        table.offsets.push(offset);
        table.values.push(num_items);
        if value > num_items || offset > data_bytes || (count == 0 && num_items > 0) {
            return Err(FileError::corrupt(
                "the chunk table contradicts the page's sizes",
            ));
        }
        Ok(table)
    }

    /// Adds the repetition index of a page of `num_rows` rows: two numbers for each chunk.
    pub(crate) fn with_repetition_index(
        mut self,
        index: Option<&[u8]>,
        num_rows: u64,
    ) -> Result<Self> {
        let rows = match index {
            Some(index) => RowTable::parse(index, self.len(), num_rows)?,
            None if self.len() <= 1 => RowTable::single(self.len(), num_rows),
            None => {
                return Err(FileError::corrupt(
                    "a page of lists without a repetition index",
                ));
            }
        };
        self.rows = Some(rows);
        Ok(self)
    }

    /// How many chunks there are.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Bytes that the table takes in memory.
    pub(crate) fn memory(&self) -> usize {
        let rows = if self.rows.is_some() { 2 } else { 0 };
        self.offsets.len() * 8 * (2 + rows)
    }

    /// Where a chunk is within the data buffer.
    pub(crate) fn bytes(&self, chunk: usize) -> Range<u64> {
        self.offsets[chunk]..self.offsets[chunk + 1]
    }

    /// How many values a chunk holds.
    pub(crate) fn num_values(&self, chunk: usize) -> u64 {
        self.values[chunk + 1] - self.values[chunk]
    }

    /// How many rows start in a chunk of a page of lists.
    pub(crate) fn num_starts(&self, chunk: usize) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.num_starts(chunk))
    }

    /// Appends what to take of which chunks for some of the page's rows, which are in ascending
    /// order and exist.
    pub(crate) fn pick(&self, rows: Range<u64>, picks: &mut Vec<Pick>) -> Result<()> {
        match &self.rows {
            None => self.pick_values(rows, picks),
            Some(table) => table.pick(rows, picks),
        }
    }

    fn pick_values(&self, rows: Range<u64>, picks: &mut Vec<Pick>) -> Result<()> {
        let mut start = rows.start;
        let mut chunk = self
            .values
            .partition_point(|&value| value <= start)
            .saturating_sub(1);
        while start < rows.end && chunk < self.len() {
            let (first, end) = (self.values[chunk], self.values[chunk + 1].min(rows.end));
            picks.push(Pick {
                chunk,
                positions: to_usize(start - first)?..to_usize(end - first)?,
            });
            start = end;
            chunk += 1;
        }
        Ok(())
    }
}

impl RowTable {
    fn parse(index: &[u8], chunks: usize, num_rows: u64) -> Result<Self> {
        let (words, rest) = index.as_chunks::<8>();
        if !rest.is_empty() || words.len() != chunks * 2 {
            return Err(FileError::corrupt(
                "the repetition index is not one entry for each chunk",
            ));
        }
        let mut table = Self {
            first_starts: Vec::with_capacity(chunks + 1),
            ends: Vec::with_capacity(chunks + 1),
        };
        let (mut ends, mut continues) = (0_u64, false);
        let wrong = || FileError::corrupt("the repetition index contradicts the page's rows");
        for entry in words.chunks_exact(2) {
            table.push(ends, continues).ok_or_else(wrong)?;
            ends = ends
                .checked_add(u64::from_le_bytes(entry[0]))
                .ok_or_else(wrong)?;
            continues = u64::from_le_bytes(entry[1]) > 0;
        }
        table.push(ends, continues).ok_or_else(wrong)?;
        if ends != num_rows || continues {
            return Err(wrong());
        }
        Ok(table)
    }

    /// The table of a page that has a single chunk, or none at all.
    fn single(chunks: usize, num_rows: u64) -> Self {
        let sums: Vec<u64> = [0, num_rows].into_iter().take(chunks + 1).collect();
        Self {
            first_starts: sums.clone(),
            ends: sums,
        }
    }

    /// Adds the next chunk's entry, unless it goes backwards.
    fn push(&mut self, ends: u64, continues: bool) -> Option<()> {
        let first_start = ends.checked_add(u64::from(continues))?;
        if self
            .first_starts
            .last()
            .is_some_and(|&last| last > first_start)
        {
            return None;
        }
        self.first_starts.push(first_start);
        self.ends.push(ends);
        Some(())
    }

    fn num_starts(&self, chunk: usize) -> u64 {
        self.first_starts[chunk + 1] - self.first_starts[chunk]
    }

    fn pick(&self, rows: Range<u64>, picks: &mut Vec<Pick>) -> Result<()> {
        let chunks = self.ends.len() - 1;
        let starts = &self.first_starts[..chunks];
        let first = starts
            .partition_point(|&start| start <= rows.start)
            .saturating_sub(1);
        let end = self.ends.partition_point(|&end| end < rows.end).min(chunks);
        for chunk in first..end {
            let run = |row: u64| (row + 1).saturating_sub(self.first_starts[chunk]);
            let runs = run(rows.start)..run(rows.end).min(self.num_starts(chunk) + 1);
            if !runs.is_empty() {
                picks.push(Pick {
                    chunk,
                    positions: to_usize(runs.start)?..to_usize(runs.end)?,
                });
            }
        }
        Ok(())
    }
}

/// Values of a chunk that is not the last.
fn full_chunk(log: u64) -> Result<u64> {
    if log == 0 {
        return Err(FileError::corrupt(
            "a chunk of one value that is not the last",
        ));
    }
    Ok(1 << log)
}

fn to_usize(count: u64) -> Result<usize> {
    usize::try_from(count).map_err(|_| FileError::corrupt("a chunk of too many rows"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn index(entries: &[[u64; 2]]) -> Vec<u8> {
        entries
            .as_flattened()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }

    fn picks(table: &ChunkTable, rows: Range<u64>) -> Vec<(usize, Range<usize>)> {
        let mut picks = Vec::new();
        table.pick(rows, &mut picks).unwrap();
        picks
            .into_iter()
            .map(|pick| (pick.chunk, pick.positions))
            .collect()
    }

    #[test]
    fn rows_that_are_values() {
        let table = ChunkTable::parse(&words(&[0x32, 0x12, 0x20]), true, 11, 72).unwrap();
        assert_eq!(table.bytes(1), 32..48);
        assert_eq!(picks(&table, 0..11), [(0, 0..4), (1, 0..4), (2, 0..3)]);
        assert_eq!(picks(&table, 4..5), [(1, 0..1)]);
        assert_eq!(picks(&table, 10..11), [(2, 2..3)]);
    }

    #[test]
    fn rows_that_span_chunks() {
        let table = ChunkTable::parse(&words(&[0x32, 0x32, 0x32, 0x30]), true, 13, 128).unwrap();
        let index = index(&[[1, 2], [0, 4], [1, 0], [2, 0]]);
        let table = table.with_repetition_index(Some(&index), 4).unwrap();
        assert_eq!(picks(&table, 0..1), [(0, 1..2)]);
        assert_eq!(picks(&table, 1..2), [(0, 2..3), (1, 0..1), (2, 0..1)]);
        assert_eq!(picks(&table, 2..4), [(3, 1..3)]);
        let all: Vec<usize> = picks(&table, 0..4)
            .iter()
            .map(|(chunk, _)| *chunk)
            .collect();
        assert_eq!(all, [0, 1, 2, 3]);
    }

    #[test]
    fn contradictions_are_corrupt() {
        assert!(ChunkTable::parse(&words(&[0x30, 0x30]), true, 5, 64).is_err());
        assert!(ChunkTable::parse(&words(&[0x32, 0x30]), true, 3, 64).is_err());
        assert!(ChunkTable::parse(&words(&[0x32]), true, 3, 31).is_err());
        assert!(ChunkTable::parse(&[], true, 3, 31).is_err());
        assert!(ChunkTable::parse(&[1, 2, 3], true, 3, 31).is_err());
        let table = || ChunkTable::parse(&words(&[0x32, 0x30]), true, 5, 64).unwrap();
        let bad = [
            index(&[[1, 1], [1, 1]]),
            index(&[[1, 1], [0, 0]]),
            index(&[[u64::MAX, 1], [1, 0]]),
            index(&[[2, 0]]),
        ];
        for index in bad {
            assert!(table().with_repetition_index(Some(&index), 2).is_err());
        }
        assert!(table().with_repetition_index(None, 2).is_err());
    }
}
