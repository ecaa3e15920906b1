//! Pages of wide values, each stored together with its levels.
//!
//! ```text
//! [control word] [length] [value]   for each level
//! ```

mod packed;
mod value;

use std::ops::Range;

use bytes::Bytes;

use self::value::ValueReader;
use super::builder::{ColumnBuilder, Scratch};
use super::shape::Shape;
use crate::container::metadata::PageMetadata;
use crate::layout::FullZip;
use crate::levels::{Levels, Nesting};
use crate::{FileError, Result};

/// A page, with its repetition index.
#[derive(Debug)]
pub(crate) struct FullZipPage {
    nesting: Nesting,
    control: ControlWord,
    values: ValueReader,
    /// Where each row starts, and where the last one ends, unless all entries have one size.
    row_offsets: Option<Vec<u64>>,
    /// Where in the file the rows are.
    data: Range<u64>,
}

/// The levels in front of a value.
#[derive(Debug, Clone, Copy)]
struct ControlWord {
    bits_rep: u32,
    bits_def: u32,
    bytes: usize,
}

/// What to take of a page for one read.
#[derive(Debug)]
pub(crate) struct FullZipPlan {
    /// How many rows each byte range holds.
    rows: Vec<u64>,
}

impl FullZipPage {
    /// The byte ranges that [`load`](Self::load) wants.
    pub(crate) fn needs(_layout: &FullZip, page: &PageMetadata) -> Result<Vec<Range<u64>>> {
        match page.buffers.as_slice() {
            [_] => Ok(Vec::new()),
            [_, index] => Ok(vec![index.clone()]),
            _ => Err(FileError::corrupt(
                "a full-zip page with other than one or two buffers",
            )),
        }
    }

    /// Prepares a page from the byte ranges that it [`needs`](Self::needs).
    pub(crate) fn load(
        layout: &FullZip,
        page: &PageMetadata,
        shape: &Shape,
        bytes: &[Bytes],
    ) -> Result<Self> {
        let data = page.buffers.first().cloned();
        let data = data.ok_or_else(|| FileError::corrupt("a full-zip page without buffers"))?;
        let nesting = Nesting::new(&layout.layers);
        let control = ControlWord::new(layout.bits_rep, layout.bits_def)?;
        let values = ValueReader::of(layout, shape)?;
        let data_bytes = data.end - data.start;
        let row_offsets = match bytes.first() {
            Some(index) => Some(row_offsets(index, page.rows, data_bytes)?),
            None => None,
        };
        let stride = values
            .fixed_bytes()
            .map(|bytes| to_u64(bytes + control.bytes));
        if row_offsets.is_none() {
            let fits = stride.and_then(|stride| stride.checked_mul(page.rows));
            if nesting.max_repetition > 0 || fits.is_none_or(|bytes| bytes > data_bytes) {
                return Err(FileError::corrupt("a full-zip page too short for its rows"));
            }
        }
        if (control.bits_rep > 0) != (nesting.max_repetition > 0)
            || (control.bits_def == 0 && nesting.max_definition > 0)
        {
            return Err(FileError::corrupt(
                "a page whose levels do not match its layers",
            ));
        }
        Ok(Self {
            nesting,
            control,
            values,
            row_offsets,
            data,
        })
    }

    /// Whether a column with these layers, lists or not from the outside in, can have the page.
    pub(crate) fn fits(&self, layers: &[bool]) -> bool {
        self.nesting.fits(layers)
    }

