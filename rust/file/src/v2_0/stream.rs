//! Values of one width: which bytes hold them, and how these become values.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use pennon_codec::bitpack::{self, BLOCK, Lane};
use pennon_codec::general::{self, Scheme};

use super::encoding::{ArrayEncoding, BufferRef, Compression};
use super::page::Page;
use crate::{FileError, Result};

/// A compressed buffer that claims to be larger is refused.
const MAX_PLAIN_BYTES: usize = 1 << 32;
/// More values than this are not made of nothing at all.
pub(super) const MAX_UNSTORED: u64 = 1 << 28;

/// Something that reads in rounds: until it is ready it asks for bytes and is given them, and then
/// asks for those that hold its values.
pub(super) trait Rounds {
    /// Whether it is known which bytes hold the values.
    fn is_ready(&self) -> bool;
    /// The byte ranges of this round; nothing when ready.
    fn round_needs(&self, out: &mut Vec<Range<u64>>);
    /// Takes the bytes of a round; does nothing when ready.
    fn supply(&mut self, bytes: &mut Supply) -> Result<()>;
    /// The byte ranges that hold the values.
    fn needs(&self, out: &mut Vec<Range<u64>>);
}

/// The bytes of a round, in the order in which they were asked for.
#[derive(Debug)]
pub(super) struct Supply(std::vec::IntoIter<Bytes>);

impl Supply {
    pub(super) fn new(bytes: Vec<Bytes>) -> Self {
        Self(bytes.into_iter())
    }

    /// The bytes of the next range.
    pub(super) fn next(&mut self) -> Result<Bytes> {
        self.0
            .next()
            .ok_or_else(|| FileError::corrupt("too few bytes were read"))
    }
}

/// Some of the values of a buffer.
#[derive(Debug)]
pub(super) struct Stream {
    page: Arc<Page>,
    coding: Coding,
    /// Of a decoded value: 1, or a multiple of 8.
    bits: u64,
    buffer: BufferRef,
    location: Range<u64>,
    /// The values to take.
    values: Vec<Range<u64>>,
    /// The whole buffer, when it was stored compressed.
    plain: Option<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Plain,
    Compressed(Scheme),
    /// A continuous stream of so many bits for each value.
    Bits {
        packed: u32,
        signed: bool,
    },
    /// Blocks of 1,024 values of so many bits.
    Blocks {
        packed: u32,
    },
}

/// Consecutive decoded values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) bytes: &'a [u8],
    /// Bits of the first byte that belong to values before.
    pub(super) skip: usize,
    pub(super) count: usize,
}

impl Stream {
    /// The values of `encoding`, which have so many bits; none are taken yet.
    pub(super) fn new(page: &Arc<Page>, encoding: &ArrayEncoding, bits: u64) -> Result<Self> {
        let (stored, buffer, coding) = match encoding.without_nulls() {
            ArrayEncoding::Flat {
                bits,
                buffer,
                compression,
            } => {
                let coding = match compression {
                    Some(Compression::General(scheme)) => Coding::Compressed(*scheme),
                    Some(Compression::Nothing) | None => Coding::Plain,
                };
                (*bits, *buffer, coding)
            }
            ArrayEncoding::Bitpacked {
                packed_bits,
                bits,
                buffer,
                signed,
            } => {
                let packed = packed_width(*packed_bits, *bits)?;
                if packed == 0 {
                    return Err(FileError::corrupt("values packed into no bits"));
                }
                let signed = *signed;
                (*bits, *buffer, Coding::Bits { packed, signed })
            }
            ArrayEncoding::BitpackedBlocks {
                packed_bits,
                bits,
                buffer,
            } => {
                let packed = packed_width(*packed_bits, *bits)?;
                (*bits, *buffer, Coding::Blocks { packed })
            }
            other => {
                return Err(FileError::unsupported(format!(
                    "encoding {} where values of one width belong",
                    other.name()
                )));
            }
        };
        if stored != bits || !(bits == 1 || bits.is_multiple_of(8) && bits > 0) {
            return Err(FileError::corrupt(format!(
                "values of {stored} bits where the schema has {bits}"
            )));
        }
        Self::of_buffer(page, buffer, bits, coding)
    }

