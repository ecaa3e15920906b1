//! The pages of one column, and what is kept of them between reads.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::dictionary::Items;
use super::encoding::{ArrayEncoding, BufferRef};
use crate::container::metadata::{ColumnMetadata, PageMetadata};
use crate::read::shape::Shape;
use crate::read::starts::PageStarts;
use crate::{FileError, Result};

/// The pages of a column.
#[derive(Debug)]
pub(crate) struct Column {
    pages: Vec<Arc<Page>>,
    /// In rows of the column.
    pub(super) starts: PageStarts,
    /// The first item of each page of lists, in rows of the item column.
    item_starts: PageStarts,
    /// Whether the pages hold the places of values, and not the values.
    pub(super) is_blob: bool,
}

/// Some consecutive rows of a column.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) encoding: ArrayEncoding,
    buffers: Vec<Range<u64>>,
    column_buffers: Arc<[Range<u64>]>,
    cache: Mutex<Cache>,
}

/// What has been learnt about a page.
#[derive(Debug, Default)]
struct Cache {
    /// Buffers that were stored compressed.
    plain: Vec<(BufferRef, Bytes)>,
    /// The items of a dictionary, for values of a shape.
    items: Option<(Shape, Arc<Items>)>,
    /// Memory that was taken and not yet accounted for.
    unaccounted: usize,
}

impl Column {
    fn new(metadata: ColumnMetadata<ArrayEncoding>) -> Result<Self> {
        let rows = metadata.pages.iter().map(|page| page.rows);
        let starts = PageStarts::new(rows)?;
        let item_starts = PageStarts::new(metadata.pages.iter().map(num_items))?;
        let column_buffers: Arc<[_]> = metadata.buffers.into();
        let page = |page: PageMetadata<ArrayEncoding>| {
            Arc::new(Page {
                encoding: page.layout,

                buffers: page.buffers,
                column_buffers: Arc::clone(&column_buffers),
                cache: Mutex::default(),
            })
        };
        Ok(Self {
            pages: metadata.pages.into_iter().map(page).collect(),
            starts,
            item_starts,
            is_blob: metadata.is_blob,
        })
    }

    /// Reads the metadata of a column of a file of `file_size` bytes.
    pub(crate) fn parse(bytes: &[u8], file_size: u64) -> Result<Self> {
        ColumnMetadata::parse(bytes, file_size).and_then(Self::new)
    }

    /// Forgets what was learnt about a page.
    pub(crate) fn forget(&self, page: usize) {
        if let Some(page) = self.pages.get(page) {
            *page.cache() = Cache::default();
        }
    }

    /// How many rows the column has.
    pub(super) fn num_rows(&self) -> u64 {
        self.starts.num_rows()
    }

    /// Whether the rows are lists.
    pub(super) fn is_list(&self) -> bool {
        self.pages
            .first()
            .is_some_and(|page| matches!(page.encoding.without_nulls(), ArrayEncoding::List { .. }))
    }

    /// A page by its number.
    pub(super) fn page(&self, number: usize) -> &Arc<Page> {
        &self.pages[number]
    }

    /// How much memory pages took since this was asked last, by their numbers.
    pub(crate) fn take_unaccounted(&self) -> Vec<(usize, usize)> {
        let bytes = self.pages.iter().map(|page| page.take_unaccounted());
        bytes.enumerate().filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// The row of the item column at which the items of a page of lists begin.
    pub(super) fn first_item(&self, page: usize) -> u64 {
        self.item_starts.start(page)
    }
}

/// How many items the lists of a page own. What a page without rows says about that does not count.
fn num_items(page: &PageMetadata<ArrayEncoding>) -> u64 {
    match page.layout.without_nulls() {
        ArrayEncoding::List { num_items, .. } if page.rows > 0 => *num_items,
        _ => 0,
    }
}

impl Page {
    /// Where a buffer is in the file.
    pub(super) fn buffer(&self, buffer: BufferRef) -> Result<Range<u64>> {
        let (buffers, index) = match buffer {
            BufferRef::Page(index) => (self.buffers.as_slice(), index),
            BufferRef::Column(index) => (self.column_buffers.as_ref(), index),
        };
        let range = usize::try_from(index)
            .ok()
            .and_then(|index| buffers.get(index));
        range.cloned().ok_or_else(|| {
            FileError::corrupt(format!("buffer {index} of {} is named", buffers.len()))
        })
    }

    /// A compressed buffer's plain bytes, if they are cached.
    pub(super) fn plain(&self, buffer: BufferRef) -> Option<Bytes> {
        let cache = self.cache();
        let mut plain = cache.plain.iter();
        plain
            .find(|(cached, _)| *cached == buffer)
            .map(|(_, bytes)| bytes.clone())
    }

    /// Caches a compressed buffer's plain bytes.
    pub(super) fn cache_plain(&self, buffer: BufferRef, bytes: &Bytes) {
        let mut cache = self.cache();
        if cache.plain.iter().all(|(cached, _)| *cached != buffer) {
            cache.unaccounted += bytes.len();
            cache.plain.push((buffer, bytes.clone()));
        }
    }

    /// The items of a dictionary for values of `shape`, if they are cached.
    pub(super) fn items(&self, shape: &Shape) -> Option<Arc<Items>> {
        let cache = self.cache();
        let cached = cache.items.as_ref().filter(|(cached, _)| cached == shape);
        cached.map(|(_, items)| Arc::clone(items))
    }

    /// Caches the items of a dictionary.
    pub(super) fn cache_items(&self, shape: &Shape, items: &Arc<Items>) {
        let mut cache = self.cache();
        cache.unaccounted += items.memory();
        cache.items = Some((shape.clone(), Arc::clone(items)));
    }

    /// How much memory was taken since this was asked last.
    fn take_unaccounted(&self) -> usize {
        std::mem::take(&mut self.cache().unaccounted)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
