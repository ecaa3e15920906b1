//! What a file says about itself, for those who look at files rather than at rows.

use std::fmt::Debug;
use std::ops::Range;

use super::FileReader;
use crate::container::metadata::{ColumnMetadata, PageEncoding};
use crate::layout::PageLayout;
use crate::v2_0::ArrayEncoding;
use crate::{FileError, FileVersion, Result};

/// A column as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDescription {
    /// In the order of their rows.
    pub pages: Vec<PageDescription>,
    /// Where in the file the buffers are that belong to no page.
    pub buffers: Vec<Range<u64>>,
}

/// A page as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageDescription {
    /// How many rows it holds.
    pub rows: u64,
    /// Where in the file its buffers are.
    pub buffers: Vec<Range<u64>>,
    /// How they are arranged, to be read by people.
    pub encoding: String,
}

impl FileReader {
    /// Reads the descriptions of all columns.
    ///
    /// # Errors
    /// `Corrupt` when one of them is damaged, `Io` when they cannot be read.
    pub fn describe_columns(&self) -> Result<Vec<ColumnDescription>> {
        let ranges: Vec<_> = self.column_metadata.iter().cloned().enumerate().collect();
        let describe = |bytes: &[u8]| match self.version() {
            FileVersion::V0_1 => Err(FileError::unsupported(
                "files of version 0.1 do not describe their pages",
            )),
            FileVersion::V2_0 => describe::<ArrayEncoding>(bytes, self.source.size),
            _ => describe::<PageLayout>(bytes, self.source.size),
        };
        let found = self.source.column_metadata(&ranges);
        found
            .and_then(|found| found.iter().map(|bytes| describe(bytes)).collect())
            .map_err(|error| error.in_file(self.location()))
    }

    /// Where in the file the global buffers are; the first is the schema.
    pub fn global_buffer_ranges(&self) -> &[Range<u64>] {
        &self.global_buffers
    }

    /// Where in the file the metadata of each column is.
    pub fn column_metadata_ranges(&self) -> &[Range<u64>] {
        &self.column_metadata
    }
}

fn describe<E: PageEncoding + Debug>(bytes: &[u8], file_size: u64) -> Result<ColumnDescription> {
    let metadata = ColumnMetadata::<E>::parse(bytes, file_size)?;
    let pages = metadata.pages.into_iter().map(|page| PageDescription {
        rows: page.rows,
        buffers: page.buffers,
        encoding: format!("{:#?}", page.layout),
    });
    Ok(ColumnDescription {
        pages: pages.collect(),
        buffers: metadata.buffers,
    })
}
