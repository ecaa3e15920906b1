//! One column of a file in the making: rows that wait for their page, and the pages so far.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;

use super::blob::{self, Put};
use super::encode::encode_pages;
use super::leaf::{Leaf, bytes_of, project};
use super::store;
use crate::container::metadata::{ColumnMetadata, PageMetadata};
use crate::{FileError, FileVersion, PageLayout, Result};

/// A page, encoded.
#[derive(Debug)]
pub(crate) struct Page {
    /// Top-level rows.
    pub(crate) rows: u64,
    /// How the buffers are arranged.
    pub(crate) layout: PageLayout,
    /// What goes into the file.
    pub(crate) buffers: Vec<Vec<u8>>,
}

/// A column of a file.
#[derive(Debug)]
pub(crate) struct Column {
    leaf: Leaf,
    page_bytes: usize,
    pending: Vec<ArrayRef>,
    pending_bytes: usize,
    /// The rows of pages that are full.
    due: Vec<Vec<ArrayRef>>,
    written: ColumnMetadata,
    rows_written: u64,
}

impl Column {
    /// A column whose pages are cut at about `page_bytes` bytes of rows.
    pub(crate) fn new(leaf: Leaf, page_bytes: usize) -> Self {
        Self {
            leaf,
            page_bytes,
            pending: Vec::new(),
            pending_bytes: 0,
            due: Vec::new(),
            written: ColumnMetadata::default(),
            rows_written: 0,
        }
    }

    /// The id of the column's field.
    pub(crate) fn field_id(&self) -> i32 {
        self.leaf.field.id
    }

    /// Bytes in memory of the rows that wait for their page to fill.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// Appends rows, given all top-level arrays; pages that are full become due.
    /// Large objects are written at once, by `put`.
    pub(crate) fn push(&mut self, arrays: &[ArrayRef], put: &mut Put<'_>) -> Result<()> {
        let top = arrays.get(self.leaf.top).ok_or_else(|| {
            FileError::invalid_input("the batch has no such column").in_column(&self.leaf.path)
        })?;
        let leaf = &self.leaf;
        let mut convert = |array: &ArrayRef| {
            if leaf.field.is_description() {
                blob::describe_long(array, put)
            } else if leaf.field.is_blob() {
                blob::describe(array, put)
            } else {
                store::stored(array, &leaf.stored)
            }
        };
        let array = project(top, &leaf.steps, &mut convert)
            .map_err(|error| error.in_column(&self.leaf.path))?;
        let mut start = 0;
        while start < array.len() {
            let rest = array.slice(start, array.len() - start);
            let rows = self.fitting_rows(&rest);
            let part = rest.slice(0, rows);
            let bytes = bytes_of(&part);
            if bytes > self.page_bytes {
                // A huge value gets a page of its own: joined to others it might not be addressable.
                self.cut();
            }
            self.pending_bytes += bytes;
            self.pending.push(part);
            start += rows;
            if self.pending_bytes >= self.page_bytes {
                self.cut();
            }
        }
        Ok(())
    }

    /// How many of the rows the current page should take, at least one.
    fn fitting_rows(&self, rows: &ArrayRef) -> usize {
        let bytes = bytes_of(rows);
        let room = self.page_bytes.saturating_sub(self.pending_bytes);
        // A page that ends a little late is better than a tiny one after it.
        if bytes <= room + room / 4 {
            return rows.len();
        }
        (rows.len() * room)
            .div_ceil(bytes.max(1))
            .clamp(1, rows.len())
    }

    /// Ends the current page, if there is one.
    pub(crate) fn cut(&mut self) {
        if !self.pending.is_empty() {
            self.due.push(std::mem::take(&mut self.pending));
            self.pending_bytes = 0;
        }
    }

    /// The rows of the pages that are due.
    pub(crate) fn take_due(&mut self) -> Result<Vec<ArrayRef>> {
        let due = std::mem::take(&mut self.due);
        due.into_iter()
            .map(|parts| joined(&parts).map_err(|error| error.in_column(&self.leaf.path)))
            .collect()
    }

    /// Encodes the rows of a page; usually as one, but sometimes levels take several.
    pub(crate) fn encode(&self, version: FileVersion, rows: &ArrayRef) -> Result<Vec<Page>> {
        encode_pages(&self.leaf, version, rows).map_err(|error| error.in_column(&self.leaf.path))
    }

    /// Notes a page that was written.
    pub(crate) fn add_page(&mut self, rows: u64, buffers: Vec<Range<u64>>, layout: PageLayout) {
        let priority = self.rows_written;
        self.written.pages.push(PageMetadata {
            rows,
            priority,
            buffers,
            layout,
        });
        self.rows_written += rows;
    }

    /// What the file will say about the column.
    pub(crate) fn metadata(&self) -> &ColumnMetadata {
        &self.written
    }
}

fn joined(parts: &[ArrayRef]) -> Result<ArrayRef> {
    match parts {
        [only] => Ok(Arc::clone(only)),
        _ => {
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            concat(&parts).map_err(|error| {
                FileError::invalid_input("the rows of a page cannot be joined").with_source(error)
            })
        }
    }
}