    /// The rows of a packed struct, which have so many bits; none are taken yet.
    pub(super) fn plain(page: &Arc<Page>, buffer: BufferRef, bits: u64) -> Result<Self> {
        Self::of_buffer(page, buffer, bits, Coding::Plain)
    }

    fn of_buffer(page: &Arc<Page>, buffer: BufferRef, bits: u64, coding: Coding) -> Result<Self> {
        let plain = match coding {
            Coding::Compressed(_) => page.plain(buffer),
            _ => None,
        };
        Ok(Self {
            page: Arc::clone(page),
            coding,
            bits,
            buffer,
            location: page.buffer(buffer)?,
            values: Vec::new(),
            plain,
        })
    }

    /// Takes these values.
    pub(super) fn taking(mut self, values: Vec<Range<u64>>) -> Result<Self> {
        self.take(values)?;
        Ok(self)
    }

    /// Takes these values instead of those before.
    pub(super) fn take(&mut self, values: Vec<Range<u64>>) -> Result<()> {
        let end = values.last().map_or(0, |range| range.end);
        let size = self.location.end - self.location.start;
        let is_there = match self.coding {
            Coding::Compressed(_) => end.checked_mul(self.bits).is_some(),
            Coding::Blocks { packed: 0 } => end <= MAX_UNSTORED,
            _ => self
                .bytes_of(&(0..end))
                .is_some_and(|range| range.end <= size),
        };
        if !is_there {
            return Err(FileError::corrupt(format!(
                "a buffer of {size} bytes is too short for {end} values"
            )));
        }
        self.values = values;
        Ok(())
    }

    /// The bytes of the buffer that hold some values.
    fn bytes_of(&self, values: &Range<u64>) -> Option<Range<u64>> {
        let bits = match self.coding {
            Coding::Plain | Coding::Compressed(_) => self.bits,
            Coding::Bits { packed, .. } => packed.into(),
            Coding::Blocks { packed } => {
                let block_bytes = u64::from(packed) * 128;
                let (first, last) = (
                    values.start / BLOCK_VALUES,
                    values.end.div_ceil(BLOCK_VALUES),
                );
                return Some(first.checked_mul(block_bytes)?..last.checked_mul(block_bytes)?);
            }
        };
        let (start, end) = (
            values.start.checked_mul(bits)?,
            values.end.checked_mul(bits)?,
        );
        Some(start / 8..end.div_ceil(8))
    }

