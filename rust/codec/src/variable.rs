//! Byte strings of different lengths behind a table of offsets.
//!
//! Two forms differ in their header and in what the offsets count from; both have one offset more
//! than values, so value `i` lies between offsets `i` and `i + 1`.
//!
//! ```text
//! chunk   [offsets, from the start of the buffer] [bytes] [0x48 up to the offset width]
//! block   [32 or 64] [start of the bytes] [offsets, from the start of the bytes] [bytes]
//! ```
//!
//! The two words in front of a block are as wide as its offsets.

use std::fmt::Debug;
use std::ops::Range;

use crate::bitpack::Lane;
use crate::error::{CodecError, Result, check_length};

/// What fills a chunk up to a multiple of its offset width.
const FILL: u8 = 0x48;

const TABLE: &str = "table of offsets";

/// How wide stored offsets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetWidth {
    /// 4 bytes each.
    W32,
    /// 8 bytes each.
    W64,
}

impl OffsetWidth {
    /// Bytes of one offset.
    pub const fn bytes(self) -> usize {
        match self {
            Self::W32 => 4,
            Self::W64 => 8,
        }
    }

    /// The width of so many bits, if it is 32 or 64.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            32 => Some(Self::W32),
            64 => Some(Self::W64),
            _ => None,
        }
    }
}

/// An offset in memory: `i32`, `i64` or `usize`, never negative.
pub trait Offset: Copy + Debug + private::Sealed {
    /// The largest offset.
    const MAX: u64;

    /// The offset of this value, which the caller knows to be at most [`MAX`](Self::MAX).
    #[doc(hidden)]
    fn new(value: u64) -> Self;

    /// The value as a position; `None` if it is negative or beyond memory.
    fn position(self) -> Option<usize>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl Sealed for usize {}
}

macro_rules! offset {
    ($($offset:ty),*) => {$(
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "the caller checked the value; a conversion with a check is not vectorised"
        )]
        impl Offset for $offset {
            const MAX: u64 = <$offset>::MAX.unsigned_abs() as u64;

            #[inline(always)]
            fn new(value: u64) -> Self {
                value as $offset
            }

            #[inline(always)]
            fn position(self) -> Option<usize> {
                usize::try_from(self).ok()
            }
        }
    )*};
}

offset!(i32, i64);

impl Offset for usize {
    const MAX: u64 = usize::MAX as u64;

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the caller checked the value; a conversion with a check is not vectorised"
    )]
    #[inline(always)]
    fn new(value: u64) -> Self {
        value as usize
    }

    #[inline(always)]
    fn position(self) -> Option<usize> {
        Some(self)
    }
}

/// Checks that offsets up to `end` fit into `O`.
pub(crate) fn check_offsets<O: Offset>(end: usize) -> Result<()> {
    let size = end as u64;
    if size > O::MAX {
        return Err(CodecError::TooLarge {
            what: "values of one array",
            size,
            limit: O::MAX,
        });
    }
    Ok(())
}

/// A view of stored values whose offsets were checked: in order, and within the bytes.
#[derive(Debug, Clone, Copy)]
pub struct Values<'a> {
    table: Table<'a>,
    bytes: &'a [u8],
}

