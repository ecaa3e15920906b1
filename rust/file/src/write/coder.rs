//! Values as the buffers of a mini-block chunk.

use std::ops::Range;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, ToByteSlice};
use bytes::Bytes;
use pennon_codec::bitpack::{self, BLOCK, Lane};
use pennon_codec::general::{self, Scheme};
use pennon_codec::variable::{self, OffsetWidth};
use pennon_codec::{byte_stream_split, rle};

use super::levels::MAX_CHUNK_VALUES;
use super::stats::Stats;
use super::values::{FixedValues, ListValues, Values, VariableValues, extend_with_bits};
use crate::Result;
use crate::encoding::{Compression, Encoding};

/// A chunk of values of one width ends before it takes this many bytes.
const FIXED_CHUNK_BYTES: usize = 8186;
/// A long chunk of runs may take this many bytes.
const RUN_CHUNK_BYTES: usize = 16 << 10;

/// How values become buffers, and the values.
#[derive(Debug, Clone)]
pub(crate) struct ValueCoder {
    pub(crate) kind: Kind,
    /// A general compressor, for the first buffer.
    pub(crate) around: Around,
    /// Values of a chunk, where the kind leaves a choice: a power of two.
    pub(crate) chunk_len: Option<usize>,
}

/// Whether a general compressor is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    Nothing,
    /// Not yet; it is worth a try.
    Offered(Compression),
    Used(Compression),
}

/// The ways to store values in a chunk.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Bits(BooleanBuffer),
    Flat(FixedValues),
    Packed(FixedValues),
    Runs(FixedValues, Stats),
    ByteStreams(FixedValues),
    Variable {
        values: VariableValues,
        chunk_bytes: usize,
    },
    /// Strings whose frequent parts were replaced by the symbols of a table.
    Symbols {
        table: Bytes,
        values: VariableValues,
        chunk_bytes: usize,
    },
    List(ListValues),
    /// Packed structs, and the widths of their fields.
    Rows {
        values: FixedValues,
        field_bits: Vec<u64>,
    },
}

/// Memory that is used for one chunk after the other.
#[derive(Debug, Default)]
pub(crate) struct ChunkScratch {
    run_lengths: Vec<u8>,
    plain: Vec<u8>,
}

impl ValueCoder {
    /// Values without a general compressor around them.
    pub(crate) fn plain(kind: Kind) -> Self {
        Self {
            kind,
            around: Around::Nothing,
            chunk_len: None,
        }
    }

    /// The same with the general compressor that was offered.
    pub(crate) fn compressed(&self) -> Option<Self> {
        match self.around {
            Around::Offered(compression) => {
                let around = Around::Used(compression);
                Some(Self {
                    around,
                    ..self.clone()
                })
            }
            Around::Nothing | Around::Used(_) => None,
        }
    }

    /// About how many bytes the values take, from up to `chunks` chunks that are spread over them.
    pub(crate) fn projected_size(&self, chunks: usize) -> Result<usize> {
        let chunk_len = self.chunk_len(0).max(1);
        let total = self.len() / chunk_len;
        let step = (total / chunks.max(1)).max(1);
        let (mut out, mut scratch) = (Vec::new(), ChunkScratch::default());
        let mut seen = 0;
        for chunk in (0..total).step_by(step) {
            let range = chunk * chunk_len..(chunk + 1) * chunk_len;
            self.encode(0, range, &mut scratch, &mut out)?;
            seen += chunk_len;
        }
        let size = (out.len() as u128 * self.len() as u128).checked_div(seen as u128);
        Ok(size
            .and_then(|size| usize::try_from(size).ok())
            .unwrap_or(usize::MAX))
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        match &self.kind {
            Kind::Bits(bits) => bits.len(),
            Kind::Flat(values)
            | Kind::Packed(values)
            | Kind::Runs(values, _)
            | Kind::ByteStreams(values)
            | Kind::Rows { values, .. } => values.len(),
            Kind::Variable { values, .. } | Kind::Symbols { values, .. } => values.len(),
            Kind::List(lists) => lists.len,
        }
    }

    /// About how many bytes the page will take; more is no harm.
    pub(crate) fn estimated_size(&self) -> usize {
        match &self.kind {
            Kind::Bits(bits) => bits.len() / 7,
            Kind::Flat(values) | Kind::ByteStreams(values) | Kind::Rows { values, .. } => {
                values.bytes.len() / 64 * 65
            }
            Kind::Variable { values, .. } | Kind::Symbols { values, .. } => values.size() / 64 * 66,
            Kind::Packed(_) | Kind::Runs(..) | Kind::List(_) => 0,
        }
    }

    /// The description.
    pub(crate) fn encoding(&self) -> Encoding {
        let values = self.kind.encoding();
        match self.around {
            Around::Used(compression) => Encoding::General {
                compression,
                values: Box::new(values),
            },
            Around::Nothing | Around::Offered(_) => values,
        }
    }

