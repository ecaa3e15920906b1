//! Strings and binaries: offsets and bytes, in two growing buffers.

use std::ops::Range;

use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use pennon_codec::CodecError;
use pennon_codec::fsst::SymbolTable;
use pennon_codec::variable::Values as Stored;

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
        Self {
            offsets,
            data: Vec::new(),
        }
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

    /// Appends some of the values of a chunk or a block.
    pub(crate) fn push_stored(&mut self, stored: &Stored<'_>, range: Range<usize>) -> Result<()> {
        let done = match &mut self.offsets {
            Offsets::Small(offsets) => stored.append(range, &mut self.data, offsets),
            Offsets::Large(offsets) => stored.append(range, &mut self.data, offsets),
        };
        done.map_err(not_appended)
    }

    /// Appends some of the values of a chunk, which are coded by `symbols`.
    pub(crate) fn push_coded(
        &mut self,
        symbols: &SymbolTable,
        stored: &Stored<'_>,
        range: Range<usize>,
    ) -> Result<()> {
        let (codes, ends) = (stored.bytes(range.clone())?, stored.ends(range));
        let data = &mut self.data;
        let done = match &mut self.offsets {
            Offsets::Small(offsets) => symbols.decompress_all(codes, ends, data, offsets),
            Offsets::Large(offsets) => symbols.decompress_all(codes, ends, data, offsets),
        };
        done.map_err(not_appended)
    }

    /// Appends values that lie back to back; `ends` says where each of them ends, and never
    /// decreases.
    pub(crate) fn push_run(&mut self, bytes: &[u8], ends: impl Iterator<Item = u64>) -> Result<()> {
        let base = u64::try_from(self.data.len()).unwrap_or(u64::MAX);
        self.data.extend_from_slice(bytes);
        self.check_size()?;
        // Ends are those of bytes that are in memory.
        match &mut self.offsets {
            Offsets::Small(out) => {
                out.extend(ends.map(|end| i32::try_from(base + end).unwrap_or(0)))
            }
            Offsets::Large(out) => {
                out.extend(ends.map(|end| i64::try_from(base + end).unwrap_or(0)))
            }
        }
        Ok(())
    }

    /// Appends the items that `indices` name, all of which exist.
    pub(crate) fn push_gathered(&mut self, items: &Self, indices: &[u32]) -> Result<()> {
        let spans = items.spans();
        let longest = spans.iter().map(|span| span.len()).max().unwrap_or(0);
        if longest <= SLOT && spans.len() <= MAX_SLOTS && indices.len() >= spans.len() {
            return self.push_slots(&slots(items, &spans), indices);
        }
        for &index in indices {
            let span = usize::try_from(index)
                .ok()
                .and_then(|index| spans.get(index));
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
                out.extend(
                    indices
                        .iter()
                        .map(|&index| i32::try_from(copy(index)).unwrap_or(0)),
                );
            }
            Offsets::Large(out) => {
                out.extend(
                    indices
                        .iter()
                        .map(|&index| i64::try_from(copy(index)).unwrap_or(0)),
                );
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
            Offsets::Large(offsets) => offsets
                .array_windows::<2>()
                .map(|&[start, end]| at(start)..at(end))
                .collect(),
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
        if self.data.len() > limit {
            Err(too_large())
        } else {
            Ok(())
        }
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

/// Tells values that are damaged from values that are too many.
fn not_appended(error: CodecError) -> FileError {
    match error {
        CodecError::TooLarge { .. } => too_large().with_source(error),
        _ => error.into(),
    }
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
        variable
            .spans()
            .into_iter()
            .map(|span| &variable.data()[span])
            .collect()
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
