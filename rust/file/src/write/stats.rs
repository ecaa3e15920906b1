//! What the policy wants to know about integers: how many bits they take, and how often they
//! change.

use arrow_buffer::ArrowNativeType;
use pennon_codec::bitpack::{BLOCK, Lane, width_of};
use pennon_codec::rle;

use super::values::FixedValues;

/// One block of at most 1,024 values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// Bits of the widest value.
    pub(crate) bits: usize,
    /// Runs of equal values.
    pub(crate) runs: usize,
    /// Values.
    pub(crate) len: usize,
}

/// The blocks of a page of integers of `width` bytes.
#[derive(Debug, Clone)]
pub(crate) struct Stats {
    pub(crate) width: usize,
    pub(crate) blocks: Vec<Block>,
}

impl Stats {
    /// Looks at every value. `None` unless they are 1, 2, 4 or 8 bytes wide.
    pub(crate) fn of(values: &FixedValues) -> Option<Self> {
        let blocks = match values.width {
            1 => blocks::<u8>(values),
            2 => blocks::<u16>(values),
            4 => blocks::<u32>(values),
            8 => blocks::<u64>(values),
            _ => return None,
        };
        Some(Self {
            width: values.width,
            blocks,
        })
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.len).sum()
    }

    /// Bytes of the values as packed blocks.
    pub(crate) fn packed_size(&self) -> usize {
        self.blocks
            .iter()
            .map(|block| self.width + block.bits * (BLOCK / 8))
            .sum()
    }

    /// Runs, when none reaches over the end of a block.
    pub(crate) fn runs(&self) -> usize {
        self.blocks.iter().map(|block| block.runs).sum()
    }

    /// Bytes of the values as runs of at most 255, at worst.
    pub(crate) fn rle_size(&self) -> usize {
        self.blocks
            .iter()
            .map(|block| self.rle_block_size(block))
            .sum()
    }

    /// The bytes that the runs of a block take, at worst.
    pub(crate) fn rle_block_size(&self, block: &Block) -> usize {
        (block.runs + block.len / 255) * (self.width + 1)
    }
}

fn blocks<T: Lane + ArrowNativeType>(values: &FixedValues) -> Vec<Block> {
    values
        .lanes::<T>()
        .chunks(BLOCK)
        .map(|block| Block {
            bits: usize::try_from(width_of(block)).unwrap_or(0),
            runs: rle::count_runs(block),
            len: block.len(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;

    use super::*;

    #[test]
    fn blocks_know_their_bits_and_runs() {
        let mut values = vec![3_u16; 1024];
        values.extend([0, 0, 9]);
        let stats = Stats::of(&FixedValues::new(2, Buffer::from_vec(values))).unwrap();
        let first = Block {
            bits: 2,
            runs: 1,
            len: 1024,
        };
        assert_eq!(
            stats.blocks,
            [
                first,
                Block {
                    bits: 4,
                    runs: 2,
                    len: 3
                }
            ]
        );
        assert_eq!(stats.packed_size(), 2 + 256 + 2 + 512);
        assert_eq!(stats.rle_size(), (1 + 4) * 3 + 2 * 3);
    }

    #[test]
    fn other_widths_have_none() {
        assert!(Stats::of(&FixedValues::new(16, Buffer::from_vec(vec![0_u8; 16]))).is_none());
    }
}
