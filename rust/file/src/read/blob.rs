//! Pages of descriptions of large objects (2.1): where each one is, or which level ended it.

use std::ops::Range;

use bytes::Bytes;

use super::builder::{ColumnBuilder, Scratch};
use super::column::{PagePlan, PageReader};
use super::values::Values;
use crate::layout::Layer;
use crate::levels::{Levels, Nesting};
use crate::{FileError, Result};

/// A page, with the page of its descriptions prepared.
#[derive(Debug)]
pub(crate) struct BlobPage {
    inner: Box<PageReader>,
    nesting: Nesting,
}

impl BlobPage {
    pub(crate) fn new(inner: PageReader, layers: &[Layer]) -> Result<Self> {
        let nesting = Nesting::new(layers);
        if nesting.max_repetition > 0 {
            return Err(FileError::unsupported("reading large objects in lists"));
        }
        Ok(Self {
            inner: Box::new(inner),
            nesting,
        })
    }

    /// Whether a column with these layers, lists or not from the outside in, can have the page.
    pub(crate) fn fits(&self, layers: &[bool]) -> bool {
        self.nesting.fits(layers)
    }

    /// Bytes that the page takes in memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        self.inner.memory()
    }

    /// What to take for some rows of the page; the byte ranges to read are appended to `reads`.
    pub(crate) fn plan(
        &self,
        rows: Vec<Range<u64>>,
        reads: &mut Vec<Range<u64>>,
    ) -> Result<PagePlan> {
        self.inner.plan(rows, reads)
    }

    /// Appends the rows of a plan, given the bytes that it asked for.
    pub(crate) fn decode(
        &self,
        plan: &PagePlan,
        bytes: &[Bytes],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let mut inner = ColumnBuilder::flat(&out.leaf);
        self.inner.decode(plan, bytes, &mut inner, scratch)?;
        let wrong = || FileError::corrupt("a large object that is not described as it should be");
        let Values::Packed(len, parts) = inner.values else {
            return Err(wrong());
        };
        let (Values::Packed(out_len, out_parts), [Values::Fixed(positions), Values::Fixed(sizes)]) =
            (&mut out.values, parts.as_slice())
        else {
            return Err(wrong());
        };
        let [Values::Fixed(out_positions), Values::Fixed(out_sizes)] = out_parts.as_mut_slice()
        else {
            return Err(wrong());
        };
        let mut definition = Vec::with_capacity(len);
        let positions = positions.as_bytes().as_chunks::<8>().0;
        for (position, size) in positions.iter().zip(sizes.as_bytes().as_chunks::<8>().0) {
            let place = u64::from_le_bytes(*position);
            let is_value = *size != [0; 8] || place == 0;
            let level = if is_value { 0 } else { place >> 16 };
            definition.push(u16::try_from(level).map_err(|_| wrong())?);
            out_positions.push_bytes(if is_value { position } else { &[0; 8] })?;
            out_sizes.push_bytes(size)?;
        }
        *out_len += len;
        let levels = Levels {
            repetition: &[],
            definition: &definition,
            entries: len,
        };
        out.push_levels(&self.nesting, levels)
    }
}
