//! Where files, tables and expressions meet: writing, scanning, taking and deleting rows.
//!
//! [`Dataset`] is a dataset at one version. [`write_dataset`] makes one or adds to one;
//! [`Dataset::scan`] reads rows in order, [`Dataset::take`] by position; [`Dataset::delete`]
//! deletes by predicate.

mod dataset;
mod delete;
mod error;
mod fragment;
mod ordered;
mod pool;
pub mod scan;
mod session;
mod take;
mod write;

pub use dataset::Dataset;
pub use delete::DeleteOptions;
pub use error::{EngineError, Pulse, Result};
pub use write::{
    FileOptions, WriteMode, WriteOptions, create_dataset, open_existing, write_dataset,
    write_fragments, write_uncommitted,
};
