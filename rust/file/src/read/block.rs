//! Whole buffers of values: levels and dictionaries.

use pennon_codec::variable::Values as Stored;
use pennon_codec::{bitpack, general, rle};

use super::coding::scheme_of;
use super::shape::Shape;
use super::values::{Fixed, Values, Variable};
use crate::encoding::Encoding;
use crate::{FileError, Result};

/// More levels or dictionary items than this in one buffer are refused.
const MAX_VALUES: usize = 1 << 31;
/// A compressed buffer may not claim to be larger than this.
const MAX_BYTES: usize = 1 << 31;

/// Appends `count` levels to `out`.
pub(crate) fn decode_levels(
    encoding: &Encoding,
    bytes: &[u8],
    count: usize,
    out: &mut Vec<u16>,
) -> Result<()> {
    let start = out.len();
    match encoding {
        Encoding::Flat { bits: 16 } => {
            let bytes = bytes.get(..count * 2).ok_or_else(|| short("levels"))?;
            let (levels, _) = bytes.as_chunks::<2>();
            out.extend(levels.iter().map(|&level| u16::from_le_bytes(level)));
        }
        Encoding::Flat { bits: 0 } => out.resize(start + count, 0),
        Encoding::InlineBitpacking { bits: 16 } => {
            out.resize(start + count, 0);
            bitpack::decode_inline::<u16>(bytes, &mut out[start..])?;
        }
        Encoding::OutOfLineBitpacking {
            bits: 16,
            packed_bits,
        } => {
            out.resize(start + count, 0);
            bitpack::decode_out_of_line::<u16>((*packed_bits).into(), bytes, &mut out[start..])?;
        }
        Encoding::Rle { .. } => {
            let (values, lengths) = split_runs(bytes)?;
            out.resize(start + count, 0);
            rle::decode::<u16>(values, lengths, &mut out[start..])?;
        }
        Encoding::General {
            compression,
            values,
        } => {
            let mut plain = Vec::new();
            general::decompress(scheme_of(*compression), bytes, MAX_BYTES, &mut plain)?;
            decode_levels(values, &plain, count, out)?;
        }
        _ => {
            return Err(FileError::unsupported(
                "levels coded in a way that is not known",
            ));
        }
    }
    Ok(())
}

/// Decodes a buffer of `count` values: the items of a dictionary.
pub(crate) fn decode_values(
    encoding: &Encoding,
    shape: &Shape,
    bytes: &[u8],
    count: u64,
) -> Result<Values> {
    let count = usize::try_from(count)
        .ok()
        .filter(|&count| count <= MAX_VALUES);
    let count = count.ok_or_else(|| FileError::corrupt("a dictionary of too many items"))?;
    if let Encoding::General {
        compression,
        values,
    } = encoding
    {
        let mut plain = Vec::new();
        general::decompress(scheme_of(*compression), bytes, MAX_BYTES, &mut plain)?;
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        return decode_values(values, shape, &plain, count);
    }
    match shape {
        Shape::Variable { large } => decode_variable(encoding, *large, bytes, count),
        Shape::Fixed(width) => decode_fixed(encoding, *width, bytes, count),
        _ => Err(FileError::unsupported(
            "a dictionary of values of this type",
        )),
    }
}

fn decode_fixed(encoding: &Encoding, width: usize, bytes: &[u8], count: usize) -> Result<Values> {
    let bits = u64::try_from(width * 8).unwrap_or(u64::MAX);
    let mut out = Fixed::new(width, 0);
    match encoding {
        Encoding::Flat { bits: stored } if *stored == bits => {
            let size = count
                .checked_mul(width)
                .ok_or_else(|| short("dictionary items"))?;
            out.push_bytes(bytes.get(..size).ok_or_else(|| short("dictionary items"))?)?;
        }
        _ => {
            check_plausible(encoding, bytes, count)?;
            out.push_zeros(count)?;
            match width {
                1 => decode_lanes::<u8>(encoding, bytes, out.buffer_mut().typed_data_mut())?,
                2 => decode_lanes::<u16>(encoding, bytes, out.buffer_mut().typed_data_mut())?,
                4 => decode_lanes::<u32>(encoding, bytes, out.buffer_mut().typed_data_mut())?,
                8 => decode_lanes::<u64>(encoding, bytes, out.buffer_mut().typed_data_mut())?,
                _ => {
                    return Err(FileError::unsupported(
                        "packed dictionary items of this width",
                    ));
                }
            }
        }
    }
    Ok(Values::Fixed(out))
}

