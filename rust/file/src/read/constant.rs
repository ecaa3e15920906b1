//! Pages of one value, or of nulls only.

use std::ops::Range;

use bytes::Bytes;

use super::block;
use super::builder::ColumnBuilder;
use super::shape::Shape;
use super::validity::Bitmap;
use super::values::{Fixed, Values, Variable};
use crate::container::metadata::PageMetadata;
use crate::encoding::Encoding;
use crate::layout::{Constant, Layer};
use crate::levels::{Levels, Nesting};
use crate::{FileError, Result};

/// How many levels one byte may stand for, before a count is taken for damage.
const MAX_LEVELS_PER_BYTE: u64 = 1 << 16;

/// A page, with its levels decoded.
#[derive(Debug)]
pub(crate) struct ConstantPage {
    nesting: Nesting,
    /// The value; nulls only without it.
    value: Option<Values>,
    repetition: Vec<u16>,
    definition: Vec<u16>,
    /// The first entry of each row and the number of entries, when rows are lists.
    row_starts: Vec<usize>,
    /// Whether every entry is null although there are no levels to say so.
    is_null: bool,
}

impl ConstantPage {
    /// The byte ranges that [`load`](Self::load) wants.
    pub(crate) fn needs(page: &PageMetadata) -> Vec<Range<u64>> {
        page.buffers.clone()
    }

    /// Prepares a page from the byte ranges that it [`needs`](Self::needs).
    pub(crate) fn load(
        layout: &Constant,
        page: &PageMetadata,
        shape: &Shape,
        bytes: &[Bytes],
    ) -> Result<Self> {
        let (value, levels) = match bytes {
            [] => (None, None),
            [value] => (Some(value), None),
            [repetition, definition] => (None, Some((repetition, definition))),
            [value, repetition, definition] => (Some(value), Some((repetition, definition))),
            _ => return Err(FileError::corrupt("a constant page of too many buffers")),
        };
        let value = match (&layout.inline_value, value) {
            (Some(inline), None) => Some(inline_value(inline, shape)?),
            (None, Some(buffer)) => Some(buffer_value(buffer, shape)?),
            (None, None) => None,
            (Some(_), Some(_)) => return Err(FileError::corrupt("a constant page of two values")),
        };
        let (mut repetition, mut definition) = (Vec::new(), Vec::new());
        if let Some((repetition_bytes, definition_bytes)) = levels {
            decode(
                layout.repetition.as_ref(),
                repetition_bytes,
                &mut repetition,
            )?;
            decode(
                layout.definition.as_ref(),
                definition_bytes,
                &mut definition,
            )?;
        }
        let nesting = Nesting::new(&layout.layers);
        let is_unknown = value.is_none() && definition.is_empty() && *shape != Shape::Empty;
        let is_null = nesting.max_repetition == 0
            && is_unknown
            && layout.layers.first() == Some(&Layer::NullableItem);
        if is_unknown && !is_null && page.rows > 0 {
            return Err(FileError::corrupt(
                "a constant page without a value, and without nulls",
            ));
        }
        let row_starts = row_starts(&nesting, &repetition);
        let ready = Self {
            nesting,
            value,
            repetition,
            definition,
            row_starts,
            is_null,
        };
        ready.check(page.rows)?;
        Ok(ready)
    }

    /// Whether a column with these layers, lists or not from the outside in, can have the page.
    pub(crate) fn fits(&self, layers: &[bool]) -> bool {
        self.nesting.fits(layers)
    }

