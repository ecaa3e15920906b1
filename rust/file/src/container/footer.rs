//! The last 40 bytes of a file, and the offset tables in front of them.

use std::ops::Range;

use crate::{FileError, FileVersion, Result};

/// Size of a footer.
pub(crate) const FOOTER_BYTES: u64 = 40;
/// Size of one entry of an offset table.
pub(crate) const OFFSET_ENTRY_BYTES: u64 = 16;
/// The last four bytes of every file.
const MAGIC: &[u8; 4] = b"LANC";

/// Where the parts of the container are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    /// Position of the first column's metadata.
    pub(crate) column_metadata: u64,
    /// Position of the column offset table.
    pub(crate) column_offsets: u64,
    /// Position of the global offset table.
    pub(crate) global_offsets: u64,
    /// How many global buffers there are; buffer 0 is the schema.
    pub(crate) num_global_buffers: u32,
    /// How many columns there are.
    pub(crate) num_columns: u32,
    /// The file's version.
    pub(crate) version: FileVersion,
}

impl Footer {
    /// Reads a footer, which is the end of `tail`, out of a file of `file_size` bytes.
    pub(crate) fn parse(tail: &[u8], file_size: u64) -> Result<Self> {
        let Some(bytes) = tail.last_chunk::<40>() else {
            return Err(FileError::corrupt(format!(
                "{file_size} bytes are too few for a Lance file"
            )));
        };
        if &bytes[36..] != MAGIC {
            return Err(FileError::corrupt(
                "not a Lance file: it does not end in 'LANC'",
            ));
        }
        let (major, minor) = (u16_at(bytes, 32), u16_at(bytes, 34));
        let footer = Self {
            column_metadata: u64_at(bytes, 0),
            column_offsets: u64_at(bytes, 8),
            global_offsets: u64_at(bytes, 16),
            num_global_buffers: u32_at(bytes, 24),
            num_columns: u32_at(bytes, 28),
            version: known_version(major, minor)?,
        };
        footer.check(file_size)?;
        Ok(footer)
    }

    /// The footer's bytes.
    pub(crate) fn to_bytes(self) -> [u8; 40] {
        let (major, minor) = self.version.footer_pair();
        let mut bytes = [0; 40];
        bytes[0..8].copy_from_slice(&self.column_metadata.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.column_offsets.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.global_offsets.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.num_global_buffers.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.num_columns.to_le_bytes());
        bytes[32..34].copy_from_slice(&major.to_le_bytes());
        bytes[34..36].copy_from_slice(&minor.to_le_bytes());
        bytes[36..40].copy_from_slice(MAGIC);
        bytes
    }

    /// The bytes of the column offset table.
    pub(crate) fn column_table(&self) -> Range<u64> {
        self.column_offsets..self.column_offsets + u64::from(self.num_columns) * OFFSET_ENTRY_BYTES
    }

    /// The bytes of the global offset table.
    pub(crate) fn global_table(&self) -> Range<u64> {
        self.global_offsets
            ..self.global_offsets + u64::from(self.num_global_buffers) * OFFSET_ENTRY_BYTES
    }

    fn check(&self, file_size: u64) -> Result<()> {
        let end = file_size - FOOTER_BYTES;
        let fits = |start: u64, entries: u32| {
            start
                .checked_add(u64::from(entries) * OFFSET_ENTRY_BYTES)
                .is_some_and(|stop| stop <= end)
        };
        if !fits(self.column_offsets, self.num_columns)
            || !fits(self.global_offsets, self.num_global_buffers)
            || self.column_metadata > end
        {
            return Err(FileError::corrupt("the footer points outside of the file"));
        }
        if self.num_global_buffers == 0 {
            return Err(FileError::corrupt(
                "the file has no schema: no global buffers",
            ));
        }
        Ok(())
    }
}

fn known_version(major: u16, minor: u16) -> Result<FileVersion> {
    FileVersion::from_footer_pair(major, minor).ok_or_else(|| match (major, minor) {
        (0, 0..=2) => FileError::unsupported(
            "file version 0.1 (legacy) is not supported: rewrite the dataset with \
             data_storage_version 2.0 or newer",
        ),
        _ => FileError::unsupported(format!(
            "file version {major}.{minor} is not supported: this release reads 2.0, 2.1 and 2.2"
        )),
    })
}

/// Reads an offset table: the byte range of each entry, checked against the file's size.
pub(crate) fn parse_offset_table(bytes: &[u8], file_size: u64) -> Result<Vec<Range<u64>>> {
    bytes
        .chunks_exact(16)
        .enumerate()
        .map(|(index, entry)| {
            checked_range(u64_at(entry, 0), u64_at(entry, 8), file_size).ok_or_else(|| {
                FileError::corrupt(format!(
                    "entry {index} of an offset table points outside of the file"
                ))
            })
        })
        .collect()
}

/// Appends an offset table.
pub(crate) fn write_offset_table(entries: &[Range<u64>], out: &mut Vec<u8>) {
    for entry in entries {
        out.extend_from_slice(&entry.start.to_le_bytes());
        out.extend_from_slice(&(entry.end - entry.start).to_le_bytes());
    }
}

/// The range of `size` bytes at `start`, if a file of `file_size` bytes has it.
pub(crate) fn checked_range(start: u64, size: u64, file_size: u64) -> Option<Range<u64>> {
    let end = start.checked_add(size)?;
    (end <= file_size).then_some(start..end)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    le_at::<8>(bytes, at).map_or(0, u64::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    le_at::<4>(bytes, at).map_or(0, u32::from_le_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    le_at::<2>(bytes, at).map_or(0, u16::from_le_bytes)
}

fn le_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileErrorKind;

    fn sample() -> Footer {
        Footer {
            column_metadata: 0x1d,
            column_offsets: 0x48,
            global_offsets: 0x58,
            num_global_buffers: 1,
            num_columns: 1,
            version: FileVersion::V2_0,
        }
    }

    #[test]
    fn a_footer_survives_the_round_trip() {
        let bytes = sample().to_bytes();
        assert_eq!(bytes[32..36], [0, 0, 3, 0]);
        assert_eq!(Footer::parse(&bytes, 144).unwrap(), sample());
    }

    #[test]
    fn a_footer_that_points_past_itself_is_corrupt() {
        let bytes = Footer {
            num_columns: 9,
            ..sample()
        }
        .to_bytes();
        assert_eq!(
            Footer::parse(&bytes, 144).unwrap_err().kind(),
            FileErrorKind::Corrupt
        );
        let bytes = Footer {
            column_offsets: u64::MAX,
            ..sample()
        }
        .to_bytes();
        assert_eq!(
            Footer::parse(&bytes, 144).unwrap_err().kind(),
            FileErrorKind::Corrupt
        );
    }

    #[test]
    fn a_legacy_version_is_told_apart_from_garbage() {
        let mut bytes = sample().to_bytes();
        bytes[32..36].copy_from_slice(&[0, 0, 2, 0]);
        let error = Footer::parse(&bytes, 144).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::Unsupported);
        assert!(error.to_string().contains("legacy"), "{error}");
        bytes[39] = b'K';
        assert_eq!(
            Footer::parse(&bytes, 144).unwrap_err().kind(),
            FileErrorKind::Corrupt
        );
    }

    #[test]
    fn an_offset_table_is_checked_against_the_file() {
        let mut bytes = Vec::new();
        write_offset_table(&[0..29, 64..100], &mut bytes);
        assert_eq!(parse_offset_table(&bytes, 100).unwrap(), [0..29, 64..100]);
        assert!(parse_offset_table(&bytes, 99).is_err());
    }
}