    /// How many buffers a chunk has.
    pub(crate) fn num_buffers(&self) -> usize {
        match &self.kind {
            Kind::Runs(..) => 2,
            Kind::List(lists) => 1 + validity_layers(lists),
            _ => 1,
        }
    }

    /// How many values the chunk that begins with value `start` takes: a power of two, or all that
    /// are left.
    pub(crate) fn chunk_len(&self, start: usize) -> usize {
        let left = self.len() - start;
        let most = match &self.kind {
            Kind::Bits(_) | Kind::Flat(_) | Kind::ByteStreams(_) if self.chunk_len.is_some() => {
                self.chunk_len.unwrap_or(2)
            }
            Kind::Bits(_) => MAX_CHUNK_VALUES,
            Kind::Flat(values) | Kind::Rows { values, .. } => fixed_chunk_len(values.width * 8),
            Kind::ByteStreams(values) => 4096 / values.width,
            Kind::Packed(_) => BLOCK,
            Kind::Runs(_, stats) => run_chunk_len(stats, start),
            Kind::Variable {
                values,
                chunk_bytes,
            }
            | Kind::Symbols {
                values,
                chunk_bytes,
                ..
            } => {
                return variable_chunk_len(values, start, *chunk_bytes);
            }
            Kind::List(lists) => fixed_chunk_len(bits_of(lists)),
        };
        most.min(left)
    }

    /// Appends buffer `number` of the chunk of the values in `range`. The buffers of a chunk are
    /// asked for in order.
    pub(crate) fn encode(
        &self,
        number: usize,
        range: Range<usize>,
        scratch: &mut ChunkScratch,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.around {
            Around::Used(compression) if number == 0 => {
                let mut plain = std::mem::take(&mut scratch.plain);
                plain.clear();
                self.kind.encode(number, &range, scratch, &mut plain)?;
                general::compress(scheme_of(compression), &plain, out)?;
                scratch.plain = plain;
                Ok(())
            }
            _ => self.kind.encode(number, &range, scratch, out),
        }
    }
}

impl Kind {
    fn encoding(&self) -> Encoding {
        let flat = |width: usize| Encoding::Flat {
            bits: width as u64 * 8,
        };
        match self {
            Self::Bits(_) => Encoding::Flat { bits: 1 },
            Self::Flat(values) => flat(values.width),
            Self::Packed(values) => Encoding::InlineBitpacking {
                bits: u8::try_from(values.width * 8).unwrap_or(64),
            },
            Self::Runs(values, _) => Encoding::Rle {
                values: Box::new(flat(values.width)),
                run_lengths: Box::new(flat(1)),
            },
            Self::ByteStreams(values) => Encoding::ByteStreamSplit {
                values: Box::new(flat(values.width)),
            },
            Self::Variable { values, .. } => variable_encoding(values),
            Self::Symbols { table, values, .. } => Encoding::Fsst {
                symbol_table: table.clone(),
                values: Box::new(variable_encoding(values)),
            },
            Self::List(lists) => list_encoding(lists),
            Self::Rows { values, field_bits } => Encoding::PackedStruct {
                field_bits: field_bits.clone(),
                values: Box::new(flat(values.width)),
            },
        }
    }

    fn encode(
        &self,
        number: usize,
        range: &Range<usize>,
        scratch: &mut ChunkScratch,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::Bits(bits) => extend_with_bits(bits, range, out),
            Self::Flat(values) | Self::Rows { values, .. } => {
                out.extend_from_slice(values.slice(range));
            }
            Self::Packed(values) => match values.width {
                1 => bitpack::encode_inline(&values.lanes::<u8>()[range.clone()], out),
                2 => bitpack::encode_inline(&values.lanes::<u16>()[range.clone()], out),
                4 => bitpack::encode_inline(&values.lanes::<u32>()[range.clone()], out),
                _ => bitpack::encode_inline(&values.lanes::<u64>()[range.clone()], out),
            },
            Self::Runs(..) if number == 1 => out.append(&mut scratch.run_lengths),
            Self::Runs(values, _) => match values.width {
                1 => encode_runs::<u8>(values, range, scratch, out),
                2 => encode_runs::<u16>(values, range, scratch, out),
                4 => encode_runs::<u32>(values, range, scratch, out),
                _ => encode_runs::<u64>(values, range, scratch, out),
            },
            Self::ByteStreams(values) => {
                byte_stream_split::encode(values.width, values.slice(range), out)?;
            }
            Self::Variable { values, .. } | Self::Symbols { values, .. } => {
                let offsets = &values.offsets[range.start..=range.end];
                variable::encode_chunk(offsets, &values.bytes, offset_width(values), out)?;
            }
            Self::List(lists) => encode_list(lists, number, range, out),
        }
        Ok(())
    }
}

