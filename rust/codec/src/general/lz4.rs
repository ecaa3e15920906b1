//! LZ4 blocks behind a 32-bit length.

use std::cell::RefCell;

use lz4_flex::block::{self, CompressTable};

use super::{check_decompressed, check_limit};
use crate::bitpack::Lane;
use crate::error::{CodecError, Result, check_length};

const WHAT: &str = "LZ4 block";

/// The most that a byte of a block can stand for.
const MAX_EXPANSION: usize = 255;

/// Inputs shorter than this work with a table of half the size.
const SMALL_INPUT: usize = u16::MAX as usize;

thread_local! {
    /// Tables for small and for large inputs; making one costs more than compressing a chunk.
    static TABLES: RefCell<[CompressTable; 2]> =
        RefCell::new([CompressTable::small(), CompressTable::large()]);
}

pub(super) fn compress(input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(input.len()).map_err(|_| CodecError::TooLarge {
        what: WHAT,
        size: input.len() as u64,
        limit: u64::from(u32::MAX),
    })?;
    out.extend_from_slice(&length.to_le_bytes());
    let start = out.len();
    out.resize(start + block::get_maximum_output_size(input.len()), 0);
    let large = usize::from(input.len() >= SMALL_INPUT);
    let written = TABLES.with_borrow_mut(|tables| {
        block::compress_into_with_table(input, &mut out[start..], &mut tables[large])
    });
    let written = written.map_err(|error| CodecError::invalid(WHAT, error.to_string()))?;
    out.truncate(start + written);
    Ok(())
}

pub(super) fn decompress(input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
    check_length(WHAT, 4, input.len())?;
    let (length, block) = input.split_at(4);
    let length = check_limit(WHAT, u32::read(length).into(), limit)?;
    if length > block.len().saturating_mul(MAX_EXPANSION) {
        let detail = format!("{} bytes cannot become {length}", block.len());
        return Err(CodecError::invalid(WHAT, detail));
    }
    if length == 0 && block.is_empty() {
        return Ok(());
    }
    let start = out.len();
    out.resize(start + length, 0);
    let written = block::decompress_into(block, &mut out[start..])
        .map_err(|error| CodecError::invalid(WHAT, error.to_string()))?;
    check_decompressed(WHAT, length, written)
}
