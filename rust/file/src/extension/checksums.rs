//! Checksums of everything in a file, so that damage is noticed before it becomes a value.
//!
//! ```text
//! [stretch: u32] [columns: u32] [covered: u64]
//! [CRC-32C of the schema: u32] [CRC-32C of the offset tables and the footer: u32]
//! [CRC-32C of the metadata: u32]     for each column
//! [CRC-32C: u32]                     for each stretch of the first `covered` bytes of the file
//! ```
//!
//! Stretches are short and start at multiples of their length, wherever pages do. So a read of a few
//! values verifies a few KiB, and a scan verifies each byte once.

use std::ops::Range;

use bytes::Bytes;

use super::{u32_at, u64_at};
use crate::{FileError, Result};

/// Bytes of a stretch as we write it.
const STRETCH: usize = 4096;
/// Bytes before the checksums of the columns.
const HEADER_BYTES: usize = 24;

/// Checksums of the bytes that pass by.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    done: Vec<u32>,
    current: u32,
    filled: usize,
}

impl Recorder {
    /// Takes note of the next bytes of the file.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(STRETCH - self.filled));
            self.current = crc32c::crc32c_append(self.current, part);
            self.filled += part.len();
            if self.filled == STRETCH {
                self.done.push(std::mem::take(&mut self.current));
                self.filled = 0;
            }
            bytes = rest;
        }
    }

    /// The size of the section for a file of so many columns.
    pub(crate) fn section_size(&self, columns: usize) -> usize {
        HEADER_BYTES + 4 * (columns + self.done.len() + usize::from(self.filled > 0))
    }

    /// The section, given what follows in the file.
    pub(crate) fn section(mut self, schema: &[u8], columns: &[Vec<u8>], end: &[u8]) -> Vec<u8> {
        let covered = (self.done.len() * STRETCH + self.filled) as u64;
        if self.filled > 0 {
            self.done.push(self.current);
        }
        let mut section = u32::try_from(STRETCH).unwrap_or(0).to_le_bytes().to_vec();
        section.extend_from_slice(&u32::try_from(columns.len()).unwrap_or(0).to_le_bytes());
        section.extend_from_slice(&covered.to_le_bytes());
        let columns = columns.iter().map(|column| crc32c::crc32c(column));
        let crcs = [crc32c::crc32c(schema), crc32c::crc32c(end)].into_iter();
        let crcs = crcs.chain(columns).chain(self.done);
        section.extend(crcs.flat_map(u32::to_le_bytes));
        section
    }
}

/// The checksums of a file, to verify what is read of it.
#[derive(Debug)]
pub(crate) struct Checksums {
    stretch: u64,
    columns: usize,
    /// How many bytes from the start of the file have checksums.
    covered: u64,
    section: Bytes,
}

impl Checksums {
    /// The checksums in a section.
    pub(crate) fn parse(section: Bytes) -> Result<Self> {
        let fields = || {
            let stretch = u64::from(u32_at(&section, 0)?);
            let columns = usize::try_from(u32_at(&section, 4)?).ok()?;
            let covered = u64_at(&section, 8)?;
            let stretches = usize::try_from(
                covered
                    .checked_add(stretch)?
                    .checked_sub(1)?
                    .checked_div(stretch)?,
            )
            .ok()?;
            let size = columns
                .checked_add(stretches)?
                .checked_mul(4)?
                .checked_add(HEADER_BYTES)?;
            (size == section.len() && stretch.is_power_of_two())
                .then_some((stretch, columns, covered))
        };
        let (stretch, columns, covered) =
            fields().ok_or_else(|| FileError::corrupt("the file's checksums are damaged"))?;
        Ok(Self {
            stretch,
            columns,
            covered,
            section,
        })
    }

    /// Verifies the bytes of the schema.
    pub(crate) fn verify_schema(&self, bytes: &[u8]) -> Result<()> {
        verify(self.crc(16), bytes, "the schema")
    }

    /// Verifies the offset tables and the footer.
    pub(crate) fn verify_end(&self, bytes: &[u8]) -> Result<()> {
        verify(self.crc(20), bytes, "the offset tables")
    }

    /// Verifies the metadata of a column.
    pub(crate) fn verify_column(&self, column: usize, bytes: &[u8]) -> Result<()> {
        let crc = if column < self.columns {
            self.crc(HEADER_BYTES + 4 * column)
        } else {
            None
        };
        verify(crc, bytes, "the column's metadata")
    }

