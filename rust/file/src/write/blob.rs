//! Large objects: their bytes go into the file at once, and the column keeps where they are.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, ArrayRef, StringArray, StructArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field as ArrowField};

use super::coder::{Kind, ValueCoder};
use super::leaf::Step;
use super::mini_block;
use super::shred::Shredded;
use super::values::FixedValues;
use crate::layout::{Blob, Layer};
use crate::{Field, FileError, FileVersion, LogicalType, PageLayout, Result};

/// Bytes of a description: a position and a size.
const DESCRIPTION_BYTES: usize = 16;

/// Writes bytes where the next buffer may start, and says where that is.
pub(crate) type Put<'a> = dyn FnMut(&[u8]) -> Result<Range<u64>> + 'a;

/// Checks that files of `version` can hold a field of large objects.
pub(crate) fn check(field: &Field, steps: &[Step], version: FileVersion) -> Result<()> {
    let refuse = |what: &str| {
        Err(FileError::schema(format!(
            "{what}; remove lance-encoding:blob to store plain binaries"
        )))
    };
    let parts = field.children.iter().map(|child| child.name.as_str());
    if version >= FileVersion::V2_2 {
        if field.logical_type != LogicalType::Struct || !parts.take(2).eq(["data", "uri"]) {
            return refuse("large objects of version 2.2 are structs of data and uri");
        }
    } else if field.logical_type != LogicalType::Leaf(DataType::LargeBinary) {
        return refuse("only large_binary columns can hold large objects");
    }
    if steps.contains(&Step::Items) {
        return refuse("large objects cannot be written in lists");
    }
    Ok(())
}

/// Writes large objects and describes where they are.
pub(crate) fn describe(values: &ArrayRef, put: &mut Put<'_>) -> Result<ArrayRef> {
    let values = values.as_binary::<i64>();
    let mut positions = Vec::with_capacity(values.len());
    let mut sizes = Vec::with_capacity(values.len());
    for value in values {
        let place = match value {
            Some(value) if !value.is_empty() => put(value)?,
            _ => 0..0,
        };
        positions.push(place.start);
        sizes.push(place.end - place.start);
    }
    let field = |name| ArrowField::new(name, DataType::UInt64, true);
    Ok(Arc::new(StructArray::try_new(
        vec![field("position"), field("size")].into(),
        vec![
            Arc::new(UInt64Array::from(positions)),
            Arc::new(UInt64Array::from(sizes)),
        ],
        values.nulls().cloned(),
    )?))
}

/// Writes large objects and describes where they are, as files of 2.2 do.
pub(crate) fn describe_long(values: &ArrayRef, put: &mut Put<'_>) -> Result<ArrayRef> {
    let values = values.as_struct();
    let wrong = || FileError::invalid_input("large objects that are not structs of data and uri");
    let data = values.column_by_name("data").ok_or_else(wrong)?;
    let uris = values.column_by_name("uri").ok_or_else(wrong)?;
    if uris.null_count() < uris.len() {
        return Err(FileError::unsupported(
            "writing large objects that lie outside of the table",
        ));
    }
    let short = describe(data, put)?;
    let nulls = NullBuffer::union(values.nulls(), data.nulls());
    let (_, mut places, _) = short.as_struct().clone().into_parts();
    let (sizes, positions) = (places.pop(), places.pop());
    let len = values.len();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt8Array::from(vec![0; len])),
        positions.ok_or_else(wrong)?,
        sizes.ok_or_else(wrong)?,
        Arc::new(UInt32Array::from(vec![0; len])),
        Arc::new(StringArray::from(vec![""; len])),
    ];
    let names = ["kind", "position", "size", "blob_id", "blob_uri"];
    let fields = names.iter().zip(&columns);
    let fields =
        fields.map(|(name, column)| ArrowField::new(*name, column.data_type().clone(), false));
    Ok(Arc::new(StructArray::try_new(
        fields.collect(),
        columns,
        nulls,
    )?))
}

/// The descriptions of a page; in place of a null one stands the level that it ended at.
pub(crate) fn rows(shredded: &Shredded) -> ValueCoder {
    let array = shredded.values.as_struct();
    let column = |number: usize| array.column(number).as_primitive::<UInt64Type>().values();
    let (positions, sizes) = (column(0), column(1));
    let mut bytes = Vec::with_capacity(array.len() * DESCRIPTION_BYTES);
    for row in 0..array.len() {
        let level = shredded.definition.get(row).copied().unwrap_or(0);
        let place = match level {
            0 => [positions[row], sizes[row]],
            level => [u64::from(level) << 16, 0],
        };
        bytes.extend(place.iter().flat_map(|part| part.to_le_bytes()));
    }
    ValueCoder::plain(Kind::Rows {
        values: FixedValues::new(DESCRIPTION_BYTES, bytes.into()),
        field_bits: vec![64, 64],
    })
}

/// Encodes a page of descriptions.
pub(crate) fn encode(
    version: FileVersion,
    descriptions: &ValueCoder,
    shredded: &Shredded,
) -> Result<(PageLayout, Vec<Vec<u8>>)> {
    let flat = Shredded {
        layers: vec![Layer::Item],
        repetition: Vec::new(),
        definition: Vec::new(),
        values: Arc::clone(&shredded.values),
        validity: None,
    };
    let (inner, buffers) = mini_block::encode(version, &flat, descriptions, None)?;
    let layout = Blob {
        inner: Box::new(inner),
        layers: shredded.layers.clone(),
    };
    Ok((PageLayout::Blob(layout), buffers))
}
