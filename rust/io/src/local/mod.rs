//! Objects as files below one directory.
//!
//! Opening a store touches neither the disk nor a thread: directories are created when the first
//! object in them is, and every call does its work on the thread that makes it.

mod exclusive;
mod file;
mod folder;
mod positioned;
mod sink;
mod temporary;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use bytes::Bytes;

use self::file::LocalFile;
use self::sink::LocalSink;
use crate::{Entry, IoError, IoErrorKind, PutOutcome, ReadAt, RelativePath, Result, Sink, Store};

/// A tree of files below one directory of the local file system.
///
/// ```
/// use bytes::Bytes;
/// use pennon_io::{LocalStore, Store};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let store = LocalStore::open(folder.path())?;
/// store.put("notes/today", Bytes::from_static(b"hello"), false)?;
/// assert_eq!(store.get("notes/today")?, "hello");
/// assert_eq!(store.list("notes")?.len(), 1);
/// # Ok::<(), pennon_io::IoError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LocalStore {
    root: PathBuf,
    name: String,
}

impl LocalStore {
    /// The store below `root`, which is made absolute and need not exist yet.
    ///
    /// # Errors
    ///
    /// [`IoErrorKind::InvalidPath`] when `root` is empty or contains a NUL.
    pub fn open(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let invalid = |message: String| {
            IoError::new(
                IoErrorKind::InvalidPath,
                root.display().to_string(),
                message,
            )
        };
        if root.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(invalid("a path cannot contain a NUL".to_owned()));
        }
        let absolute = std::path::absolute(root).map_err(|e| invalid(e.to_string()))?;
        let root: PathBuf = absolute.components().collect();
        let name = root.display().to_string();
        Ok(Self { root, name })
    }

    /// Where an object or a directory lies.
    fn locate(&self, path: &RelativePath) -> PathBuf {
        let mut full = self.root.clone();
        full.extend(path.parts());
        full
    }

    fn open_file(&self, path: &str) -> Result<LocalFile> {
        LocalFile::open(&self.locate(&RelativePath::new(path)?))
    }

    fn new_sink(&self, path: &str) -> Result<LocalSink> {
        LocalSink::create(self.locate(&RelativePath::new(path)?))
    }
}

impl Store for LocalStore {
    fn root(&self) -> &str {
        &self.name
    }

    fn open(&self, path: &str, _size: Option<u64>) -> Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(self.open_file(path)?))
    }

    fn get(&self, path: &str) -> Result<Bytes> {
        let file = self.open_file(path)?;
        file.read(0..file.len()?)
    }

    fn create(&self, path: &str) -> Result<Box<dyn Sink>> {
        Ok(Box::new(self.new_sink(path)?))
    }

    fn put(&self, path: &str, bytes: Bytes, sync: bool) -> Result<()> {
        let mut sink = self.new_sink(path)?;
        sink.write(&bytes)?;
        Box::new(sink).finish(sync)?;
        Ok(())
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes, sync: bool) -> Result<PutOutcome> {
        let target = self.locate(&RelativePath::new(path)?);
        exclusive::put_if_absent(&target, &bytes, sync).map_err(|e| at(&target, e))
    }

    fn list(&self, directory: &str) -> Result<Vec<Entry>> {
        let directory = RelativePath::directory(directory)?;
        let full = self.locate(&directory);
        match list_files(&full, &directory) {
            Err(e) if is_absent(&e) => Ok(Vec::new()),
            entries => entries.map_err(|e| at(&full, e)),
        }
    }

    fn delete(&self, path: &str) -> Result<()> {
        let full = self.locate(&RelativePath::new(path)?);
        match fs::remove_file(&full) {
            Err(e) if !is_absent(&e) => Err(at(&full, e)),
            _ => Ok(()),
        }
    }

    fn read_parallelism(&self) -> usize {
        available_parallelism().map_or(1, usize::from)
    }
}

/// An operating system error at a place of the file system.
fn at(path: &Path, error: io::Error) -> IoError {
    IoError::from_os(path.display().to_string(), error)
}

/// Whether the operating system says that there is nothing under a name.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The regular files of a folder, links followed. Names that no [`RelativePath`] can express are
/// skipped, and so are files that vanish while the folder is read.
fn list_files(folder: &Path, directory: &RelativePath) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for found in fs::read_dir(folder)? {
        let found = found?;
        let name = found.file_name();
        let Some(path) = name.to_str().and_then(|name| directory.join(name).ok()) else {
            continue;
        };
        let metadata = match fs::metadata(found.path()) {
            Err(e) if is_absent(&e) => continue,
            metadata => metadata?,
        };
        if metadata.is_file() {
            let (size, modified) = (metadata.len(), metadata.modified().ok());
            entries.push(Entry {
                path: path.as_str().to_owned(),
                size,
                modified,
            });
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_absolute_and_not_created() {
        let store = LocalStore::open("some-folder-that-is-not-there/").unwrap();
        assert!(Path::new(store.root()).is_absolute());
        assert!(store.root().ends_with("some-folder-that-is-not-there"));
        assert!(store.list("").unwrap().is_empty());
        assert!(!Path::new(store.root()).exists());
    }

    #[test]
    fn an_empty_root_is_refused() {
        for root in ["", "a\0b"] {
            let error = LocalStore::open(root).unwrap_err();
            assert_eq!(error.kind(), IoErrorKind::InvalidPath);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_that_are_not_utf8_are_skipped() {
        use std::os::unix::ffi::OsStrExt;

        let folder = tempfile::tempdir().unwrap();
        let name = std::ffi::OsStr::from_bytes(b"a\xff");
        fs::write(folder.path().join(name), "x").unwrap();
        fs::write(folder.path().join("back\\slash"), "x").unwrap();
        fs::write(folder.path().join("b"), "x").unwrap();
        let entries = LocalStore::open(folder.path()).unwrap().list("").unwrap();
        assert_eq!(
            entries.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(),
            ["b"]
        );
    }

    #[test]
    fn a_folder_is_not_an_object() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let store = LocalStore::open(folder.path()).unwrap();
        assert_eq!(store.get("sub").unwrap_err().kind(), IoErrorKind::NotFound);
        assert!(store.list("").unwrap().is_empty());
    }
}
