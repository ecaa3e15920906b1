//! How to decode the values of a page: an encoding that has been checked against the column's
//! shape, with its tables parsed.

use std::sync::Arc;

use pennon_codec::fsst::SymbolTable;
use pennon_codec::general::Scheme;
use pennon_codec::variable::OffsetWidth;

use super::shape::Shape;
use crate::encoding::{Compression, Encoding};
use crate::{FileError, Result};

/// How the values of a chunk or of a page are coded.
#[derive(Debug, Clone)]
pub(crate) enum Coding {
    /// Bits, back to back.
    Bits(Option<Scheme>),
    /// Values of one width.
    Fixed(FixedCoding),
    /// Values of different lengths.
    Variable(VariableCoding),
    /// Lists of one length.
    List {
        /// Whether a bitmap of the items' validity comes first.
        has_validity: bool,
        /// How the items are coded: flat, at the bottom.
        items: Box<Coding>,
    },
    /// Structs, field after field.
    Packed,
    /// Nothing is stored: all items of all lists are null.
    Nothing,
}

/// How values of one width are coded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedCoding {
    /// What is around the first buffer.
    pub(crate) around: Option<Scheme>,
    pub(crate) kind: FixedKind,
}

/// How values of one width are coded, below a general compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixedKind {
    Flat,
    InlineBitpacking,
    Rle,
    ByteStreamSplit,
}

/// How values of different lengths are coded.
#[derive(Debug, Clone)]
pub(crate) struct VariableCoding {
    /// What is around the buffer, or around each value of a full-zip page.
    pub(crate) around: Option<Scheme>,
    pub(crate) offset_width: OffsetWidth,
    /// What the bytes mean, unless they are the values themselves.
    pub(crate) symbols: Option<Arc<SymbolTable>>,
}

impl Coding {
    /// Checks `encoding` against `shape` and parses its tables.
    pub(crate) fn of(encoding: &Encoding, shape: &Shape) -> Result<Self> {
        match shape {
            Shape::Bits => bits(encoding),
            Shape::Fixed(width) => Ok(Self::Fixed(fixed(encoding, *width)?)),
            Shape::Variable { large } => Ok(Self::Variable(variable(encoding, *large)?)),
            Shape::List(dimension, items) => list(encoding, *dimension, items),
            Shape::Packed(fields) => packed(encoding, fields),
            Shape::Null | Shape::Empty | Shape::Dictionary(..) => Err(mismatch(encoding)),
        }
    }

    /// How many buffers a chunk has.
    pub(crate) fn num_buffers(&self) -> u64 {
        match self {
            Self::Fixed(fixed) if fixed.kind == FixedKind::Rle => 2,
            Self::List {
                has_validity,
                items,
            } => u64::from(*has_validity) + items.num_buffers(),
            _ => 1,
        }
    }

    /// The width of fixed-width codes of `encoding`, which are indices into a dictionary.
    pub(crate) fn index_width(encoding: &Encoding) -> Result<usize> {
        let bits = match encoding {
            Encoding::Flat { bits } => *bits,
            Encoding::InlineBitpacking { bits } => u64::from(*bits),
            Encoding::Rle { values, .. }
            | Encoding::ByteStreamSplit { values }
            | Encoding::General { values, .. } => return Self::index_width(values),
            _ => return Err(mismatch(encoding)),
        };
        match bits {
            8 => Ok(1),
            16 => Ok(2),
            32 => Ok(4),
            64 => Ok(8),
            _ => Err(mismatch(encoding)),
        }
    }
}

/// The codec's name of a general compressor.
pub(crate) fn scheme_of(compression: Compression) -> Scheme {
    match compression {
        Compression::Lz4 => Scheme::Lz4,
        Compression::Zstd { level } => Scheme::Zstd { level },
    }
}

fn bits(encoding: &Encoding) -> Result<Coding> {
    match encoding {
        Encoding::Flat { bits: 1 } => Ok(Coding::Bits(None)),
        Encoding::General {
            compression,
            values,
        } => match values.as_ref() {
            Encoding::Flat { bits: 1 } => Ok(Coding::Bits(Some(scheme_of(*compression)))),
            _ => Err(mismatch(encoding)),
        },
        _ => Err(mismatch(encoding)),
    }
}

