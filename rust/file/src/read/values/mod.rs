//! Values of one column that grow, page after page, until they become an Arrow array.

mod fixed;
mod variable;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, ArrowPrimitiveType};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, GenericBinaryArray,
    GenericStringArray, NullArray, PrimitiveArray, StructArray, downcast_integer, make_array,
};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;

pub(crate) use self::fixed::Fixed;
pub(crate) use self::variable::Variable;
use super::shape::Shape;
use super::validity::Bitmap;
use crate::{FileError, Result};

/// The values of a column, of one of the shapes that [`Shape`] names.
#[derive(Debug)]
pub(crate) enum Values {
    /// So many nulls.
    Null(usize),
    /// Booleans.
    Bits(Bitmap),
    /// Values of one width.
    Fixed(Fixed),
    /// Values of different lengths.
    Variable(Variable),
    /// Lists of one length.
    List(List),
    /// Keys and what they stand for.
    Dictionary(Dictionary),
    /// Structs: so many, and the values of each field.
    Packed(usize, Vec<Values>),
}

/// Lists of one length.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) dimension: usize,
    /// Of the items.
    pub(crate) validity: Bitmap,
    pub(crate) items: Box<Values>,
}

/// Keys into items that several pages contributed.
#[derive(Debug)]
pub(crate) struct Dictionary {
    keys: Vec<u32>,
    items: Box<Values>,
    /// The items that were pushed last, and the key of each of them.
    last: Option<(Arc<Values>, Vec<u32>)>,
    /// The keys of all items by their bytes, from the second page on.
    known: HashMap<Box<[u8]>, u32>,
}

