//! General compression of whole buffers, values or chunks, with the length in front.
//!
//! ```text
//! LZ4    [length: u32] [one LZ4 block]
//! Zstd   [length: u64] [Zstandard frames]
//! ```
//!
//! The length is that of the decompressed bytes, and somebody else wrote it: memory is taken only as
//! far as the compressed bytes can account for it.

mod lz4;
mod zstd;

use crate::error::{CodecError, Result};

/// A general purpose compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// LZ4: fast in both directions.
    Lz4,
    /// Zstandard: smaller.
    Zstd {
        /// How hard to try; `None` is the library's default. Decompression does not need it.
        level: Option<i32>,
    },
}

/// Appends `input` compressed.
///
/// # Errors
///
/// If `input` is longer than the scheme's length can express.
///
/// ```
/// use pennon_codec::general::{Scheme, compress, decompress};
///
/// let mut frame = Vec::new();
/// compress(Scheme::Lz4, &[7; 1000], &mut frame)?;
/// assert!(frame.len() < 30);
///
/// let mut bytes = Vec::new();
/// decompress(Scheme::Lz4, &frame, 4096, &mut bytes)?;
/// assert_eq!(bytes, [7; 1000]);
/// # Ok::<(), pennon_codec::CodecError>(())
/// ```
pub fn compress(scheme: Scheme, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let done = match scheme {
        Scheme::Lz4 => lz4::compress(input, out),
        Scheme::Zstd { level } => zstd::compress(level, input, out),
    };
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// Appends `input` decompressed. No bytes decompress to no bytes, and Zstandard frames may lack the
/// length in front.
///
/// # Errors
///
/// If the length is above `limit` or not what the rest decompresses to, or the rest is damaged.
/// Nothing is appended then.
pub fn decompress(scheme: Scheme, input: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
    if input.is_empty() {
        return Ok(());
    }
    let start = out.len();
    let done = match scheme {
        Scheme::Lz4 => lz4::decompress(input, limit, out),
        Scheme::Zstd { .. } => zstd::decompress(input, limit, out),
    };
    if done.is_err() {
        out.truncate(start);
    }
    done
}

/// A declared length, if it is within the limit.
fn check_limit(what: &'static str, length: u64, limit: usize) -> Result<usize> {
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(CodecError::TooLarge {
            what,
            size: length,
            limit: limit as u64,
        }),
    }
}

