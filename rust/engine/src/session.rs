//! What open datasets share: files opened once, deletion vectors read once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pennon_file::{FileReader, ReadOptions};
use pennon_io::Store;
use pennon_table::{DeletionFile, Fragment, read_deletions};
use roaring::RoaringBitmap;

use crate::Result;

/// Open files per dataset: enough for every scan's working set, few enough for the process's
/// limit on open files.
const OPEN_FILES: usize = 256;
/// Deletion vectors kept in memory per dataset.
const DELETION_VECTORS: usize = 1024;

/// One dataset's caches, shared by all its versions and scans. Objects of a dataset never change
/// under their name, so nothing here goes stale.
#[derive(Debug)]
pub(crate) struct Session {
    store: Arc<dyn Store>,
    options: ReadOptions,
    files: Cache<Arc<FileReader>>,
    deletions: Cache<Arc<RoaringBitmap>>,
}

impl Session {
    pub(crate) fn new(store: Arc<dyn Store>, options: ReadOptions) -> Self {
        Self {
            store,
            options,
            files: Cache::new(OPEN_FILES),
            deletions: Cache::new(DELETION_VECTORS),
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The data file at `path`, opened now or before.
    pub(crate) fn file(&self, path: &str, size: Option<u64>) -> Result<Arc<FileReader>> {
        self.files.get_or_load(path, || {
            let source = self.store.open(path, size)?;
            Ok(Arc::new(FileReader::open_with(source, self.options)?))
        })
    }

    /// The rows of `fragment` that `file` says are deleted.
    pub(crate) fn deletions(
        &self,
        fragment: &Fragment,
        file: &DeletionFile,
    ) -> Result<Arc<RoaringBitmap>> {
        let key = format!("{}-{}-{}", fragment.id, file.read_version, file.id);
        self.deletions.get_or_load(&key, || {
            Ok(Arc::new(read_deletions(self.store.as_ref(), fragment)?))
        })
    }
}

/// A map that forgets what was used longest ago.
#[derive(Debug)]
struct Cache<T> {
    capacity: usize,
    entries: Mutex<Entries<T>>,
}

#[derive(Debug)]
struct Entries<T> {
    clock: u64,
    map: HashMap<String, (u64, T)>,
}

impl<T: Clone> Cache<T> {
    fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: Mutex::new(Entries {
                clock: 0,
                map: HashMap::new(),
            }),
        }
    }

    /// The value of `key`. Loading happens outside of the lock: two threads may load the same
    /// value at once, and the first one to finish is kept.
    fn get_or_load(&self, key: &str, load: impl FnOnce() -> Result<T>) -> Result<T> {
        if let Some(value) = self.get(key) {
            return Ok(value);
        }
        let value = load()?;
        Ok(self.insert(key, value))
    }

    fn get(&self, key: &str) -> Option<T> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.clock += 1;
        let now = entries.clock;
        entries.map.get_mut(key).map(|(used, value)| {
            *used = now;
            value.clone()
        })
    }

    fn insert(&self, key: &str, value: T) -> T {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.map.len() >= self.capacity && !entries.map.contains_key(key) {
            let oldest = entries.map.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                entries.map.remove(&oldest);
            }
        }
        let now = entries.clock;
        entries
            .map
            .entry(key.to_owned())
            .or_insert((now, value))
            .1
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_unused_for_longest_is_forgotten_first() {
        let cache = Cache::new(2);
        let load = |key: &str, value: u32| cache.get_or_load(key, || Ok(value)).unwrap();
        load("a", 1);
        load("b", 2);
        load("a", 9);
        load("c", 3);
        assert_eq!(cache.get("a"), Some(1));
        assert_eq!(cache.get("b"), None);
        assert_eq!(cache.get("c"), Some(3));
    }
}
