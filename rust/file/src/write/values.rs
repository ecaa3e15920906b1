//! A leaf's values as the encoders see them: bytes and offsets, whatever their Arrow type.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericByteArray, types::ByteArrayType};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow_schema::DataType;
use pennon_codec::bitpack::Lane;

use crate::{FileError, Result};

/// The values of a page.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    /// Booleans.
    Bits(BooleanBuffer),
    /// Values of one width.
    Fixed(FixedValues),
    /// Values of different lengths.
    Variable(VariableValues),
    /// Lists of one length.
    List(ListValues),
}

/// Values of one width, back to back.
#[derive(Debug, Clone)]
pub(crate) struct FixedValues {
    /// Bytes of one value.
    pub(crate) width: usize,
    /// Aligned to the width when that is 1, 2, 4 or 8.
    pub(crate) bytes: Buffer,
}

/// Strings or binaries.
#[derive(Debug, Clone)]
pub(crate) struct VariableValues {
    /// Whether offsets are stored with 64 bits.
    pub(crate) large: bool,
    /// One more than there are values, relative to `bytes`.
    pub(crate) offsets: Vec<usize>,
    /// Starts at the first offset.
    pub(crate) bytes: Buffer,
}

/// Lists of `dimension` items each.
#[derive(Debug, Clone)]
pub(crate) struct ListValues {
    pub(crate) dimension: usize,
    /// Which of the items are null.
    pub(crate) nulls: Option<NullBuffer>,
    pub(crate) items: Box<Values>,
    pub(crate) len: usize,
}

impl Values {
    /// The values of an array without children of other columns.
    pub(crate) fn of(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bits(array.as_boolean().values().clone()),
            DataType::Utf8 => Self::Variable(VariableValues::of(array.as_string::<i32>(), false)),
            DataType::LargeUtf8 => {
                Self::Variable(VariableValues::of(array.as_string::<i64>(), true))
            }
            DataType::Binary => Self::Variable(VariableValues::of(array.as_binary::<i32>(), false)),
            DataType::LargeBinary => {
                Self::Variable(VariableValues::of(array.as_binary::<i64>(), true))
            }
            DataType::FixedSizeList(_, dimension) => {
                let items = array.as_fixed_size_list().values();
                Self::List(ListValues {
                    dimension: usize::try_from(*dimension).unwrap_or(0),
                    nulls: items
                        .nulls()
                        .filter(|nulls| nulls.null_count() > 0)
                        .cloned(),
                    items: Box::new(Self::of(items)?),
                    len: array.len(),
                })
            }
            _ => Self::Fixed(FixedValues::of(array)?),
        })
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bits(bits) => bits.len(),
            Self::Fixed(values) => values.len(),
            Self::Variable(values) => values.len(),
            Self::List(lists) => lists.len,
        }
    }

    /// The bytes that the longest value takes. Lists of booleans count as narrow.
    pub(crate) fn longest(&self) -> usize {
        match self {
            Self::Bits(_) => 1,
            Self::Fixed(values) => values.width,
            Self::Variable(values) => values.longest(),
            Self::List(lists) => match lists.items.as_ref() {
                Self::Bits(_) => 0,
                items => lists.dimension.saturating_mul(items.longest()),
            },
        }
    }
}

impl FixedValues {
    fn of(array: &ArrayRef) -> Result<Self> {
        let width = match array.data_type() {
            DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
            other => other.primitive_width(),
        };
        let data = array.to_data();
        let range = width.map(|width| (width, data.offset() * width, data.len() * width));
        match (range, data.buffers()) {
            (Some((width, start, len)), [buffer]) => {
                Ok(Self::new(width, buffer.slice_with_length(start, len)))
            }
            _ => Err(FileError::unsupported(format!(
                "values of type {} are not supported",
                array.data_type()
            ))),
        }
    }