/// Offsets as stored, and what to subtract from them to get positions in the bytes.
#[derive(Debug, Clone, Copy)]
enum Table<'a> {
    W32(&'a [[u8; 4]], u64),
    W64(&'a [[u8; 8]], u64),
}

impl<'a> Values<'a> {
    /// The `count` values of a chunk's buffer.
    ///
    /// # Errors
    ///
    /// If the table is cut short or does not start where it should, or its offsets are out of order
    /// or out of range.
    pub fn from_chunk(buffer: &'a [u8], count: usize, width: OffsetWidth) -> Result<Self> {
        let (table, bytes) = split_table(buffer, count, width)?;
        let base = table.len() as u64;
        let table = Table::new(table, width, base);
        table.check(bytes.len())?;
        Ok(Self { table, bytes })
    }

    /// The `count` values of a block, whose header says how wide its offsets are.
    ///
    /// # Errors
    ///
    /// If the header is none, the table is cut short, or its offsets are out of order or range.
    pub fn from_block(buffer: &'a [u8], count: usize) -> Result<Self> {
        check_length(TABLE, 4, buffer.len())?;
        let bits = u64::from(u32::read(buffer));
        let width = OffsetWidth::from_bits(bits).ok_or_else(|| {
            CodecError::invalid(TABLE, format!("offsets of {bits} bits are not possible"))
        })?;
        let header = 2 * width.bytes();
        check_length(TABLE, header, buffer.len())?;
        let start = match width {
            OffsetWidth::W32 => u64::from(u32::read(&buffer[4..])),
            OffsetWidth::W64 => u64::read(&buffer[8..]),
        };
        let (table, _) = split_table(&buffer[header..], count, width)?;
        let bytes = usize::try_from(start)
            .ok()
            .filter(|&start| start >= header + table.len())
            .and_then(|start| buffer.get(start..))
            .ok_or_else(|| {
                let detail = format!("the bytes cannot start at {start} of {}", buffer.len());
                CodecError::invalid(TABLE, detail)
            })?;
        let table = Table::new(table, width, 0);
        table.check(bytes.len())?;
        Ok(Self { table, bytes })
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match self.table {
            Table::W32(offsets, _) => offsets.len() - 1,
            Table::W64(offsets, _) => offsets.len() - 1,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of one value; `None` if there are not that many values.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let (start, end) = (self.table.get(index)?, self.table.get(index + 1)?);
        self.bytes.get(start..end)
    }

    /// The bytes of consecutive values, back to back.
    ///
    /// # Errors
    ///
    /// If there are not that many values.
    pub fn bytes(&self, range: Range<usize>) -> Result<&'a [u8]> {
        let bytes = self.table.get(range.start).zip(self.table.get(range.end));
        bytes
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or_else(|| {
                let detail = format!("{range:?} is not within the {} values", self.len());
                CodecError::invalid(TABLE, detail)
            })
    }

    /// Where each of some consecutive values ends in their [`bytes`](Self::bytes); empty if there
    /// are not that many values.
    pub fn ends(&self, range: Range<usize>) -> impl Iterator<Item = usize> + use<'a> {
        let table = self.table;
        let start = table.get(range.start).unwrap_or(0);
        let indices = range.start.saturating_add(1)..range.end.saturating_add(1);
        indices.map_while(move |index| Some(table.get(index)? - start))
    }

    /// Appends the bytes of consecutive values to `bytes`, and to `ends` where each one ends there.
    ///
    /// # Errors
    ///
    /// If there are not that many values, or an end does not fit into `O`. Nothing is appended then.
    pub fn append<O: Offset>(
        &self,
        range: Range<usize>,
        bytes: &mut Vec<u8>,
        ends: &mut Vec<O>,
    ) -> Result<()> {
        let values = self.bytes(range.clone())?;
        check_offsets::<O>(bytes.len().saturating_add(values.len()))?;
        let start = bytes.len() as u64;
        bytes.extend_from_slice(values);
        match self.table {
            Table::W32(offsets, _) => append_ends::<u32, O, 4>(offsets, range, start, ends),
            Table::W64(offsets, _) => append_ends::<u64, O, 8>(offsets, range, start, ends),
        }
        Ok(())
    }
}

/// Appends the ends of a checked range, moved such that its first value starts at `start`.
fn append_ends<S: Lane, O: Offset, const N: usize>(
    offsets: &[[u8; N]],
    range: Range<usize>,
    start: u64,
    ends: &mut Vec<O>,
) {
    let first: u64 = S::read(&offsets[range.start]).into();
    let stored = &offsets[range.start + 1..=range.end];
    ends.extend(
        stored
            .iter()
            .map(|offset| O::new(S::read(offset).into() - first + start)),
    );
}

