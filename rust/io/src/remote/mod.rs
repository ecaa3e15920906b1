//! Objects in an object store.

mod object;
mod runtime;
mod sink;
mod target;

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode};

use self::object::RemoteObject;
use self::sink::RemoteSink;
use self::target::{Target, from_store};
use crate::{Entry, IoErrorKind, PutOutcome, ReadAt, RelativePath, Result, Sink, Store};

/// How many requests are under way at once.
const PARALLELISM: usize = 16;

/// A tree of objects below one prefix of an object store.
///
/// Every call blocks the thread that makes it, while the requests run on two threads of this
/// crate, started by the first call. A store may be used from inside another asynchronous
/// runtime, and after a fork: the child starts threads of its own.
///
/// ```
/// use bytes::Bytes;
/// use pennon_io::{RemoteStore, Store};
///
/// let store = RemoteStore::memory();
/// store.put("a/b", Bytes::from_static(b"hello"), false)?;
/// assert_eq!(store.open("a/b", None)?.len()?, 5);
/// # Ok::<(), pennon_io::IoError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RemoteStore {
    store: Arc<dyn ObjectStore>,
    prefix: RelativePath,
    root: String,
}

impl RemoteStore {
    /// The objects of `store` below `prefix`; the empty prefix is the whole store. `root` is the
    /// URL that messages name, without credentials.
    ///
    /// # Errors
    ///
    /// [`IoErrorKind::InvalidPath`] when `prefix` is not a [directory](RelativePath::directory).
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str, root: impl Into<String>) -> Result<Self> {
        let prefix = RelativePath::directory(prefix)?;
        Ok(Self {
            store,
            prefix,
            root: root.into(),
        })
    }

    /// A store in this process's memory that shares its objects with no other.
    pub fn memory() -> Self {
        let prefix = RelativePath::root();
        Self {
            store: Arc::new(InMemory::new()),
            prefix,
            root: "memory://".to_owned(),
        }
    }

    /// An object or a directory below the prefix.
    fn at(&self, path: &RelativePath) -> Result<Target> {
        let separator = if self.root.ends_with('/') { "" } else { "/" };
        let location = format!("{}{separator}{path}", self.root);
        let parts: Vec<&str> = self.prefix.parts().chain(path.parts()).collect();
        let key = Path::parse(parts.join("/")).map_err(|e| from_store(&location, e.into()))?;
        Ok(Target {
            store: Arc::clone(&self.store),
            key,
            location,
        })
    }

    fn object(&self, path: &str) -> Result<Target> {
        self.at(&RelativePath::new(path)?)
    }
}

impl Store for RemoteStore {
    fn root(&self) -> &str {
        &self.root
    }

    fn open(&self, path: &str, size: Option<u64>) -> Result<Arc<dyn ReadAt>> {
        let target = self.object(path)?;
        let len = match size {
            Some(size) => size,
            None => {
                target
                    .run(|store, key| async move { store.head(&key).await })?
                    .size
            }
        };
        Ok(Arc::new(RemoteObject::new(target, len)))
    }

    fn get(&self, path: &str) -> Result<Bytes> {
        self.object(path)?
            .run(|store, key| async move { store.get(&key).await?.bytes().await })
    }

    fn create(&self, path: &str) -> Result<Box<dyn Sink>> {
        Ok(Box::new(RemoteSink::new(self.object(path)?)))
    }

    fn put(&self, path: &str, bytes: Bytes, _sync: bool) -> Result<()> {
        let put = |store: Arc<dyn ObjectStore>, key| async move {
            store.put(&key, bytes.into()).await.map(|_| ())
        };
        self.object(path)?.run(put)
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes, _sync: bool) -> Result<PutOutcome> {
        let put = |store: Arc<dyn ObjectStore>, key| async move {
            store
                .put_opts(&key, bytes.into(), PutMode::Create.into())
                .await
                .map(|_| ())
        };
        match self.object(path)?.run(put) {
            Ok(()) => Ok(PutOutcome::Created),
            Err(e) if e.kind() == IoErrorKind::AlreadyExists => Ok(PutOutcome::AlreadyExists),
            Err(e) => Err(e),
        }
    }

    fn list(&self, directory: &str) -> Result<Vec<Entry>> {
        let directory = RelativePath::directory(directory)?;
        let found = self
            .at(&directory)?
            .run(|store, key| async move { store.list_with_delimiter(Some(&key)).await })?;
        Ok(found
            .objects
            .into_iter()
            .filter_map(|meta| entry(&directory, meta))
            .collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        match self
            .object(path)?
            .run(|store, key| async move { store.delete(&key).await })
        {
            Err(e) if e.kind() != IoErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    fn read_parallelism(&self) -> usize {
        PARALLELISM
    }
}

/// An object of a listing; none when no [`RelativePath`] can express its name.
fn entry(directory: &RelativePath, meta: ObjectMeta) -> Option<Entry> {
    let path = directory.join(meta.location.filename()?).ok()?;
    let modified = Some(SystemTime::from(meta.last_modified));
    Some(Entry {
        path: path.as_str().to_owned(),
        size: meta.size,
        modified,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_with_different_prefixes_share_nothing() {
        let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let open = |prefix| RemoteStore::new(Arc::clone(&memory), prefix, "test:").unwrap();
        open("a/b")
            .put("x", Bytes::from_static(b"1"), false)
            .unwrap();
        assert_eq!(open("a").get("b/x").unwrap(), "1");
        assert_eq!(open("").get("a/b/x").unwrap(), "1");
        assert_eq!(
            open("b").get("x").unwrap_err().kind(),
            IoErrorKind::NotFound
        );
        assert_eq!(open("a").list("b").unwrap()[0].path, "b/x");
        assert!(RemoteStore::new(memory, "../a", "test:").is_err());
    }

    #[test]
    fn names_are_stored_as_they_are() {
        let memory = Arc::new(InMemory::new());
        let store = RemoteStore::new(Arc::clone(&memory) as _, "", "test:").unwrap();
        store.put("a b/1%.m#1", Bytes::new(), false).unwrap();
        assert_eq!(store.list("a b").unwrap()[0].path, "a b/1%.m#1");
    }
}