    /// Decodes the values, one run for each range that was taken.
    pub(super) fn decode(
        &self,
        supply: &mut Supply,
        mut each: impl FnMut(Run<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut unpacked = Vec::new();
        for range in &self.values {
            let count = usize::try_from(range.end - range.start).map_err(|_| too_many())?;
            let skip = usize::try_from((range.start * self.bits) % 8).unwrap_or(0);
            match self.coding {
                Coding::Plain => {
                    let bytes = supply.next()?;
                    each(Run {
                        bytes: &bytes,
                        skip,
                        count,
                    })?;
                }
                Coding::Compressed(_) => {
                    let bytes = self.plain_bytes(range)?;
                    each(Run { bytes, skip, count })?;
                }
                Coding::Bits { packed, signed } => {
                    let bytes = supply.next()?;
                    let width = self.width();
                    unpacked.clear();
                    unpack(&bytes, range, packed, signed, width, &mut unpacked)?;
                    each(Run {
                        bytes: &unpacked,
                        skip: 0,
                        count,
                    })?;
                }
                Coding::Blocks { packed } => {
                    let bytes = supply.next()?;
                    unpacked.clear();
                    self.unpack_blocks(packed, &bytes, range, &mut unpacked)?;
                    each(Run {
                        bytes: &unpacked,
                        skip: 0,
                        count,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Bytes of a value that takes whole bytes.
    fn width(&self) -> usize {
        usize::try_from(self.bits / 8).unwrap_or(0)
    }

    fn plain_bytes(&self, values: &Range<u64>) -> Result<&[u8]> {
        let short = || FileError::corrupt("a compressed buffer holds too few values");
        let range = self.bytes_of(values).ok_or_else(short)?;
        let start = usize::try_from(range.start).map_err(|_| short())?;
        let end = usize::try_from(range.end).map_err(|_| short())?;
        let plain = self.plain.as_ref();
        plain
            .and_then(|bytes| bytes.get(start..end))
            .ok_or_else(short)
    }

    fn unpack_blocks(
        &self,
        packed: u32,
        bytes: &[u8],
        values: &Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.bits {
            8 => unpack_blocks::<u8>(packed, bytes, values, out),
            16 => unpack_blocks::<u16>(packed, bytes, values, out),
            32 => unpack_blocks::<u32>(packed, bytes, values, out),
            _ => unpack_blocks::<u64>(packed, bytes, values, out),
        }
    }
}

impl Rounds for Stream {
    fn is_ready(&self) -> bool {
        self.plain.is_some() || !matches!(self.coding, Coding::Compressed(_))
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        if !self.is_ready() {
            out.push(self.location.clone());
        }
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        if let (Coding::Compressed(scheme), None) = (self.coding, &self.plain) {
            let mut plain = Vec::new();
            general::decompress(scheme, &bytes.next()?, MAX_PLAIN_BYTES, &mut plain)?;
            let plain = Bytes::from(plain);
            self.page.cache_plain(self.buffer, &plain);
            self.plain = Some(plain);
        }
        Ok(())
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        if matches!(self.coding, Coding::Compressed(_)) {
            return;
        }
        // Positions do not overflow: they were compared with the buffer's size.
        out.extend(self.values.iter().filter_map(|values| {
            let bytes = self.bytes_of(values)?;
            Some(self.location.start + bytes.start..self.location.start + bytes.end)
        }));
    }
}

const BLOCK_VALUES: u64 = 1024;

fn packed_width(packed: u64, bits: u64) -> Result<u32> {
    match u32::try_from(packed) {
        Ok(width) if matches!(bits, 8 | 16 | 32 | 64) && packed <= bits => Ok(width),
        _ => Err(FileError::corrupt(format!(
            "values of {bits} bits packed into {packed}"
        ))),
    }
}

/// Unpacks values of a continuous stream, whose bytes begin with that of the first value's first
/// bit.
fn unpack(
    bytes: &[u8],
    values: &Range<u64>,
    packed: u32,
    signed: bool,
    width: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let short = || FileError::corrupt("too few bit-packed bytes");
    let packed_bits = usize::try_from(packed).map_err(|_| short())?;
    let first = usize::try_from(values.start * u64::from(packed) % 8).map_err(|_| short())?;
    let count = usize::try_from(values.end - values.start).map_err(|_| short())?;
    for bit in (first..).step_by(packed_bits).take(count) {
        let mut word = [0; 16];
        let tail = bytes.get(bit / 8..).ok_or_else(short)?;
        for (to, from) in word.iter_mut().zip(tail) {
            *to = *from;
        }
        let value = (u128::from_le_bytes(word) >> (bit % 8)) & ((1 << packed) - 1);
        let negative = signed && value >> (packed - 1) == 1;
        let value = if negative {
            value | (u128::MAX << packed)
        } else {
            value
        };
        out.extend_from_slice(&value.to_le_bytes()[..width]);
    }
    Ok(())
}

/// Unpacks the blocks that hold some values, and keeps those values.
fn unpack_blocks<T: Lane>(
    packed: u32,
    bytes: &[u8],
    values: &Range<u64>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let too_many = |_| too_many();
    let mut skip = usize::try_from(values.start % BLOCK_VALUES).map_err(too_many)?;
    let mut left = usize::try_from(values.end - values.start).map_err(too_many)?;
    let block_bytes = usize::try_from(u64::from(packed) * 128).map_err(too_many)?;
    let mut rest = bytes;
    let mut block = [T::ZERO; BLOCK];
    while left > 0 {
        let (first, others) = rest
            .split_at_checked(block_bytes)
            .ok_or_else(|| FileError::corrupt("too few bit-packed bytes"))?;
        bitpack::unpack_block(packed, first, &mut block)?;
        let count = left.min(BLOCK - skip);
        for &value in &block[skip..skip + count] {
            let value: u64 = value.into();
            out.extend_from_slice(&value.to_le_bytes()[..T::BYTES]);
        }
        (rest, skip, left) = (others, 0, left - count);
    }
    Ok(())
}

fn too_many() -> FileError {
    FileError::invalid_input("more values than fit into memory: read fewer rows at a time")
}