impl Values {
    /// No values, and room for `capacity`.
    pub(crate) fn new(shape: &Shape, capacity: usize) -> Self {
        match shape {
            Shape::Null => Self::Null(0),
            Shape::Bits => Self::Bits(Bitmap::default()),
            Shape::Fixed(width) => Self::Fixed(Fixed::new(*width, capacity)),
            Shape::Variable { large } => Self::Variable(Variable::new(*large, capacity)),
            Shape::List(dimension, items) => Self::List(List {
                dimension: *dimension,
                validity: Bitmap::default(),
                items: Box::new(Self::new(items, capacity.saturating_mul(*dimension))),
            }),
            Shape::Dictionary(_, items) => Self::Dictionary(Dictionary {
                keys: Vec::with_capacity(capacity),
                items: Box::new(Self::new(items, 0)),
                last: None,
                known: HashMap::new(),
            }),
            Shape::Packed(fields) => Self::Packed(
                0,
                fields
                    .iter()
                    .map(|field| Self::new(field, capacity))
                    .collect(),
            ),
            Shape::Empty => Self::Packed(0, Vec::new()),
        }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Null(len) | Self::Packed(len, _) => *len,
            Self::Bits(bits) => bits.len(),
            Self::Fixed(fixed) => fixed.len(),
            Self::Variable(variable) => variable.len(),
            Self::List(list) => list.items.len() / list.dimension,
            Self::Dictionary(dictionary) => dictionary.keys.len(),
        }
    }

    /// Bytes that the values take in memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Null(_) => 0,
            Self::Bits(bits) => bits.len() / 8,
            Self::Fixed(fixed) => fixed.as_bytes().len(),
            Self::Variable(variable) => variable.memory(),
            Self::List(list) => list.items.memory(),
            Self::Dictionary(dictionary) => dictionary.items.memory(),
            Self::Packed(_, fields) => fields.iter().map(Self::memory).sum(),
        }
    }

    /// Appends `count` values that nobody will look at.
    pub(crate) fn push_filler(&mut self, count: usize) -> Result<()> {
        match self {
            Self::Null(len) => *len += count,
            Self::Bits(bits) => bits.push_zeros(count),
            Self::Fixed(fixed) => {
                fixed.push_zeros(count)?;
            }
            Self::Variable(variable) => variable.push_empty(count)?,
            Self::List(list) => {
                let items = count.checked_mul(list.dimension).ok_or_else(too_many)?;
                list.items.push_filler(items)?;
                list.validity.push_ones(items);
            }
            Self::Dictionary(dictionary) => {
                dictionary.keys.resize(dictionary.keys.len() + count, 0);
            }
            Self::Packed(len, fields) => {
                *len += count;
                for field in fields {
                    field.push_filler(count)?;
                }
            }
        }
        Ok(())
    }

    /// Appends `count` times the only value of `one`.
    pub(crate) fn push_repeated(&mut self, one: &Self, count: usize) -> Result<()> {
        match (self, one) {
            (Self::Bits(out), Self::Bits(one)) if one.has_zeros() => out.push_zeros(count),
            (Self::Bits(out), Self::Bits(_)) => out.push_ones(count),
            (Self::Fixed(out), Self::Fixed(one)) if out.width() == one.width() => {
                out.push_repeated(one.as_bytes(), count)?;
            }
            (Self::Variable(out), Self::Variable(one)) => {
                out.push_repeated(one.data(), count)?;
            }
            _ => {
                return Err(FileError::unsupported(
                    "a constant page of values of this type",
                ));
            }
        }
        Ok(())
    }

    /// Appends the values of `items` that `indices` name.
    pub(crate) fn push_gathered(&mut self, items: &Arc<Self>, indices: &[u32]) -> Result<()> {
        check_indices(indices, items.len())?;
        match (self, items.as_ref()) {
            (Self::Dictionary(dictionary), _) => dictionary.push(items, indices),
            (out, items) => out.gather(items, indices),
        }
    }

    fn gather(&mut self, items: &Self, indices: &[u32]) -> Result<()> {
        match (self, items) {
            (Self::Fixed(out), Self::Fixed(items)) if out.width() == items.width() => {
                out.push_gathered(items, indices)
            }
            (Self::Variable(out), Self::Variable(items)) => out.push_gathered(items, indices),
            _ => Err(FileError::unsupported(
                "a dictionary of values of this type",
            )),
        }
    }

    /// The bytes of each value of a dictionary.
    fn bytes_of_each(&self) -> Result<Vec<&[u8]>> {
        match self {
            Self::Fixed(fixed) => Ok(fixed.as_bytes().chunks_exact(fixed.width()).collect()),
            Self::Variable(variable) => {
                let spans = variable.spans().into_iter();
                Ok(spans.map(|span| &variable.data()[span]).collect())
            }
            _ => Err(FileError::unsupported(
                "a dictionary of values of this type",
            )),
        }
    }

    /// The values as an array of `data_type`, which has the shape that they were made for.
    pub(crate) fn into_array(
        self,
        data_type: &DataType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let array: ArrayRef = match (self, data_type) {
            (Self::Null(len), _) => Arc::new(NullArray::new(len)),
            (Self::Bits(bits), _) => Arc::new(BooleanArray::new(bits.into_bits(), nulls)),
            (Self::Fixed(fixed), _) => return fixed_array(fixed, data_type, nulls),
            (Self::Variable(variable), _) => return variable_array(variable, data_type, nulls),
            (Self::List(list), DataType::FixedSizeList(item, dimension)) => {
                let item_nulls = list.validity.into_nulls();
                let items = list.items.into_array(item.data_type(), item_nulls)?;
                Arc::new(FixedSizeListArray::try_new(
                    Arc::clone(item),
                    *dimension,
                    items,
                    nulls,
                )?)
            }
            (Self::Dictionary(dictionary), DataType::Dictionary(keys, values)) => {
                return dictionary.into_array(keys, values, nulls);
            }
            (Self::Packed(len, _), DataType::Struct(fields)) if fields.is_empty() => {
                Arc::new(StructArray::new_empty_fields(len, nulls))
            }
            (Self::Packed(_, columns), DataType::Struct(fields)) => {
                let columns = columns
                    .into_iter()
                    .zip(fields)
                    .map(|(column, field)| column.into_array(field.data_type(), None))
                    .collect::<Result<_>>()?;
                Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?)
            }
            (_, other) => {
                return Err(FileError::corrupt(format!(
                    "values that are not of type {other}"
                )));
            }
        };
        Ok(array)
    }
}

impl Dictionary {
    fn push(&mut self, items: &Arc<Values>, keys: &[u32]) -> Result<()> {
        let (_, mapping) = match self.last.take() {
            Some(last) if Arc::ptr_eq(&last.0, items) => self.last.insert(last),
            _ => {
                let mapping = self.push_items(items)?;
                self.last.insert((Arc::clone(items), mapping))
            }
        };
        let new_key = |&key: &u32| usize::try_from(key).ok().and_then(|key| mapping.get(key));
        self.keys.extend(keys.iter().filter_map(new_key));
        Ok(())
    }

