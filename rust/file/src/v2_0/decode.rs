//! From the bytes of a page to values.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::dictionary::Dictionary;
use super::encoding::ArrayEncoding;
use super::page::Page;
use super::stream::{MAX_UNSTORED, Rounds, Run, Stream, Supply};
use super::strings::Strings;
use crate::read::shape::Shape;
use crate::read::validity::Bitmap;
use crate::read::values::{Fixed, Values, Variable};
use crate::{FileError, Result};

/// Some rows of a page that are to be read and decoded.
#[derive(Debug)]
pub(super) enum Task {
    /// So many nulls.
    Nulls(usize),
    /// So many structs without fields.
    Empty(usize),
    /// So many times the same value.
    Constant(Values, usize),
    /// A bitmap of what is there, and values.
    Nullable(Stream, Box<Task>),
    Bits(Stream),
    Fixed(Stream),
    /// Byte strings of so many bytes each.
    FixedStrings(Stream, usize),
    /// Lists of one length, of these items.
    List(Box<Task>),
    Strings(Strings),
    Dictionary(Dictionary),
    /// Structs, with the bytes of each field.
    Packed(Stream, Vec<usize>),
}

impl Task {
    /// The rows `rows` of a page or of a part of it, which are to become values of `shape`.
    pub(super) fn new(
        page: &Arc<Page>,
        encoding: &ArrayEncoding,
        shape: &Shape,
        rows: Vec<Range<u64>>,
    ) -> Result<Self> {
        let stream = |encoding, bits: usize, rows| {
            let bits = u64::try_from(bits).unwrap_or(u64::MAX);
            Stream::new(page, encoding, bits)?.taking(rows)
        };
        Ok(match (encoding, shape) {
            (ArrayEncoding::NoNulls(values), _) => Self::new(page, values, shape, rows)?,
            (ArrayEncoding::AllNulls, _) => Self::Nulls(unstored(&rows, shape.bits())?),
            (ArrayEncoding::SomeNulls { validity, values }, _) => Self::Nullable(
                stream(validity, 1, rows.clone())?,
                Box::new(Self::new(page, values, shape, rows)?),
            ),
            (ArrayEncoding::Struct, Shape::Empty) => Self::Empty(unstored(&rows, None)?),
            (ArrayEncoding::Constant(value), _) => {
                let count = unstored(&rows, value.len().checked_mul(8))?;
                Self::Constant(constant(value, shape)?, count)
            }
            (
                ArrayEncoding::Dictionary {
                    indices,
                    items,
                    num_items,
                },
                _,
            ) => Self::Dictionary(Dictionary::new(
                page,
                (indices, items, *num_items),
                shape,
                rows,
            )?),
            (ArrayEncoding::FixedSizeBinary { bytes, width }, _) => {
                fixed_binaries(page, (bytes, *width), shape, &rows)?
            }
            (ArrayEncoding::FixedSizeList { dimension, items }, Shape::List(expected, shape)) => {
                if usize::try_from(*dimension) != Ok(*expected) {
                    return Err(FileError::corrupt(format!(
                        "lists of {dimension} items, where the schema says {expected}"
                    )));
                }
                let items_of = scaled(&rows, (*dimension).into())?;
                Self::List(Box::new(Self::new(page, items, shape, items_of)?))
            }
            (ArrayEncoding::PackedStruct { fields, buffer }, Shape::Packed(shapes)) => {
                let widths = packed_widths(fields, shapes)?;
                let bits = u64::try_from(widths.iter().sum::<usize>() * 8).unwrap_or(u64::MAX);
                Self::Packed(Stream::plain(page, *buffer, bits)?.taking(rows)?, widths)
            }
            (_, Shape::Bits) => Self::Bits(stream(encoding, 1, rows)?),
            (_, Shape::Fixed(width)) => Self::Fixed(stream(encoding, width * 8, rows)?),
            (_, Shape::Variable { .. }) => Self::Strings(Strings::new(page, encoding, rows)?),
            _ => {
                return Err(FileError::unsupported(format!(
                    "encoding {} is not supported for a column of this type",
                    encoding.name()
                )));
            }
        })
    }

