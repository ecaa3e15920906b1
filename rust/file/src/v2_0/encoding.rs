//! Array encodings: how the rows of a 2.0 page lie in its buffers, as a description.

use bytes::Bytes;
use pennon_codec::general::Scheme;

/// A buffer, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BufferRef {
    /// Among the page's.
    Page(u32),
    /// Among the column's.
    Column(u32),
}

/// What is around a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Nothing, said aloud.
    Nothing,
    /// A general purpose compressor around the whole buffer.
    General(Scheme),
}

/// How rows lie in buffers. Its message names each buffer by number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ArrayEncoding {
    /// Values of one width, back to back.
    Flat {
        /// Bits of one value: 1, or a multiple of 8.
        bits: u64,
        buffer: BufferRef,
        compression: Option<Compression>,
    },
    /// No row is null.
    NoNulls(Box<Self>),
    /// A bit for each row says whether it is there.
    SomeNulls {
        validity: Box<Self>,
        values: Box<Self>,
    },
    /// Every row is null; there are no buffers.
    AllNulls,
    /// Each row is `dimension` items.
    FixedSizeList { dimension: u32, items: Box<Self> },
    /// Ends of lists, counted in items of the page; the items are another column.
    List {
        ends: Box<Self>,
        /// What is added to the ends of null lists.
        null_adjustment: u64,
        /// How many items the page's lists own.
        num_items: u64,
    },
    /// The header of a struct, whose children are other columns.
    Struct,
    /// Ends of byte strings, and their bytes.
    Binary {
        ends: Box<Self>,
        bytes: Box<Self>,
        /// What is added to the ends of null rows.
        null_adjustment: u64,
    },
    /// Indices into values that are stored once each.
    Dictionary {
        indices: Box<Self>,
        items: Box<Self>,
        num_items: u32,
    },
    /// Byte strings in the codes of a symbol table.
    Fsst {
        binary: Box<Self>,
        symbol_table: Bytes,
    },
    /// Structs row after row in one buffer. What buffers the fields name means nothing.
    PackedStruct {
        fields: Vec<Self>,
        buffer: BufferRef,
    },
    /// Integers in a continuous stream of bits.
    Bitpacked {
        packed_bits: u64,
        bits: u64,
        buffer: BufferRef,
        /// Whether the highest stored bit is the sign.
        signed: bool,
    },
    /// Integers in blocks of 1,024.
    BitpackedBlocks {
        packed_bits: u64,
        bits: u64,
        buffer: BufferRef,
    },
    /// Byte strings of one width.
    FixedSizeBinary { bytes: Box<Self>, width: u32 },
    /// One value for all rows.
    Constant(Bytes),
}

impl ArrayEncoding {
    /// The encoding below what only says that no row is null.
    pub(super) fn without_nulls(&self) -> &Self {
        match self {
            Self::NoNulls(values) => values.without_nulls(),
            other => other,
        }
    }

    /// A short name for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Flat { .. } => "flat",
            Self::NoNulls(values) => values.name(),
            Self::SomeNulls { .. } => "nullable",
            Self::AllNulls => "all nulls",
            Self::FixedSizeList { .. } => "fixed size list",
            Self::List { .. } => "list",
            Self::Struct => "struct",
            Self::Binary { .. } => "binary",
            Self::Dictionary { .. } => "dictionary",
            Self::Fsst { .. } => "fsst",
            Self::PackedStruct { .. } => "packed struct",
            Self::Bitpacked { .. } | Self::BitpackedBlocks { .. } => "bit-packed",
            Self::FixedSizeBinary { .. } => "fixed size binary",
            Self::Constant(_) => "constant",
        }
    }
}
