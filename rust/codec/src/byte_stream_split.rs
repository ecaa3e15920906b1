//! Byte-stream-split: all first bytes of the values, then all second bytes, and so on.
//!
//! Nothing gets smaller by this alone. Bytes that resemble each other, such as the exponents of
//! floating-point numbers, end up side by side, where a general compressor finds them.

use crate::error::{CodecError, Result};

const WHAT: &str = "byte-stream-split values";

/// Appends `values`, whose values are `width` bytes each, stream by stream.
///
/// # Errors
///
/// If the width is neither 4 nor 8, or `values` is not a whole number of values.
pub fn encode(width: usize, values: &[u8], out: &mut Vec<u8>) -> Result<()> {
    check(width, values.len())?;
    let start = out.len();
    out.resize(start + values.len(), 0);
    match width {
        4 => split::<4>(values, &mut out[start..]),
        _ => split::<8>(values, &mut out[start..]),
    }
    Ok(())
}

/// Fills `out` with values of `width` bytes each from `streams`, which is equally long.
///
/// # Errors
///
/// If the width is neither 4 nor 8, the lengths differ, or are not a whole number of values.
pub fn decode(width: usize, streams: &[u8], out: &mut [u8]) -> Result<()> {
    check(width, out.len())?;
    if streams.len() != out.len() {
        let detail = format!("{} bytes instead of {}", streams.len(), out.len());
        return Err(CodecError::invalid(WHAT, detail));
    }
    match width {
        4 => merge::<4>(streams, out),
        _ => merge::<8>(streams, out),
    }
    Ok(())
}

fn check(width: usize, length: usize) -> Result<()> {
    if width != 4 && width != 8 {
        return Err(CodecError::invalid(
            WHAT,
            format!("values of {width} bytes are not possible"),
        ));
    }
    if !length.is_multiple_of(width) {
        return Err(CodecError::invalid(
            WHAT,
            format!("{length} bytes are no whole values"),
        ));
    }
    Ok(())
}

/// The `W` streams of `bytes`; whole values only.
#[inline(always)]
fn streams<const W: usize>(bytes: &[u8]) -> [&[u8]; W] {
    let n = bytes.len() / W;
    std::array::from_fn(|index| &bytes[index * n..][..n])
}

fn split<const W: usize>(values: &[u8], out: &mut [u8]) {
    let (values, _) = values.as_chunks::<W>();
    for (index, stream) in out.chunks_exact_mut(values.len().max(1)).enumerate() {
        for (byte, value) in stream.iter_mut().zip(values) {
            *byte = value[index % W];
        }
    }
}

fn merge<const W: usize>(bytes: &[u8], out: &mut [u8]) {
    let streams = streams::<W>(bytes);
    let (values, _) = out.as_chunks_mut::<W>();
    for (row, value) in values.iter_mut().enumerate() {
        *value = streams.map(|stream| stream[row]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_transposed() {
        let mut out = Vec::new();
        encode(4, &[1, 2, 3, 4, 5, 6, 7, 8], &mut out).unwrap();
        assert_eq!(out, [1, 5, 2, 6, 3, 7, 4, 8]);
    }

    #[test]
    fn other_widths_and_parts_of_values_are_errors() {
        assert!(encode(2, &[0; 8], &mut Vec::new()).is_err());
        assert!(encode(8, &[0; 12], &mut Vec::new()).is_err());
        assert!(decode(4, &[0; 8], &mut [0; 12]).is_err());
        assert!(decode(4, &[0; 7], &mut [0; 7]).is_err());
        decode(4, &[], &mut []).unwrap();
    }

    proptest! {
        #[test]
        fn values_round_trip(values in prop::collection::vec(any::<u64>(), 0..400)) {
            let values: Vec<u8> = values.into_iter().flat_map(u64::to_le_bytes).collect();
            for width in [4, 8] {
                let mut streams = Vec::new();
                encode(width, &values, &mut streams).unwrap();
                let mut decoded = vec![0; values.len()];
                decode(width, &streams, &mut decoded).unwrap();
                prop_assert_eq!(&decoded, &values);
            }
        }
    }
}