    /// Appends the rows, given the bytes that they need.
    pub(super) fn decode(
        &self,
        supply: &mut Supply,
        out: &mut Values,
        validity: &mut Bitmap,
    ) -> Result<()> {
        let before = out.len();
        match (self, &mut *out) {
            (Self::Nulls(count), _) => {
                out.push_filler(*count)?;
                validity.push_zeros(*count);
                return Ok(());
            }
            (Self::Nullable(present, values), _) => {
                return decode_nullable(present, values, supply, out, validity);
            }
            (Self::Strings(strings), Values::Variable(out)) => {
                return strings.decode(supply, out, validity);
            }
            (Self::Dictionary(dictionary), _) => return dictionary.decode(supply, out, validity),
            (Self::Empty(count), _) => out.push_filler(*count)?,
            (Self::Constant(value, count), _) => out.push_repeated(value, *count)?,
            (Self::Bits(stream), Values::Bits(bits)) => stream.decode(supply, |run| {
                bits.push_bits(run.bytes, run.skip, run.count);
                Ok(())
            })?,
            (Self::Fixed(stream), Values::Fixed(fixed)) => {
                stream.decode(supply, |run| fixed.push_bytes(run.bytes))?;
            }
            (Self::FixedStrings(stream, width), Values::Variable(out)) => {
                stream.decode(supply, |run| {
                    run.bytes
                        .chunks_exact(*width)
                        .try_for_each(|value| out.push(value))
                })?;
            }
            (Self::List(items), Values::List(list)) => {
                items.decode(supply, &mut list.items, &mut list.validity)?;
            }
            (Self::Packed(stream, widths), Values::Packed(len, fields)) => {
                stream.decode(supply, |run| push_packed(run, widths, len, fields))?;
            }
            _ => {
                return Err(FileError::corrupt(
                    "values of another type than the column's",
                ));
            }
        }
        validity.push_ones(out.len() - before);
        Ok(())
    }

    /// Whether rows may be null although no bitmap around them says so.
    fn has_nulls(&self) -> bool {
        matches!(
            self,
            Self::Nulls(_) | Self::Nullable(..) | Self::Strings(_) | Self::Dictionary(_)
        )
    }

    fn parts(&self) -> [Option<&dyn Rounds>; 2] {
        match self {
            Self::Nulls(_) | Self::Empty(_) | Self::Constant(..) => [None, None],
            Self::Nullable(present, values) => [Some(present), Some(values.as_ref())],
            Self::Bits(stream)
            | Self::Fixed(stream)
            | Self::FixedStrings(stream, _)
            | Self::Packed(stream, _) => [Some(stream), None],
            Self::List(items) => [Some(items.as_ref()), None],
            Self::Strings(strings) => [Some(strings), None],
            Self::Dictionary(dictionary) => [Some(dictionary), None],
        }
    }

    fn parts_mut(&mut self) -> [Option<&mut dyn Rounds>; 2] {
        match self {
            Self::Nulls(_) | Self::Empty(_) | Self::Constant(..) => [None, None],
            Self::Nullable(present, values) => [Some(present), Some(values.as_mut())],
            Self::Bits(stream)
            | Self::Fixed(stream)
            | Self::FixedStrings(stream, _)
            | Self::Packed(stream, _) => [Some(stream), None],
            Self::List(items) => [Some(items.as_mut()), None],
            Self::Strings(strings) => [Some(strings), None],
            Self::Dictionary(dictionary) => [Some(dictionary), None],
        }
    }
}

impl Rounds for Task {
    fn is_ready(&self) -> bool {
        self.parts()
            .into_iter()
            .flatten()
            .all(|part| part.is_ready())
    }

    fn round_needs(&self, out: &mut Vec<Range<u64>>) {
        for part in self.parts().into_iter().flatten() {
            if !part.is_ready() {
                part.round_needs(out);
            }
        }
    }

    fn supply(&mut self, bytes: &mut Supply) -> Result<()> {
        for part in self.parts_mut().into_iter().flatten() {
            if !part.is_ready() {
                part.supply(bytes)?;
            }
        }
        Ok(())
    }

    fn needs(&self, out: &mut Vec<Range<u64>>) {
        for part in self.parts().into_iter().flatten() {
            part.needs(out);
        }
    }
}

/// Appends values that are there when both the bitmap and they themselves say so.
fn decode_nullable(
    present: &Stream,
    values: &Task,
    supply: &mut Supply,
    out: &mut Values,
    validity: &mut Bitmap,
) -> Result<()> {
    let mut bits = Bitmap::default();
    let has_nulls = values.has_nulls();
    let target = if has_nulls { &mut bits } else { &mut *validity };
    present.decode(supply, |run| {
        target.push_bits(run.bytes, run.skip, run.count);
        Ok(())
    })?;
    let mut inner = Bitmap::default();
    values.decode(supply, out, &mut inner)?;
    if has_nulls {
        if inner.len() != bits.len() {
            return Err(FileError::corrupt("more nulls than values, or fewer"));
        }
        let both = &bits.into_bits() & &inner.into_bits();
        validity.push_bits(both.values(), both.offset(), both.len());
    }
    Ok(())
}

