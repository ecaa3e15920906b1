//! What a caller decides about a file.

use std::thread::available_parallelism;

use crate::FileVersion;

/// How a file is written.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    /// The file version.
    pub version: FileVersion,
    /// A column's page is cut when its rows take about this many bytes in memory. Files with very
    /// many columns use smaller pages, so that what is buffered stays bounded.
    pub page_bytes: u64,
    /// How many threads encode pages; with 1, the calling thread does.
    pub parallelism: usize,
    /// Whether the file carries checksums of all its bytes, by which readers of ours notice damage;
    /// others ignore them. They take a thousandth of the file's size.
    pub checksums: bool,
}

impl Default for WriteOptions {
    /// 2.2, 8 MiB, a thread for each core, and checksums.
    fn default() -> Self {
        Self {
            version: FileVersion::DEFAULT,
            page_bytes: 8 << 20,
            parallelism: available_parallelism().map_or(1, usize::from),
            checksums: true,
        }
    }
}
