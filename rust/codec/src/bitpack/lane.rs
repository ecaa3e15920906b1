//! The integers that can be packed.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, Shl, Shr};

use super::simd::Kernels;

/// An unsigned integer that fills one lane: `u8`, `u16`, `u32` or `u64`.
///
/// Signed integers and floating-point numbers are packed as the unsigned integer of the same bits.
pub trait Lane:
    Copy
    + Debug
    + Default
    + Ord
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + Into<u64>
    + Kernels
    + Send
    + Sync
    + 'static
{
    /// Bits of one value.
    const BITS: u32;
    /// Bytes of one value.
    const BYTES: usize;
    /// Values side by side in a block: 1,024 / `BITS`.
    const LANES: usize;
    /// The value with no bit set.
    const ZERO: Self;
    /// The value with every bit set.
    const ONES: Self;

    /// The value at the start of `bytes`, which holds at least [`BYTES`](Self::BYTES) of them.
    fn read(bytes: &[u8]) -> Self;

    /// Stores the value at the start of `bytes`, which holds at least [`BYTES`](Self::BYTES).
    fn write(self, bytes: &mut [u8]);

    /// Only the lowest `width` bits set; `width` is at most [`BITS`](Self::BITS).
    #[inline(always)]
    fn low_bits(width: u32) -> Self {
        if width == 0 {
            Self::ZERO
        } else {
            Self::ONES >> (Self::BITS - width)
        }
    }
}

macro_rules! lane {
    ($($lane:ty),*) => {$(
        impl Lane for $lane {
            const BITS: u32 = <$lane>::BITS;
            const BYTES: usize = size_of::<$lane>();
            const LANES: usize = super::BLOCK / (8 * size_of::<$lane>());
            const ZERO: Self = 0;
            const ONES: Self = <$lane>::MAX;

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$lane>()];
                word.copy_from_slice(&bytes[..size_of::<$lane>()]);
                Self::from_le_bytes(word)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes[..size_of::<$lane>()].copy_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

lane!(u8, u16, u32, u64);
