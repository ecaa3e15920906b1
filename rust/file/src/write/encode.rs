//! From the rows of a page to its buffers.

use arrow_array::{Array, ArrayRef};

use super::choose::{Choice, choose};
use super::column::Page;
use super::leaf::Leaf;
use super::shred::{Shredded, shred};
use super::{blob, constant, full_zip, levels, mini_block};
use crate::container::metadata::Described;
use crate::{FileError, FileVersion, PageLayout, Result};

/// Encodes rows that were projected to one leaf. Levels that do not fit into the chunks of one page
/// take several.
pub(crate) fn encode_pages(
    leaf: &Leaf,
    version: FileVersion,
    rows: &ArrayRef,
) -> Result<Vec<Page>> {
    let mut pages = Vec::with_capacity(1);
    encode_into(leaf, version, rows, &mut pages)?;
    Ok(pages)
}

fn encode_into(
    leaf: &Leaf,
    version: FileVersion,
    rows: &ArrayRef,
    pages: &mut Vec<Page>,
) -> Result<()> {
    let shredded = shred(rows, &leaf.steps)?;
    let fits_chunks = levels::fit_chunks(&shredded);
    if !fits_chunks && rows.len() > 1 {
        let half = rows.len() / 2;
        encode_into(leaf, version, &rows.slice(0, half), pages)?;
        return encode_into(leaf, version, &rows.slice(half, rows.len() - half), pages);
    }
    let (layout, buffers) = encode(leaf, version, &shredded, fits_chunks)?;
    let rows = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    pages.push(Page {
        rows,
        layout: Described::of(&layout),
        buffers,
        outside: None,
    });
    Ok(())
}

fn encode(
    leaf: &Leaf,
    version: FileVersion,
    shredded: &Shredded,
    fits_chunks: bool,
) -> Result<(PageLayout, Vec<Vec<u8>>)> {
    match choose(leaf, version, shredded, fits_chunks)? {
        Choice::Nulls => Ok(constant::encode_nulls(version, shredded)),
        Choice::Constant(value) => Ok(constant::encode_value(value, shredded)),
        Choice::FullZip(values) => full_zip::encode(&values, shredded),
        Choice::Blob(descriptions) => blob::encode(version, &descriptions, shredded),
        Choice::MiniBlock { values, dictionary } => {
            if !fits_chunks {
                return Err(FileError::unsupported(
                    "a row with this many null or empty lists cannot be stored in this type",
                ));
            }
            let dictionary = dictionary.as_ref();
            let first = mini_block::encode(version, shredded, &values, dictionary)?;
            // A general compressor is tried, and kept where it pays.
            match values.compressed() {
                Some(compressed) if mini_block::is_worth_compressing(&first) => {
                    let second = mini_block::encode(version, shredded, &compressed, dictionary)?;
                    Ok(mini_block::smaller(first, second))
                }
                _ => Ok(first),
            }
        }
    }
}
