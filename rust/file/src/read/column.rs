//! The pages of one column, and what is kept of them between reads.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::blob::BlobPage;
use super::builder::{ColumnBuilder, Scratch};
use super::constant::ConstantPage;
use super::full_zip::{FullZipPage, FullZipPlan};
use super::mini_block::{MiniBlockPage, MiniBlockPlan};
use super::projection::Leaf;
use super::shape::Shape;
use super::starts::PageStarts;
use crate::container::metadata::{ColumnMetadata, PageMetadata};
use crate::layout::PageLayout;
use crate::{FileError, Result};

/// The pages of a column.
#[derive(Debug)]
pub(crate) struct Column {
    pages: Vec<Page>,
    starts: PageStarts,
}

/// One page of a column.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) metadata: PageMetadata,
    /// The page prepared for a shape, while it is cached.
    ready: Mutex<Option<Ready>>,
}

/// A page prepared for values of one shape.
#[derive(Debug, Clone)]
struct Ready {
    shape: Shape,
    page: Arc<PageReader>,
}

/// A page, with what is needed to plan and decode reads of it.
#[derive(Debug)]
pub(crate) enum PageReader {
    MiniBlock(MiniBlockPage),
    FullZip(FullZipPage),
    Constant(ConstantPage),
    Blob(BlobPage),
}

/// What to take of a page.
#[derive(Debug)]
pub(crate) enum PagePlan {
    MiniBlock(MiniBlockPlan),
    FullZip(FullZipPlan),
    /// The rows; nothing needs to be read for them.
    Constant(Vec<Range<u64>>),
}

impl Column {
    pub(crate) fn new(metadata: ColumnMetadata) -> Result<Self> {
        let starts = PageStarts::new(metadata.pages.iter().map(|page| page.rows))?;
        let pages = metadata.pages.into_iter();
        let pages = pages
            .map(|metadata| Page {
                metadata,
                ready: Mutex::new(None),
            })
            .collect();
        Ok(Self { pages, starts })
    }

    /// How many rows the column has.
    pub(crate) fn num_rows(&self) -> u64 {
        self.starts.num_rows()
    }

    /// A page by its number.
    pub(crate) fn page(&self, number: usize) -> &Page {
        &self.pages[number]
    }

    /// The pages that hold some of `rows`, each with its own part of them, counted from its first
    /// row. Rows past the end are left out.
    pub(crate) fn split(&self, rows: &[Range<u64>]) -> Vec<(usize, Vec<Range<u64>>)> {
        self.starts.split(rows)
    }
}

impl Page {
    /// The page prepared for values of `shape`, if it is cached.
    pub(crate) fn cached(&self, shape: &Shape) -> Option<Arc<PageReader>> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready
            .as_ref()
            .filter(|ready| ready.shape == *shape)
            .map(|ready| Arc::clone(&ready.page))
    }

    /// Caches the prepared page.
    pub(crate) fn cache(&self, shape: &Shape, page: &Arc<PageReader>) {
        let ready = Ready {
            shape: shape.clone(),
            page: Arc::clone(page),
        };
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready);
    }

    /// Forgets the prepared page.
    pub(crate) fn forget(&self) {
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The byte ranges that [`load`](Self::load) wants.
    pub(crate) fn needs(&self) -> Result<Vec<Range<u64>>> {
        let layout = match &self.metadata.layout {
            PageLayout::Blob(blob) => blob.inner.as_ref(),
            layout => layout,
        };
        match layout {
            PageLayout::MiniBlock(layout) => MiniBlockPage::needs(layout, &self.metadata),
            PageLayout::FullZip(layout) => FullZipPage::needs(layout, &self.metadata),
            PageLayout::Constant(_) => Ok(ConstantPage::needs(&self.metadata)),
            PageLayout::Blob(_) => Err(FileError::corrupt("descriptions of descriptions")),
        }
    }

    /// Prepares the page for a column, from the byte ranges that it [`needs`](Self::needs).
    pub(crate) fn load(&self, leaf: &Leaf, bytes: &[Bytes]) -> Result<PageReader> {
        let page = match &self.metadata.layout {
            PageLayout::Blob(blob) => {
                let inner = self.load_layout(&blob.inner, leaf, bytes)?;
                if !inner.fits(&[false]) {
                    return Err(FileError::corrupt("descriptions in lists"));
                }
                PageReader::Blob(BlobPage::new(inner, &blob.layers)?)
            }
            layout => self.load_layout(layout, leaf, bytes)?,
        };
        if !page.fits(&leaf.layers) {
            return Err(FileError::corrupt(
                "a page whose layers are not the schema's",
            ));
        }
        Ok(page)
    }

    fn load_layout(&self, layout: &PageLayout, leaf: &Leaf, bytes: &[Bytes]) -> Result<PageReader> {
        let (metadata, shape) = (&self.metadata, &leaf.shape);
        Ok(match layout {
            PageLayout::MiniBlock(layout) => {
                PageReader::MiniBlock(MiniBlockPage::load(layout, metadata, shape, bytes)?)
            }
            PageLayout::FullZip(layout) => {
                PageReader::FullZip(FullZipPage::load(layout, metadata, shape, bytes)?)
            }
            PageLayout::Constant(layout) => {
                PageReader::Constant(ConstantPage::load(layout, metadata, shape, bytes)?)
            }
            PageLayout::Blob(_) => return Err(FileError::corrupt("descriptions of descriptions")),
        })
    }
}

impl PageReader {
    /// Bytes that the page takes in memory, roughly.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::MiniBlock(page) => page.memory(),
                Self::FullZip(page) => page.memory(),
                Self::Constant(page) => page.memory(),
                Self::Blob(page) => page.memory(),
            }
    }

    /// Whether a column with these layers, lists or not from the outside in, can have the page.
    fn fits(&self, layers: &[bool]) -> bool {
        match self {
            Self::MiniBlock(page) => page.fits(layers),
            Self::FullZip(page) => page.fits(layers),
            Self::Constant(page) => page.fits(layers),
            Self::Blob(page) => page.fits(layers),
        }
    }

    /// What to take for some rows of the page; the byte ranges to read are appended to `reads`.
    pub(crate) fn plan(
        &self,
        rows: Vec<Range<u64>>,
        reads: &mut Vec<Range<u64>>,
    ) -> Result<PagePlan> {
        Ok(match self {
            Self::MiniBlock(page) => PagePlan::MiniBlock(page.plan(&rows, reads)?),
            Self::FullZip(page) => PagePlan::FullZip(page.plan(rows, reads)?),
            Self::Constant(_) => PagePlan::Constant(rows),
            Self::Blob(page) => page.plan(rows, reads)?,
        })
    }

    /// Appends the rows of a plan, given the bytes that it asked for.
    pub(crate) fn decode(
        &self,
        plan: &PagePlan,
        bytes: &[Bytes],
        out: &mut ColumnBuilder,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match (self, plan) {
            (Self::MiniBlock(page), PagePlan::MiniBlock(plan)) => {
                page.decode(plan, bytes, out, scratch)
            }
            (Self::FullZip(page), PagePlan::FullZip(plan)) => {
                page.decode(plan, bytes, out, scratch)
            }
            (Self::Constant(page), PagePlan::Constant(rows)) => page.decode(rows, out),
            (Self::Blob(page), plan) => page.decode(plan, bytes, out, scratch),
            _ => Err(FileError::corrupt("a plan for another page")),
        }
    }
}
