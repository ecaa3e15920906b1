//! From the type of a batch to the one that the file holds.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType;

use crate::{FileError, Result, json};

/// A leaf's values as the file holds them.
pub(crate) fn stored(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    Ok(match (array.data_type(), data_type) {
        (DataType::Utf8View, DataType::Utf8) => {
            let views = array.as_string_view();
            let (offsets, bytes) = joined(views.iter().map(|text| text.map(str::as_bytes)))?;
            Arc::new(StringArray::try_new(
                offsets,
                bytes.into(),
                views.nulls().cloned(),
            )?)
        }
        (DataType::BinaryView, DataType::Binary) => {
            let views = array.as_binary_view();
            let (offsets, bytes) = joined(views.iter())?;
            Arc::new(BinaryArray::try_new(
                offsets,
                bytes.into(),
                views.nulls().cloned(),
            )?)
        }
        (DataType::Utf8, DataType::LargeBinary) => {
            let texts = array.as_string::<i32>();
            Arc::new(json_binary(texts.iter(), texts.nulls())?)
        }
        _ => Arc::clone(array),
    })
}

type Joined = (OffsetBuffer<i32>, Vec<u8>);

fn joined<'a>(values: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Result<Joined> {
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(values.len() + 1);
    ends.push(0);
    for value in values {
        bytes.extend_from_slice(value.unwrap_or_default());
        ends.push(i32::try_from(bytes.len()).map_err(|_| {
            FileError::invalid_input("views of more than 2 GiB in one batch: write smaller batches")
        })?);
    }
    Ok((OffsetBuffer::new(ends.into()), bytes))
}

fn json_binary<'a>(
    texts: impl ExactSizeIterator<Item = Option<&'a str>>,
    nulls: Option<&NullBuffer>,
) -> Result<LargeBinaryArray> {
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(texts.len() + 1);
    ends.push(0);
    for text in texts {
        if let Some(text) = text {
            json::to_binary(text, &mut bytes)?;
        }
        ends.push(i64::try_from(bytes.len()).unwrap_or(i64::MAX));
    }
    let offsets = OffsetBuffer::new(ends.into());
    Ok(LargeBinaryArray::try_new(
        offsets,
        bytes.into(),
        nulls.cloned(),
    )?)
}
