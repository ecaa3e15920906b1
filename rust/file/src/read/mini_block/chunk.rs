//! The buffers of one chunk.
//!
//! ```text
//! u16 levels | u16 repetition bytes? | u16 definition bytes? | u16 or u32 value bytes, each buffer
//! pad to 8 | repetition | pad | definition | pad | values | pad ...
//! ```

use crate::{FileError, Result};

/// More value buffers than this are refused: no encoding has them.
pub(crate) const MAX_BUFFERS: usize = 16;

/// What the header of each chunk of a page looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkHeader {
    pub(crate) has_repetition: bool,
    pub(crate) has_definition: bool,
    pub(crate) num_buffers: usize,
    /// Whether the sizes of value buffers take 32 bits.
    pub(crate) large: bool,
}

/// A chunk, taken apart.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    pub(crate) num_levels: usize,
    pub(crate) repetition: &'a [u8],
    pub(crate) definition: &'a [u8],
    buffers: [&'a [u8]; MAX_BUFFERS],
    num_buffers: usize,
}

impl<'a> Chunk<'a> {
    /// Takes a chunk apart.
    pub(crate) fn parse(bytes: &'a [u8], header: ChunkHeader) -> Result<Self> {
        let mut cursor = Cursor { bytes, at: 0 };
        let num_levels = cursor.size(2)?;
        let repetition = if header.has_repetition {
            cursor.size(2)?
        } else {
            0
        };
        let definition = if header.has_definition {
            cursor.size(2)?
        } else {
            0
        };
        let mut sizes = [0; MAX_BUFFERS];
        let sizes = sizes.get_mut(..header.num_buffers).ok_or_else(too_short)?;
        for size in sizes.iter_mut() {
            *size = cursor.size(if header.large { 4 } else { 2 })?;
        }
        let repetition = cursor.buffer(repetition)?;
        let definition = cursor.buffer(definition)?;
        let mut buffers = [&bytes[..0]; MAX_BUFFERS];
        for (buffer, &mut size) in buffers.iter_mut().zip(sizes) {
            *buffer = cursor.buffer(size)?;
        }
        Ok(Self {
            num_levels,
            repetition,
            definition,
            buffers,
            num_buffers: header.num_buffers,
        })
    }

    /// The value buffers.
    pub(crate) fn buffers(&self) -> &[&'a [u8]] {
        &self.buffers[..self.num_buffers]
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A little-endian number of `width` bytes.
    fn size(&mut self, width: usize) -> Result<usize> {
        let bytes = self
            .bytes
            .get(self.at..self.at + width)
            .ok_or_else(too_short)?;
        self.at += width;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |size, &byte| (size << 8) | usize::from(byte)))
    }

    /// A buffer of `size` bytes at the next multiple of eight.
    fn buffer(&mut self, size: usize) -> Result<&'a [u8]> {
        if size == 0 {
            return Ok(&self.bytes[..0]);
        }
        let start = self.at.next_multiple_of(8);
        let end = start.checked_add(size).ok_or_else(too_short)?;
        self.at = end;
        self.bytes.get(start..end).ok_or_else(too_short)
    }
}

fn too_short() -> FileError {
    FileError::corrupt("a chunk is too short for its buffers")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: ChunkHeader = ChunkHeader {
        has_repetition: false,
        has_definition: true,
        num_buffers: 1,
        large: false,
    };

    #[test]
    fn the_chunk_of_a_tiny_page_as_in_the_specification() {
        let bytes = [
            3, 0, 6, 0, 12, 0, 0xFE, 0xFE, 0, 0, 1, 0, 0, 0, 0xFE, 0xFE, 1, 0, 0, 0, 0, 0, 0, 0, 3,
            0, 0, 0, 0xFE, 0xFE, 0xFE, 0xFE,
        ];
        let chunk = Chunk::parse(&bytes, HEADER).unwrap();
        assert_eq!(chunk.num_levels, 3);
        assert_eq!(chunk.definition, [0, 0, 1, 0, 0, 0]);
        assert_eq!(chunk.buffers(), [&[1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0]]);
        for end in 0..28 {
            assert!(Chunk::parse(&bytes[..end], HEADER).is_err());
        }
    }
}
