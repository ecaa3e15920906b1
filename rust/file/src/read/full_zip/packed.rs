//! Structs whose fields are stored one after the other, some with a length in front.

use super::read_bytes;
use super::value::{push_stored, push_variable, read_prefixed, stored_bytes};
use crate::encoding::{self, PackedWidth};
use crate::read::coding::{Coding, VariableCoding};
use crate::read::shape::Shape;
use crate::read::values::Values;
use crate::{FileError, Result};

/// How to read a field of a struct.
#[derive(Debug)]
pub(super) enum PackedField {
    /// So many bytes.
    Fixed(usize, Coding),
    /// A length of so many bytes, then a string.
    Variable(usize, VariableCoding),
}

/// Checks the fields of a struct against their shapes.
pub(super) fn packed_fields(
    fields: &[encoding::PackedField],
    shapes: &[Shape],
) -> Result<Vec<PackedField>> {
    if fields.len() != shapes.len() {
        return Err(FileError::corrupt(
            "a packed struct of more fields than the schema, or fewer",
        ));
    }
    fields
        .iter()
        .zip(shapes)
        .map(|(field, shape)| packed_field(field, shape))
        .collect()
}

fn packed_field(field: &encoding::PackedField, shape: &Shape) -> Result<PackedField> {
    let wrong = || FileError::corrupt("a packed field whose width is not the schema's");
    match (field.width, Coding::of(&field.encoding, shape)?) {
        (PackedWidth::LengthPrefixed(bits), Coding::Variable(coding)) => {
            let prefix = match bits {
                32 => 4,
                64 => 8,
                _ => return Err(wrong()),
            };
            Ok(PackedField::Variable(prefix, coding))
        }
        (PackedWidth::Fixed(bits), coding) => {
            let bytes = stored_bytes(&field.encoding, shape, 1).ok_or_else(wrong)?;
            if u64::try_from(bytes * 8) != Ok(bits) {
                return Err(wrong());
            }
            Ok(PackedField::Fixed(bytes, coding))
        }
        _ => Err(wrong()),
    }
}

/// Appends the fields of one struct.
pub(super) fn push_packed(
    fields: &[PackedField],
    bytes: &[u8],
    out: &mut [Values],
    plain: &mut Vec<u8>,
) -> Result<()> {
    let mut rest = bytes;
    for (field, out) in fields.iter().zip(out) {
        match (field, out) {
            (PackedField::Fixed(width, coding), out) => {
                push_stored(coding, read_bytes(&mut rest, *width)?, 1, out)?;
            }
            (PackedField::Variable(prefix, coding), Values::Variable(out)) => {
                push_variable(coding, read_prefixed(&mut rest, *prefix)?, out, plain)?;
            }
            _ => return Err(FileError::corrupt("a packed field of another type")),
        }
    }
    Ok(())
}