    /// Values of `width` bytes; unaligned bytes are copied.
    pub(crate) fn new(width: usize, bytes: Buffer) -> Self {
        let lane = matches!(width, 1 | 2 | 4 | 8);
        if lane && bytes.as_ptr().align_offset(width) != 0 {
            let mut aligned = MutableBuffer::new(bytes.len());
            aligned.extend_from_slice(&bytes);
            return Self {
                width,
                bytes: aligned.into(),
            };
        }
        Self { width, bytes }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Bytes of the values in `range`.
    pub(crate) fn slice(&self, range: &Range<usize>) -> &[u8] {
        &self.bytes[range.start * self.width..range.end * self.width]
    }

    /// The values as integers of the same width.
    pub(crate) fn lanes<T: Lane + ArrowNativeType>(&self) -> &[T] {
        self.bytes.typed_data()
    }

    /// The values with each null one replaced by the value before it, so that what happens to be
    /// stored under nulls costs nothing. At the start the first valid value is used.
    pub(crate) fn without_nulls(self, validity: Option<&NullBuffer>) -> Self {
        let Some(validity) = validity else {
            return self;
        };
        let Some(first) = validity.valid_indices().next() else {
            return self;
        };
        let width = self.width;
        let mut filled = MutableBuffer::new(self.bytes.len());
        let mut last = first;
        for (at, valid) in validity.iter().enumerate() {
            last = if valid { at } else { last };
            filled.extend_from_slice(&self.bytes[last * width..(last + 1) * width]);
        }
        Self {
            width,
            bytes: filled.into(),
        }
    }

    /// Whether all values have the same bytes.
    pub(crate) fn is_constant(&self) -> bool {
        let (bytes, width) = (self.bytes.as_slice(), self.width);
        bytes.len() >= width && bytes[width..] == bytes[..bytes.len() - width]
    }
}

impl VariableValues {
    fn of<T: ByteArrayType>(array: &GenericByteArray<T>, large: bool) -> Self {
        let source = array.value_offsets();
        let first = source.first().map_or(0, |offset| offset.as_usize());
        let offsets: Vec<usize> = source
            .iter()
            .map(|offset| offset.as_usize() - first)
            .collect();
        let length = offsets.last().copied().unwrap_or(0);
        Self {
            large,
            offsets,
            bytes: array.values().slice_with_length(first, length),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// One value.
    pub(crate) fn value(&self, at: usize) -> &[u8] {
        &self.bytes[self.offsets[at]..self.offsets[at + 1]]
    }

    /// All values in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.offsets
            .windows(2)
            .map(|pair| &self.bytes[pair[0]..pair[1]])
    }

    /// Bytes of the longest value.
    pub(crate) fn longest(&self) -> usize {
        self.offsets
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .max()
            .unwrap_or(0)
    }

    /// Bytes of a stored offset.
    pub(crate) fn offset_width(&self) -> usize {
        if self.large { 8 } else { 4 }
    }

    /// Bytes of all values and their offsets.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.len() * self.offset_width()
    }

    /// The one value that all valid ones are equal to, if they are.
    pub(crate) fn constant(&self, validity: Option<&NullBuffer>) -> Option<&[u8]> {
        let Some(validity) = validity else {
            let first = (self.len() > 0).then(|| self.value(0))?;
            return self.iter().all(|value| value == first).then_some(first);
        };
        let mut valid = validity.valid_indices();
        let first = self.value(valid.next()?);
        valid.all(|at| self.value(at) == first).then_some(first)
    }
}

/// The bitmap's bits in `range`, from the start of a byte on.
pub(crate) fn extend_with_bits(bits: &BooleanBuffer, range: &Range<usize>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + range.len().div_ceil(8), 0);
    pennon_codec::bits::copy(
        bits.values(),
        bits.offset() + range.start,
        &mut out[start..],
        0,
        range.len(),
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{FixedSizeBinaryArray, Int32Array, StringArray};

    use super::*;

    #[test]
    fn nulls_take_the_value_before_them_or_else_the_first() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![
            None,
            Some(4),
            None,
            None,
            Some(6),
            None,
        ]));
        let Values::Fixed(values) = Values::of(&array).unwrap() else {
            panic!("fixed")
        };
        let filled = values.without_nulls(array.nulls());
        assert_eq!(filled.lanes::<u32>(), [4, 4, 4, 4, 6, 6]);
    }

    #[test]
    fn slices_start_at_their_own_first_value() {
        let array: ArrayRef = Arc::new(StringArray::from(vec!["ab", "", "cde", "f"]));
        let Values::Variable(values) = Values::of(&array.slice(1, 2)).unwrap() else {
            panic!("variable")
        };
        assert_eq!(
            (values.offsets.as_slice(), values.bytes.as_slice()),
            (&[0, 0, 3][..], &b"cde"[..])
        );
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let Values::Fixed(values) = Values::of(&array.slice(2, 1)).unwrap() else {
            panic!("fixed")
        };
        assert_eq!(values.lanes::<u32>(), [3]);
    }

    #[test]
    fn unaligned_binaries_can_be_seen_as_integers() {
        let bytes = Buffer::from_vec((0..17_u8).collect::<Vec<_>>()).slice(1);
        let array: ArrayRef = Arc::new(FixedSizeBinaryArray::new(8, bytes, None));
        let Values::Fixed(values) = Values::of(&array).unwrap() else {
            panic!("fixed")
        };
        assert_eq!(values.lanes::<u64>().len(), 2);
        assert!(!values.is_constant());
    }

    #[test]
    fn equal_strings_are_constant_whatever_the_nulls_hide() {
        let array: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("a")]));
        let Values::Variable(values) = Values::of(&array).unwrap() else {
            panic!("variable")
        };
        assert_eq!(values.constant(array.nulls()), Some(&b"a"[..]));
        assert_eq!(values.constant(None), None);
    }
}