    /// Appends the items that are new, and returns the key of each.
    fn push_items(&mut self, items: &Values) -> Result<Vec<u32>> {
        let count = u32::try_from(items.len()).map_err(|_| too_many())?;
        if self.items.len() == 0 {
            let all: Vec<u32> = (0..count).collect();
            self.items.gather(items, &all)?;
            return Ok(all);
        }
        if self.known.is_empty() {
            let known = self.items.bytes_of_each()?.into_iter().zip(0..);
            self.known = known.map(|(item, key)| (item.into(), key)).collect();
        }
        let mut next = u32::try_from(self.items.len()).map_err(|_| too_many())?;
        let (mut mapping, mut new) = (Vec::with_capacity(items.len()), Vec::new());
        for (item, place) in items.bytes_of_each()?.into_iter().zip(0..) {
            let key = match self.known.get(item) {
                Some(&key) => key,
                None => {
                    self.known.insert(item.into(), next);
                    new.push(place);
                    next = next.checked_add(1).ok_or_else(too_many)?;
                    next - 1
                }
            };
            mapping.push(key);
        }
        self.items.gather(items, &new)?;
        Ok(mapping)
    }

    fn into_array(
        self,
        keys: &DataType,
        values: &DataType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let items = self.items.into_array(values, None)?;
        macro_rules! with_keys {
            ($key:ty) => {
                dictionary_array::<$key>(&self.keys, items, nulls)
            };
        }
        downcast_integer! {
            keys => (with_keys),
            _ => Err(FileError::unsupported(format!("dictionary keys of type {keys}"))),
        }
    }
}

fn dictionary_array<K: ArrowDictionaryKeyType>(
    keys: &[u32],
    items: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef>
where
    <K as ArrowPrimitiveType>::Native: TryFrom<u32>,
{
    let keys = keys
        .iter()
        .map(|&key| K::Native::try_from(key).map_err(|_| too_many()))
        .collect::<Result<Vec<_>>>()?;
    let keys = PrimitiveArray::<K>::try_new(keys.into(), nulls)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, items)?))
}

fn fixed_array(fixed: Fixed, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let data = ArrayData::builder(data_type.clone())
        .len(fixed.len())
        .nulls(nulls)
        .add_buffer(fixed.into_buffer())
        .build()?;
    Ok(make_array(data))
}

fn variable_array(
    variable: Variable,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let wrong = || FileError::corrupt(format!("byte strings that are not of type {data_type}"));
    Ok(match data_type {
        DataType::Utf8 => {
            let (offsets, data) = variable.into_small().ok_or_else(wrong)?;
            Arc::new(GenericStringArray::try_new(offsets, data, nulls).map_err(not_utf8)?)
        }
        DataType::LargeUtf8 => {
            let (offsets, data) = variable.into_large().ok_or_else(wrong)?;
            Arc::new(GenericStringArray::try_new(offsets, data, nulls).map_err(not_utf8)?)
        }
        DataType::Binary => {
            let (offsets, data) = variable.into_small().ok_or_else(wrong)?;
            Arc::new(GenericBinaryArray::try_new(offsets, data, nulls)?)
        }
        DataType::LargeBinary => {
            let (offsets, data) = variable.into_large().ok_or_else(wrong)?;
            Arc::new(GenericBinaryArray::try_new(offsets, data, nulls)?)
        }
        _ => return Err(wrong()),
    })
}

/// The ranges of items that ranges of lists of `dimension` items cover.
pub(crate) fn item_ranges(picks: &[Range<usize>], dimension: usize) -> Vec<Range<usize>> {
    picks
        .iter()
        .map(|pick| pick.start * dimension..pick.end * dimension)
        .collect()
}

fn check_indices(indices: &[u32], count: usize) -> Result<()> {
    let highest = indices.iter().copied().max();
    match highest {
        Some(highest) if usize::try_from(highest).is_ok_and(|highest| highest >= count) => {
            Err(FileError::corrupt(format!(
                "index {highest} into a dictionary of {count} items"
            )))
        }
        _ => Ok(()),
    }
}

fn not_utf8(error: arrow_schema::ArrowError) -> FileError {
    FileError::corrupt("a string that is not UTF-8").with_source(error)
}

fn too_many() -> FileError {
    FileError::invalid_input("more values than an array can hold: read fewer rows at a time")
}
