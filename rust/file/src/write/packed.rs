//! Structs whose fields are stored together, row after row.
//!
//! Fields of one width become rows of one width, in chunks. With strings or lists among them (2.2)
//! rows differ in length, and are zipped with their levels.

use arrow_array::cast::AsArray;
use arrow_array::{Array, StructArray};
use arrow_buffer::{MutableBuffer, NullBuffer};
use arrow_schema::DataType;

use super::choose::{Choice, zipped};
use super::coder::{Kind, ValueCoder};
use super::full_zip::ZipValues;
use super::leaf::Leaf;
use super::settings::Settings;
use super::shred::Shredded;
use super::values::{FixedValues, Values};
use crate::{Field, FileError, FileVersion, LogicalType, Result};

/// Checks that files of `version` can hold the fields of a packed struct.
///
/// # Errors
///
/// `Schema`, naming the field, and the version that can hold it if there is one.
pub(crate) fn check(field: &Field, path: &str, version: FileVersion) -> Result<()> {
    for child in &field.children {
        let refuse = |what: &str| {
            Err(FileError::schema(format!(
                "{what}; remove lance-encoding:packed from '{path}'"
            ))
            .in_column(&format!("{path}.{}", child.name)))
        };
        let LogicalType::Leaf(data_type) = &child.logical_type else {
            return refuse("a packed struct cannot hold a nested field");
        };
        match kind_of(data_type) {
            FieldKind::Fixed => {}
            FieldKind::Varying if version >= FileVersion::V2_2 => {}
            FieldKind::Varying => {
                let what =
                    format!("a packed struct with {data_type} needs data_storage_version 2.2");
                return refuse(&what);
            }
            FieldKind::Impossible => {
                return refuse(&format!("a packed struct cannot hold {data_type}"));
            }
        }
    }
    Ok(())
}

/// What a field does to the rows of a packed struct.
#[derive(Debug, PartialEq, Eq)]
enum FieldKind {
    /// Whole bytes, always as many.
    Fixed,
    /// Strings, and lists of one length.
    Varying,
    /// Booleans are not whole bytes; the rest has structure of its own.
    Impossible,
}

fn kind_of(data_type: &DataType) -> FieldKind {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
            FieldKind::Varying
        }
        DataType::FixedSizeBinary(_) => FieldKind::Fixed,
        DataType::FixedSizeList(item, _) => match kind_of(item.data_type()) {
            FieldKind::Fixed | FieldKind::Varying => FieldKind::Varying,
            FieldKind::Impossible => FieldKind::Impossible,
        },
        other if other.is_primitive() => FieldKind::Fixed,
        _ => FieldKind::Impossible,
    }
}

/// Decides about a page of packed structs.
pub(crate) fn choose(leaf: &Leaf, shredded: &Shredded) -> Result<Choice> {
    let array = shredded.values.as_struct();
    refuse_nulls(leaf, array)?;
    let fields = array
        .columns()
        .iter()
        .map(Values::of)
        .collect::<Result<Vec<_>>>()?;
    if let Some((values, field_bits)) = rows(&fields) {
        return Ok(Choice::MiniBlock {
            values: ValueCoder::plain(Kind::Rows { values, field_bits }),
            dictionary: None,
        });
    }
    let fields = fields.into_iter().zip(&leaf.field.children);
    let fields = fields
        .map(|(values, field)| Ok(zipped(values, &Settings::of(&leaf.field, field)?)))
        .collect::<Result<_>>()?;
    Ok(Choice::FullZip(ZipValues::Packed(fields)))
}

/// Only the struct as a whole may be null.
fn refuse_nulls(leaf: &Leaf, array: &StructArray) -> Result<()> {
    let hidden = array.null_count();
    for (column, field) in array.columns().iter().zip(&leaf.field.children) {
        let nulls = NullBuffer::union(array.nulls(), column.logical_nulls().as_ref());
        let has_null_items = matches!(column.data_type(), DataType::FixedSizeList(..))
            && has_null_items(column.as_ref());
        if has_null_items || nulls.is_some_and(|nulls| nulls.null_count() > hidden) {
            return Err(FileError::invalid_input(
                "a packed struct cannot hold nulls in its fields",
            )
            .in_column(&format!("{}.{}", leaf.path, field.name)));
        }
    }
    Ok(())
}

fn has_null_items(lists: &dyn Array) -> bool {
    match lists.as_fixed_size_list_opt() {
        Some(lists) => lists.values().null_count() > 0 || has_null_items(lists.values()),
        None => false,
    }
}

/// The rows of fields of one width each, and the widths in bits.
fn rows(fields: &[Values]) -> Option<(FixedValues, Vec<u64>)> {
    let fields: Vec<&FixedValues> = fields
        .iter()
        .map(|field| match field {
            Values::Fixed(values) => Some(values),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let width = fields.iter().map(|field| field.width).sum();
    let len = fields.first()?.len();
    let mut bytes = MutableBuffer::new(len * width);
    for row in 0..len {
        for field in &fields {
            bytes.extend_from_slice(field.slice(&(row..row + 1)));
        }
    }
    let bits = fields.iter().map(|field| field.width as u64 * 8).collect();
    Some((FixedValues::new(width, bytes.into()), bits))
}