/// Checks that as much was decompressed as was declared.
fn check_decompressed(what: &'static str, declared: usize, actual: usize) -> Result<()> {
    if actual != declared {
        let detail = format!("{actual} bytes were decompressed instead of {declared}");
        return Err(CodecError::invalid(what, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZSTD: Scheme = Scheme::Zstd { level: None };
    const SCHEMES: [Scheme; 3] = [Scheme::Lz4, ZSTD, Scheme::Zstd { level: Some(9) }];

    fn compressed(scheme: Scheme, input: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        compress(scheme, input, &mut frame).unwrap();
        frame
    }

    fn decompressed(scheme: Scheme, frame: &[u8], limit: usize) -> Result<Vec<u8>> {
        let mut out = b"before".to_vec();
        let done = decompress(scheme, frame, limit, &mut out);
        assert!(out.starts_with(b"before"));
        if done.is_err() {
            assert_eq!(out, b"before");
        }
        done.map(|()| out.split_off(6))
    }

    #[test]
    fn the_length_is_in_front() {
        assert_eq!(compressed(Scheme::Lz4, b"abc"), b"\x03\0\0\0\x30abc");
        let frame = compressed(ZSTD, b"abc");
        assert_eq!(frame[..12], *b"\x03\0\0\0\0\0\0\0\x28\xb5\x2f\xfd");
        assert_eq!(compressed(ZSTD, b"").len(), 17);
    }

    #[test]
    fn no_bytes_and_bare_frames_are_accepted() {
        for scheme in SCHEMES {
            assert_eq!(decompressed(scheme, b"", 0), Ok(vec![]));
            assert_eq!(
                decompressed(scheme, &compressed(scheme, b""), 0),
                Ok(vec![])
            );
        }
        let frame = compressed(ZSTD, &[1; 100]);
        assert_eq!(decompressed(ZSTD, &frame[8..], 100), Ok(vec![1; 100]));
        assert!(decompressed(ZSTD, &frame[8..], 99).is_err());
    }

    #[test]
    fn lengths_above_the_limit_are_refused_before_anything_else() {
        for scheme in SCHEMES {
            let frame = compressed(scheme, &[1; 100]);
            assert_eq!(decompressed(scheme, &frame, 100), Ok(vec![1; 100]));
            let error = decompressed(scheme, &frame, 99);
            assert!(matches!(
                error,
                Err(CodecError::TooLarge {
                    size: 100,
                    limit: 99,
                    ..
                })
            ));
        }
    }

    #[test]
    fn wrong_lengths_and_cut_frames_are_errors() {
        for scheme in SCHEMES {
            let frame = compressed(scheme, &[1; 100]);
            for length in [99, 101] {
                let mut frame = frame.clone();
                frame[0] = length;
                assert!(decompressed(scheme, &frame, 1000).is_err());
            }
            for end in 1..frame.len() {
                assert!(decompressed(scheme, &frame[..end], 1000).is_err());
            }
            assert!(decompressed(scheme, &[frame, vec![0]].concat(), 1000).is_err());
        }
    }

    #[test]
    fn a_declared_length_alone_does_not_take_memory() {
        for scheme in SCHEMES {
            let mut frame = compressed(scheme, &[1; 100]);
            frame[..4].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0x7F]);
            let mut out = Vec::new();
            assert!(decompress(scheme, &frame, usize::MAX, &mut out).is_err());
            assert!(out.capacity() < 1 << 22, "{}", out.capacity());
        }
    }

    #[test]
    fn what_shrinks_a_lot_grows_again() {
        for scheme in SCHEMES {
            let input = vec![0; 20_000_000];
            let frame = compressed(scheme, &input);
            assert!(decompressed(scheme, &frame, input.len()).unwrap() == input);
        }
        let bare = &compressed(ZSTD, &vec![0; 5_000_000])[8..];
        assert_eq!(
            decompressed(ZSTD, bare, 5_000_000).unwrap().len(),
            5_000_000
        );
        assert!(decompressed(ZSTD, bare, 4_999_999).is_err());
    }

    #[test]
    fn a_failure_does_not_spoil_the_next_call() {
        let frame = compressed(ZSTD, &[1; 100]);
        assert!(decompressed(ZSTD, &frame[..frame.len() - 1], 1000).is_err());
        assert_eq!(decompressed(ZSTD, &frame, 1000), Ok(vec![1; 100]));
    }

    proptest! {
        #[test]
        fn bytes_round_trip(bytes in prop::collection::vec(0u8..5, 0..5000), repeat in 1usize..20) {
            let bytes = bytes.repeat(repeat);
            for scheme in SCHEMES {
                let frame = compressed(scheme, &bytes);
                prop_assert_eq!(decompressed(scheme, &frame, bytes.len()).unwrap(), bytes.clone());
            }
        }

        #[test]
        fn damaged_frames_never_panic(
            bytes in prop::collection::vec(0u8..5, 1..300),
            at in any::<prop::sample::Index>(),
            xor in 1u8..,
        ) {
            for scheme in SCHEMES {
                let mut frame = compressed(scheme, &bytes);
                let at = at.index(frame.len());
                frame[at] ^= xor;
                let _ = decompressed(scheme, &frame, 1 << 16);
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for scheme in SCHEMES {
                let _ = decompressed(scheme, &bytes, 1 << 16);
                let framed = [&[200, 0, 0, 0], bytes.as_slice()].concat();
                let _ = decompressed(scheme, &framed, 1 << 16);
            }
        }
    }
}
