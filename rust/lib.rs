//! An independent implementation of the Lance columnar format.
//!
//! This crate is the front door: it gives the layers below their public names and adds nothing.
//!
//! | module | what it knows |
//! |---|---|
//! | the root, [`scan`] | datasets: writing, scanning, taking and deleting rows |
//! | [`expr`] | SQL predicates over record batches |
//! | [`table`] | versions: manifests, fragments, deletion vectors, transactions |
//! | [`file`] | one data file: container, schema, encodings |
//! | [`codec`] | kernels between bytes and values |
//! | [`io`] | byte ranges from disks and object stores |

pub use pennon_codec as codec;
pub use pennon_engine::{
    Dataset, DeleteOptions, EngineError, FileOptions, Pulse, Result, WriteMode, WriteOptions,
    create_dataset, open_existing, scan, write_dataset, write_fragments, write_uncommitted,
};
pub use pennon_expr as expr;
pub use pennon_file as file;
pub use pennon_io as io;
pub use pennon_table as table;
