//! Kernels between bytes and values: bit-packing, FSST, run lengths, byte-stream-split, general compression
//!
//! Every module turns values into bytes of the Lance format and back. None of them knows about
//! files, pages, Arrow or the network: they see slices, and append to vectors or fill slices.
//!
//! | module | what it codes |
//! |---|---|
//! | [`bitpack`] | integers in blocks of 1,024, lane by lane |
//! | [`rle`] | runs of equal values, at most 255 long |
//! | [`byte_stream_split`] | floating-point numbers, byte by byte |
//! | [`fsst`] | short strings by a table of frequent substrings |
//! | [`variable`] | strings behind a table of offsets |
//! | [`general`] | anything, by LZ4 or Zstandard |
//! | [`bits`] | bitmaps, least significant bit first |
//! | [`levels`] | repetition and definition levels |
//!
//! Bytes are not trusted. A decoder is told how much to produce, looks at the lengths of its input
//! first, and answers damaged bytes with a [`CodecError`]; it neither panics nor allocates more than
//! its input can account for.
//!
//! ```
//! use pennon_codec::bitpack;
//!
//! let values: Vec<u32> = (0..1000).collect();
//! let mut bytes = Vec::new();
//! bitpack::encode_inline(&values, &mut bytes);
//! assert_eq!(bytes.len(), 4 + 10 * 128); // ten bits for each of 1,024 values
//!
//! let mut decoded = vec![0u32; 1000];
//! bitpack::decode_inline(&bytes, &mut decoded)?;
//! assert_eq!(decoded, values);
//! # Ok::<(), pennon_codec::CodecError>(())
//! ```

pub mod bitpack;
pub mod bits;
pub mod byte_stream_split;
mod error;
pub mod fsst;
pub mod general;
pub mod levels;
pub mod rle;
pub mod variable;

pub use error::{CodecError, Result};
