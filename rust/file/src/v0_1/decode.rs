//! From the bytes of pages to values.

use std::sync::Arc;

use bytes::Bytes;

use crate::read::validity::Bitmap;
use crate::read::values::{Fixed, Values};
use crate::{FileError, Result};

/// Some neighbouring values of a page.
#[derive(Debug)]
pub(super) enum Run {
    /// So many nulls.
    Nulls(usize),
    /// So many values of a fixed width, from a bit of the first byte on.
    Plain { skip: usize, count: usize },
    /// Strings, which end at these places of their bytes.
    Strings(Vec<u64>),
}

/// The values that keys stand for.
pub(super) type Items = Option<Arc<Values>>;

impl Run {
    /// Appends the values, which `bytes` hold. Empty ones are null where `nullable`.
    pub(super) fn decode(
        &self,
        bytes: &Bytes,
        items: &Items,
        nullable: bool,
        values: &mut Values,
        validity: &mut Bitmap,
    ) -> Result<()> {
        match (self, values, items) {
            (Self::Nulls(count), Values::Null(len), _) => {
                *len += count;
                validity.push_ones(*count);
            }
            (Self::Plain { count, .. }, values @ Values::Dictionary(_), Some(items)) => {
                push_keys(bytes, *count, items, nullable, values, validity)?;
            }
            (Self::Plain { skip, count }, values, None) => {
                push_plain(values, bytes, *skip, *count)?;
                validity.push_ones(*count);
            }
            (Self::Strings(ends), Values::Variable(out), None) => {
                out.push_run(bytes, ends.iter().copied())?;
                push_lengths(ends, nullable, validity);
            }
            _ => {
                return Err(FileError::corrupt(
                    "values of another type than the column's",
                ));
            }
        }
        Ok(())
    }
}

fn push_lengths(ends: &[u64], nullable: bool, validity: &mut Bitmap) {
    let mut start = 0;
    for &end in ends {
        let is_valid = !nullable || end > start;
        validity.push_word(u64::from(is_valid), 1);
        start = end;
    }
}

fn push_plain(values: &mut Values, bytes: &[u8], skip: usize, count: usize) -> Result<()> {
    match values {
        Values::Bits(bits) => bits.push_bits(bytes, skip, count),
        Values::Fixed(fixed) => fixed.push_bytes(bytes)?,
        Values::List(list) => {
            let items = count
                .checked_mul(list.dimension)
                .ok_or_else(|| FileError::corrupt("lists of too many items"))?;
            push_plain(&mut list.items, bytes, skip, items)?;
            list.validity.push_ones(items);
        }
        _ => {
            return Err(FileError::corrupt(
                "values of another type than the column's",
            ));
        }
    }
    Ok(())
}

/// Appends what keys stand for. Without any items, all are null.
fn push_keys(
    bytes: &[u8],
    count: usize,
    items: &Arc<Values>,
    nullable: bool,
    values: &mut Values,
    validity: &mut Bitmap,
) -> Result<()> {
    let width = bytes.len().checked_div(count).unwrap_or(1).max(1);
    let keys = bytes.chunks_exact(width).map(|key| {
        let mut wide = [0; 8];
        wide.iter_mut()
            .zip(key)
            .for_each(|(out, byte)| *out = *byte);
        u32::try_from(u64::from_le_bytes(wide))
            .map_err(|_| FileError::corrupt("a key beyond its dictionary"))
    });
    let keys = keys.collect::<Result<Vec<_>>>()?;
    if items.len() == 0 {
        values.push_filler(count)?;
        validity.push_zeros(count);
        return Ok(());
    }
    values.push_gathered(items, &keys)?;
    let empty: Vec<bool> = match items.as_ref() {
        Values::Variable(items) => items.spans().iter().map(|span| span.is_empty()).collect(),
        _ => Vec::new(),
    };
    let is_empty = |key: u32| {
        usize::try_from(key)
            .ok()
            .and_then(|key| empty.get(key).copied())
    };
    validity.push_each(&keys, |key| !(nullable && is_empty(key) == Some(true)));
    Ok(())
}

/// Values of one width as they lie in a file.
pub(super) fn fixed(width: usize, bytes: &[u8]) -> Result<Values> {
    let mut fixed = Fixed::new(width, 0);
    fixed.push_bytes(bytes)?;
    Ok(Values::Fixed(fixed))
}
