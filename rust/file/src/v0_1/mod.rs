//! File version 0.1: one page for each field and batch, found through a table of all of them.
//!
//! ```text
//! | pages | page table | dictionary values | schema | metadata | footer, 16 bytes |
//! ```
//!
//! The version is read and not written. It keeps no validity: a nullable string is null when it is
//! empty, and everything else reads as what lies under the null.

mod decode;
mod metadata;
mod page_table;
mod plan;

pub(crate) use metadata::{Metadata, is_legacy};
pub(crate) use plan::PagesPlan;
