//! Large objects: a page holds descriptions, and the bytes lie elsewhere in the file or beside it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, LargeBinaryArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema};
use bytes::Bytes;
use pennon_io::ReadAt;

use crate::{Field, FileError, FileVersion, LogicalType, Result, Schema};

/// The kinds of place where a described object can be.
mod kind {
    pub(super) const INLINE: u8 = 0;
    pub(super) const PACKED: u8 = 1;
    pub(super) const DEDICATED: u8 = 2;
}

const BLOB_KEY: &str = "lance-encoding:blob";
const EXTENSION_NAME: &str = "ARROW:extension:name";
const LONG_EXTENSION: &str = "lance.blob.v2";

/// The fields of a description in files of 2.1.
const SHORT: [(&str, DataType); 2] = [("position", DataType::UInt64), ("size", DataType::UInt64)];
/// The fields of a description in files of 2.2.
const LONG: [(&str, DataType); 5] = [
    ("kind", DataType::UInt8),
    ("position", DataType::UInt64),
    ("size", DataType::UInt64),
    ("blob_id", DataType::UInt32),
    ("blob_uri", DataType::Utf8),
];

/// Opens an object beside a data file, given its name in the directory that is called as the data
/// file without its suffix.
pub type OpenSidecar<'a> = dyn Fn(&str) -> Result<Arc<dyn ReadAt>> + 'a;

impl Schema {
    /// A schema with fresh ids for files of `version`: from 2.2 on, large objects at the top are
    /// structs of their bytes or an address.
    ///
    /// # Errors
    ///
    /// As [`Schema::from_arrow`].
    pub fn from_arrow_for(schema: &ArrowSchema, version: FileVersion) -> Result<Self> {
        if version < FileVersion::V2_2 {
            return Self::from_arrow(schema);
        }
        let fields: Fields = schema.fields().iter().map(long_form).collect();
        let metadata = schema.metadata().clone();
        Self::from_arrow(&ArrowSchema::new_with_metadata(fields, metadata))
    }
}

/// The struct that a field of large objects is from 2.2 on.
fn long_form(field: &FieldRef) -> FieldRef {
    let is_binary = matches!(field.data_type(), DataType::LargeBinary | DataType::Binary);
    let mut metadata = field.metadata().clone();
    if !is_binary || metadata.remove(BLOB_KEY).is_none() {
        return Arc::clone(field);
    }
    metadata.insert(EXTENSION_NAME.to_owned(), LONG_EXTENSION.to_owned());
    let parts = vec![
        ArrowField::new("data", DataType::LargeBinary, true),
        ArrowField::new("uri", DataType::Utf8, true),
    ];
    let field = ArrowField::new(
        field.name(),
        DataType::Struct(parts.into()),
        field.is_nullable(),
    );
    Arc::new(field.with_metadata(metadata))
}

impl Field {
    /// The field as a scan shows it: for a large object the description of where it is, and for
    /// any other field the field itself.
    #[must_use]
    pub fn described(&self) -> Self {
        let mut field = self.clone();
        if !self.is_blob() {
            field.children = self.children.iter().map(Self::described).collect();
            return field;
        }
        let is_short = matches!(self.logical_type, LogicalType::Leaf(_));
        let parts: &[_] = if is_short { &SHORT } else { &LONG };
        let part = |(name, data_type): &(&str, DataType)| Self {
            id: -1,
            name: (*name).to_owned(),
            logical_type: LogicalType::Leaf(data_type.clone()),
            nullable: is_short,
            metadata: Default::default(),
            children: Vec::new(),
        };
        field.children = parts.iter().map(part).collect();
        field.logical_type = LogicalType::Struct;
        field.metadata.remove(EXTENSION_NAME);
        let mark = |key: &str| (format!("lance-encoding:{key}"), "true".to_owned());
        field.metadata.extend([mark("blob")]);
        if !is_short {
            field.metadata.extend([mark("packed")]);
        }
        field
    }