fn encode_runs<T: Lane + ArrowNativeType>(
    values: &FixedValues,
    range: &Range<usize>,
    scratch: &mut ChunkScratch,
    out: &mut Vec<u8>,
) {
    let mut runs: Vec<T> = Vec::new();
    scratch.run_lengths.clear();
    rle::encode(
        &values.lanes::<T>()[range.clone()],
        &mut runs,
        &mut scratch.run_lengths,
    );
    out.extend_from_slice(runs.to_byte_slice());
}

/// Buffers from the outside in: the validity of each layer that has nulls, then the values.
fn encode_list(lists: &ListValues, number: usize, range: &Range<usize>, out: &mut Vec<u8>) {
    let items = range.start * lists.dimension..range.end * lists.dimension;
    let number = match &lists.nulls {
        Some(nulls) if number == 0 => return extend_with_bits(nulls.inner(), &items, out),
        Some(_) => number - 1,
        None => number,
    };
    match lists.items.as_ref() {
        Values::Bits(bits) => extend_with_bits(bits, &items, out),
        Values::Fixed(values) => out.extend_from_slice(values.slice(&items)),
        Values::List(inner) => encode_list(inner, number, &items, out),
        Values::Variable(_) => {}
    }
}

fn validity_layers(lists: &ListValues) -> usize {
    let inner = match lists.items.as_ref() {
        Values::List(inner) => validity_layers(inner),
        _ => 0,
    };
    inner + usize::from(lists.nulls.is_some())
}

/// Bits of one list, without validity.
pub(crate) fn bits_of(lists: &ListValues) -> usize {
    let items = match lists.items.as_ref() {
        Values::Bits(_) => 1,
        Values::Fixed(values) => values.width * 8,
        Values::List(inner) => bits_of(inner),
        Values::Variable(_) => 0,
    };
    lists.dimension * items
}

/// The description of lists.
pub(crate) fn list_encoding(lists: &ListValues) -> Encoding {
    let values = match lists.items.as_ref() {
        Values::Bits(_) => Encoding::Flat { bits: 1 },
        Values::Fixed(values) => Encoding::Flat {
            bits: values.width as u64 * 8,
        },
        Values::List(inner) => list_encoding(inner),
        Values::Variable(_) => Encoding::Constant,
    };
    Encoding::FixedSizeList {
        dimension: lists.dimension as u64,
        has_validity: lists.nulls.is_some(),
        values: Box::new(values),
    }
}

/// The description of strings that are stored as they are.
pub(crate) fn variable_encoding(values: &VariableValues) -> Encoding {
    Encoding::Variable {
        offset_bits: if values.large { 64 } else { 32 },
    }
}

/// The width of stored offsets.
pub(crate) fn offset_width(values: &VariableValues) -> OffsetWidth {
    if values.large {
        OffsetWidth::W64
    } else {
        OffsetWidth::W32
    }
}

/// The codec's name of a compressor.
pub(crate) fn scheme_of(compression: Compression) -> Scheme {
    match compression {
        Compression::Lz4 => Scheme::Lz4,
        Compression::Zstd { level } => Scheme::Zstd { level },
    }
}

/// The largest power of two, at least 2, of values of so many bits that stay below the limit.
fn fixed_chunk_len(bits: usize) -> usize {
    let mut len = 2;
    while len < MAX_CHUNK_VALUES && (len * 2 * bits).div_ceil(8) < FIXED_CHUNK_BYTES {
        len *= 2;
    }
    len
}

/// Many values where runs are long, one block where they are short.
fn run_chunk_len(stats: &Stats, start: usize) -> usize {
    let blocks = MAX_CHUNK_VALUES / BLOCK;
    let ahead = stats.blocks.iter().skip(start / BLOCK).take(blocks);
    let bytes: usize = ahead.map(|block| stats.rle_block_size(block)).sum();
    if bytes <= RUN_CHUNK_BYTES {
        MAX_CHUNK_VALUES
    } else {
        BLOCK
    }
}

/// All that is left if it fits, or the largest power of two that does, but at least two.
fn variable_chunk_len(values: &VariableValues, start: usize, chunk_bytes: usize) -> usize {
    let width = values.offset_width();
    let size = |len: usize| (len + 1) * width + values.offsets[start + len] - values.offsets[start];
    let left = values.len() - start;
    if left <= MAX_CHUNK_VALUES && (left <= 2 || size(left) <= chunk_bytes) {
        return left;
    }
    let mut len = 2;
    while len * 2 <= left.min(MAX_CHUNK_VALUES) && size(len * 2) <= chunk_bytes {
        len *= 2;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_fixed_width_stay_below_eight_kib() {
        assert_eq!(fixed_chunk_len(1), 4096);
        assert_eq!(fixed_chunk_len(8), 4096);
        assert_eq!(fixed_chunk_len(32), 1024);
        assert_eq!(fixed_chunk_len(64), 512);
        assert_eq!(fixed_chunk_len(128), 256);
        assert_eq!(fixed_chunk_len(8 * 20_000), 2);
    }
}
