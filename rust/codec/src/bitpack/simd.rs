#![expect(
    unsafe_code,
    reason = "code compiled for a CPU feature runs only where it was detected"
)]
//! From a width known at run time to code for that width, compiled for the CPU it runs on.
//!
//! The loops of [`rows`] are plain code that the compiler vectorises. What differs is how wide its
//! registers may be: x86-64 promises 16 bytes, nearly every machine has 32. Registers of 64 bytes were
//! measured too and gain less than a tenth, because the stores are the limit by then.

use super::{BLOCK, Lane, rows};

/// Packing and unpacking of blocks with the width as an argument.
pub trait Kernels: Sized {
    /// Unpacks a block; `width` is at most the lane's bits, and `packed` holds `width * 128` bytes.
    #[doc(hidden)]
    fn unpack(width: u32, packed: &[u8], out: &mut [Self; BLOCK]);

    /// Packs a block; `width` is at most the lane's bits, and `packed` holds `width * 128` bytes.
    #[doc(hidden)]
    fn pack(width: u32, values: &[Self; BLOCK], packed: &mut [u8]);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn unpack_avx2<T: Lane, const W: u32>(packed: &[u8], out: &mut [T; BLOCK]) {
    rows::unpack::<T, W>(packed, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pack_avx2<T: Lane, const W: u32>(values: &[T; BLOCK], packed: &mut [u8]) {
    rows::pack::<T, W>(values, packed);
}

// Never inlined, because the code of all widths in one function would be a very long function.
#[inline(never)]
fn unpack_portable<T: Lane, const W: u32>(packed: &[u8], out: &mut [T; BLOCK]) {
    rows::unpack::<T, W>(packed, out);
}

#[inline(never)]
fn pack_portable<T: Lane, const W: u32>(values: &[T; BLOCK], packed: &mut [u8]) {
    rows::pack::<T, W>(values, packed);
}

/// The widths below the lane's own, then the lane's own, which stands for everything above.
macro_rules! kernels {
    ($lane:ty: $($width:literal)* .. $full:literal) => {
        impl Kernels for $lane {
            fn unpack(width: u32, packed: &[u8], out: &mut [Self; BLOCK]) {
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the functions require AVX2 and nothing else, and this CPU has it.
                    return unsafe {
                        match width {
                            $($width => unpack_avx2::<$lane, $width>(packed, out),)*
                            _ => unpack_avx2::<$lane, $full>(packed, out),
                        }
                    };
                }
                match width {
                    $($width => unpack_portable::<$lane, $width>(packed, out),)*
                    _ => unpack_portable::<$lane, $full>(packed, out),
                }
            }

            fn pack(width: u32, values: &[Self; BLOCK], packed: &mut [u8]) {
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the functions require AVX2 and nothing else, and this CPU has it.
                    return unsafe {
                        match width {
                            $($width => pack_avx2::<$lane, $width>(values, packed),)*
                            _ => pack_avx2::<$lane, $full>(values, packed),
                        }
                    };
                }
                match width {
                    $($width => pack_portable::<$lane, $width>(values, packed),)*
                    _ => pack_portable::<$lane, $full>(values, packed),
                }
            }
        }
    };
}

kernels!(u8: 0 1 2 3 4 5 6 7 .. 8);
kernels!(u16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 .. 16);
kernels!(u32: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    .. 32);
kernels!(u64: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    .. 64);
