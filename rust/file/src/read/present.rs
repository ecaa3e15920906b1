//! From the type that a file holds to the one that the schema promises.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, FixedSizeListArray, LargeBinaryArray, StringArray,
    StringViewArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use crate::{FileError, Result, json};

/// An array as the schema has it.
pub(crate) fn present(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    Ok(match (array.data_type(), data_type) {
        (DataType::Utf8, DataType::Utf8View) => {
            Arc::new(StringViewArray::from(array.as_string::<i32>()))
        }
        (DataType::Binary, DataType::BinaryView) => {
            Arc::new(BinaryViewArray::from(array.as_binary::<i32>()))
        }
        (DataType::LargeBinary, DataType::Utf8) => Arc::new(json_text(array.as_binary())?),
        (DataType::FixedSizeList(..), DataType::FixedSizeList(..)) => with_items(array, data_type)?,
        _ => array,
    })
}

/// Lists of one length whose items may have another name, or may not be null.
fn with_items(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let DataType::FixedSizeList(item, size) = data_type else {
        return Ok(array);
    };
    let lists = array.as_fixed_size_list();
    let items = with_items(Arc::clone(lists.values()), item.data_type())?;
    let nulls = lists.nulls().cloned();
    Ok(Arc::new(FixedSizeListArray::try_new(
        Arc::clone(item),
        *size,
        items,
        nulls,
    )?))
}

fn json_text(stored: &LargeBinaryArray) -> Result<StringArray> {
    let mut text = Vec::with_capacity(stored.value_data().len());
    let mut ends = Vec::with_capacity(stored.len() + 1);
    ends.push(0);
    for at in 0..stored.len() {
        if stored.is_valid(at) {
            json::to_text(stored.value(at), &mut text)?;
        }
        ends.push(i32::try_from(text.len()).map_err(|_| {
            FileError::invalid_input(
                "the JSON of one batch takes more than 2 GiB: read fewer rows at a time",
            )
        })?);
    }
    let offsets = OffsetBuffer::new(ends.into());
    Ok(StringArray::try_new(
        offsets,
        text.into(),
        stored.nulls().cloned(),
    )?)
}