    /// Bytes that the page takes in memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        let levels = 2 * (self.repetition.len() + self.definition.len());
        levels + 8 * self.row_starts.len() + self.value.as_ref().map_or(0, Values::memory)
    }

    /// Appends some rows of the page.
    pub(crate) fn decode(&self, rows: &[Range<u64>], out: &mut ColumnBuilder) -> Result<()> {
        for range in rows {
            let entries = self.entries(range)?;
            let levels = Levels {
                repetition: self.repetition.get(entries.clone()).unwrap_or_default(),
                definition: self.definition.get(entries.clone()).unwrap_or_default(),
                entries: entries.len(),
            };
            let is_visible = |level: u16| level <= self.nesting.max_visible;
            let slots = match levels.definition {
                [] => entries.len(),
                definition => definition
                    .iter()
                    .filter(|&&level| is_visible(level))
                    .count(),
            };
            match &self.value {
                Some(value) => out.values.push_repeated(value, slots)?,
                None => out.values.push_filler(slots)?,
            }
            if self.is_null {
                push_nulls(out, slots);
            } else {
                out.push_levels(&self.nesting, levels)?;
            }
        }
        Ok(())
    }

    fn check(&self, rows: u64) -> Result<()> {
        let wrong = |what| Err(FileError::corrupt(format!("a constant page with {what}")));
        let (repetition, definition) = (self.repetition.len(), self.definition.len());
        if repetition > 0 && definition > 0 && repetition != definition {
            return wrong("more repetition than definition levels, or fewer");
        }
        let counted = if self.nesting.max_repetition > 0 {
            self.row_starts.len() - 1
        } else if definition > 0 {
            definition
        } else {
            return Ok(());
        };
        if u64::try_from(counted) != Ok(rows) {
            return wrong("levels that do not make as many rows as it has");
        }
        Ok(())
    }

    /// The entries of some rows.
    fn entries(&self, rows: &Range<u64>) -> Result<Range<usize>> {
        let wrong = |_| FileError::corrupt("a page of too many rows");
        let start = usize::try_from(rows.start).map_err(wrong)?;
        let end = usize::try_from(rows.end).map_err(wrong)?;
        if self.nesting.max_repetition == 0 {
            return Ok(start..end);
        }
        match (self.row_starts.get(start), self.row_starts.get(end)) {
            (Some(&start), Some(&end)) => Ok(start..end),
            _ => Err(FileError::corrupt("rows that the page does not have")),
        }
    }
}

/// Appends rows that are null at the leaf and nowhere else.
fn push_nulls(out: &mut ColumnBuilder, count: usize) {
    if let Some((leaf, outer)) = out.layers.split_last_mut() {
        leaf.validity.push_zeros(count);
        for layer in outer {
            layer.validity.push_ones(count);
        }
    }
}

/// Decodes a buffer of levels, which are plain unless an encoding is given.
fn decode(coding: Option<&(Encoding, u64)>, bytes: &[u8], out: &mut Vec<u16>) -> Result<()> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let (encoding, count) = match coding {
        Some((encoding, count)) => (encoding, *count),
        None => (&Encoding::Flat { bits: 16 }, size / 2),
    };
    if count / MAX_LEVELS_PER_BYTE > size.saturating_add(255) {
        return Err(FileError::corrupt("more levels than so few bytes can hold"));
    }
    let count = usize::try_from(count).map_err(|_| FileError::corrupt("too many levels"))?;
    block::decode_levels(encoding, bytes, count, out)
}

fn row_starts(nesting: &Nesting, repetition: &[u16]) -> Vec<usize> {
    if nesting.max_repetition == 0 {
        return Vec::new();
    }
    let levels = repetition.iter().enumerate();
    let starts = levels.filter(|&(_, &level)| level == nesting.max_repetition);
    starts
        .map(|(entry, _)| entry)
        .chain([repetition.len()])
        .collect()
}

fn inline_value(bytes: &[u8], shape: &Shape) -> Result<Values> {
    match (shape, bytes) {
        (Shape::Bits, [bit]) => {
            let mut bits = Bitmap::default();
            bits.push_word(u64::from(*bit != 0), 1);
            Ok(Values::Bits(bits))
        }
        (Shape::Fixed(width), _) if bytes.len() == *width => fixed_value(bytes),
        _ => Err(FileError::corrupt(
            "a constant value of another size than the column's",
        )),
    }
}

/// Reads `number of buffers, size of each, buffers`.
fn buffer_value(bytes: &[u8], shape: &Shape) -> Result<Values> {
    let wrong = || FileError::corrupt("a constant value that is not framed as it should be");
    let word = |at: usize| {
        let word = bytes.get(at * 4..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*word)).ok()
    };
    let buffer = |start: usize, size: usize| bytes.get(start..start.checked_add(size)?);
    let parts = match word(0) {
        Some(1) => word(1).and_then(|size| Some((buffer(8, size)?, None))),
        Some(2) => word(1).zip(word(2)).and_then(|(first, second)| {
            let first_end = first.checked_add(12)?;
            Some((buffer(12, first)?, Some(buffer(first_end, second)?)))
        }),
        _ => None,
    };
    match (shape, parts) {
        (Shape::Fixed(width), Some((value, None))) if value.len() == *width => fixed_value(value),
        (Shape::Variable { large }, Some((offsets, Some(data)))) => {
            let width = if *large { 8 } else { 4 };
            if offsets.len() != 2 * width {
                return Err(wrong());
            }
            let mut value = Variable::new(*large, 1);
            value.push(data)?;
            Ok(Values::Variable(value))
        }
        _ => Err(wrong()),
    }
}

fn fixed_value(bytes: &[u8]) -> Result<Values> {
    let mut value = Fixed::new(bytes.len(), 1);
    value.push_bytes(bytes)?;
    Ok(Values::Fixed(value))
}
