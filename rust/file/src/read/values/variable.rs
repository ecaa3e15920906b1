//! Strings and binaries: offsets and bytes, in two growing buffers.

use std::ops::Range;

use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use crate::{FileError, Result};

/// Items up to this size are gathered by copying a whole slot of it.
const SLOT: usize = 16;
/// More items than this are gathered without a table of slots.
const MAX_SLOTS: usize = 1 << 12;

/// Offsets as wide as the type needs them, with the leading zero.
#[derive(Debug)]
pub(crate) enum Offsets {
    /// Of strings and binaries.
    Small(Vec<i32>),
    /// Of large strings and binaries.
    Large(Vec<i64>),
}

/// Values of different lengths.
#[derive(Debug)]
pub(crate) struct Variable {
    offsets: Offsets,
    data: Vec<u8>,
}

impl Variable {
    /// No values, and room for the offsets of `capacity`.
    pub(crate) fn new(large: bool, capacity: usize) -> Self {
        let offsets = if large {
            let mut offsets = Vec::with_capacity(capacity + 1);
            offsets.push(0);
            Offsets::Large(offsets)
        } else {
            let mut offsets = Vec::with_capacity(capacity + 1);
            offsets.push(0);
            Offsets::Small(offsets)
        };
        Self { offsets, data: Vec::new() }
    }

    /// Whether offsets take 64 bits.
    pub(crate) fn is_large(&self) -> bool {
        matches!(self.offsets, Offsets::Large(_))
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        match &self.offsets {
            Offsets::Small(offsets) => offsets.len() - 1,
            Offsets::Large(offsets) => offsets.len() - 1,
        }
    }

    /// Bytes that the values take in memory.
    pub(crate) fn memory(&self) -> usize {
        let width = if self.is_large() { 8 } else { 4 };
        self.data.len() + self.len() * width
    }

    /// Appends one value.
    pub(crate) fn push(&mut self, value: &[u8]) -> Result<()> {
        self.data.extend_from_slice(value);
        self.push_end()
    }

    /// Appends `count` empty values.
    pub(crate) fn push_empty(&mut self, count: usize) -> Result<()> {
        match &mut self.offsets {
            Offsets::Small(offsets) => {
                let end = last(offsets);
                offsets.resize(offsets.len() + count, end);
            }
            Offsets::Large(offsets) => {
                let end = last(offsets);
                offsets.resize(offsets.len() + count, end);
            }
        }
        Ok(())
    }

    /// Appends `count` times the same value.
    pub(crate) fn push_repeated(&mut self, value: &[u8], count: usize) -> Result<()> {
        for _ in 0..count {
            self.push(value)?;
        }
        Ok(())
    }

    /// Appends the values whose bytes lie in `data` between neighbours of `offsets`, which are
    /// stored little-endian in `width` bytes each; one value fewer than there are offsets.
    pub(crate) fn push_slices(&mut self, offsets: &[u8], width: usize, data: &[u8]) -> Result<()> {
        if width == 8 {
            let (offsets, _) = offsets.as_chunks::<8>();
            self.push_between(offsets.iter().map(|&bytes| u64::from_le_bytes(bytes)), data)
        } else {
            let (offsets, _) = offsets.as_chunks::<4>();
            let offsets = offsets.iter().map(|&bytes| u64::from(u32::from_le_bytes(bytes)));
            self.push_between(offsets, data)
        }
    }

    fn push_between(
        &mut self,
        mut offsets: impl ExactSizeIterator<Item = u64>,
        data: &[u8],
    ) -> Result<()> {
        let Some(first) = offsets.next() else {
            return Ok(());
        };
        let base = u64::try_from(self.data.len()).map_err(|_| too_large())?;
        let delta = base.wrapping_sub(first);
        let (mut end, mut is_sorted) = (first, true);
        let mut rebase = |offset: u64| {
            is_sorted &= end <= offset;
            end = offset;
            offset.wrapping_add(delta)
        };
        match &mut self.offsets {
            Offsets::Small(out) => out.extend(offsets.map(|offset| low_half(rebase(offset)))),
            Offsets::Large(out) => out.extend(offsets.map(|offset| rebase(offset).cast_signed())),
        }
        let bytes = is_sorted.then_some(first..end).and_then(to_usize_range);
        let Some(bytes) = bytes.and_then(|range| data.get(range)) else {
            return Err(FileError::corrupt("offsets that are not in order or leave their buffer"));
        };
        self.data.extend_from_slice(bytes);
        self.check_size()
    }

    /// Appends the items that `indices` name, all of which exist.
    pub(crate) fn push_gathered(&mut self, items: &Self, indices: &[u32]) -> Result<()> {
        let spans = items.spans();
        let longest = spans.iter().map(|span| span.len()).max().unwrap_or(0);
        if longest <= SLOT && spans.len() <= MAX_SLOTS && indices.len() >= spans.len() {
            return self.push_slots(&slots(items, &spans), indices);
        }
        for &index in indices {
            let span = usize::try_from(index).ok().and_then(|index| spans.get(index));
            self.push(&items.data[span.cloned().unwrap_or_default()])?;
        }
        Ok(())
    }

