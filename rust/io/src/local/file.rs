//! One open file.

use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use super::{at, positioned};
use crate::coalesce::{Limits, Plan};
use crate::read_at::check_range;
use crate::{IoError, IoErrorKind, ReadAt, Result};

/// A local disk answers a second read about as fast as it skips a page, and the memory of a
/// merged read lives as long as its smallest slice: only near neighbours are merged.
const LIMITS: Limits = Limits {
    max_gap: 4 << 10,
    max_size: 1 << 20,
};

/// A file with its length at the time it was opened. It holds one descriptor.
#[derive(Debug)]
pub(crate) struct LocalFile {
    file: File,
    len: u64,
    location: String,
}

impl LocalFile {
    /// Opens a regular file. Anything else is refused before it is opened: opening a pipe would
    /// wait for its other end.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let location = path.display().to_string();
        if !fs::metadata(path).map_err(|e| at(path, e))?.is_file() {
            let message = "there is something under this name, but not a file";
            return Err(IoError::new(IoErrorKind::NotFound, location, message));
        }
        let file = File::open(path).map_err(|e| at(path, e))?;
        let len = file.metadata().map_err(|e| at(path, e))?.len();
        Ok(Self {
            file,
            len,
            location,
        })
    }

    /// Reads a non-empty range that lies within the file.
    fn fetch(&self, range: &Range<u64>) -> Result<Bytes> {
        let len = check_range(&self.location, range, self.len)?;
        let bytes = positioned::read_exact_at(&self.file, range.start, len)
            .map_err(|e| IoError::from_os(&self.location, e))?;
        Ok(Bytes::from(bytes))
    }
}

impl ReadAt for LocalFile {
    fn location(&self) -> &str {
        &self.location
    }

    fn len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match check_range(&self.location, &range, self.len)? {
            0 => Ok(Bytes::new()),
            _ => self.fetch(&range),
        }
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            check_range(&self.location, range, self.len)?;
        }
        let plan = Plan::new(ranges, LIMITS);
        let buffers: Vec<_> = plan
            .requests()
            .iter()
            .map(|range| self.fetch(range))
            .collect::<Result<_>>()?;
        plan.slice(&self.location, &buffers)
    }
}
