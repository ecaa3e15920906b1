//! One column of a batch in the making.

use std::sync::Arc;

use super::projection::Leaf;
use super::values::Values;
use crate::levels::{LayerValues, Levels, Nesting};
use crate::{FileError, Result};

/// The most room that is made before any value has been seen.
const MAX_CAPACITY: u64 = 1 << 20;

/// What the pages of a column have contributed to a batch so far.
#[derive(Debug)]
pub(crate) struct ColumnBuilder {
    pub(crate) leaf: Arc<Leaf>,
    /// From the outside in; the leaf's own layer is the last.
    pub(crate) layers: Vec<LayerValues>,
    pub(crate) values: Values,
}

/// Memory that decoding a column uses over and over.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) repetition: Vec<u16>,
    pub(crate) definition: Vec<u16>,
    /// What a general compressor made.
    pub(crate) plain: Vec<u8>,
    /// Indices into a dictionary.
    pub(crate) indices: Vec<u32>,
}

impl ColumnBuilder {
    /// A column for about `rows` rows.
    pub(crate) fn new(leaf: &Arc<Leaf>, rows: u64) -> Self {
        let capacity = usize::try_from(rows.min(MAX_CAPACITY)).unwrap_or(0);
        Self {
            leaf: Arc::clone(leaf),
            layers: leaf.layers.iter().map(|_| LayerValues::default()).collect(),
            values: Values::new(&leaf.shape, capacity),
        }
    }

    /// A column of the same values without nesting.
    pub(crate) fn flat(leaf: &Arc<Leaf>) -> Self {
        Self {
            leaf: Arc::clone(leaf),
            layers: vec![LayerValues::default()],
            values: Values::new(&leaf.shape, 0),
        }
    }

    /// How many rows there are: slots of the outermost layer.
    pub(crate) fn num_rows(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.validity.len())
    }

    /// Appends the levels of some rows, after their values.
    pub(crate) fn push_levels(&mut self, nesting: &Nesting, levels: Levels<'_>) -> Result<()> {
        nesting.unravel(levels, &mut self.layers)?;
        let slots = self.layers.last().map_or(0, |layer| layer.validity.len());
        if slots != self.values.len() {
            return Err(FileError::corrupt(format!(
                "levels for {slots} values, but there are {}",
                self.values.len()
            )));
        }
        Ok(())
    }
}
