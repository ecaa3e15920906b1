//! From arrays to the buffers of a page.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt64Array, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use pennon_codec::general;

use super::choose::{Requested, Settings, dictionary};
use super::encoding::{ArrayEncoding, BufferRef, Compression};
use crate::write::symbols::Symbols;
use crate::write::values::{Values, VariableValues, extend_with_bits};
use crate::{FileError, Result};

/// A page's encoding, and its buffers.
type Encoded = (ArrayEncoding, Vec<Vec<u8>>);

/// Encodes the values of a leaf.
pub(super) fn encode_leaf(array: &ArrayRef, settings: &Settings) -> Result<Encoded> {
    let mut buffers = Buffers::default();
    let encoding = match array.data_type() {
        DataType::Struct(_) => packed(array, &mut buffers)?,
        DataType::Utf8 => {
            let values = Values::of(array)?;
            match (&values, some_nulls(array)) {
                (Values::Variable(values), nulls) => indexed(values, nulls, &mut buffers)
                    .map_or_else(|| strings(values, nulls, settings, &mut buffers), Ok)?,
                _ => return Err(mismatch(array)),
            }
        }
        _ => encode_array(array, settings, &mut buffers)?,
    };
    Ok((encoding, buffers.0))
}

/// Encodes the offsets of lists, given their lengths.
pub(super) fn encode_offsets(lengths: &UInt64Array) -> Encoded {
    let num_items: u64 = lengths.iter().flatten().sum();
    let adjustment = num_items + 1;
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length.unwrap_or(0);
        Some(if length.is_none() {
            *end + adjustment
        } else {
            *end
        })
    });
    let mut buffers = Buffers::default();
    let ends = Box::new(buffers.push_ends(ends));
    let encoding = ArrayEncoding::List {
        ends,
        null_adjustment: adjustment,
        num_items,
    };
    (encoding, buffers.0)
}

/// The buffers of a page in the making.
#[derive(Debug, Default)]
struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    fn push(&mut self, bytes: Vec<u8>) -> BufferRef {
        // There are as many buffers as encodings, which are a handful.
        let number = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.push(bytes);
        BufferRef::Page(number)
    }

    /// Values of so many bits, none of which is null.
    fn push_flat(&mut self, bits: u64, bytes: Vec<u8>) -> ArrayEncoding {
        ArrayEncoding::Flat {
            bits,
            buffer: self.push(bytes),
            compression: None,
        }
    }

    fn push_ends(&mut self, ends: impl Iterator<Item = u64>) -> ArrayEncoding {
        let bytes = ends.flat_map(u64::to_le_bytes).collect();
        ArrayEncoding::NoNulls(Box::new(self.push_flat(64, bytes)))
    }
}

fn encode_array(
    array: &ArrayRef,
    settings: &Settings,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    match array.data_type() {
        DataType::Null => Ok(ArrayEncoding::AllNulls),
        DataType::Dictionary(keys, _) => keyed(array, keys, buffers),
        _ => match Values::of(array)? {
            Values::Variable(values) => strings(&values, some_nulls(array), settings, buffers),
            values => nullable(&values, some_nulls(array), buffers),
        },
    }
}

/// The nulls of an array that has any.
fn some_nulls(array: &ArrayRef) -> Option<&NullBuffer> {
    array.nulls().filter(|nulls| nulls.null_count() > 0)
}

/// Values of one width, in the form that their nulls ask for.
fn nullable(
    values: &Values,
    nulls: Option<&NullBuffer>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    Ok(match nulls {
        None => ArrayEncoding::NoNulls(Box::new(flat(values, buffers)?)),
        Some(nulls) if nulls.null_count() == nulls.len() => ArrayEncoding::AllNulls,
        Some(nulls) => {
            let mut bitmap = Vec::new();
            extend_with_bits(nulls.inner(), &(0..nulls.len()), &mut bitmap);
            ArrayEncoding::SomeNulls {
                validity: Box::new(buffers.push_flat(1, bitmap)),
                values: Box::new(flat(values, buffers)?),
            }
        }
    })
}