impl<'a> Table<'a> {
    fn new(table: &'a [u8], width: OffsetWidth, base: u64) -> Self {
        match width {
            OffsetWidth::W32 => Self::W32(table.as_chunks().0, base),
            OffsetWidth::W64 => Self::W64(table.as_chunks().0, base),
        }
    }

    /// An offset as a position in the bytes; `None` outside of the table.
    #[inline(always)]
    fn get(&self, index: usize) -> Option<usize> {
        let position = match self {
            Self::W32(offsets, base) => u64::from(u32::from_le_bytes(*offsets.get(index)?)) - base,
            Self::W64(offsets, base) => u64::from_le_bytes(*offsets.get(index)?) - base,
        };
        usize::try_from(position).ok()
    }

    /// Checks that the offsets start at zero, never decrease, and end within `available` bytes.
    fn check(&self, available: usize) -> Result<()> {
        match *self {
            Self::W32(offsets, base) => check_order::<u32, 4>(offsets, base, available),
            Self::W64(offsets, base) => check_order::<u64, 8>(offsets, base, available),
        }
    }
}

fn check_order<S: Lane, const N: usize>(
    offsets: &[[u8; N]],
    base: u64,
    available: usize,
) -> Result<()> {
    let offset = |bytes: &[u8; N]| -> u64 { S::read(bytes).into() };
    let first = offsets.first().map_or(0, offset);
    if first != base {
        let detail = format!("the first offset is {first} instead of {base}");
        return Err(CodecError::invalid(TABLE, detail));
    }
    // No early exit, so that many offsets are compared at once.
    let following = offsets.iter().skip(1);
    let disorder = offsets
        .iter()
        .zip(following)
        .fold(false, |disorder, (a, b)| {
            disorder | (S::read(a) > S::read(b))
        });
    if disorder {
        return Err(CodecError::invalid(TABLE, "offsets decrease"));
    }
    let last = offsets.last().map_or(0, offset);
    if last - base > available as u64 {
        let detail = format!("values end at {} of {available} bytes", last - base);
        return Err(CodecError::invalid(TABLE, detail));
    }
    Ok(())
}

/// Splits a table of `count + 1` offsets from what follows it.
fn split_table(buffer: &[u8], count: usize, width: OffsetWidth) -> Result<(&[u8], &[u8])> {
    let size = count.saturating_add(1).saturating_mul(width.bytes());
    check_length(TABLE, size, buffer.len())?;
    Ok(buffer.split_at(size))
}

/// Appends a chunk's buffer: the values that lie between consecutive `offsets` in `bytes`.
///
/// # Errors
///
/// If there is no offset at all, offsets decrease or leave `bytes`, or the buffer would be too long
/// for its own offsets.
pub fn encode_chunk<O: Offset>(
    offsets: &[O],
    bytes: &[u8],
    width: OffsetWidth,
    out: &mut Vec<u8>,
) -> Result<()> {
    let values = check_values(offsets, bytes)?;
    let start = out.len();
    let table = offsets.len().saturating_mul(width.bytes());
    write_table(
        offsets,
        table,
        table.saturating_add(values.len()),
        width,
        out,
    )?;
    out.extend_from_slice(values);
    let size = (out.len() - start).next_multiple_of(width.bytes());
    out.resize(start + size, FILL);
    Ok(())
}

/// Appends a block: the values that lie between consecutive `offsets` in `bytes`.
///
/// # Errors
///
/// Those of [`encode_chunk`].
pub fn encode_block<O: Offset>(
    offsets: &[O],
    bytes: &[u8],
    width: OffsetWidth,
    out: &mut Vec<u8>,
) -> Result<()> {
    let values = check_values(offsets, bytes)?;
    let data_start = (offsets.len().saturating_add(2)).saturating_mul(width.bytes());
    let start = out.len();
    match width {
        OffsetWidth::W32 => {
            out.extend_from_slice(&32u32.to_le_bytes());
            // Whether this fits is checked with the offsets.
            out.extend_from_slice(&u32::try_from(data_start).unwrap_or(u32::MAX).to_le_bytes());
        }
        OffsetWidth::W64 => {
            out.extend_from_slice(&64u64.to_le_bytes());
            out.extend_from_slice(&(data_start as u64).to_le_bytes());
        }
    }
    let written = write_table(
        offsets,
        0,
        data_start.saturating_add(values.len()),
        width,
        out,
    );
    match written {
        Ok(()) => out.extend_from_slice(values),
        Err(_) => out.truncate(start),
    }
    written
}

