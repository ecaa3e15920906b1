//! What a file says about itself: its batches, its schema, and where the page table is.

use std::collections::HashMap;

use bytes::Bytes;
use pennon_proto::{file, table};

use crate::container::metadata::decode;
use crate::read::starts::PageStarts;
use crate::{FileError, Result, Schema};

const FOOTER_BYTES: usize = 16;

/// Whether the end of a file says that its version is 0.1.
pub(crate) fn is_legacy(tail: &[u8]) -> bool {
    tail.last_chunk::<8>().is_some_and(|end| {
        matches!(end, [0, 0, 0..=2, 0, b'L', b'A', b'N', b'C']) && tail.len() >= FOOTER_BYTES
    })
}

/// What a file says about itself.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) schema: Schema,
    /// The rows of each batch.
    pub(crate) batches: PageStarts,
    pub(super) num_batches: u64,
    pub(super) page_table: u64,
    /// The smallest field id, which the page table begins with.
    pub(super) first_id: i32,
    /// Where the values of each dictionary are: position and count, by field id.
    pub(super) dictionaries: HashMap<i32, (u64, u64)>,
}

impl Metadata {
    /// Reads the metadata of a file that ends with `tail`.
    pub(crate) fn read(tail: &[u8], read: impl Fn(u64, u64) -> Result<Bytes>) -> Result<Self> {
        let position = tail
            .len()
            .checked_sub(FOOTER_BYTES)
            .and_then(|at| tail.get(at..)?.first_chunk::<8>().copied())
            .map(u64::from_le_bytes)
            .ok_or_else(|| FileError::corrupt("too few bytes for a Lance file"))?;
        let block: file::Metadata = decode(section(position, &read)?, "the file's metadata")?;
        if block.manifest_position == 0 {
            return Err(FileError::unsupported(
                "a file of version 0.1 without a schema of its own",
            ));
        }
        let manifest = section(block.manifest_position, &read)?;
        let manifest: table::Manifest = decode(manifest, "the file's schema")?;
        let schema = Schema::from_proto(&manifest.fields, &manifest.schema_metadata)?;
        let ids = schema.preorder().into_iter().map(|field| field.id);
        let first_id = ids.filter(|id| *id >= 0).min().unwrap_or(0);
        let dictionaries = manifest.fields.iter().filter_map(|field| {
            let values = field.dictionary.as_ref()?;
            let (offset, length) = (u64::try_from(values.offset), u64::try_from(values.length));
            Some((field.id, (offset.ok()?, length.ok()?)))
        });
        let batches = batches(&block.batch_offsets)?;
        Ok(Self {
            dictionaries: dictionaries.collect(),
            num_batches: u64::try_from(batches.len()).unwrap_or(u64::MAX),
            batches: PageStarts::new(batches)?,
            page_table: block.page_table_position,
            first_id,
            schema,
        })
    }
}

/// The message behind a length of 4 bytes.
fn section(position: u64, read: &impl Fn(u64, u64) -> Result<Bytes>) -> Result<Bytes> {
    let length = read(position, 4)?;
    let length = length.first_chunk::<4>().copied().unwrap_or_default();
    read(
        position.saturating_add(4),
        u64::from(u32::from_le_bytes(length)),
    )
}

/// The rows of each batch, given the rows before each of them and the number of all.
fn batches(offsets: &[i32]) -> Result<Vec<u64>> {
    if offsets.first().is_some_and(|first| *first != 0) {
        return Err(FileError::corrupt(
            "the first batch does not begin at row 0",
        ));
    }
    let rows = |pair: &[i32]| match pair {
        [start, end] => u64::try_from(i64::from(*end) - i64::from(*start)).ok(),
        _ => None,
    };
    let batches = offsets.windows(2).map(rows).collect::<Option<_>>();
    batches.ok_or_else(|| FileError::corrupt("a batch ends before it begins"))
}