/// Checks an encoding of values of `width` bytes.
pub(crate) fn fixed(encoding: &Encoding, width: usize) -> Result<FixedCoding> {
    let whole = u64::try_from(width * 8).unwrap_or(u64::MAX);
    let is_flat = |inner: &Encoding, bits: u64| *inner == Encoding::Flat { bits };
    let is_lane = matches!(width, 1 | 2 | 4 | 8);
    let kind = match encoding {
        Encoding::Flat { bits } if *bits == whole => FixedKind::Flat,
        Encoding::InlineBitpacking { bits } if is_lane && u64::from(*bits) == whole => {
            FixedKind::InlineBitpacking
        }
        Encoding::Rle {
            values,
            run_lengths,
        } if is_lane && is_flat(values, whole) && is_flat(run_lengths, 8) => FixedKind::Rle,
        Encoding::ByteStreamSplit { values }
            if matches!(width, 4 | 8) && is_flat(values, whole) =>
        {
            FixedKind::ByteStreamSplit
        }
        Encoding::General {
            compression,
            values,
        } => {
            let inner = fixed(values, width)?;
            if inner.around.is_some() {
                return Err(FileError::unsupported("compression around compression"));
            }
            return Ok(FixedCoding {
                around: Some(scheme_of(*compression)),
                ..inner
            });
        }
        _ => return Err(mismatch(encoding)),
    };
    Ok(FixedCoding { around: None, kind })
}

fn variable(encoding: &Encoding, large: bool) -> Result<VariableCoding> {
    match encoding {
        Encoding::Variable { offset_bits } if (*offset_bits == 64) == large => {
            let offset_width = if large {
                OffsetWidth::W64
            } else {
                OffsetWidth::W32
            };
            Ok(VariableCoding {
                around: None,
                offset_width,
                symbols: None,
            })
        }
        Encoding::Fsst {
            symbol_table,
            values,
        } => {
            let inner = variable(values, large)?;
            if inner.symbols.is_some() || inner.around.is_some() {
                return Err(mismatch(encoding));
            }
            let table = SymbolTable::parse(symbol_table)?;
            let symbols = table.is_compressed().then(|| Arc::new(table));
            Ok(VariableCoding { symbols, ..inner })
        }
        Encoding::General {
            compression,
            values,
        } => {
            let inner = variable(values, large)?;
            if inner.around.is_some() {
                return Err(FileError::unsupported("compression around compression"));
            }
            Ok(VariableCoding {
                around: Some(scheme_of(*compression)),
                ..inner
            })
        }
        _ => Err(mismatch(encoding)),
    }
}

fn list(encoding: &Encoding, expected: usize, items: &Shape) -> Result<Coding> {
    let Encoding::FixedSizeList {
        dimension,
        has_validity,
        values,
    } = encoding
    else {
        return Err(mismatch(encoding));
    };
    if usize::try_from(*dimension) != Ok(expected) {
        return Err(FileError::corrupt(format!(
            "lists of {dimension} items, where the schema says {expected}"
        )));
    }
    let items = match values.as_ref() {
        Encoding::Constant => Coding::Nothing,
        Encoding::Flat { .. } | Encoding::FixedSizeList { .. } => Coding::of(values, items)?,
        other => return Err(mismatch(other)),
    };
    Ok(Coding::List {
        has_validity: *has_validity,
        items: Box::new(items),
    })
}

fn packed(encoding: &Encoding, fields: &[Shape]) -> Result<Coding> {
    let Encoding::PackedStruct { field_bits, values } = encoding else {
        return Err(mismatch(encoding));
    };
    let expected = fields.iter().map(|field| {
        let bits = field.bits().filter(|bits| bits % 8 == 0)?;
        u64::try_from(bits).ok()
    });
    let expected: Option<Vec<u64>> = expected.collect();
    let Some(expected) = expected else {
        return Err(FileError::unsupported(
            "a packed struct with fields that are not whole bytes",
        ));
    };
    let total = expected.iter().sum();
    if *field_bits != expected || values.as_ref() != &(Encoding::Flat { bits: total }) {
        return Err(FileError::corrupt(
            "a packed struct whose widths are not the schema's",
        ));
    }
    Ok(Coding::Packed)
}

fn mismatch(encoding: &Encoding) -> FileError {
    FileError::unsupported(format!(
        "encoding {} is not supported for a column of this type",
        name(encoding)
    ))
}

/// A short name for messages.
fn name(encoding: &Encoding) -> String {
    match encoding {
        Encoding::Flat { bits } => format!("flat({bits})"),
        Encoding::Variable { offset_bits } => format!("variable({offset_bits})"),
        Encoding::Constant => "constant".to_owned(),
        Encoding::InlineBitpacking { bits } => format!("inline bitpacking({bits})"),
        Encoding::OutOfLineBitpacking { bits, .. } => format!("out-of-line bitpacking({bits})"),
        Encoding::Fsst { values, .. } => format!("fsst({})", name(values)),
        Encoding::Rle { values, .. } => format!("rle({})", name(values)),
        Encoding::ByteStreamSplit { values } => format!("byte stream split({})", name(values)),
        Encoding::General {
            compression: Compression::Lz4,
            values,
        } => {
            format!("lz4({})", name(values))
        }
        Encoding::General { values, .. } => format!("zstd({})", name(values)),
        Encoding::FixedSizeList { values, .. } => format!("fixed size list({})", name(values)),
        Encoding::PackedStruct { .. } => "packed struct".to_owned(),
        Encoding::VariablePackedStruct { .. } => "variable packed struct".to_owned(),
    }
}
