//! One Lance data file: container, schema, encodings, layouts, reading and writing.

mod blob;
mod container;
mod encoding;
mod error;
mod extension;
mod json;
mod layout;
mod levels;
mod read;
mod schema;
mod v0_1;
mod v2_0;
mod version;
mod write;

pub use blob::OpenSidecar;
pub use encoding::{Compression, Encoding, PackedField, PackedWidth};
pub use error::{FileError, FileErrorKind, Result};
pub use layout::{
    Blob, Constant, DictionaryItems, FullZip, Layer, MiniBlock, PageLayout, ZipWidth,
};
pub use read::{
    ColumnDescription, FileReader, PageDescription, Projection, ReadOptions, ReadPlan, RowRanges,
};
pub use schema::{Field, LogicalType, Schema};
pub use version::FileVersion;
pub use write::{FileWriter, WriteOptions, WrittenFile};
