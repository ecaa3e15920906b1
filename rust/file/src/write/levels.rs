//! How levels are stored: packed to as many bits as the highest takes, or as runs.

use std::ops::Range;

use pennon_codec::{bitpack, bits, levels, rle};

use super::shred::Shredded;
use crate::FileVersion;
use crate::encoding::Encoding;

/// Bits that the levels of one chunk may take together: then their count and their bytes fit
/// into the chunk's header, and the chunk into what 2.1 allows.
const CHUNK_LEVEL_BITS: usize = 128 << 10;
/// The levels that a chunk can count.
const MAX_CHUNK_LEVELS: usize = 65_535;
/// No chunk has more values than this.
pub(crate) const MAX_CHUNK_VALUES: usize = 4096;
/// Runs that take more bytes than this are not considered, for their size is a 16-bit number.
const MAX_RUN_BYTES: usize = 60_000;

/// Whether no chunk of values would have to take more levels than it can. Chunks take whatever
/// entries without a value lie before their own, so only pages with such entries are at risk.
pub(crate) fn fit_chunks(shredded: &Shredded) -> bool {
    if !shredded.has_invisible() {
        return true;
    }
    let bits_of = |levels: &[u16]| to_usize(bits::bit_len(levels::max(levels).into()));
    let bits = bits_of(&shredded.repetition) + bits_of(&shredded.definition);
    let most = MAX_CHUNK_LEVELS.min(CHUNK_LEVEL_BITS / bits.max(1));
    if shredded.entries() <= most {
        return true;
    }
    // Any chunk lies within two neighbouring stretches of this many values.
    let mut stretches = vec![0_usize];
    let (mut values, max_visible) = (0, shredded.max_visible());
    for &level in &shredded.definition {
        if values == MAX_CHUNK_VALUES {
            stretches.push(0);
            values = 0;
        }
        values += usize::from(level <= max_visible);
        if let Some(last) = stretches.last_mut() {
            *last += 1;
        }
    }
    stretches.iter().all(|entries| *entries <= most)
        && stretches.windows(2).all(|pair| pair[0] + pair[1] <= most)
}

/// How one kind of level is stored in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelCoder {
    Packed { bits: u32 },
    Runs,
}

impl LevelCoder {
    /// The smaller way for levels that are cut into `parts`; `None` if there are no levels.
    pub(crate) fn choose(
        version: FileVersion,
        levels: &[u16],
        parts: impl Iterator<Item = Range<usize>>,
    ) -> Option<Self> {
        if levels.is_empty() {
            return None;
        }
        let bits = bits::bit_len(levels::max(levels).into());
        let packed = Self::Packed { bits };
        if version < FileVersion::V2_2 {
            return Some(packed);
        }
        let (mut packed_size, mut run_size, mut longest) = (0, 0, 0);
        for part in parts {
            let levels = &levels[part];
            let runs = rle::count_runs(levels) + levels.len() / 255;
            let size = 8 + 3 * runs;
            packed_size += bitpack::out_of_line_size::<u16>(bits, levels.len());
            run_size += size;
            longest = longest.max(size);
        }
        let runs_win = run_size < packed_size && longest <= MAX_RUN_BYTES;
        Some(if runs_win { Self::Runs } else { packed })
    }

    /// The description.
    pub(crate) fn encoding(self) -> Encoding {
        match self {
            // The width of a 16-bit level fits into a byte.
            Self::Packed { bits } => Encoding::OutOfLineBitpacking {
                bits: 16,
                packed_bits: u8::try_from(bits).unwrap_or(16),
            },
            Self::Runs => Encoding::Rle {
                values: Box::new(Encoding::Flat { bits: 16 }),
                run_lengths: Box::new(Encoding::Flat { bits: 8 }),
            },
        }
    }

    /// Appends levels.
    pub(crate) fn encode(self, levels: &[u16], out: &mut Vec<u8>) {
        match self {
            Self::Packed { bits } => bitpack::encode_out_of_line(bits, levels, out),
            Self::Runs => {
                let (mut values, mut lengths) = (Vec::new(), Vec::new());
                rle::encode(levels, &mut values, &mut lengths);
                let bytes = 2 * lengths.len() as u64;
                out.extend_from_slice(&bytes.to_le_bytes());
                extend_plain(&values, out);
                out.append(&mut lengths);
            }
        }
    }
}

/// Appends levels as they are.
pub(crate) fn extend_plain(levels: &[u16], out: &mut Vec<u8>) {
    out.extend(levels.iter().flat_map(|level| level.to_le_bytes()));
}

fn to_usize(bits: u32) -> usize {
    usize::try_from(bits).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_levels_are_runs_from_2_2_on_and_packed_before() {
        let mut levels = vec![0_u16; 4096];
        levels[77] = 1;
        let choose = |version| {
            LevelCoder::choose(version, &levels, std::iter::once(0..levels.len())).unwrap()
        };
        assert_eq!(choose(FileVersion::V2_1), LevelCoder::Packed { bits: 1 });
        assert_eq!(choose(FileVersion::V2_2), LevelCoder::Runs);
        let mut bytes = Vec::new();
        LevelCoder::Runs.encode(&[0, 0, 1], &mut bytes);
        assert_eq!(bytes, [4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 1]);
    }

    #[test]
    fn levels_that_are_all_zero_take_no_bytes() {
        let coder = LevelCoder::choose(FileVersion::V2_1, &[0; 5], std::iter::once(0..5)).unwrap();
        let mut bytes = Vec::new();
        coder.encode(&[0; 5], &mut bytes);
        assert!(bytes.is_empty());
        let encoding = Encoding::OutOfLineBitpacking {
            bits: 16,
            packed_bits: 0,
        };
        assert_eq!(coder.encoding(), encoding);
    }
}
