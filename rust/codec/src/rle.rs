//! Runs of equal values: the values in one buffer, how often each repeats in another, as a byte.

use crate::bitpack::Lane;
use crate::error::{CodecError, Result};

/// The longest run that one entry can express.
const MAX_RUN: usize = 255;

/// Values that are stored at once, whether or not the run is that long: the next runs overwrite the
/// surplus, and short runs need no loop.
const STRIDE: usize = 16;

/// How many runs of equal values there are, however long. [`encode`] makes at most this many
/// entries plus one for every 255 values.
pub fn count_runs<T: Copy + Eq>(values: &[T]) -> usize {
    let boundaries: usize = values
        .iter()
        .zip(values.iter().skip(1))
        .map(|(a, b)| usize::from(a != b))
        .sum();
    boundaries + usize::from(!values.is_empty())
}

/// Appends the runs of `values`: their values, and their lengths of 1 to 255. Longer runs become
/// several entries.
///
/// Floating-point numbers are given as their bits, lest `-0.0` becomes `0.0`.
pub fn encode<T: Copy + Eq>(values: &[T], run_values: &mut Vec<T>, lengths: &mut Vec<u8>) {
    for run in values.chunk_by(|a, b| a == b) {
        for part in run.chunks(MAX_RUN) {
            run_values.push(part[0]);
            // A part is never longer than a byte can say.
            lengths.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
        }
    }
}

/// Fills `out` from `values`, one little-endian value for each run, and `lengths`, a byte for each.
///
/// Runs that go on after `out` is full are clipped.
///
/// # Errors
///
/// If there is not exactly one value for each length, or the runs end before `out` is full.
pub fn decode<T: Lane>(values: &[u8], lengths: &[u8], out: &mut [T]) -> Result<()> {
    if values.len() != lengths.len().saturating_mul(T::BYTES) {
        let detail = format!(
            "{} bytes of {}-bit values do not match {} lengths",
            values.len(),
            T::BITS,
            lengths.len()
        );
        return Err(CodecError::invalid("runs", detail));
    }
    let mut filled = 0;
    for (value, &length) in values.chunks_exact(T::BYTES).zip(lengths) {
        let rest = &mut out[filled..];
        let run = usize::from(length).min(rest.len());
        fill_start(rest, run, T::read(value));
        filled += run;
    }
    if filled < out.len() {
        let detail = format!("they add up to {filled} values instead of {}", out.len());
        return Err(CodecError::invalid("runs", detail));
    }
    Ok(())
}

/// Sets the first `run` values of `rest`, and perhaps some after those.
#[inline(always)]
fn fill_start<T: Lane>(rest: &mut [T], run: usize, value: T) {
    match rest.first_chunk_mut::<STRIDE>() {
        Some(stride) => {
            *stride = [value; STRIDE];
            if run > STRIDE {
                rest[STRIDE..run].fill(value);
            }
        }
        None => rest[..run].fill(value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(values: &[u32]) -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }

    #[test]
    fn long_runs_are_cut_at_255() {
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        encode(
            &[[7u32; 600].as_slice(), &[8]].concat(),
            &mut values,
            &mut lengths,
        );
        assert_eq!(values, [7, 7, 7, 8]);
        assert_eq!(lengths, [255, 255, 90, 1]);
    }

    #[test]
    fn surplus_is_clipped_and_shortage_refused() {
        let values = bytes(&[1, 2]);
        let mut out = [0u32; 4];
        decode(&values, &[3, 200], &mut out).unwrap();
        assert_eq!(out, [1, 1, 1, 2]);
        assert!(decode(&values, &[1, 2], &mut out).is_err());
        assert!(decode(&values, &[1, 2, 1], &mut out).is_err());
        assert!(decode(&values[..7], &[3, 200], &mut out).is_err());
        decode(&[], &[], &mut out[..0]).unwrap();
    }

    proptest! {
        #[test]
        fn runs_round_trip(runs in prop::collection::vec((0u32..4, 1usize..600), 0..20)) {
            let plain: Vec<u32> =
                runs.iter().flat_map(|&(value, run)| vec![value; run]).collect();
            let (mut values, mut lengths) = (Vec::new(), Vec::new());
            encode(&plain, &mut values, &mut lengths);
            prop_assert!(values.len() <= count_runs(&plain) + plain.len() / MAX_RUN);
            let mut decoded = vec![9; plain.len()];
            decode(&bytes(&values), &lengths, &mut decoded).unwrap();
            prop_assert_eq!(decoded, plain);
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            values in prop::collection::vec(any::<u8>(), 0..200),
            lengths in prop::collection::vec(any::<u8>(), 0..100),
            n in 0usize..3000,
        ) {
            let _ = decode(&values, &lengths, &mut vec![0u16; n]);
            let whole = &values[..values.len().min(lengths.len())];
            let _ = decode(whole, &lengths[..whole.len()], &mut vec![0u8; n]);
        }
    }
}
