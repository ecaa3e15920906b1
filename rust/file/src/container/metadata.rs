//! What a file says about each of its columns: where the pages are and how they are arranged.

use std::ops::Range;

use bytes::Bytes;
use pennon_proto::encodings::{self, ColumnEncoding, column_encoding::Kind};
use pennon_proto::file::{Any, DirectEncoding, Empty, Encoding, encoding::Location};
use pennon_proto::{file, type_url};
use prost::Message;

use super::ALIGNMENT;
use super::footer::checked_range;
use crate::layout::PageLayout;
use crate::{FileError, Result};

/// How the buffers of a page are arranged, in the words of one family of file versions.
pub(crate) trait PageEncoding: Sized {
    /// The name of the message that describes a page.
    const TYPE_URL: &'static str;
    /// What buffers start at a multiple of.
    const ALIGNMENT: u64;

    /// Reads the message.
    fn from_bytes(bytes: Bytes) -> Result<Self>;

    /// The message's bytes.
    fn to_bytes(&self) -> Vec<u8>;
}

impl PageEncoding for PageLayout {
    const TYPE_URL: &'static str = type_url::PAGE_LAYOUT;
    const ALIGNMENT: u64 = ALIGNMENT;

    fn from_bytes(bytes: Bytes) -> Result<Self> {
        Self::from_proto(decode(bytes, "the page's layout")?)
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.to_proto().encode_to_vec()
    }
}

/// How the buffers of a page are arranged, as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Described {
    type_url: &'static str,
    message: Vec<u8>,
}

impl Described {
    /// The description of an encoding.
    pub(crate) fn of<E: PageEncoding>(encoding: &E) -> Self {
        Self {
            type_url: E::TYPE_URL,
            message: encoding.to_bytes(),
        }
    }
}

/// The pages of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnMetadata<E = PageLayout> {
    /// In the order of their rows.
    pub(crate) pages: Vec<PageMetadata<E>>,
    /// Where in the file the buffers are that belong to no page.
    pub(crate) buffers: Vec<Range<u64>>,
    /// Whether the pages hold the places of values, and not the values.
    pub(crate) is_blob: bool,
}

/// Some consecutive rows of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageMetadata<E = PageLayout> {
    /// How many rows the page holds: top-level rows from 2.1 on, and the column's own in 2.0.
    pub(crate) rows: u64,
    /// The number of the first of them, as stored. Readers count for themselves.
    pub(crate) priority: u64,
    /// Where in the file the page's buffers are.
    pub(crate) buffers: Vec<Range<u64>>,
    /// How they are arranged.
    pub(crate) layout: E,
}

impl<E> Default for ColumnMetadata<E> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            buffers: Vec::new(),
            is_blob: false,
        }
    }
}

impl<E: PageEncoding> ColumnMetadata<E> {
    /// Reads the metadata of a column of a file of `file_size` bytes.
    pub(crate) fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        let message: file::ColumnMetadata =
            decode(Bytes::copy_from_slice(bytes), "the column's metadata")?;
        let is_blob = is_blob(message.encoding)?;
        let buffers = ranges(
            &message.buffer_offsets,
            &message.buffer_sizes,
            E::ALIGNMENT,
            file_size,
        )?;
        let pages = message
            .pages
            .into_iter()
            .enumerate()
            .map(|(number, page)| {
                PageMetadata::from_proto(page, file_size).map_err(|error| error.in_page(number))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            pages,
            buffers,
            is_blob,
        })
    }
}

impl ColumnMetadata<Described> {
    /// The metadata's bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut encoding = ColumnEncoding {
            kind: Some(Kind::Values(Empty {})),
        };
        if self.is_blob {
            let inner = Some(Box::new(encoding));
            encoding = ColumnEncoding {
                kind: Some(Kind::Blob(Box::new(encodings::Blob { inner }))),
            };
        }
        let message = file::ColumnMetadata {
            encoding: Some(direct(type_url::COLUMN_ENCODING, encoding.encode_to_vec())),
            pages: self.pages.iter().map(PageMetadata::to_proto).collect(),
            buffer_offsets: self.buffers.iter().map(|buffer| buffer.start).collect(),
            buffer_sizes: sizes(&self.buffers),
        };
        message.encode_to_vec()
    }
}

impl<E: PageEncoding> PageMetadata<E> {
    fn from_proto(page: file::Page, file_size: u64) -> Result<Self> {
        let buffers = ranges(
            &page.buffer_offsets,
            &page.buffer_sizes,
            E::ALIGNMENT,
            file_size,
        )?;
        let any = direct_any(page.encoding, "the page's encoding")?;
        if !any.holds(E::TYPE_URL) {
            return Err(FileError::unsupported(format!(
                "page encoding '{}'",
                any.type_url
            )));
        }
        Ok(Self {
            rows: page.length,
            priority: page.priority,
            buffers,
            layout: E::from_bytes(any.value)?,
        })
    }
}

