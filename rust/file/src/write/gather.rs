//! Rows of a column that wait for their page to fill.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;

use super::leaf::bytes_of;
use crate::{FileError, Result};

/// Rows that wait, and the rows of pages that are full.
#[derive(Debug)]
pub(crate) struct Gather {
    page_bytes: usize,
    pending: Vec<ArrayRef>,
    pending_bytes: usize,
    due: Vec<Vec<ArrayRef>>,
}

impl Gather {
    /// Pages are cut at about `page_bytes` bytes of rows.
    pub(crate) fn new(page_bytes: usize) -> Self {
        Self {
            page_bytes,
            pending: Vec::new(),
            pending_bytes: 0,
            due: Vec::new(),
        }
    }

    /// Bytes in memory of the rows that wait for their page to fill.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    /// Appends rows; pages that are full become due.
    pub(crate) fn push(&mut self, array: &ArrayRef) {
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
    }

    /// How many of the rows the current page should take, at least one.
    fn fitting_rows(&self, rows: &ArrayRef) -> usize {
        let bytes = bytes_of(rows);
        let room = self.page_bytes.saturating_sub(self.pending_bytes);
        // A page that ends a little late is better than a tiny one after it.
        if bytes <= room.saturating_add(room / 4) {
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
        due.iter().map(|parts| joined(parts)).collect()
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
