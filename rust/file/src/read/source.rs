//! The bytes of an open file: its end in memory, the rest read when it is asked for, and all of it
//! verified where the file has checksums.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use pennon_io::ReadAt;

use crate::container::footer::FOOTER_BYTES;
use crate::extension::checksums::Checksums;
use crate::extension::{self, SectionKind};
use crate::{FileError, Result};

/// How much of the end of a file is read when it is opened.
const TAIL_BYTES: u64 = 64 << 10;
/// How much is read at once of what may be an extension block: nearly always all of it.
const BLOCK_BYTES: u64 = 1 << 20;

/// Where a file's bytes come from.
#[derive(Debug)]
pub(super) struct Source {
    reader: Arc<dyn ReadAt>,
    /// Bytes of the file.
    pub(super) size: u64,
    /// Where the end of the file that is in memory starts, and its bytes.
    tail: (u64, Bytes),
    checksums: Option<Checksums>,
}

impl Source {
    /// Reads the end of a file.
    pub(super) fn open(reader: Arc<dyn ReadAt>) -> Result<Self> {
        let size = reader.len()?;
        let start = size.saturating_sub(TAIL_BYTES);
        let tail = (start, reader.read(start..size)?);
        Ok(Self {
            reader,
            size,
            tail,
            checksums: None,
        })
    }

    /// The end of the file as far as it is in memory.
    pub(super) fn tail(&self) -> &[u8] {
        &self.tail.1
    }

    /// The file's path or URL.
    pub(super) fn location(&self) -> &str {
        self.reader.location()
    }

    /// Looks for checksums in the last of the global buffers, verifies what was read without them
    /// so far, the schema and everything from `end` on, and uses them from now on.
    pub(super) fn find_checksums(&mut self, buffers: &[Range<u64>], end: u64) -> Result<()> {
        let [schema, .., block] = buffers else {
            return Ok(());
        };
        let first = block.start..block.end.min(block.start + BLOCK_BYTES);
        let mut bytes = self.metadata(first.clone())?;
        if !bytes.starts_with(extension::MAGIC) {
            return Ok(());
        }
        if first.end < block.end {
            bytes = self.metadata(block.clone())?;
        }
        let Some(section) = extension::section(&bytes, SectionKind::Checksums)? else {
            return Ok(());
        };
        let checksums = Checksums::parse(bytes.slice(section))?;
        checksums.verify_schema(&self.metadata(schema.clone())?)?;
        checksums.verify_end(&self.metadata(end..self.size)?)?;
        self.checksums = Some(checksums);
        Ok(())
    }

    /// Bytes that are not verified here.
    pub(super) fn metadata(&self, range: Range<u64>) -> Result<Bytes> {
        match self.in_tail(&range) {
            Some(bytes) => Ok(bytes),
            None => Ok(self.reader.read(range)?),
        }
    }

    /// The metadata of columns, which stand at the given ranges.
    pub(super) fn column_metadata(&self, columns: &[(usize, Range<u64>)]) -> Result<Vec<Bytes>> {
        let remote = columns.iter().map(|(_, range)| range);
        let remote: Vec<Range<u64>> = remote
            .filter(|range| range.start < self.tail.0)
            .cloned()
            .collect();
        let mut fetched = self.reader.read_ranges(&remote)?.into_iter();
        let mut found = Vec::with_capacity(columns.len());
        for (column, range) in columns {
            let bytes = match self.in_tail(range) {
                Some(bytes) => bytes,
                None => fetched
                    .next()
                    .ok_or_else(|| FileError::corrupt("too few bytes were read"))?,
            };
            if let Some(checksums) = &self.checksums {
                checksums.verify_column(*column, &bytes)?;
            }
            found.push(bytes);
        }
        Ok(found)
    }

    /// Parts of pages or of global buffers, verified.
    pub(super) fn pages(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let Some(checksums) = &self.checksums else {
            return Ok(self.reader.read_ranges(ranges)?);
        };
        let wide: Vec<_> = ranges
            .iter()
            .map(|range| checksums.widened(range))
            .collect();
        let bytes = self.reader.read_ranges(&wide)?;
        let pairs = ranges.iter().zip(&bytes);
        pairs
            .map(|(range, bytes)| checksums.verified(range, bytes))
            .collect()
    }

    /// A range of the end of the file that is in memory, if it lies there.
    fn in_tail(&self, range: &Range<u64>) -> Option<Bytes> {
        let (start, bytes) = &self.tail;
        let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(*start)?).ok()?;
        (from <= to && to <= bytes.len()).then(|| bytes.slice(from..to))
    }

    /// Where the metadata of a file ends.
    pub(super) fn end_of_metadata(&self) -> u64 {
        self.size - FOOTER_BYTES
    }
}
