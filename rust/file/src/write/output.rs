//! The bytes of a file in the making, and their checksums.

use std::ops::Range;

use pennon_io::Sink;

use crate::Result;
use crate::container::{ALIGNMENT, PADDING};
use crate::extension::checksums::Recorder;

/// Where a file's bytes go.
#[derive(Debug)]
pub(crate) struct Output {
    sink: Box<dyn Sink>,
    /// Checksums of what was written so far, if they are wanted.
    recorder: Option<Recorder>,
}

impl Output {
    pub(crate) fn new(sink: Box<dyn Sink>, checksums: bool) -> Self {
        Self {
            sink,
            recorder: checksums.then(Recorder::default),
        }
    }

    /// The file's path or URL.
    pub(crate) fn location(&self) -> &str {
        self.sink.location()
    }

    /// Bytes written so far.
    pub(crate) fn position(&self) -> u64 {
        self.sink.position()
    }

    /// Writes a buffer where the next one may start, and says where that is.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<Range<u64>> {
        self.align()?;
        let start = self.position();
        self.emit(bytes)?;
        Ok(start..self.position())
    }

    /// Fills up to where a buffer may start.
    pub(crate) fn align(&mut self) -> Result<()> {
        let gap = self.position().next_multiple_of(ALIGNMENT) - self.position();
        let padding = [PADDING; 64];
        self.emit(&padding[..usize::try_from(gap).unwrap_or(0)])
    }

    /// Writes bytes.
    pub(crate) fn emit(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some(recorder) = &mut self.recorder {
            recorder.push(bytes);
        }
        Ok(self.sink.write(bytes)?)
    }

    /// The checksums of all bytes so far; those that follow get none.
    pub(crate) fn take_recorder(&mut self) -> Option<Recorder> {
        self.recorder.take()
    }

    /// Completes the file and returns its length.
    pub(crate) fn finish(self, sync: bool) -> Result<u64> {
        Ok(self.sink.finish(sync)?)
    }
}