    /// The field as a file of its version stores it: long descriptions stand in the file's schema.
    pub(crate) fn in_file(&self) -> Self {
        let is_long = self.is_blob() && self.logical_type == LogicalType::Struct;
        let mut field = if is_long {
            self.described()
        } else {
            self.clone()
        };
        if !is_long {
            field.children = self.children.iter().map(Self::in_file).collect();
        }
        field
    }

    /// Whether a large object's field stands for its description rather than for its bytes.
    pub(crate) fn is_description(&self) -> bool {
        let names = |parts: &[(&str, DataType)]| {
            let parts = parts.iter().map(|(name, _)| *name);
            parts.eq(self.children.iter().map(|child| child.name.as_str()))
        };
        self.is_blob() && (names(&SHORT) || names(&LONG))
    }
}

/// Reads byte ranges of the file.
pub(crate) type ReadRanges<'a> = dyn Fn(&[Range<u64>]) -> Result<Vec<Bytes>> + 'a;

/// Reads the objects that some descriptions describe.
pub(crate) fn fetch(
    descriptions: &ArrayRef,
    read: &ReadRanges<'_>,
    sidecar: &OpenSidecar<'_>,
) -> Result<ArrayRef> {
    let descriptions = descriptions.as_struct();
    let mut inline: Vec<Range<u64>> = Vec::new();
    let mut beside: Vec<(usize, Bytes)> = Vec::new();
    for row in 0..descriptions.len() {
        let place = Place::of(descriptions, row)?;
        match place.kind {
            kind::INLINE => inline.push(place.range),
            kind::PACKED | kind::DEDICATED => {
                let object = sidecar(&sidecar_name(place.id))?;
                beside.push((row, object.read(place.range)?));
                inline.push(0..0);
            }
            other => {
                return Err(FileError::unsupported(format!(
                    "reading the bytes of large objects of kind {other}, which lie outside of \
                     the table"
                )));
            }
        }
    }
    let mut values = read(&inline)?;
    for (row, bytes) in beside {
        if let Some(value) = values.get_mut(row) {
            *value = bytes;
        }
    }
    let offsets = OffsetBuffer::from_lengths(values.iter().map(Bytes::len));
    let nulls = descriptions.nulls().cloned();
    Ok(Arc::new(LargeBinaryArray::try_new(
        offsets,
        values.concat().into(),
        nulls,
    )?))
}

/// The name of the object that holds large objects under an id.
fn sidecar_name(id: u32) -> String {
    format!("{:032b}.blob", id.reverse_bits())
}

/// Where an object is.
struct Place {
    kind: u8,
    id: u32,
    range: Range<u64>,
}

impl Place {
    fn of(descriptions: &StructArray, row: usize) -> Result<Self> {
        if descriptions.is_null(row) {
            return Ok(Self {
                kind: kind::INLINE,
                id: 0,
                range: 0..0,
            });
        }
        let missing = || FileError::corrupt("the description of a large object misses a part");
        let column = |name: &str| descriptions.column_by_name(name);
        let number = |name: &str| {
            let column = column(name).and_then(|c| c.as_primitive_opt::<UInt64Type>());
            column.map(|c| c.value(row)).ok_or_else(missing)
        };
        let (start, size) = (number("position")?, number("size")?);
        let end = start
            .checked_add(size)
            .ok_or_else(|| FileError::corrupt("a large object that ends past all files"))?;
        let kind = column("kind").and_then(|c| c.as_primitive_opt::<UInt8Type>());
        let id = column("blob_id").and_then(|c| c.as_primitive_opt::<UInt32Type>());
        Ok(Self {
            kind: kind.map_or(kind::INLINE, |c| c.value(row)),
            id: id.map_or(0, |c| c.value(row)),
            // The position of an empty object means nothing.
            range: if size == 0 { 0..0 } else { start..end },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_are_named_by_the_reversed_bits_of_their_id() {
        assert_eq!(sidecar_name(1), format!("1{}.blob", "0".repeat(31)));
        assert_eq!(sidecar_name(2), format!("01{}.blob", "0".repeat(30)));
    }
}
