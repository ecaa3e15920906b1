//! Writing: rows to pages.
//!
//! ```text
//! rows -> leaf arrays -> levels and values -> choice of encodings -> buffers -> file
//! ```
//!
//! Policy is apart from mechanism: [`choose`] decides how the values of a page are stored, by what
//! [`stats`], [`dictionary`] and [`symbols`] found out about them; the others do as they are told.

pub(crate) mod blob;
mod choose;
mod coder;
pub(crate) mod column;
mod constant;
mod dictionary;
mod encode;
mod full_zip;
mod gather;
pub(crate) mod leaf;
mod levels;
mod mini_block;
mod options;
mod output;
mod packed;
mod settings;
mod shred;
mod stats;
pub(crate) mod store;
pub(crate) mod symbols;
pub(crate) mod values;
mod workers;
mod writer;

pub use options::WriteOptions;
pub use writer::{FileWriter, WrittenFile};
