//! The container around a file's pages: footer, offset tables and column metadata, as bytes.
//!
//! ```text
//! +------------------------------------------+
//! | page buffers, other global buffers       |  each at a multiple of 64
//! | global buffer 0: the file's schema       |
//! | metadata of column 0, 1, ...             |  back to back
//! | column offset table: position, size ...  |
//! | global offset table: position, size ...  |
//! | footer, 40 bytes                         |
//! +------------------------------------------+
//! ```

pub(crate) mod footer;
pub(crate) mod metadata;

/// What page buffers and global buffers start at a multiple of.
pub(crate) const ALIGNMENT: u64 = 64;
/// What fills the gap between two buffers.
pub(crate) const PADDING: u8 = b'H';