fn flat(values: &Values, buffers: &mut Buffers) -> Result<ArrayEncoding> {
    Ok(match values {
        Values::Bits(bits) => {
            let mut bitmap = Vec::new();
            extend_with_bits(bits, &(0..bits.len()), &mut bitmap);
            buffers.push_flat(1, bitmap)
        }
        Values::Fixed(values) => {
            buffers.push_flat(bits_of(values.width), values.bytes.as_slice().to_vec())
        }
        Values::List(lists) => ArrayEncoding::FixedSizeList {
            dimension: u32::try_from(lists.dimension).unwrap_or(u32::MAX),
            items: Box::new(nullable(&lists.items, lists.nulls.as_ref(), buffers)?),
        },
        Values::Variable(_) => {
            return Err(FileError::unsupported("fixed-size lists of strings"));
        }
    })
}

fn bits_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(8)
}

/// Strings, compressed as the metadata asks for it.
fn strings(
    values: &VariableValues,
    nulls: Option<&NullBuffer>,
    settings: &Settings,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    match settings.compression {
        // Readers of large strings do not expect symbols.
        Some(Requested::Fsst) if !values.large => match Symbols::of(values, true) {
            Some(symbols) => Ok(ArrayEncoding::Fsst {
                binary: Box::new(binary(&symbols.codes, nulls, None, buffers)?),
                symbol_table: symbols.table,
            }),
            None => binary(values, nulls, None, buffers),
        },
        Some(Requested::Whole(compression)) => binary(values, nulls, Some(compression), buffers),
        Some(Requested::Fsst) | None => binary(values, nulls, None, buffers),
    }
}

fn binary(
    values: &VariableValues,
    nulls: Option<&NullBuffer>,
    compression: Option<Compression>,
    buffers: &mut Buffers,
) -> Result<ArrayEncoding> {
    let null_adjustment = values.bytes.len() as u64 + 1;
    let ends = values.offsets.iter().skip(1).enumerate();
    let ends = ends.map(|(at, &end)| match nulls {
        Some(nulls) if nulls.is_null(at) => end as u64 + null_adjustment,
        _ => end as u64,
    });
    let ends = Box::new(buffers.push_ends(ends));
    let bytes = match compression {
        Some(Compression::General(scheme)) => {
            let mut bytes = Vec::new();
            general::compress(scheme, &values.bytes, &mut bytes)?;
            bytes
        }
        _ => values.bytes.as_slice().to_vec(),
    };
    let bytes = ArrayEncoding::Flat {
        bits: 8,
        buffer: buffers.push(bytes),
        compression,
    };
    Ok(ArrayEncoding::Binary {
        ends,
        bytes: Box::new(bytes),
        null_adjustment,
    })
}

/// Strings as indices from 1 on, when few of them are different.
fn indexed(
    values: &VariableValues,
    nulls: Option<&NullBuffer>,
    buffers: &mut Buffers,
) -> Option<ArrayEncoding> {
    let indexed = dictionary(values, nulls)?;
    let indices = ArrayEncoding::NoNulls(Box::new(buffers.push_flat(8, indexed.indices)));
    let mut offsets = vec![0];
    let mut bytes = Vec::new();
    for &at in &indexed.items {
        bytes.extend_from_slice(values.value(at));
        offsets.push(bytes.len());
    }
    // Without any value, the only item is null.
    let no_value = indexed.items.is_empty();
    if no_value {
        offsets.push(0);
    }
    let items = VariableValues {
        large: false,
        offsets,
        bytes: bytes.into(),
    };
    let nulls = no_value.then(|| NullBuffer::new_null(1));
    let num_items = u32::try_from(items.len()).ok()?;
    Some(ArrayEncoding::Dictionary {
        indices: Box::new(indices),
        items: Box::new(binary(&items, nulls.as_ref(), None, buffers).ok()?),
        num_items,
    })
}

