//! Page layouts: how levels and values of one page are arranged in buffers, as a description.

pub(crate) mod proto;

use bytes::Bytes;

use crate::encoding::Encoding;

/// What one level of nesting contributes to the definition levels of a page.
///
/// Layers are listed from the leaf outwards. They describe the page's own data, not the schema:
/// two pages of one column may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// A leaf or a struct without nulls.
    Item,
    /// A list without null and without empty lists.
    List,
    /// A leaf or a struct with nulls.
    NullableItem,
    /// A list with null lists.
    NullableList,
    /// A list with empty lists.
    EmptyableList,
    /// A list with null and with empty lists.
    NullableEmptyableList,
}

impl Layer {
    /// How many definition levels the layer uses.
    pub fn levels(self) -> u16 {
        match self {
            Self::Item | Self::List => 0,
            Self::NullableItem | Self::NullableList | Self::EmptyableList => 1,
            Self::NullableEmptyableList => 2,
        }
    }

    /// Whether the layer is a list, and so takes part in the repetition levels.
    pub fn is_list(self) -> bool {
        !matches!(self, Self::Item | Self::NullableItem)
    }
}

/// A dictionary kept beside the chunks of a mini-block page.
#[derive(Debug, Clone, PartialEq)]
pub struct DictionaryItems {
    /// How the items are stored in their buffer.
    pub encoding: Encoding,
    /// How many there are.
    pub count: u64,
}

/// Small values in chunks of a few KiB, each with its own levels.
#[derive(Debug, Clone, PartialEq)]
pub struct MiniBlock {
    /// How repetition levels are coded, if there are any.
    pub repetition: Option<Encoding>,
    /// How definition levels are coded, if there are any.
    pub definition: Option<Encoding>,
    /// How the values, or the indices into the dictionary, are coded.
    pub values: Encoding,
    /// The dictionary, if there is one.
    pub dictionary: Option<DictionaryItems>,
    /// From the leaf outwards.
    pub layers: Vec<Layer>,
    /// Value buffers per chunk.
    pub num_buffers: u64,
    /// 1 when the page has a repetition index, else 0.
    pub repetition_index_depth: u32,
    /// Visible values in the page.
    pub num_items: u64,
    /// Whether chunk words and value buffer sizes take 32 bits (2.2) or 16 (2.1).
    pub large_chunks: bool,
}

/// How a full-zip page finds the end of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZipWidth {
    /// Every value takes this many bits.
    FixedBits(u64),
    /// A length prefix of this many bits, 32 or 64, precedes every value.
    LengthPrefixBits(u32),
}

/// Wide values, each together with its levels.
#[derive(Debug, Clone, PartialEq)]
pub struct FullZip {
    /// Bits of a repetition level within a control word.
    pub bits_rep: u32,
    /// Bits of a definition level within a control word.
    pub bits_def: u32,
    /// How a value's end is found.
    pub width: ZipWidth,
    /// Control words in the page: levels, not values.
    pub num_items: u64,
    /// Values in the page.
    pub num_visible_items: u64,
    /// How each value is coded.
    pub values: Encoding,
    /// From the leaf outwards.
    pub layers: Vec<Layer>,
}

/// One value for the whole page, or none at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// From the leaf outwards.
    pub layers: Vec<Layer>,
    /// The value's little-endian bytes, when they are short (2.2).
    pub inline_value: Option<Bytes>,
    /// How repetition levels are coded, and how many there are (2.2, all-null pages).
    pub repetition: Option<(Encoding, u64)>,
    /// How definition levels are coded, and how many there are (2.2, all-null pages).
    pub definition: Option<(Encoding, u64)>,
}

/// Positions and sizes of values that are stored elsewhere in the file (2.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Blob {
    /// How the descriptors are arranged.
    pub inner: Box<PageLayout>,
    /// From the leaf outwards.
    pub layers: Vec<Layer>,
}

/// How a page is arranged.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PageLayout {
    /// Small values in chunks.
    MiniBlock(MiniBlock),
    /// Wide values zipped with their levels.
    FullZip(FullZip),
    /// One value, or nulls only.
    Constant(Constant),
    /// Out-of-line values.
    Blob(Blob),
}