fn push_packed(
    run: Run<'_>,
    widths: &[usize],
    len: &mut usize,
    fields: &mut [Values],
) -> Result<()> {
    let width: usize = widths.iter().sum();
    let mut first = 0;
    for (&field_width, field) in widths.iter().zip(fields) {
        for row in run.bytes.chunks_exact(width) {
            push_plain(field, &row[first..first + field_width])?;
        }
        first += field_width;
    }
    *len += run.count;
    Ok(())
}

/// Appends one value, or a list of values, without nulls.
fn push_plain(values: &mut Values, bytes: &[u8]) -> Result<()> {
    match values {
        Values::Fixed(fixed) => fixed.push_bytes(bytes),
        Values::List(list) => {
            push_plain(&mut list.items, bytes)?;
            let items = list.items.len();
            list.validity.push_ones(items - list.validity.len());
            Ok(())
        }
        _ => Err(FileError::corrupt("a packed field of another type")),
    }
}

/// The bytes of each field of a packed struct, checked.
fn packed_widths(fields: &[ArrayEncoding], shapes: &[Shape]) -> Result<Vec<usize>> {
    let wrong = || FileError::corrupt("a packed struct whose fields are not the schema's");
    if fields.len() != shapes.len() || fields.is_empty() {
        return Err(wrong());
    }
    let width = |(field, shape)| {
        let bits = shape_bits(shape).filter(|bits| bits.is_multiple_of(8));
        let bits = bits.filter(|&bits| field_bits(field) == Some(bits));
        bits.map(|bits| bits / 8).ok_or_else(wrong)
    };
    fields.iter().zip(shapes).map(width).collect()
}

/// Bits of a field without booleans, which cannot be packed.
fn shape_bits(shape: &Shape) -> Option<usize> {
    match shape {
        Shape::Bits => None,
        Shape::List(dimension, items) => dimension.checked_mul(shape_bits(items)?),
        other => other.bits(),
    }
}

fn field_bits(encoding: &ArrayEncoding) -> Option<usize> {
    match encoding.without_nulls() {
        ArrayEncoding::Flat { bits, .. } => usize::try_from(*bits).ok(),
        ArrayEncoding::FixedSizeList { dimension, items } => {
            let dimension = usize::try_from(*dimension).ok()?;
            dimension.checked_mul(field_bits(items)?)
        }
        _ => None,
    }
}

fn fixed_binaries(
    page: &Arc<Page>,
    (bytes, width): (&ArrayEncoding, u32),
    shape: &Shape,
    rows: &[Range<u64>],
) -> Result<Task> {
    let stream = Stream::new(page, bytes, 8)?.taking(scaled(rows, width.into())?)?;
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    match shape {
        Shape::Fixed(expected) if width == *expected => Ok(Task::Fixed(stream)),
        Shape::Variable { .. } if width > 0 => Ok(Task::FixedStrings(stream, width)),
        _ => Err(FileError::corrupt(format!(
            "binaries of {width} bytes for a column of another type"
        ))),
    }
}

/// The only value of a constant page.
fn constant(value: &Bytes, shape: &Shape) -> Result<Values> {
    match shape {
        Shape::Fixed(width) if value.len() == *width => {
            let mut fixed = Fixed::new(*width, 1);
            fixed.push_bytes(value)?;
            Ok(Values::Fixed(fixed))
        }
        Shape::Variable { large } => {
            let mut variable = Variable::new(*large, 1);
            variable.push(value)?;
            Ok(Values::Variable(variable))
        }
        _ => Err(FileError::unsupported(
            "a constant page of values of this type",
        )),
    }
}

/// How many rows there are, each of so many bits in memory, which nothing is stored for.
fn unstored(rows: &[Range<u64>], bits: Option<usize>) -> Result<usize> {
    let count = rows.iter().map(|rows| rows.end - rows.start);
    let count = count.fold(0_u64, u64::saturating_add);
    let bytes = u64::try_from(bits.unwrap_or(64) / 8).unwrap_or(u64::MAX);
    match usize::try_from(count) {
        Ok(rows) if count <= MAX_UNSTORED && count.saturating_mul(bytes) <= MAX_UNSTORED << 4 => {
            Ok(rows)
        }
        _ => Err(FileError::invalid_input(format!(
            "{count} rows of a page without bytes: read fewer rows at a time"
        ))),
    }
}

/// The ranges of items that ranges of lists of `dimension` items cover.
fn scaled(rows: &[Range<u64>], dimension: u64) -> Result<Vec<Range<u64>>> {
    let scaled = |row: u64| row.checked_mul(dimension);
    rows.iter()
        .map(|rows| Some(scaled(rows.start)?..scaled(rows.end)?))
        .collect::<Option<_>>()
        .ok_or_else(|| FileError::corrupt("lists of too many items"))
}
