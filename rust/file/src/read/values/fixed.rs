//! Values of one width, in one growing buffer.

use arrow_buffer::{Buffer, MutableBuffer};

use crate::{FileError, Result};

/// More bytes than this in one buffer are refused: the caller should read fewer rows at a time.
const MAX_BYTES: usize = 1 << 33;

/// Values of `width` bytes each.
#[derive(Debug)]
pub(crate) struct Fixed {
    width: usize,
    data: MutableBuffer,
}

impl Fixed {
    /// No values, and room for `capacity`.
    pub(crate) fn new(width: usize, capacity: usize) -> Self {
        let bytes = width.saturating_mul(capacity).min(MAX_BYTES);
        Self {
            width,
            data: MutableBuffer::with_capacity(bytes),
        }
    }

    /// Bytes of a value.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.data.len() / self.width
    }

    /// Appends `count` zeros and returns the bytes from the first of them on.
    pub(crate) fn push_zeros(&mut self, count: usize) -> Result<&mut [u8]> {
        let start = self.data.len();
        let end = count
            .checked_mul(self.width)
            .and_then(|bytes| bytes.checked_add(start))
            .filter(|&end| end <= MAX_BYTES)
            .ok_or_else(too_large)?;
        self.data.resize(end, 0);
        Ok(&mut self.data.as_slice_mut()[start..])
    }

    /// Appends values as they are in memory.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.data.len().saturating_add(bytes.len()) > MAX_BYTES {
            return Err(too_large());
        }
        self.data.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends `count` times the same value.
    pub(crate) fn push_repeated(&mut self, value: &[u8], count: usize) -> Result<()> {
        let width = self.width;
        let out = self.push_zeros(count)?;
        for slot in out.chunks_exact_mut(width) {
            slot.copy_from_slice(value);
        }
        Ok(())
    }

    /// Appends the items that `indices` name, all of which exist.
    pub(crate) fn push_gathered(&mut self, items: &Self, indices: &[u32]) -> Result<()> {
        let items = items.as_bytes();
        match self.width {
            1 => self.gather::<1>(items, indices),
            2 => self.gather::<2>(items, indices),
            4 => self.gather::<4>(items, indices),
            8 => self.gather::<8>(items, indices),
            16 => self.gather::<16>(items, indices),
            width => {
                for &index in indices {
                    let at = to_usize(index) * width;
                    self.push_bytes(&items[at..at + width])?;
                }
                Ok(())
            }
        }
    }

    fn gather<const WIDTH: usize>(&mut self, items: &[u8], indices: &[u32]) -> Result<()> {
        let (items, _) = items.as_chunks::<WIDTH>();
        let (out, _) = self.push_zeros(indices.len())?.as_chunks_mut::<WIDTH>();
        for (slot, &index) in out.iter_mut().zip(indices) {
            *slot = items[to_usize(index)];
        }
        Ok(())
    }

    /// All values.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// The buffer, for kernels that decode into it.
    pub(crate) fn buffer_mut(&mut self) -> &mut MutableBuffer {
        &mut self.data
    }

    /// The finished buffer.
    pub(crate) fn into_buffer(self) -> Buffer {
        self.data.into()
    }
}

/// Indices are 32 bits wide, and so is every address space that this runs on, or wider.
fn to_usize(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn too_large() -> FileError {
    FileError::invalid_input("the values take too much memory: read fewer rows at a time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathering_copies_items_of_any_width() {
        for width in [1, 2, 3, 4, 8, 16] {
            let mut items = Fixed::new(width, 2);
            items.push_repeated(&vec![7; width], 1).unwrap();
            items.push_repeated(&vec![9; width], 1).unwrap();
            let mut out = Fixed::new(width, 0);
            out.push_gathered(&items, &[1, 0, 1]).unwrap();
            assert_eq!(out.len(), 3);
            let expected = [vec![9; width], vec![7; width], vec![9; width]].concat();
            assert_eq!(out.as_bytes(), expected);
        }
    }

    #[test]
    fn absurd_sizes_are_refused_before_they_are_allocated() {
        assert!(Fixed::new(1 << 20, 0).push_zeros(1 << 40).is_err());
        assert!(Fixed::new(8, 0).push_zeros(usize::MAX).is_err());
    }
}