    /// The range to read instead of `range`, so that whole stretches can be verified.
    pub(crate) fn widened(&self, range: &Range<u64>) -> Range<u64> {
        if range.is_empty() || range.end > self.covered {
            return range.clone();
        }
        let start = range.start - range.start % self.stretch;
        start..range.end.next_multiple_of(self.stretch).min(self.covered)
    }

    /// Verifies the bytes of the [widened](Self::widened) range and returns those of `range`.
    pub(crate) fn verified(&self, range: &Range<u64>, bytes: &Bytes) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(bytes.clone());
        }
        let too_long = || FileError::corrupt("a page reaches beyond what the checksums cover");
        if range.end > self.covered {
            return Err(too_long());
        }
        let wide = self.widened(range);
        let stretch = usize::try_from(self.stretch).map_err(|_| too_long())?;
        let first = usize::try_from(wide.start / self.stretch).map_err(|_| too_long())?;
        for (number, part) in (first..).zip(bytes.chunks(stretch)) {
            if self.crc(HEADER_BYTES + 4 * (self.columns + number)) != Some(crc32c::crc32c(part)) {
                let at = number as u64 * self.stretch;
                return Err(damaged(&format!(
                    "bytes {at} to {}",
                    at + part.len() as u64
                )));
            }
        }
        let skip = usize::try_from(range.start - wide.start).map_err(|_| too_long())?;
        let len = usize::try_from(range.end - range.start).map_err(|_| too_long())?;
        Ok(bytes.slice(skip..skip + len))
    }

    fn crc(&self, at: usize) -> Option<u32> {
        u32_at(&self.section, at)
    }
}

fn verify(crc: Option<u32>, bytes: &[u8], what: &str) -> Result<()> {
    if crc == Some(crc32c::crc32c(bytes)) {
        Ok(())
    } else {
        Err(damaged(what))
    }
}

fn damaged(what: &str) -> FileError {
    FileError::corrupt(format!(
        "{what} changed since the file was written (checksums differ): restore the file from a copy"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(data: &[u8]) -> Checksums {
        let mut recorder = Recorder::default();
        data.chunks(1000).for_each(|part| recorder.push(part));
        let size = recorder.section_size(2);
        let section = recorder.section(b"schema", &[b"one".to_vec(), b"two".to_vec()], b"end");
        assert_eq!(section.len(), size);
        Checksums::parse(section.into()).unwrap()
    }

    #[test]
    fn any_part_can_be_verified_and_damage_is_found_where_it_is() {
        let data: Vec<u8> = (0..10_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        let checksums = recorded(&data);
        let read = |data: &[u8], range: Range<u64>| {
            let wide = checksums.widened(&range);
            let end = data.len().min(usize::try_from(wide.end).unwrap());
            let start = usize::try_from(wide.start).unwrap();
            let bytes = data[start..end].to_vec().into();
            checksums.verified(&range, &bytes)
        };
        assert_eq!(checksums.widened(&(4097..4098)), 4096..8192);
        assert_eq!(checksums.widened(&(9000..9001)), 8192..10_000);
        assert_eq!(read(&data, 4000..4200).unwrap(), data[4000..4200]);
        let mut damaged = data.clone();
        damaged[4100] ^= 0x10;
        let error = read(&damaged, 8000..8001).unwrap_err();
        assert!(error.to_string().contains("bytes 4096 to 8192"), "{error}");
        assert!(read(&damaged, 9000..9900).is_ok());
        assert!(read(&data, 9000..10_001).is_err());
    }

    #[test]
    fn schema_metadata_and_end_are_verified() {
        let checksums = recorded(b"data");
        checksums.verify_schema(b"schema").unwrap();
        checksums.verify_end(b"end").unwrap();
        checksums.verify_column(1, b"two").unwrap();
        assert!(checksums.verify_column(0, b"two").is_err());
        assert!(checksums.verify_column(2, b"two").is_err());
        assert!(checksums.verify_end(b"END").is_err());
    }

    #[test]
    fn a_section_of_another_size_is_damaged() {
        for section in [vec![], vec![0; 24], vec![1; 100]] {
            assert!(Checksums::parse(section.into()).is_err());
        }
    }
}
