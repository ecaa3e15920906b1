//! One column of a file in the making: rows that wait for their page, and the pages so far.

use std::fmt::Debug;
use std::ops::Range;

use arrow_array::{ArrayRef, LargeBinaryArray};

use super::blob::{self, Put};
use super::encode::encode_pages;
use super::gather::Gather;
use super::leaf::{Leaf, project};
use super::store;
use crate::container::metadata::{ColumnMetadata, Described, PageMetadata};
use crate::{FileError, FileVersion, Result};

/// A page, encoded.
#[derive(Debug)]
pub(crate) struct Page {
    /// How many rows it says that it has.
    pub(crate) rows: u64,
    /// How the buffers are arranged.
    pub(crate) layout: Described,
    /// What goes into the file.
    pub(crate) buffers: Vec<Vec<u8>>,
    /// Values that lie outside of the page, whose places make one more buffer.
    pub(crate) outside: Option<LargeBinaryArray>,
}

/// What becomes of the rows of a column, in the way of a family of file versions.
pub(crate) trait PageEncoder: Debug + Send + Sync {
    /// What the column takes of some rows, given all top-level arrays. Large objects may be written
    /// at once, by `put`.
    fn project(&self, arrays: &[ArrayRef], put: &mut Put<'_>) -> Result<ArrayRef>;

    /// Encodes what was taken for a page; usually as one, but sometimes it takes several.
    fn encode(&self, rows: &ArrayRef) -> Result<Vec<Page>>;

    /// The page of a column without rows, if there must be one.
    fn empty_page(&self) -> Option<Page>;

    /// Whether pages hold the places of values that lie outside of them.
    fn is_blob(&self) -> bool;

    /// The priority of a page after so many rows.
    fn priority(&self, rows_before: u64) -> u64;
}

/// A column of a file.
#[derive(Debug)]
pub(crate) struct Column {
    field_id: i32,
    /// The field's path, for messages.
    path: String,
    encoder: Box<dyn PageEncoder>,
    gather: Gather,
    written: ColumnMetadata<Described>,
    rows_written: u64,
}

impl Column {
    /// A column whose pages are cut at about `page_bytes` bytes of rows.
    pub(crate) fn new(
        field_id: i32,
        path: String,
        encoder: Box<dyn PageEncoder>,
        page_bytes: usize,
    ) -> Self {
        let written = ColumnMetadata {
            is_blob: encoder.is_blob(),
            ..ColumnMetadata::default()
        };
        Self {
            field_id,
            path,
            encoder,
            gather: Gather::new(page_bytes),
            written,
            rows_written: 0,
        }
    }

    /// The id of the column's field.
    pub(crate) fn field_id(&self) -> i32 {
        self.field_id
    }

    /// Bytes in memory of the rows that wait for their page to fill.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.gather.pending_bytes()
    }

    /// Appends rows, given all top-level arrays; pages that are full become due.
    /// Large objects are written at once, by `put`.
    pub(crate) fn push(&mut self, arrays: &[ArrayRef], put: &mut Put<'_>) -> Result<()> {
        let array = self.encoder.project(arrays, put);
        let array = array.map_err(|error| error.in_column(&self.path))?;
        self.gather.push(&array);
        Ok(())
    }

    /// Ends the current page, if there is one.
    pub(crate) fn cut(&mut self) {
        self.gather.cut();
    }

    /// The rows of the pages that are due.
    pub(crate) fn take_due(&mut self) -> Result<Vec<ArrayRef>> {
        let due = self.gather.take_due();
        due.map_err(|error| error.in_column(&self.path))
    }

    /// Encodes the rows of a page; usually as one, but sometimes levels take several.
    pub(crate) fn encode(&self, rows: &ArrayRef) -> Result<Vec<Page>> {
        let pages = self.encoder.encode(rows);
        pages.map_err(|error| error.in_column(&self.path))
    }

    /// Notes a page that was written.
    pub(crate) fn add_page(&mut self, rows: u64, buffers: Vec<Range<u64>>, layout: Described) {
        self.written.pages.push(PageMetadata {
            rows,
            priority: self.encoder.priority(self.rows_written),
            buffers,
            layout,
        });
        self.rows_written += rows;
    }

    /// Adds the page that a column without pages must have.
    pub(crate) fn complete(&mut self) {
        if self.written.pages.is_empty()
            && let Some(page) = self.encoder.empty_page()
        {
            self.add_page(page.rows, Vec::new(), page.layout);
        }
    }

    /// What the file will say about the column.
    pub(crate) fn metadata(&self) -> &ColumnMetadata<Described> {
        &self.written
    }
}

/// A leaf of a file of version 2.1 or newer.
#[derive(Debug)]
pub(super) struct LeafEncoder {
    pub(super) leaf: Leaf,
    pub(super) version: FileVersion,
}

impl PageEncoder for LeafEncoder {
    fn project(&self, arrays: &[ArrayRef], put: &mut Put<'_>) -> Result<ArrayRef> {
        let leaf = &self.leaf;
        let top = arrays
            .get(leaf.top)
            .ok_or_else(|| FileError::invalid_input("the batch has no such column"))?;
        project(top, &leaf.steps, &mut |array| {
            if leaf.field.is_description() {
                blob::describe_long(array, put)
            } else if leaf.field.is_blob() {
                blob::describe(array, put)
            } else {
                store::stored(array, &leaf.stored)
            }
        })
    }

    fn encode(&self, rows: &ArrayRef) -> Result<Vec<Page>> {
        encode_pages(&self.leaf, self.version, rows)
    }

    fn empty_page(&self) -> Option<Page> {
        None
    }

    fn is_blob(&self) -> bool {
        false
    }

    fn priority(&self, rows_before: u64) -> u64 {
        rows_before
    }
}