/// Refuses counts that so few bytes cannot hold, before anything is allocated for them.
fn check_plausible(encoding: &Encoding, bytes: &[u8], count: usize) -> Result<()> {
    let most = match encoding {
        Encoding::Rle { .. } => bytes.len().saturating_mul(255),
        Encoding::OutOfLineBitpacking { packed_bits: 0, .. } => 1 << 24,
        _ => bytes.len().saturating_mul(8).max(1024),
    };
    if count > most {
        Err(short("dictionary items"))
    } else {
        Ok(())
    }
}

fn decode_lanes<T: bitpack::Lane>(encoding: &Encoding, bytes: &[u8], out: &mut [T]) -> Result<()> {
    match encoding {
        Encoding::InlineBitpacking { bits } if u32::from(*bits) == T::BITS => {
            Ok(bitpack::decode_inline::<T>(bytes, out)?)
        }
        Encoding::OutOfLineBitpacking { bits, packed_bits } if u32::from(*bits) == T::BITS => Ok(
            bitpack::decode_out_of_line::<T>((*packed_bits).into(), bytes, out)?,
        ),
        Encoding::Rle { .. } => {
            let (values, lengths) = split_runs(bytes)?;
            Ok(rle::decode::<T>(values, lengths, out)?)
        }
        _ => Err(FileError::unsupported(
            "dictionary items coded in a way that is not known",
        )),
    }
}

fn decode_variable(encoding: &Encoding, large: bool, bytes: &[u8], count: usize) -> Result<Values> {
    match encoding {
        Encoding::Variable { offset_bits } if (*offset_bits == 64) == large => {}
        _ => {
            return Err(FileError::unsupported(
                "dictionary items coded in a way that is not known",
            ));
        }
    }
    let stored = Stored::from_block(bytes, count)?;
    let mut out = Variable::new(large, count);
    out.push_stored(&stored, 0..count)?;
    Ok(Values::Variable(out))
}

/// A buffer of `size of the values, values, lengths`.
fn split_runs(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let (size, rest) = bytes
        .split_first_chunk::<8>()
        .ok_or_else(|| short("runs"))?;
    let size = usize::try_from(u64::from_le_bytes(*size)).ok();
    size.and_then(|size| rest.split_at_checked(size))
        .ok_or_else(|| short("runs"))
}

fn short(what: &str) -> FileError {
    FileError::corrupt(format!("a buffer is too short for its {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_in_runs() {
        let bytes = [4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 3];
        let flat = |bits| Box::new(Encoding::Flat { bits });
        let runs = Encoding::Rle {
            values: flat(16),
            run_lengths: flat(8),
        };
        let mut out = vec![9];
        decode_levels(&runs, &bytes, 5, &mut out).unwrap();
        assert_eq!(out, [9, 1, 1, 0, 0, 0]);
        assert!(decode_levels(&runs, &bytes[..3], 5, &mut out).is_err());
    }

    #[test]
    fn strings_as_a_block() {
        let words = [32_u32, 20, 0, 2, 3];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(b"abc");
        let encoding = Encoding::Variable { offset_bits: 32 };
        let shape = Shape::Variable { large: false };
        let Values::Variable(values) = decode_values(&encoding, &shape, &bytes, 2).unwrap() else {
            panic!("strings");
        };
        assert_eq!(values.spans(), [0..2, 2..3]);
        assert!(decode_values(&encoding, &shape, &bytes, 9).is_err());
        assert!(decode_values(&encoding, &shape, &bytes[..21], 2).is_err());
    }
}