/// The bytes from the first offset to the last, if all offsets are in order.
fn check_values<'a, O: Offset>(offsets: &[O], bytes: &'a [u8]) -> Result<&'a [u8]> {
    let ordered = offsets
        .windows(2)
        .all(|pair| pair[0].position() <= pair[1].position());
    let ends = offsets.first().zip(offsets.last()).filter(|_| ordered);
    ends.and_then(|(first, last)| bytes.get(first.position()?..last.position()?))
        .ok_or_else(|| CodecError::invalid(TABLE, "offsets decrease or leave the bytes"))
}

/// Appends checked offsets, moved such that the first one is `base`; `size` is the largest number
/// that the buffer has to express.
fn write_table<O: Offset>(
    offsets: &[O],
    base: usize,
    size: usize,
    width: OffsetWidth,
    out: &mut Vec<u8>,
) -> Result<()> {
    let first = offsets
        .first()
        .and_then(|first| first.position())
        .unwrap_or(0);
    let stored = offsets
        .iter()
        .map(|offset| offset.position().unwrap_or(0) - first + base);
    match width {
        OffsetWidth::W32 => {
            let limit = u64::from(u32::MAX);
            let size = size as u64;
            if size > limit {
                return Err(CodecError::TooLarge {
                    what: "values of one buffer",
                    size,
                    limit,
                });
            }
            // Nothing is above the size, which fits.
            out.extend(stored.flat_map(|offset| u32::try_from(offset).unwrap_or(0).to_le_bytes()));
        }
        OffsetWidth::W64 => {
            out.extend(stored.flat_map(|offset| (offset as u64).to_le_bytes()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDTHS: [OffsetWidth; 2] = [OffsetWidth::W32, OffsetWidth::W64];

    #[test]
    fn a_chunk_counts_from_its_start_and_is_filled_up() {
        let mut out = vec![1];
        encode_chunk(&[1i32, 3, 3, 4], b"-abc-", OffsetWidth::W32, &mut out).unwrap();
        assert_eq!(
            out[1..],
            [
                16, 0, 0, 0, 18, 0, 0, 0, 18, 0, 0, 0, 19, 0, 0, 0, b'a', b'b', b'c', 0x48
            ]
        );
    }

    #[test]
    fn a_block_counts_from_its_bytes() {
        let mut out = Vec::new();
        encode_block(&[0i32, 2], b"ab", OffsetWidth::W32, &mut out).unwrap();
        assert_eq!(
            out,
            [32, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'a', b'b']
        );
        out.clear();
        encode_block(&[0i32, 2], b"ab", OffsetWidth::W64, &mut out).unwrap();
        assert_eq!((out.len(), out[0], out[8], out[24]), (34, 64, 32, 2));
    }

    #[test]
    fn ends_that_do_not_fit_are_refused() {
        assert!(check_offsets::<i32>(i32::MAX.unsigned_abs() as usize).is_ok());
        assert!(check_offsets::<i32>(i32::MAX.unsigned_abs() as usize + 1).is_err());
    }

    #[test]
    fn damaged_tables_are_errors() {
        let chunk = |words: &[u32]| -> Vec<u8> {
            words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .chain(*b"abcd")
                .collect()
        };
        let parse = |words: &[u32], n| {
            Values::from_chunk(&chunk(words), n, OffsetWidth::W32).map(|values| values.len())
        };
        assert_eq!(parse(&[12, 13, 16], 2), Ok(2));
        assert!(parse(&[12, 13, 17], 2).is_err(), "ends after the buffer");
        assert!(parse(&[12, 15, 14], 2).is_err(), "decreases");
        assert!(parse(&[11, 13, 16], 2).is_err(), "starts within the table");
        assert!(parse(&[12, 13, 16], 9).is_err(), "table cut short");
        assert!(
            parse(&[12, 13, 16], usize::MAX).is_err(),
            "count beyond memory"
        );
        assert!(Values::from_block(&[33, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0], 0).is_err());
        assert!(Values::from_block(&[32, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0], 0).is_err());
        assert!(encode_chunk::<i32>(&[], b"", OffsetWidth::W32, &mut Vec::new()).is_err());
        assert!(encode_chunk(&[0, 3, 2], b"abc", OffsetWidth::W32, &mut Vec::new()).is_err());
        assert!(encode_chunk(&[-1, 2], b"abc", OffsetWidth::W32, &mut Vec::new()).is_err());
        assert!(encode_block(&[0, 4], b"abc", OffsetWidth::W32, &mut Vec::new()).is_err());
    }

    fn check<O: Offset + Default>(values: &Values<'_>, expected: &[Vec<u8>], range: Range<usize>) {
        assert_eq!(values.len(), expected.len());
        assert_eq!(values.get(expected.len()), None);
        for (index, value) in expected.iter().enumerate() {
            assert_eq!(values.get(index), Some(value.as_slice()));
        }
        let (mut bytes, mut ends) = (b"before".to_vec(), vec![O::new(6)]);
        values.append(range.clone(), &mut bytes, &mut ends).unwrap();
        let ends: Vec<usize> = ends.iter().filter_map(|end| end.position()).collect();
        let shifted = values.ends(range.clone()).map(|end| end + 6);
        assert!(ends[1..].iter().copied().eq(shifted));
        for (pair, value) in ends.windows(2).zip(&expected[range.clone()]) {
            assert_eq!(&bytes[pair[0]..pair[1]], value);
        }
        assert_eq!(ends.len(), range.len() + 1);
        assert!(values.bytes(range.start..expected.len() + 1).is_err());
    }

    proptest! {
        #[test]
        fn values_round_trip(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..40),
            cut in (0usize..40, 0usize..40),
        ) {
            let mut offsets = vec![3i64];
            let mut bytes = vec![0; 3];
            for value in &values {
                bytes.extend(value);
                offsets.push(i64::try_from(bytes.len()).unwrap());
            }
            let (a, b) = (cut.0 % (values.len() + 1), cut.1 % (values.len() + 1));
            let range = a.min(b)..a.max(b);
            for width in WIDTHS {
                let mut out = Vec::new();
                encode_chunk(&offsets, &bytes, width, &mut out).unwrap();
                prop_assert_eq!(out.len() % width.bytes(), 0);
                let parsed = Values::from_chunk(&out, values.len(), width).unwrap();
                check::<i32>(&parsed, &values, range.clone());
                check::<i64>(&parsed, &values, range.clone());
                out.clear();
                encode_block(&offsets, &bytes, width, &mut out).unwrap();
                check::<i64>(&Values::from_block(&out, values.len()).unwrap(), &values, range.clone());
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..80),
            n in 0usize..12,
            sane in any::<bool>(),
        ) {
            if sane {
                for byte in bytes.iter_mut().skip(1).step_by(2) {
                    *byte = 0;
                }
            }
            for width in WIDTHS {
                for values in [Values::from_chunk(&bytes, n, width), Values::from_block(&bytes, n)] {
                    let Ok(values) = values else { continue };
                    let (mut out, mut ends) = (Vec::new(), Vec::<i32>::new());
                    values.append(0..n, &mut out, &mut ends).unwrap();
                    prop_assert!(out.len() <= bytes.len());
                }
            }
        }
    }
}
