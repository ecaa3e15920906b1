//! Writing rows: into data files, and as a new version.

mod align;
mod dataset;
mod fragments;

pub use dataset::{
    WriteMode, WriteOptions, create_dataset, open_existing, write_dataset, write_uncommitted,
};
pub use fragments::{FileOptions, write_fragments};
