//! A dataset at one of its versions.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use pennon_file::{ReadOptions, Schema};
use pennon_io::{Store, open_store};
use pennon_table::{
    CommitOptions, Fragment, Manifest, Operation, Snapshot, Transaction, VersionInfo, commit,
};

use crate::Result;
use crate::fragment::FragmentReader;
use crate::scan::ScanBuilder;
use crate::session::Session;

/// A dataset at one of its versions. Immutable and cheap to clone; operations that make a new
/// version return a new handle.
#[derive(Debug, Clone)]
pub struct Dataset {
    uri: String,
    session: Arc<Session>,
    snapshot: Snapshot,
    arrow_schema: SchemaRef,
}

impl Dataset {
    /// Opens the latest version of the dataset at `uri`, or the version given.
    ///
    /// # Errors
    ///
    /// When there is no dataset or no such version, when the manifest is damaged, or when it asks
    /// for a feature that this release does not have.
    pub fn open(uri: &str, version: Option<u64>) -> Result<Self> {
        Self::open_with(uri, version, ReadOptions::default())
    }

    /// As [`open`](Dataset::open), with options for reading its files.
    pub fn open_with(uri: &str, version: Option<u64>, options: ReadOptions) -> Result<Self> {
        let store = open_store(uri)?;
        let snapshot = match version {
            Some(version) => Snapshot::at(store.as_ref(), version)?,
            None => Snapshot::latest(store.as_ref())?,
        };
        Self::new(
            uri.to_owned(),
            Arc::new(Session::new(store, options)),
            snapshot,
        )
    }

    pub(crate) fn new(uri: String, session: Arc<Session>, snapshot: Snapshot) -> Result<Self> {
        let arrow_schema = Arc::new(snapshot.manifest.schema.to_arrow()?);
        Ok(Self {
            uri,
            session,
            snapshot,
            arrow_schema,
        })
    }

    /// The same dataset, with the same caches, at another version.
    fn at(&self, snapshot: Snapshot) -> Result<Self> {
        Self::new(self.uri.clone(), Arc::clone(&self.session), snapshot)
    }

    /// The address that the dataset was opened with.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The version that this handle reads.
    pub fn version(&self) -> u64 {
        self.manifest().version
    }

    /// The manifest of this version.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.snapshot.manifest
    }

    /// The schema with field ids.
    pub fn schema(&self) -> &Schema {
        &self.manifest().schema
    }

    /// The schema as Arrow sees it.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// The fragments of this version, in the order in which they are scanned.
    pub fn fragments(&self) -> &[Fragment] {
        &self.manifest().fragments
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.session.store()
    }

    pub(crate) fn open_fragment(&self, fragment: &Fragment) -> Result<FragmentReader> {
        FragmentReader::open(&self.session, fragment)
    }

    /// Rows of this version, deleted ones not counted. Reads no data where the manifest knows.
    pub fn count_rows(&self) -> Result<u64> {
        self.fragments()
            .iter()
            .map(|fragment| self.count_fragment(fragment))
            .sum()
    }

    /// Rows of one fragment, deleted ones not counted.
    pub fn count_fragment(&self, fragment: &Fragment) -> Result<u64> {
        let deleted = fragment.deletion.as_ref().map(|d| d.num_deleted_rows);
        match (fragment.physical_rows, deleted) {
            (Some(rows), None) => Ok(rows),
            (Some(rows), Some(Some(deleted))) => Ok(rows.saturating_sub(deleted)),
            _ => Ok(self.open_fragment(fragment)?.live_rows()),
        }
    }

    /// Begins a scan of this version.
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self.clone())
    }

    /// The number of the newest version, whatever this handle reads.
    pub fn latest_version(&self) -> Result<u64> {
        Ok(pennon_table::latest_version(self.store().as_ref())?)
    }

    /// All versions that can still be opened, oldest first.
    pub fn versions(&self) -> Result<Vec<VersionInfo>> {
        Ok(pennon_table::version_details(self.store().as_ref())?)
    }

    /// This dataset at another version; caches are shared.
    pub fn checkout(&self, version: u64) -> Result<Self> {
        self.at(Snapshot::at(self.store().as_ref(), version)?)
    }

    /// This dataset at its newest version; caches are shared.
    pub fn checkout_latest(&self) -> Result<Self> {
        self.at(Snapshot::latest(self.store().as_ref())?)
    }

    /// Makes the version that this handle reads the newest one again.
    pub fn restore(&self, options: &CommitOptions) -> Result<Self> {
        let latest = self.latest_version()?;
        let restore = Operation::Restore {
            version: self.version(),
        };
        self.commit(Transaction::new(latest, restore), options)
    }

    /// Commits a transaction and returns the dataset at the new version.
    pub fn commit(&self, transaction: Transaction, options: &CommitOptions) -> Result<Self> {
        self.at(commit(self.store(), transaction, options)?)
    }
}
