//! From the value buffers of a chunk to values.

use std::ops::Range;

use arrow_buffer::ArrowNativeType;
use pennon_codec::bitpack::{self, Lane};
use pennon_codec::general::{self, Scheme};
use pennon_codec::variable::Values as Stored;
use pennon_codec::{byte_stream_split, rle};

use crate::read::coding::{Coding, FixedCoding, FixedKind, VariableCoding};
use crate::read::values::{Fixed, List, Values, Variable, item_ranges};
use crate::{FileError, Result};

/// A decompressed chunk may not be larger than this.
const MAX_CHUNK_BYTES: usize = 1 << 31;

/// Appends some of the `count` values of a chunk: those in `picks`, which are in ascending order.
pub(super) fn decode(
    coding: &Coding,
    buffers: &[&[u8]],
    count: usize,
    picks: &[Range<usize>],
    out: &mut Values,
    plain: &mut Vec<u8>,
) -> Result<()> {
    match (coding, out) {
        (Coding::Bits(around), Values::Bits(out)) => {
            let bytes = unwrap(*around, first(buffers)?, plain)?;
            if bytes.len() < count.div_ceil(8) {
                return Err(too_short());
            }
            for pick in picks {
                out.push_bits(bytes, pick.start, pick.len());
            }
            Ok(())
        }
        (Coding::Fixed(coding), Values::Fixed(out)) => {
            decode_fixed(*coding, buffers, count, picks, out, plain)
        }
        (Coding::Variable(coding), Values::Variable(out)) => {
            decode_variable(coding, first(buffers)?, count, picks, out, plain)
        }
        (
            Coding::List {
                has_validity,
                items,
            },
            Values::List(out),
        ) => decode_list(items, *has_validity, buffers, count, picks, out, plain),
        (Coding::Packed, Values::Packed(len, fields)) => {
            *len += picks.iter().map(Range::len).sum::<usize>();
            decode_packed(first(buffers)?, picks, fields)
        }
        (Coding::Nothing, out) => out.push_filler(picks.iter().map(Range::len).sum()),
        _ => Err(FileError::corrupt(
            "values of another type than the column's",
        )),
    }
}

/// Appends some of the `count` fixed-width values of a chunk.
pub(super) fn decode_fixed(
    coding: FixedCoding,
    buffers: &[&[u8]],
    count: usize,
    picks: &[Range<usize>],
    out: &mut Fixed,
    plain: &mut Vec<u8>,
) -> Result<()> {
    let bytes = unwrap(coding.around, first(buffers)?, plain)?;
    if coding.kind == FixedKind::Flat {
        return push_picked(bytes, picks, out);
    }
    let lengths = buffers.get(1).copied().unwrap_or_default();
    if let [pick] = picks
        && *pick == (0..count)
    {
        return decode_whole(coding.kind, bytes, lengths, count, out);
    }
    let mut whole = Fixed::new(out.width(), count);
    decode_whole(coding.kind, bytes, lengths, count, &mut whole)?;
    push_picked(whole.as_bytes(), picks, out)
}

fn push_picked(bytes: &[u8], picks: &[Range<usize>], out: &mut Fixed) -> Result<()> {
    let width = out.width();
    for pick in picks {
        let bytes = bytes
            .get(pick.start * width..pick.end * width)
            .ok_or_else(too_short)?;
        out.push_bytes(bytes)?;
    }
    Ok(())
}

/// Appends all values of a chunk.
fn decode_whole(
    kind: FixedKind,
    bytes: &[u8],
    lengths: &[u8],
    count: usize,
    out: &mut Fixed,
) -> Result<()> {
    let most = match kind {
        FixedKind::Flat | FixedKind::ByteStreamSplit => bytes.len() / out.width(),
        FixedKind::InlineBitpacking => bitpack::BLOCK,
        FixedKind::Rle => lengths.len() * 255,
    };
    if count > most {
        return Err(too_short());
    }
    let start = out.len();
    if kind == FixedKind::ByteStreamSplit {
        let width = out.width();
        let bytes = &bytes[..count * width];
        let slots = out.push_zeros(count)?;
        return Ok(byte_stream_split::decode(width, bytes, slots)?);
    }
    out.push_zeros(count)?;
    match out.width() {
        1 => decode_lanes::<u8>(kind, bytes, lengths, start, out),
        2 => decode_lanes::<u16>(kind, bytes, lengths, start, out),
        4 => decode_lanes::<u32>(kind, bytes, lengths, start, out),
        8 => decode_lanes::<u64>(kind, bytes, lengths, start, out),
        _ => Err(FileError::corrupt(
            "packed values that are not 8 to 64 bits wide",
        )),
    }
}