    /// Bytes that the page takes in memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.row_offsets
            .as_ref()
            .map_or(0, |offsets| offsets.len() * 8)
    }

    /// What to take for some rows of the page; the byte ranges to read are appended to `reads`.
    pub(crate) fn plan(
        &self,
        rows: Vec<Range<u64>>,
        reads: &mut Vec<Range<u64>>,
    ) -> Result<FullZipPlan> {
        for range in &rows {
            let (start, end) = (self.offset_of(range.start)?, self.offset_of(range.end)?);
            reads.push(self.data.start + start..self.data.start + end);
        }
        Ok(FullZipPlan {
            rows: rows.iter().map(|range| range.end - range.start).collect(),
        })
    }

    /// Appends the rows of a plan, given the bytes that it asked for.
    pub(crate) fn decode(
        &self,
        plan: &FullZipPlan,
        bytes: &[Bytes],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<()> {
        scratch.repetition.clear();
        scratch.definition.clear();
        let mut entries = 0;
        for (bytes, &rows) in bytes.iter().zip(&plan.rows) {
            let rows = usize::try_from(rows).map_err(|_| FileError::corrupt("too many rows"))?;
            entries += match self.values.fixed_bytes() {
                Some(width) if self.control.bytes == 0 => {
                    self.values.push_many(bytes, width, rows, &mut out.values)?;
                    rows
                }
                _ => self.decode_entries(bytes, out, scratch)?,
            };
        }
        let levels = Levels {
            repetition: &scratch.repetition,
            definition: &scratch.definition,
            entries,
        };
        out.push_levels(&self.nesting, levels)
    }

    /// Takes entries apart until the bytes end, and returns how many there were.
    fn decode_entries(
        &self,
        bytes: &[u8],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let mut rest = bytes;
        let mut entries = 0;
        while !rest.is_empty() {
            let (repetition, definition) = self.control.read(&mut rest)?;
            if self.control.bits_rep > 0 {
                scratch.repetition.push(repetition);
            }
            if self.control.bits_def > 0 {
                scratch.definition.push(definition);
            }
            if definition <= self.nesting.max_visible {
                let is_null = definition > 0;
                self.values
                    .push_next(&mut rest, is_null, &mut out.values, &mut scratch.plain)?;
            }
            entries += 1;
        }
        Ok(entries)
    }

    /// Where a row starts within the data; one past the last row is where the data ends.
    fn offset_of(&self, row: u64) -> Result<u64> {
        let offset = match (&self.row_offsets, self.values.fixed_bytes()) {
            (Some(offsets), _) => usize::try_from(row)
                .ok()
                .and_then(|row| offsets.get(row))
                .copied(),
            (None, Some(bytes)) => row.checked_mul(to_u64(bytes + self.control.bytes)),
            (None, None) => None,
        };
        offset.ok_or_else(|| FileError::corrupt("rows that the page does not have"))
    }
}

impl ControlWord {
    fn new(bits_rep: u32, bits_def: u32) -> Result<Self> {
        let bytes = match (bits_rep, bits_def) {
            (0, 0) => 0,
            (0..=16, 0..=16) if bits_rep + bits_def <= 8 => 1,
            (0..=16, 0..=16) if bits_rep + bits_def <= 16 => 2,
            (0..=16, 0..=16) => 4,
            _ => return Err(FileError::corrupt("levels of more than 16 bits")),
        };
        Ok(Self {
            bits_rep,
            bits_def,
            bytes,
        })
    }

    /// Takes the levels off the front of `bytes`.
    fn read(self, bytes: &mut &[u8]) -> Result<(u16, u16)> {
        let word = read_number(bytes, self.bytes)?;
        let low = |word: u64, bits: u32| u16::try_from(word & ((1 << bits) - 1)).unwrap_or(0);
        Ok((
            low(word >> self.bits_def, self.bits_rep),
            low(word, self.bits_def),
        ))
    }
}

/// Takes a little-endian number of `width` bytes, at most 8, off the front of `bytes`.
fn read_number(bytes: &mut &[u8], width: usize) -> Result<u64> {
    let number = read_bytes(bytes, width)?;
    Ok(number
        .iter()
        .rev()
        .fold(0, |number, &byte| (number << 8) | u64::from(byte)))
}

/// Takes `count` bytes off the front of `bytes`.
fn read_bytes<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = bytes
        .split_at_checked(count)
        .ok_or_else(|| FileError::corrupt("a row ends within a value"))?;
    *bytes = rest;
    Ok(taken)
}

/// Reads a repetition index, whose numbers are as wide as its size makes them.
fn row_offsets(index: &[u8], rows: u64, data_bytes: u64) -> Result<Vec<u64>> {
    let wrong = || FileError::corrupt("the repetition index contradicts the page's rows");
    let count = rows
        .checked_add(1)
        .and_then(|count| usize::try_from(count).ok());
    let count = count
        .filter(|&count| count <= index.len())
        .ok_or_else(wrong)?;
    let width = index.len() / count;
    if !matches!(width, 1 | 2 | 4 | 8) || !index.len().is_multiple_of(count) {
        return Err(wrong());
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &b| (n << 8) | u64::from(b));
    let offsets: Vec<u64> = match width {
        4 => index
            .as_chunks()
            .0
            .iter()
            .map(|&o| u64::from(u32::from_le_bytes(o)))
            .collect(),
        8 => index
            .as_chunks()
            .0
            .iter()
            .map(|&offset| u64::from_le_bytes(offset))
            .collect(),
        _ => index.chunks_exact(width).map(number).collect(),
    };
    if !offsets.is_sorted() || offsets.last().is_none_or(|&end| end > data_bytes) {
        return Err(wrong());
    }
    Ok(offsets)
}

fn to_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
