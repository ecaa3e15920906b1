//! Where the pages of a field are.

use super::metadata::Metadata;
use crate::read::reader::FileReader;
use crate::{FileError, Result};

const ENTRY_BYTES: u64 = 16;

/// The page of one field in one batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    pub(super) position: u64,
    /// In values: one more than the rows for lists.
    pub(super) length: u64,
}

/// The pages of a field, one for each batch.
pub(super) fn pages(reader: &FileReader, metadata: &Metadata, id: u32) -> Result<Vec<Page>> {
    let row = i64::from(id) - i64::from(metadata.first_id);
    let size = metadata.num_batches.saturating_mul(ENTRY_BYTES);
    let position = u64::try_from(row)
        .ok()
        .and_then(|row| row.checked_mul(size)?.checked_add(metadata.page_table))
        .ok_or_else(|| FileError::corrupt(format!("field {id} is not in the page table")))?;
    let bytes = reader.read_metadata(position, size)?;
    let word = |bytes: &[u8]| {
        let word = bytes.first_chunk::<8>().copied().unwrap_or_default();
        u64::try_from(i64::from_le_bytes(word))
            .map_err(|_| FileError::corrupt("a negative position or length in the page table"))
    };
    let entries = bytes.chunks_exact(16);
    entries
        .map(|entry| {
            let (position, length) = entry.split_at(8);
            Ok(Page {
                position: word(position)?,
                length: word(length)?,
            })
        })
        .collect()
}
