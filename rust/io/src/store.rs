//! A tree of objects below one root.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;

use crate::{ReadAt, Result};

/// What became of a conditional put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object did not exist and now holds the bytes.
    Created,
    /// The object existed and was left alone.
    AlreadyExists,
}

/// One object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the store's root, with `/` between its parts.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last change, as far as the store knows it.
    pub modified: Option<SystemTime>,
}

/// An object being written; it appears under its name only when it is finished.
///
/// Dropping a sink without [`finish`](Sink::finish) removes what was written.
pub trait Sink: Debug + Send {
    /// The absolute path or URL, for messages.
    fn location(&self) -> &str;

    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Bytes written so far.
    fn position(&self) -> u64;

    /// Completes the object and returns its length. With `sync`, a local file and its directory
    /// have reached the disk when this returns.
    fn finish(self: Box<Self>, sync: bool) -> Result<u64>;
}

/// A tree of objects below one root. Paths are relative, with `/` between their parts; a path
/// that would leave the root is refused with
/// [`IoErrorKind::InvalidPath`](crate::IoErrorKind::InvalidPath).
pub trait Store: Debug + Send + Sync {
    /// The root as an absolute path or URL, for messages.
    fn root(&self) -> &str;

    /// Opens an object for reading. `size`, when known, saves the request that asks for it.
    fn open(&self, path: &str, size: Option<u64>) -> Result<Arc<dyn ReadAt>>;

    /// The whole object.
    fn get(&self, path: &str) -> Result<Bytes>;

    /// Begins a new object.
    fn create(&self, path: &str) -> Result<Box<dyn Sink>>;

    /// Writes an object, replacing an existing one. With `sync`, it has reached the disk.
    fn put(&self, path: &str, bytes: Bytes, sync: bool) -> Result<()>;

    /// Writes an object unless one exists under that name: the atomic step of every commit.
    fn put_if_absent(&self, path: &str, bytes: Bytes, sync: bool) -> Result<PutOutcome>;

    /// The objects directly below a directory, in no particular order; empty when there is no
    /// such directory.
    fn list(&self, directory: &str) -> Result<Vec<Entry>>;

    /// Removes an object; it is no error when there is none.
    fn delete(&self, path: &str) -> Result<()>;

    /// How many blocking reads are worth having under way at once: a few for a local disk, many
    /// for a store whose requests take milliseconds.
    fn read_parallelism(&self) -> usize;
}
