//! What several tests of whole files share: files in memory, and random nested arrays.

#![allow(dead_code, reason = "each test uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

pub(crate) mod arrays;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema as ArrowSchema};
use bytes::Bytes;
use pennon_file::{
    FileReader, FileVersion, FileWriter, Projection, Result, RowRanges, Schema, WriteOptions,
};
use pennon_io::{ReadAt, open_store};

/// The versions that this crate writes.
pub(crate) const VERSIONS: [FileVersion; 3] =
    [FileVersion::V2_0, FileVersion::V2_1, FileVersion::V2_2];

/// A file in memory.
#[derive(Debug)]
pub(crate) struct InMemory(pub(crate) Bytes);

impl ReadAt for InMemory {
    fn location(&self) -> &str {
        "memory"
    }

    fn len(&self) -> pennon_io::Result<u64> {
        Ok(u64::try_from(self.0.len()).unwrap())
    }

    fn read(&self, range: Range<u64>) -> pennon_io::Result<Bytes> {
        let out_of_range = || {
            let kind = pennon_io::IoErrorKind::OutOfRange;
            pennon_io::IoError::new(kind, "memory", "no such bytes")
        };
        let start = usize::try_from(range.start).map_err(|_| out_of_range())?;
        let end = usize::try_from(range.end).map_err(|_| out_of_range())?;
        if start > end || end > self.0.len() {
            return Err(out_of_range());
        }
        Ok(self.0.slice(start..end))
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> pennon_io::Result<Vec<Bytes>> {
        ranges
            .iter()
            .map(|range| self.read(range.clone()))
            .collect()
    }
}

/// Writes batches of one column, `c`.
pub(crate) fn write(field: Field, batches: &[ArrayRef], options: &WriteOptions) -> Result<Bytes> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let arrow = Arc::new(ArrowSchema::new(vec![field]));
    let schema = Schema::from_arrow(&arrow)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let store = open_store(&format!("memory://file-tests-{number}"))?;
    let mut writer = FileWriter::new(store.create("a.lance")?, schema, options.clone())?;
    for array in batches {
        writer.write(&RecordBatch::try_new(
            Arc::clone(&arrow),
            vec![Arc::clone(array)],
        )?)?;
    }
    writer.finish(false)?;
    let bytes = store.get("a.lance")?;
    store.delete("a.lance")?;
    Ok(bytes)
}

/// Opens a file in memory.
pub(crate) fn open(bytes: Bytes) -> Result<FileReader> {
    FileReader::open(Arc::new(InMemory(bytes)))
}

/// Reads rows of all columns.
pub(crate) fn read(reader: &FileReader, rows: &RowRanges) -> Result<RecordBatch> {
    reader.read(&Projection::all(reader)?, rows)
}