impl PageMetadata<Described> {
    fn to_proto(&self) -> file::Page {
        file::Page {
            buffer_offsets: self.buffers.iter().map(|buffer| buffer.start).collect(),
            buffer_sizes: sizes(&self.buffers),
            length: self.rows,
            encoding: Some(direct(self.layout.type_url, self.layout.message.clone())),
            priority: self.priority,
        }
    }
}

/// The byte ranges of buffers, checked against the file's size.
fn ranges(
    offsets: &[u64],
    sizes: &[u64],
    alignment: u64,
    file_size: u64,
) -> Result<Vec<Range<u64>>> {
    if offsets.len() != sizes.len() {
        return Err(FileError::corrupt(
            "more buffer offsets than sizes, or fewer",
        ));
    }
    let buffer = |(&start, &size): (&u64, &u64)| {
        if !start.is_multiple_of(alignment) {
            return Err(FileError::corrupt(format!(
                "a page buffer at {start}, which is not a multiple of {alignment}"
            )));
        }
        checked_range(start, size, file_size)
            .ok_or_else(|| FileError::corrupt("a page buffer lies outside of the file"))
    };
    offsets.iter().zip(sizes).map(buffer).collect()
}

fn sizes(buffers: &[Range<u64>]) -> Vec<u64> {
    buffers
        .iter()
        .map(|buffer| buffer.end - buffer.start)
        .collect()
}

/// Whether a column's encoding says that its pages hold the places of values.
fn is_blob(encoding: Option<Encoding>) -> Result<bool> {
    let any = direct_any(encoding, "the column's encoding")?;
    if !any.holds(type_url::COLUMN_ENCODING) {
        return Err(FileError::unsupported(format!(
            "column encoding '{}'",
            any.type_url
        )));
    }
    let encoding: ColumnEncoding = decode(any.value, "the column's encoding")?;
    Ok(matches!(encoding.kind, Some(Kind::Blob(_))))
}

/// Reads a message; `what` is for the error.
pub(crate) fn decode<M: Message + Default>(bytes: Bytes, what: &str) -> Result<M> {
    M::decode(bytes)
        .map_err(|error| FileError::corrupt(format!("{what} cannot be decoded")).with_source(error))
}

/// The message that an encoding stores in place.
fn direct_any(encoding: Option<Encoding>, what: &str) -> Result<Any> {
    match encoding.and_then(|encoding| encoding.location) {
        Some(Location::Direct(direct)) => decode(direct.encoding, what),
        Some(Location::Indirect(_)) => Err(FileError::unsupported(format!(
            "{what} is stored in a place of its own"
        ))),
        Some(Location::None(_)) | None => Err(FileError::corrupt(format!("{what} is missing"))),
    }
}

fn direct(type_url: &str, message: Vec<u8>) -> Encoding {
    let any = Any {
        type_url: type_url.to_owned(),
        value: message.into(),
    };
    let encoding = any.encode_to_vec().into();
    Encoding {
        location: Some(Location::Direct(DirectEncoding { encoding })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Constant;
    use crate::layout::Layer;

    fn layout() -> PageLayout {
        PageLayout::Constant(Constant {
            layers: vec![Layer::NullableItem],
            inline_value: None,
            repetition: None,
            definition: None,
        })
    }

    fn sample<E>(layout: E) -> ColumnMetadata<E> {
        ColumnMetadata {
            pages: vec![PageMetadata {
                rows: 7,
                priority: 3,
                buffers: vec![0..5, 64..64],
                layout,
            }],
            buffers: vec![64..64, 0..5],
            is_blob: true,
        }
    }

    fn described() -> ColumnMetadata<Described> {
        sample(Described::of(&layout()))
    }

    fn parse(bytes: &[u8], file_size: u64) -> Result<ColumnMetadata> {
        ColumnMetadata::parse(bytes, file_size)
    }

    #[test]
    fn metadata_survives_the_round_trip() {
        let bytes = described().to_bytes();
        assert_eq!(parse(&bytes, 64).unwrap(), sample(layout()));
    }

    #[test]
    fn a_column_without_pages_as_in_the_specification() {
        let bytes = ColumnMetadata::default().to_bytes();
        assert_eq!(bytes.len(), 43);
        assert_eq!(bytes[..6], [0x0a, 0x29, 0x12, 0x27, 0x0a, 0x25]);
        assert_eq!(parse(&bytes, 0).unwrap(), ColumnMetadata::default());
    }

    #[test]
    fn buffers_must_be_aligned_and_inside_the_file() {
        assert!(parse(&described().to_bytes(), 63).is_err());
        let mut odd = described();
        odd.pages[0].buffers[0] = 1..5;
        let error = parse(&odd.to_bytes(), 64).unwrap_err();
        assert_eq!(error.page(), Some(0));
        assert!(parse(&[], 64).is_err());
    }
}