    /// Copies a whole slot for each index; what is too much is overwritten by the next.
    fn push_slots(&mut self, slots: &[([u8; SLOT], usize)], indices: &[u32]) -> Result<()> {
        let slot = |index: u32| slots[usize::try_from(index).unwrap_or(usize::MAX)];
        let total: usize = indices.iter().map(|&index| slot(index).1).sum();
        let mut at = self.data.len();
        self.data.resize(at + total + SLOT, 0);
        self.check_size()?;
        let data = self.data.as_mut_slice();
        let mut copy = |index: u32| {
            let (bytes, len) = slot(index);
            data[at..at + SLOT].copy_from_slice(&bytes);
            at += len;
            at
        };
        match &mut self.offsets {
            Offsets::Small(out) => {
                out.extend(indices.iter().map(|&index| i32::try_from(copy(index)).unwrap_or(0)));
            }
            Offsets::Large(out) => {
                out.extend(indices.iter().map(|&index| i64::try_from(copy(index)).unwrap_or(0)));
            }
        }
        self.data.truncate(at);
        Ok(())
    }

    /// Where each value's bytes are.
    pub(crate) fn spans(&self) -> Vec<Range<usize>> {
        let at = |offset: i64| usize::try_from(offset).unwrap_or(0);
        match &self.offsets {
            Offsets::Small(offsets) => offsets
                .array_windows::<2>()
                .map(|&[start, end]| at(start.into())..at(end.into()))
                .collect(),
            Offsets::Large(offsets) => {
                offsets.array_windows::<2>().map(|&[start, end]| at(start)..at(end)).collect()
            }
        }
    }

    /// All values' bytes.
    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }

    /// The bytes, for decoders that append to them; each value is closed by [`Self::push_end`].
    pub(crate) fn data_mut(&mut self) -> &mut Vec<u8> {
        &mut self.data
    }

    /// Makes a value of the bytes that were appended since the last one.
    pub(crate) fn push_end(&mut self) -> Result<()> {
        match &mut self.offsets {
            Offsets::Small(offsets) => {
                offsets.push(i32::try_from(self.data.len()).map_err(|_| too_large())?);
            }
            Offsets::Large(offsets) => {
                offsets.push(i64::try_from(self.data.len()).map_err(|_| too_large())?);
            }
        }
        Ok(())
    }

    /// The finished buffers of a type with 32-bit offsets.
    pub(crate) fn into_small(self) -> Option<(OffsetBuffer<i32>, Buffer)> {
        match self.offsets {
            Offsets::Small(offsets) => Some((
                OffsetBuffer::new(ScalarBuffer::from(offsets)),
                Buffer::from_vec(self.data),
            )),
            Offsets::Large(_) => None,
        }
    }

    /// The finished buffers of a type with 64-bit offsets.
    pub(crate) fn into_large(self) -> Option<(OffsetBuffer<i64>, Buffer)> {
        match self.offsets {
            Offsets::Large(offsets) => Some((
                OffsetBuffer::new(ScalarBuffer::from(offsets)),
                Buffer::from_vec(self.data),
            )),
            Offsets::Small(_) => None,
        }
    }

    fn check_size(&self) -> Result<()> {
        let limit = match &self.offsets {
            Offsets::Small(_) => usize::try_from(i32::MAX).unwrap_or(usize::MAX),
            Offsets::Large(_) => usize::MAX,
        };
        if self.data.len() > limit { Err(too_large()) } else { Ok(()) }
    }
}

fn slots(items: &Variable, spans: &[Range<usize>]) -> Vec<([u8; SLOT], usize)> {
    let fill = |span: &Range<usize>| {
        let mut slot = [0; SLOT];
        slot[..span.len()].copy_from_slice(&items.data[span.clone()]);
        (slot, span.len())
    };
    spans.iter().map(fill).collect()
}

fn last<T: Copy + Default>(offsets: &[T]) -> T {
    offsets.last().copied().unwrap_or_default()
}

/// The low half of an offset; the caller checks that the other half is zero.
#[expect(clippy::cast_possible_truncation, reason = "keeping the low half is the purpose")]
fn low_half(offset: u64) -> i32 {
    (offset as u32).cast_signed()
}

fn to_usize_range(range: Range<u64>) -> Option<Range<usize>> {
    Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
}

fn too_large() -> FileError {
    FileError::invalid_input(
        "the strings of one batch take more than 2 GiB: read fewer rows at a time, or use a \
         large_string or large_binary column",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values_of(variable: &Variable) -> Vec<&[u8]> {
        variable.spans().into_iter().map(|span| &variable.data()[span]).collect()
    }

    #[test]
    fn slices_are_rebased_behind_what_is_there() {
        for large in [false, true] {
            let mut out = Variable::new(large, 0);
            out.push(b"x").unwrap();
            let offsets: Vec<u8> = [3_u32, 5, 5, 6].iter().flat_map(|o| o.to_le_bytes()).collect();
            out.push_slices(&offsets, 4, b"___abc").unwrap();
            out.push_empty(1).unwrap();
            assert_eq!(values_of(&out), [&b"x"[..], b"ab", b"", b"c", b""]);
        }
    }

    #[test]
    fn offsets_out_of_order_or_range_are_corrupt() {
        for bad in [[3_u64, 2, 4], [0, 1, 9], [u64::MAX, 0, 0]] {
            let offsets: Vec<u8> = bad.iter().flat_map(|o| o.to_le_bytes()).collect();
            assert!(Variable::new(true, 0).push_slices(&offsets, 8, b"abcd").is_err());
        }
    }

    #[test]
    fn gathering_copies_short_and_long_items() {
        for long in ["ccc", "a longer item than fits into a slot"] {
            let mut items = Variable::new(false, 0);
            for item in ["a", "", long] {
                items.push(item.as_bytes()).unwrap();
            }
            let mut out = Variable::new(false, 0);
            out.push(b"first").unwrap();
            out.push_gathered(&items, &[2, 1, 0, 2]).unwrap();
            let expected: [&[u8]; 5] = [b"first", long.as_bytes(), b"", b"a", long.as_bytes()];
            assert_eq!(values_of(&out), expected);
        }
    }
}
