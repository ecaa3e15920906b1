//! What a file says about each of its columns: where the pages are and how they are arranged.

use std::ops::Range;

use pennon_proto::encodings::{ColumnEncoding, column_encoding};
use pennon_proto::encodings21 as pb;
use pennon_proto::file::{Any, DirectEncoding, Empty, Encoding, encoding::Location};
use pennon_proto::{file, type_url};
use prost::Message;

use super::ALIGNMENT;
use super::footer::checked_range;
use crate::layout::PageLayout;
use crate::{FileError, Result};

/// The pages of one column of a file of version 2.1 or newer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ColumnMetadata {
    /// In the order of their rows.
    pub(crate) pages: Vec<PageMetadata>,
}

/// Some consecutive rows of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageMetadata {
    /// How many top-level rows the page holds.
    pub(crate) rows: u64,
    /// The number of the first of them, as stored. Readers count for themselves.
    pub(crate) priority: u64,
    /// Where in the file the page's buffers are.
    pub(crate) buffers: Vec<Range<u64>>,
    /// How they are arranged.
    pub(crate) layout: PageLayout,
}

impl ColumnMetadata {
    /// Reads the metadata of a column of a file of `file_size` bytes.
    pub(crate) fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        let message = file::ColumnMetadata::decode(bytes).map_err(|error| {
            FileError::corrupt("the column's metadata cannot be decoded").with_source(error)
        })?;
        check_column_encoding(message.encoding)?;
        let pages = message
            .pages
            .into_iter()
            .enumerate()
            .map(|(number, page)| {
                PageMetadata::from_proto(page, file_size).map_err(|error| error.in_page(number))
            })
            .collect::<Result<_>>()?;
        Ok(Self { pages })
    }

    /// The metadata's bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let values = ColumnEncoding {
            kind: Some(column_encoding::Kind::Values(Empty {})),
        };
        let message = file::ColumnMetadata {
            encoding: Some(direct(type_url::COLUMN_ENCODING, &values)),
            pages: self.pages.iter().map(PageMetadata::to_proto).collect(),
            buffer_offsets: Vec::new(),
            buffer_sizes: Vec::new(),
        };
        message.encode_to_vec()
    }
}

impl PageMetadata {
    fn from_proto(page: file::Page, file_size: u64) -> Result<Self> {
        if page.buffer_offsets.len() != page.buffer_sizes.len() {
            return Err(FileError::corrupt(
                "a page with more buffer offsets than sizes, or fewer",
            ));
        }
        let buffers = page
            .buffer_offsets
            .iter()
            .zip(&page.buffer_sizes)
            .map(|(&start, &size)| page_buffer(start, size, file_size))
            .collect::<Result<_>>()?;
        let any = direct_any(page.encoding, "the page's encoding")?;
        if !any.holds(type_url::PAGE_LAYOUT) {
            return Err(FileError::unsupported(format!(
                "page encoding '{}'",
                any.type_url
            )));
        }
        let layout = pb::PageLayout::decode(any.value).map_err(|error| {
            FileError::corrupt("the page's layout cannot be decoded").with_source(error)
        })?;
        let layout = PageLayout::from_proto(layout)?;
        Ok(Self {
            rows: page.length,
            priority: page.priority,
            buffers,
            layout,
        })
    }

    fn to_proto(&self) -> file::Page {
        file::Page {
            buffer_offsets: self.buffers.iter().map(|buffer| buffer.start).collect(),
            buffer_sizes: self
                .buffers
                .iter()
                .map(|buffer| buffer.end - buffer.start)
                .collect(),
            length: self.rows,
            encoding: Some(direct(type_url::PAGE_LAYOUT, &self.layout.to_proto())),
            priority: self.priority,
        }
    }
}

fn page_buffer(start: u64, size: u64, file_size: u64) -> Result<Range<u64>> {
    if !start.is_multiple_of(ALIGNMENT) {
        return Err(FileError::corrupt(format!(
            "a page buffer at {start}, which is not a multiple of {ALIGNMENT}"
        )));
    }
    checked_range(start, size, file_size)
        .ok_or_else(|| FileError::corrupt("a page buffer lies outside of the file"))
}

fn check_column_encoding(encoding: Option<Encoding>) -> Result<()> {
    let any = direct_any(encoding, "the column's encoding")?;
    if !any.holds(type_url::COLUMN_ENCODING) {
        return Err(FileError::unsupported(format!(
            "column encoding '{}'",
            any.type_url
        )));
    }
    Ok(())
}

/// The message that an encoding stores in place.
fn direct_any(encoding: Option<Encoding>, what: &str) -> Result<Any> {
    match encoding.and_then(|encoding| encoding.location) {
        Some(Location::Direct(direct)) => Any::decode(direct.encoding).map_err(|error| {
            FileError::corrupt(format!("{what} cannot be decoded")).with_source(error)
        }),
        Some(Location::Indirect(_)) => Err(FileError::unsupported(format!(
            "{what} is stored in a place of its own"
        ))),
        Some(Location::None(_)) | None => Err(FileError::corrupt(format!("{what} is missing"))),
    }
}

fn direct(type_url: &str, message: &impl Message) -> Encoding {
    let encoding = Any::pack(type_url, message).encode_to_vec().into();
    Encoding {
        location: Some(Location::Direct(DirectEncoding { encoding })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Constant;
    use crate::layout::Layer;

    fn sample() -> ColumnMetadata {
        let layout = PageLayout::Constant(Constant {
            layers: vec![Layer::NullableItem],
            inline_value: None,
            repetition: None,
            definition: None,
        });
        ColumnMetadata {
            pages: vec![PageMetadata {
                rows: 7,
                priority: 3,
                buffers: vec![0..5, 64..64],
                layout,
            }],
        }
    }

    #[test]
    fn metadata_survives_the_round_trip() {
        assert_eq!(
            ColumnMetadata::parse(&sample().to_bytes(), 64).unwrap(),
            sample()
        );
    }

    #[test]
    fn a_column_without_pages_as_in_the_specification() {
        let bytes = ColumnMetadata::default().to_bytes();
        assert_eq!(bytes.len(), 43);
        assert_eq!(bytes[..6], [0x0a, 0x29, 0x12, 0x27, 0x0a, 0x25]);
        assert_eq!(
            ColumnMetadata::parse(&bytes, 0).unwrap(),
            ColumnMetadata::default()
        );
    }

    #[test]
    fn buffers_must_be_aligned_and_inside_the_file() {
        assert!(ColumnMetadata::parse(&sample().to_bytes(), 63).is_err());
        let mut odd = sample();
        odd.pages[0].buffers[0] = 1..5;
        let error = ColumnMetadata::parse(&odd.to_bytes(), 64).unwrap_err();
        assert_eq!(error.page(), Some(0));
        assert!(ColumnMetadata::parse(&[], 64).is_err());
    }
}
