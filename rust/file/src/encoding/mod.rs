//! Compressive encodings: how the values of a buffer are coded, as a description.
//!
//! The set is fixed by the format, so it is a closed enum: the translator to and from the wire
//! ([`proto`]), the decoders and the encoders each match on it.

pub(crate) mod proto;

use bytes::Bytes;

/// A general purpose compressor around a buffer or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// LZ4 block with a 32-bit length in front.
    Lz4,
    /// A Zstandard frame with a 64-bit length in front, and the level that the writer noted.
    Zstd {
        /// Informational: readers ignore it.
        level: Option<i32>,
    },
}

/// One field of a [`Encoding::VariablePackedStruct`].
#[derive(Debug, Clone, PartialEq)]
pub struct PackedField {
    /// How the field's values are coded.
    pub encoding: Encoding,
    /// How a row holds the field's value.
    pub width: PackedWidth,
}

/// How one row of a packed struct holds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackedWidth {
    /// This many bits, always.
    Fixed(u64),
    /// A length prefix of this many bits, then the bytes.
    LengthPrefixed(u64),
}

/// How values are coded, from the outside in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Encoding {
    /// Values back to back, `bits` each, least significant bit first.
    Flat {
        /// Bits of one value; 0 means that there are no bytes and every value is zero.
        bits: u64,
    },
    /// Offsets of `offset_bits` each, then the bytes of all values.
    Variable {
        /// 32 or 64.
        offset_bits: u8,
    },
    /// Nothing stored: no value is ever looked at.
    Constant,
    /// A word that says how many bits a value takes, then 1,024 packed values.
    InlineBitpacking {
        /// Bits of an unpacked value: 8, 16, 32 or 64.
        bits: u8,
    },
    /// Packed values of a width given here.
    OutOfLineBitpacking {
        /// Bits of an unpacked value: 8, 16, 32 or 64.
        bits: u8,
        /// Bits of a packed value, at most `bits`.
        packed_bits: u8,
    },
    /// Byte strings whose frequent parts are replaced by one-byte symbols.
    Fsst {
        /// The table as stored: 2,312 bytes.
        symbol_table: Bytes,
        /// How the coded strings are stored.
        values: Box<Encoding>,
    },
    /// Values and, in a buffer of their own, the lengths of their runs.
    Rle {
        /// How the run values are stored.
        values: Box<Encoding>,
        /// How the run lengths are stored.
        run_lengths: Box<Encoding>,
    },
    /// All first bytes, then all second bytes, and so on.
    ByteStreamSplit {
        /// How the transposed bytes are stored.
        values: Box<Encoding>,
    },
    /// A general purpose compressor around the first buffer of `values`.
    General {
        /// Which compressor.
        compression: Compression,
        /// How the decompressed bytes are coded.
        values: Box<Encoding>,
    },
    /// Each value is `dimension` items.
    FixedSizeList {
        /// Items of one value.
        dimension: u64,
        /// Whether the items have a validity bitmap of their own.
        has_validity: bool,
        /// How the items are coded.
        values: Box<Encoding>,
    },
    /// Rows of concatenated fixed-width fields.
    PackedStruct {
        /// Bits of each field.
        field_bits: Vec<u64>,
        /// How the rows are coded.
        values: Box<Encoding>,
    },
    /// Rows of concatenated fields, some with a length in front.
    VariablePackedStruct {
        /// The fields in the schema's order.
        fields: Vec<PackedField>,
    },
}