fn decode_lanes<T: Lane + ArrowNativeType>(
    kind: FixedKind,
    bytes: &[u8],
    lengths: &[u8],
    start: usize,
    out: &mut Fixed,
) -> Result<()> {
    let slots = &mut out.buffer_mut().typed_data_mut::<T>()[start..];
    match kind {
        FixedKind::Rle => rle::decode::<T>(bytes, lengths, slots)?,
        _ => bitpack::decode_inline::<T>(bytes, slots)?,
    }
    Ok(())
}

fn decode_variable(
    coding: &VariableCoding,
    buffer: &[u8],
    count: usize,
    picks: &[Range<usize>],
    out: &mut Variable,
    plain: &mut Vec<u8>,
) -> Result<()> {
    let bytes = unwrap(coding.around, buffer, plain)?;
    let stored = Stored::from_chunk(bytes, count, coding.offset_width)?;
    for pick in picks {
        match &coding.symbols {
            None => out.push_stored(&stored, pick.clone())?,
            Some(symbols) => out.push_coded(symbols, &stored, pick.clone())?,
        }
    }
    Ok(())
}

fn decode_list(
    items: &Coding,
    has_validity: bool,
    buffers: &[&[u8]],
    count: usize,
    picks: &[Range<usize>],
    out: &mut List,
    plain: &mut Vec<u8>,
) -> Result<()> {
    let picks = item_ranges(picks, out.dimension);
    let count = count.checked_mul(out.dimension).ok_or_else(too_short)?;
    let mut rest = buffers;
    if has_validity {
        let (validity, others) = buffers.split_first().ok_or_else(too_short)?;
        if validity.len() < count.div_ceil(8) {
            return Err(too_short());
        }
        for pick in &picks {
            out.validity.push_bits(validity, pick.start, pick.len());
        }
        rest = others;
    } else {
        out.validity.push_ones(picks.iter().map(Range::len).sum());
    }
    decode(items, rest, count, &picks, &mut out.items, plain)
}

fn decode_packed(bytes: &[u8], picks: &[Range<usize>], fields: &mut [Values]) -> Result<()> {
    let widths = fields.iter().map(value_width).collect::<Result<Vec<_>>>()?;
    let width = widths.iter().sum::<usize>();
    for pick in picks {
        let rows = bytes
            .get(pick.start * width..pick.end * width)
            .ok_or_else(too_short)?;
        let mut start = 0;
        for (field, &field_width) in fields.iter_mut().zip(&widths) {
            for row in rows.chunks_exact(width) {
                push_raw(field, &row[start..start + field_width])?;
            }
            start += field_width;
        }
    }
    Ok(())
}

/// Bytes of one value of a packed struct's field.
fn value_width(values: &Values) -> Result<usize> {
    match values {
        Values::Fixed(fixed) => Ok(fixed.width()),
        Values::List(list) => Ok(list.dimension * value_width(&list.items)?),
        _ => Err(FileError::unsupported(
            "a packed struct with a field of this type",
        )),
    }
}

/// Appends the value of a packed struct's field.
fn push_raw(values: &mut Values, bytes: &[u8]) -> Result<()> {
    match values {
        Values::Fixed(fixed) => fixed.push_bytes(bytes),
        Values::List(list) => {
            list.validity.push_ones(list.dimension);
            push_raw(&mut list.items, bytes)
        }
        _ => Err(FileError::unsupported(
            "a packed struct with a field of this type",
        )),
    }
}

/// Takes away a general compressor.
fn unwrap<'a>(around: Option<Scheme>, bytes: &'a [u8], plain: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    match around {
        None => Ok(bytes),
        Some(scheme) => {
            plain.clear();
            general::decompress(scheme, bytes, MAX_CHUNK_BYTES, plain)?;
            Ok(plain)
        }
    }
}

fn first<'a>(buffers: &[&'a [u8]]) -> Result<&'a [u8]> {
    buffers.first().copied().ok_or_else(too_short)
}

fn too_short() -> FileError {
    FileError::corrupt("a chunk is too short for its values")
}
