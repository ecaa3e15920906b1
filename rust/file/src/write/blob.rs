//! Large objects (2.1): their bytes go into the file at once, and the column keeps where they are.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, StructArray, UInt64Array};
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
    if version >= FileVersion::V2_2 {
        return refuse("large objects cannot be written in version 2.2 yet, but in 2.1");
    }
    if field.logical_type != LogicalType::Leaf(DataType::LargeBinary) {
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
        rows: shredded.rows,
    };
    let (inner, buffers) = mini_block::encode(version, &flat, descriptions, None)?;
    let layout = Blob {
        inner: Box::new(inner),
        layers: shredded.layers.clone(),
    };
    Ok((PageLayout::Blob(layout), buffers))
}