/// Values of a dictionary type: indices from 0 on, and a null item for null rows.
fn keyed(array: &ArrayRef, keys: &DataType, buffers: &mut Buffers) -> Result<ArrayEncoding> {
    let dictionary = array
        .as_any_dictionary_opt()
        .ok_or_else(|| mismatch(array))?;
    let mut items = dictionary.values().clone();
    let nulls = dictionary.keys().nulls();
    let null = match nulls.filter(|nulls| nulls.null_count() > 0) {
        Some(_) => Some(null_item(&mut items)?),
        None => None,
    };
    let places = match dictionary.values().is_empty() {
        true => vec![0; array.len()],
        false => dictionary.normalized_keys(),
    };
    let width = keys.primitive_width().ok_or_else(|| mismatch(array))?;
    let bits = bits_of(width);
    let usable = if keys.is_signed_integer() {
        bits - 1
    } else {
        bits
    };
    let mut indices = Vec::with_capacity(places.len() * width);
    for (at, place) in places.into_iter().enumerate() {
        let place = match null {
            Some(null) if dictionary.keys().is_null(at) => null,
            _ => place,
        } as u64;
        if usable < 64 && place >> usable > 0 {
            return Err(FileError::invalid_input(format!(
                "nulls take an item of the dictionary, and keys of type {keys} cannot count {} \
                 items: use a wider key type",
                items.len()
            )));
        }
        indices.extend_from_slice(&place.to_le_bytes()[..width]);
    }
    let indices = ArrayEncoding::NoNulls(Box::new(buffers.push_flat(bits, indices)));
    let num_items = u32::try_from(items.len())
        .map_err(|_| FileError::invalid_input("a dictionary of too many items"))?;
    Ok(ArrayEncoding::Dictionary {
        indices: Box::new(indices),
        items: Box::new(encode_array(&items, &Settings::default(), buffers)?),
        num_items,
    })
}

/// The place of an item that is null, which is added if there is none.
fn null_item(items: &mut ArrayRef) -> Result<usize> {
    if let Some(place) = (0..items.len()).find(|&at| items.is_null(at)) {
        return Ok(place);
    }
    let place = items.len();
    let null = new_null_array(items.data_type(), 1);
    *items = concat(&[items.as_ref(), null.as_ref()])
        .map_err(|error| FileError::invalid_input("a dictionary's items").with_source(error))?;
    Ok(place)
}

/// Structs row after row in one buffer.
fn packed(array: &ArrayRef, buffers: &mut Buffers) -> Result<ArrayEncoding> {
    let columns = array.as_struct().columns();
    if array.null_count() > 0 || columns.iter().any(|column| column.null_count() > 0) {
        return Err(FileError::invalid_input(
            "a packed struct cannot hold nulls",
        ));
    }
    let values = columns.iter().map(Values::of).collect::<Result<Vec<_>>>()?;
    let parts = values.iter().map(|values| whole_bytes(values));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let width: usize = parts.iter().map(|(width, _)| width).sum();
    let mut rows = Vec::with_capacity(width * array.len());
    for row in 0..array.len() {
        for (width, bytes) in &parts {
            rows.extend_from_slice(&bytes[row * width..(row + 1) * width]);
        }
    }
    let buffer = buffers.push(rows);
    Ok(ArrayEncoding::PackedStruct {
        fields: values.iter().map(packed_field).collect(),
        buffer,
    })
}

/// The bytes of a value of a packed field, and of all of them.
fn whole_bytes(values: &Values) -> Result<(usize, &[u8])> {
    match values {
        Values::Fixed(values) => Ok((values.width, values.bytes.as_slice())),
        Values::List(lists) if lists.nulls.is_none() => {
            let (width, bytes) = whole_bytes(&lists.items)?;
            Ok((width * lists.dimension, bytes))
        }
        _ => Err(FileError::unsupported(
            "a packed struct holds numbers and fixed-size lists of numbers, without nulls",
        )),
    }
}

fn packed_field(values: &Values) -> ArrayEncoding {
    let encoding = match values {
        Values::List(lists) => ArrayEncoding::FixedSizeList {
            dimension: u32::try_from(lists.dimension).unwrap_or(u32::MAX),
            items: Box::new(packed_field(&lists.items)),
        },
        Values::Fixed(values) => ArrayEncoding::Flat {
            bits: bits_of(values.width),
            buffer: BufferRef::Page(0),
            compression: None,
        },
        Values::Bits(_) | Values::Variable(_) => ArrayEncoding::AllNulls,
    };
    ArrayEncoding::NoNulls(Box::new(encoding))
}

fn mismatch(array: &ArrayRef) -> FileError {
    FileError::unsupported(format!(
        "values of type {} are not supported",
        array.data_type()
    ))
}
