//! What the values of a column look like in memory, apart from their nesting in structs and lists.

use arrow_schema::{DataType, Field};

use crate::{FileError, Result};

/// The most bytes that one value may take: more is a corrupt schema.
const MAX_VALUE_BYTES: usize = 1 << 31;

/// The storage of a leaf's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nulls only.
    Null,
    /// Booleans.
    Bits,
    /// Values of so many bytes each.
    Fixed(usize),
    /// Strings or binaries.
    Variable {
        /// Whether offsets take 64 bits.
        large: bool,
    },
    /// So many items for each value.
    List(usize, Box<Shape>),
    /// Keys of so many bytes into a dictionary of values.
    Dictionary(usize, Box<Shape>),
    /// A struct whose fields are stored together.
    Packed(Vec<Shape>),
    /// A struct without fields.
    Empty,
}

impl Shape {
    /// The shape of a column's values.
    pub(crate) fn of(data_type: &DataType) -> Result<Self> {
        let unsupported = || {
            Err(FileError::unsupported(format!(
                "columns of type {data_type} are not supported"
            )))
        };
        Ok(match data_type {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bits,
            DataType::Utf8 | DataType::Binary => Self::Variable { large: false },
            DataType::LargeUtf8 | DataType::LargeBinary => Self::Variable { large: true },
            DataType::FixedSizeBinary(width) => match usize::try_from(*width) {
                Ok(width) if width > 0 => Self::Fixed(width),
                _ => return unsupported(),
            },
            DataType::FixedSizeList(item, dimension) => list(item, *dimension)?,
            DataType::Dictionary(keys, values) => match keys.primitive_width() {
                Some(width) => Self::Dictionary(width, Box::new(Self::of(values)?)),
                None => return unsupported(),
            },
            DataType::Struct(fields) if fields.is_empty() => Self::Empty,
            DataType::Struct(fields) => {
                let fields = fields.iter().map(|field| Self::of(field.data_type()));
                Self::Packed(fields.collect::<Result<_>>()?)
            }
            other => match other.primitive_width() {
                Some(width) => Self::Fixed(width),
                None => return unsupported(),
            },
        })
    }

    /// The bits that a value takes when it is stored flat, without the validity of its items.
    pub(crate) fn bits(&self) -> Option<usize> {
        match self {
            Self::Bits => Some(1),
            Self::Fixed(width) => Some(width * 8),
            Self::List(dimension, items) => dimension.checked_mul(items.bits()?),
            _ => None,
        }
    }
}

fn list(item: &Field, dimension: i32) -> Result<Shape> {
    let items = Shape::of(item.data_type())?;
    let dimension = usize::try_from(dimension).unwrap_or(0);
    let shape = Shape::List(dimension, Box::new(items));
    match shape.bits() {
        Some(bits) if dimension > 0 && bits <= MAX_VALUE_BYTES => Ok(shape),
        _ => Err(FileError::unsupported(format!(
            "lists of {dimension} items of type {} are not supported",
            item.data_type()
        ))),
    }
}
