//! The two loops of bit-packing, written once for every lane type, width and CPU.
//!
//! A block is a matrix of `T::BITS` rows and `T::LANES` columns. Row `r` takes the bits from `r * W`
//! on in every column of the packed matrix, whose words are `T` wide too: all columns shift by the
//! same amount, so a row is a few vector instructions. The order of the rows within a block is what
//! keeps neighbouring values in neighbouring columns for each lane type.

use super::{BLOCK, Lane};

/// Bytes of one row of the packed matrix, whatever the lane type.
pub(super) const ROW_BYTES: usize = BLOCK / 8;

/// Where the value of a row's first column is in the block.
#[inline(always)]
fn position(row: usize) -> usize {
    const ORDER: [usize; 8] = [0, 4, 2, 6, 1, 5, 3, 7];
    ORDER[row / 8] * 16 + (row % 8) * 128
}

/// The packed word and the shift at which a row starts.
#[inline(always)]
fn start<T: Lane>(row: u32, width: u32) -> (usize, u32) {
    let bit = row * width;
    ((bit / T::BITS) as usize, bit % T::BITS)
}

/// Unpacks a block from `W * ROW_BYTES` bytes.
#[inline(always)]
pub(super) fn unpack<T: Lane, const W: u32>(packed: &[u8], out: &mut [T; BLOCK]) {
    let packed = &packed[..W as usize * ROW_BYTES];
    if W == 0 {
        out.fill(T::ZERO);
        return;
    }
    let mask = T::low_bits(W);
    for row in 0..T::BITS {
        let (word, shift) = start::<T>(row, W);
        let at = position(row as usize);
        let out = &mut out[at..at + T::LANES];
        let low = &packed[word * ROW_BYTES..][..ROW_BYTES];
        if shift + W > T::BITS {
            let high = &packed[(word + 1) * ROW_BYTES..][..ROW_BYTES];
            for (lane, out) in out.iter_mut().enumerate() {
                let low = T::read(&low[lane * T::BYTES..]) >> shift;
                let high = T::read(&high[lane * T::BYTES..]) << (T::BITS - shift);
                *out = (low | high) & mask;
            }
        } else {
            for (lane, out) in out.iter_mut().enumerate() {
                *out = (T::read(&low[lane * T::BYTES..]) >> shift) & mask;
            }
        }
    }
}

/// Packs a block into `W * ROW_BYTES` bytes. Bits of values above the width are dropped.
#[inline(always)]
pub(super) fn pack<T: Lane, const W: u32>(values: &[T; BLOCK], packed: &mut [u8]) {
    let packed = &mut packed[..W as usize * ROW_BYTES];
    if W == 0 {
        return;
    }
    let mask = T::low_bits(W);
    let mut pending = [T::ZERO; ROW_BYTES];
    let pending = &mut pending[..T::LANES];
    for row in 0..T::BITS {
        let (word, shift) = start::<T>(row, W);
        let values = &values[position(row as usize)..][..T::LANES];
        for (pending, &value) in pending.iter_mut().zip(values) {
            *pending = *pending | ((value & mask) << shift);
        }
        if shift + W < T::BITS {
            continue;
        }
        let packed = &mut packed[word * ROW_BYTES..][..ROW_BYTES];
        for (lane, &pending) in pending.iter().enumerate() {
            pending.write(&mut packed[lane * T::BYTES..]);
        }
        let kept = T::BITS - shift;
        for (pending, &value) in pending.iter_mut().zip(values) {
            *pending = if kept < W {
                (value & mask) >> kept
            } else {
                T::ZERO
            };
        }
    }
}
