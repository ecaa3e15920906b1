//! One value of a full-zip page.

use pennon_codec::general;

use super::packed::{PackedField, packed_fields, push_packed};
use super::{read_bytes, read_number};
use crate::encoding::Encoding;
use crate::layout::{FullZip, ZipWidth};
use crate::read::coding::{Coding, VariableCoding};
use crate::read::shape::Shape;
use crate::read::values::{Values, Variable};
use crate::{FileError, Result};

/// A decompressed value may not be larger than this.
const MAX_VALUE_BYTES: usize = 1 << 31;

/// How to read the next value.
#[derive(Debug)]
pub(super) enum ValueReader {
    /// Values of so many bytes each: booleans take a byte, lists include their items' validity.
    Fixed(usize, Coding),
    /// A length of so many bytes, then a string.
    Variable(usize, VariableCoding),
    /// A length of so many bytes, then a struct.
    Packed(usize, Vec<PackedField>),
}

impl ValueReader {
    pub(super) fn of(layout: &FullZip, shape: &Shape) -> Result<Self> {
        match layout.width {
            ZipWidth::FixedBits(bits) => Self::fixed(bits, &layout.values, shape),
            ZipWidth::LengthPrefixBits(bits) => {
                let prefix = match bits {
                    32 => 4,
                    64 => 8,
                    _ => return Err(FileError::corrupt(format!("lengths of {bits} bits"))),
                };
                match (shape, &layout.values) {
                    (Shape::Packed(shapes), Encoding::VariablePackedStruct { fields }) => {
                        Ok(Self::Packed(prefix, packed_fields(fields, shapes)?))
                    }
                    _ => match Coding::of(&layout.values, shape)? {
                        Coding::Variable(coding) => Ok(Self::Variable(prefix, coding)),
                        _ => Err(FileError::corrupt("lengths before values of one width")),
                    },
                }
            }
        }
    }

    fn fixed(bits: u64, encoding: &Encoding, shape: &Shape) -> Result<Self> {
        let bytes = usize::try_from(bits / 8)
            .ok()
            .filter(|&bytes| bytes > 0 && bits.is_multiple_of(8));
        let bytes = bytes.ok_or_else(|| FileError::corrupt(format!("values of {bits} bits")))?;
        let (coding, expected) = match (shape, encoding) {
            (Shape::Bits, Encoding::Flat { bits: 8 }) => (Coding::Bits(None), Some(1)),
            _ => (
                Coding::of(encoding, shape)?,
                stored_bytes(encoding, shape, 1),
            ),
        };
        if expected != Some(bytes) {
            return Err(FileError::unsupported(format!(
                "values of {bits} bits for this column"
            )));
        }
        Ok(Self::Fixed(bytes, coding))
    }

    /// Bytes of each stored value, when all take the same.
    pub(super) fn fixed_bytes(&self) -> Option<usize> {
        match self {
            Self::Fixed(bytes, _) => Some(*bytes),
            Self::Variable(..) | Self::Packed(..) => None,
        }
    }

    /// Appends `count` values that lie back to back, `width` bytes each.
    pub(super) fn push_many(
        &self,
        bytes: &[u8],
        width: usize,
        count: usize,
        out: &mut Values,
    ) -> Result<()> {
        let bytes = count.checked_mul(width).and_then(|size| bytes.get(..size));
        let bytes = bytes.ok_or_else(|| FileError::corrupt("too few bytes were read"))?;
        match (self, out) {
            (Self::Fixed(_, Coding::Fixed(_)), Values::Fixed(out)) => out.push_bytes(bytes),
            (Self::Fixed(_, coding), out) => bytes
                .chunks_exact(width)
                .try_for_each(|value| push_stored(coding, value, 1, out)),
            _ => Err(FileError::corrupt(
                "values of different lengths without their lengths",
            )),
        }
    }

    /// Appends the value at the front of `bytes`, which may be null.
    pub(super) fn push_next(
        &self,
        bytes: &mut &[u8],
        is_null: bool,
        out: &mut Values,
        plain: &mut Vec<u8>,
    ) -> Result<()> {
        match (self, out) {
            (Self::Variable(..) | Self::Packed(..), out) if is_null => out.push_filler(1),
            (Self::Variable(prefix, coding), Values::Variable(out)) => {
                let value = read_prefixed(bytes, *prefix)?;
                push_variable(coding, value, out, plain)
            }
            (Self::Packed(prefix, fields), Values::Packed(len, out)) => {
                *len += 1;
                push_packed(fields, read_prefixed(bytes, *prefix)?, out, plain)
            }
            (Self::Fixed(width, coding), out) => {
                push_stored(coding, read_bytes(bytes, *width)?, 1, out)
            }
            _ => Err(FileError::corrupt(
                "values of another type than the column's",
            )),
        }
    }
}

/// Takes a length and as many bytes off the front of `bytes`.
pub(super) fn read_prefixed<'a>(bytes: &mut &'a [u8], prefix: usize) -> Result<&'a [u8]> {
    let length = usize::try_from(read_number(bytes, prefix)?);
    read_bytes(
        bytes,
        length.map_err(|_| FileError::corrupt("a value too long"))?,
    )
}

/// Appends a string from its stored form.
pub(super) fn push_variable(
    coding: &VariableCoding,
    stored: &[u8],
    out: &mut Variable,
    plain: &mut Vec<u8>,
) -> Result<()> {
    let stored = match coding.around {
        Some(scheme) => {
            plain.clear();
            general::decompress(scheme, stored, MAX_VALUE_BYTES, plain)?;
            plain.as_slice()
        }
        None => stored,
    };
    match &coding.symbols {
        Some(symbols) => {
            symbols.decompress(stored, out.data_mut())?;
            out.push_end()
        }
        None => out.push(stored),
    }
}

/// Appends `count` values of one width: of lists, the validity of all items and then the items.
pub(super) fn push_stored(
    coding: &Coding,
    bytes: &[u8],
    count: usize,
    out: &mut Values,
) -> Result<()> {
    match (coding, out) {
        (Coding::Fixed(_), Values::Fixed(out)) => out.push_bytes(bytes),
        (Coding::Bits(_), Values::Bits(out)) => {
            out.push_each(bytes, |byte| byte != 0);
            Ok(())
        }
        (Coding::Nothing, out) => out.push_filler(count),
        (
            Coding::List {
                has_validity,
                items: coding,
            },
            Values::List(list),
        ) => {
            let items = count * list.dimension;
            let mut rest = bytes;
            if *has_validity {
                let validity = read_bytes(&mut rest, items.div_ceil(8))?;
                list.validity.push_bits(validity, 0, items);
            } else {
                list.validity.push_ones(items);
            }
            push_stored(coding, rest, items, &mut list.items)
        }
        _ => Err(FileError::corrupt(
            "values of another type than the column's",
        )),
    }
}

/// Bytes of `count` stored values, with the validity of their items.
pub(super) fn stored_bytes(encoding: &Encoding, shape: &Shape, count: usize) -> Option<usize> {
    match (encoding, shape) {
        (
            Encoding::FixedSizeList {
                has_validity,
                values,
                ..
            },
            Shape::List(dimension, items),
        ) => {
            let count = count.checked_mul(*dimension)?;
            let validity = if *has_validity { count.div_ceil(8) } else { 0 };
            validity.checked_add(stored_bytes(values, items, count)?)
        }
        (Encoding::Constant, _) => Some(0),
        (Encoding::Flat { .. }, Shape::Fixed(width)) => count.checked_mul(*width),
        _ => None,
    }
}
