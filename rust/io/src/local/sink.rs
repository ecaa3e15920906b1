//! A file being written under a passing name.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::folder;
use super::temporary::Temporary;
use crate::{IoError, IoErrorKind, Result, Sink};

/// Small writes are gathered to this many bytes; larger ones pass through.
const BUFFER: usize = 256 << 10;

/// Writes `.tmpXXXXXX` beside the target and renames it at the end.
#[derive(Debug)]
pub(crate) struct LocalSink {
    file: File,
    temporary: Temporary,
    target: PathBuf,
    changed: Vec<PathBuf>,
    location: String,
    buffer: Vec<u8>,
    position: u64,
    failed: bool,
}

impl LocalSink {
    pub(crate) fn create(target: PathBuf) -> Result<Self> {
        let location = target.display().to_string();
        let ((temporary, file), changed) =
            folder::with_folder(&target, || Temporary::beside(&target))
                .map_err(|e| IoError::from_os(&location, e))?;
        let buffer = Vec::new();
        Ok(Self {
            file,
            temporary,
            target,
            changed,
            location,
            buffer,
            position: 0,
            failed: false,
        })
    }

    /// Writes to the file; after a failure nobody knows what it holds, and the sink is spent.
    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file
            .write_all(bytes)
            .inspect_err(|_| self.failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = self.pass(&buffer);
        buffer.clear();
        self.buffer = buffer;
        written
    }

    fn gather(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            return self.pass(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn publish(mut self, sync: bool) -> io::Result<()> {
        self.flush()?;
        if sync {
            self.file.sync_all()?;
        }
        drop(self.file);
        self.temporary.rename(&self.target)?;
        if sync {
            folder::sync(&self.changed)
        } else {
            Ok(())
        }
    }

    fn refuse_if_failed(&self) -> Result<()> {
        if self.failed {
            let message = "an earlier write failed, so the object cannot be completed";
            return Err(IoError::new(IoErrorKind::Other, &self.location, message));
        }
        Ok(())
    }
}

impl Sink for LocalSink {
    fn location(&self) -> &str {
        &self.location
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.refuse_if_failed()?;
        self.gather(bytes)
            .map_err(|e| IoError::from_os(&self.location, e))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn finish(self: Box<Self>, sync: bool) -> Result<u64> {
        self.refuse_if_failed()?;
        let (position, location) = (self.position, self.location.clone());
        self.publish(sync)
            .map_err(|e| IoError::from_os(location, e))?;
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn small_and_large_writes_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new/a");
        let mut sink = Box::new(LocalSink::create(target.clone()).unwrap());
        let mut expected = Vec::new();
        for (byte, len) in [
            (1, 10),
            (2, BUFFER - 10),
            (3, 1),
            (4, BUFFER),
            (5, 3 * BUFFER),
            (6, 7),
        ] {
            let bytes = vec![byte; len];
            sink.write(&bytes).unwrap();
            expected.extend_from_slice(&bytes);
            assert_eq!(sink.position(), expected.len() as u64);
        }
        assert_eq!(sink.finish(true).unwrap(), expected.len() as u64);
        assert!(fs::read(&target).unwrap() == expected);
        assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_sink_that_failed_cannot_be_finished() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let mut sink = LocalSink::create(target.clone()).unwrap();
        // A descriptor that is only for reading stands for a full disk.
        sink.file = File::open(folder.path().join(entry(folder.path()))).unwrap();
        assert!(sink.write(&vec![0; BUFFER]).is_err());
        assert!(sink.write(b"x").is_err());
        assert!(Box::new(sink).finish(false).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    fn entry(folder: &std::path::Path) -> std::ffi::OsString {
        fs::read_dir(folder)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .file_name()
    }
}
