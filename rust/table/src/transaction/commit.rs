//! The optimistic loop that makes a version.
//!
//! Load what was committed since the transaction's version, compare, rebase or give up, build
//! the manifest from the newest one, write it under the next version's name unless that exists
//! by now; if it does, begin again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use pennon_file::FileVersion;
use pennon_io::{IoErrorKind, PutOutcome, Store};
use pennon_proto::table as proto;
use prost::Message;
use roaring::RoaringBitmap;

use super::apply::next_manifest;
use super::footprint::{Footprint, Verdict, compare};
use super::{Operation, Transaction};
use crate::deletion::{read_deletions, write_deletions};
use crate::fragment::Fragment;
use crate::manifest::{Manifest, decode};
use crate::paths::{Naming, TRANSACTIONS, random_id};
use crate::snapshot::{Snapshot, find};
use crate::{Result, TableError, TableErrorKind, features};

/// The longest pause between two attempts.
const LONGEST_PAUSE_MS: u64 = 250;

/// How a transaction is committed.
#[derive(Debug, Clone)]
pub struct CommitOptions {
    /// Whether everything has reached the disk before the commit reports success.
    pub sync: bool,
    /// How many times to try for the next version's name.
    pub max_attempts: u32,
    /// The version of data files: of a new dataset, or from an overwrite on.
    pub data_version: Option<FileVersion>,
    /// The rows that a Delete marks, by fragment. With it, a Delete that lost the race against
    /// another one of other rows is united with it instead of being refused.
    pub affected_rows: Option<BTreeMap<u64, RoaringBitmap>>,
}

impl Default for CommitOptions {
    /// Synced, 20 attempts.
    fn default() -> Self {
        Self {
            sync: true,
            max_attempts: 20,
            data_version: None,
            affected_rows: None,
        }
    }
}

/// Makes the next version of the dataset in `store`.
///
/// A transaction based on version 0 makes the dataset, and fails when there is one.
///
/// # Errors
///
/// [`CommitConflict`](TableErrorKind::CommitConflict) when doing the whole operation again may
/// succeed, [`Incompatible`](TableErrorKind::Incompatible) when it cannot, and whatever the store
/// or a damaged manifest gives.
pub fn commit(
    store: &Arc<dyn Store>,
    transaction: Transaction,
    options: &CommitOptions,
) -> Result<Snapshot> {
    let store = store.as_ref();
    match transaction.read_version {
        0 => create(store, &transaction, options),
        _ => Attempts {
            store,
            checked: transaction.read_version,
            transaction,
            options,
        }
        .run(),
    }
    .map_err(|error| error.at(store.root()))
}

fn create(
    store: &dyn Store,
    transaction: &Transaction,
    options: &CommitOptions,
) -> Result<Snapshot> {
    match Snapshot::latest(store) {
        Err(error) if error.kind() == TableErrorKind::DatasetNotFound => {}
        Err(error) => return Err(error),
        Ok(_) => return Err(TableError::already_exists(store.root())),
    }
    let manifest = next_manifest(None, transaction, None, options.data_version)?;
    match publish(store, Naming::V2, manifest, transaction, options)? {
        Some(snapshot) => Ok(snapshot),
        None => Err(TableError::already_exists(store.root())),
    }
}

struct Attempts<'a> {
    store: &'a dyn Store,
    transaction: Transaction,
    options: &'a CommitOptions,
    /// The newest version that the transaction was compared with.
    checked: u64,
}

impl Attempts<'_> {
    fn run(mut self) -> Result<Snapshot> {
        let attempts = self.options.max_attempts.max(1);
        for attempt in 0..attempts {
            let latest = Snapshot::latest(self.store)?;
            features::check_writable(&latest.manifest.rest)?;
            self.catch_up(&latest.manifest)?;
            let restored = self.restored()?;
            let manifest = next_manifest(
                Some(&latest.manifest),
                &self.transaction,
                restored.as_deref(),
                self.options.data_version,
            )?;
            let (store, options) = (self.store, self.options);
            if let Some(snapshot) =
                publish(store, latest.naming, manifest, &self.transaction, options)?
            {
                return Ok(snapshot);
            }
            pause(attempt);
        }
        Err(TableError::new(
            TableErrorKind::CommitConflict,
            format!(
                "other writers were faster {attempts} times in a row; try again, or allow more \
                 retries"
            ),
        )
        .in_version(self.checked)
        .after(attempts))
    }

    /// Compares the transaction with all that was committed since, and rebases it.
    fn catch_up(&mut self, latest: &Manifest) -> Result<()> {
        if self.checked > latest.version {
            let message = format!(
                "the transaction is based on version {}, and the newest one is {}",
                self.checked, latest.version
            );
            return Err(
                TableError::new(TableErrorKind::VersionNotFound, message).in_version(self.checked)
            );
        }
        let ours = Footprint::of(Some(&self.transaction.to_proto()));
        for version in self.checked + 1..=latest.version {
            let Some(theirs) = self.footprint_of(version, latest)? else {
                continue;
            };
            match compare(&ours, &theirs) {
                Verdict::Compatible => {}
                Verdict::Rebase => self.rebase(version, latest)?,
                Verdict::Retry => return Err(self.conflict(version, &theirs)),
                Verdict::Incompatible => return Err(self.incompatible(version, &theirs)),
            }
        }
        self.checked = latest.version;
        Ok(())
    }

    /// What the transaction of a version touched; `None` when its manifest was cleaned up.
    fn footprint_of(&self, version: u64, latest: &Manifest) -> Result<Option<Footprint>> {
        if version == latest.version {
            return self.read_transaction(latest).map(Some);
        }
        match find(self.store, version)? {
            Some(snapshot) => self.read_transaction(&snapshot.manifest).map(Some),
            None => Ok(None),
        }
    }

    fn read_transaction(&self, manifest: &Manifest) -> Result<Footprint> {
        let file = &manifest.rest.transaction_file;
        let bytes: Option<Bytes> = match &manifest.transaction {
            Some(inline) => Some(inline.clone()),
            None if file.is_empty() => None,
            None => {
                crate::paths::check_relative(file)?;
                match self.store.get(&format!("{TRANSACTIONS}/{file}")) {
                    Ok(bytes) => Some(bytes),
                    Err(error) if error.kind() == IoErrorKind::NotFound => None,
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let message = bytes
            .map(|bytes| decode::<proto::Transaction>(&bytes, "transaction"))
            .transpose()?;
        Ok(Footprint::of(message.as_ref()))
    }

    /// Unites the deletions of ours with those that were committed meanwhile.
    fn rebase(&mut self, version: u64, latest: &Manifest) -> Result<()> {
        let Operation::Delete {
            updated_fragments, ..
        } = &self.transaction.operation
        else {
            return Ok(());
        };
        let mut rebased = Vec::with_capacity(updated_fragments.len());
        for ours in updated_fragments {
            let theirs = latest
                .fragments
                .iter()
                .find(|fragment| fragment.id == ours.id);
            match theirs
                .map(|theirs| self.unite(ours, theirs, latest.version))
                .transpose()?
            {
                Some(Some(united)) => rebased.push(united),
                _ => return Err(self.conflict(version, &Footprint::of(None))),
            }
        }
        if let Operation::Delete {
            updated_fragments, ..
        } = &mut self.transaction.operation
        {
            *updated_fragments = rebased;
        }
        self.transaction.read_version = latest.version;
        Ok(())
    }

    /// Their fragment with the rows of ours deleted too; `None` when both touched the same row,
    /// when no row would be left, or when the rows of ours are not known.
    fn unite(&self, ours: &Fragment, theirs: &Fragment, latest: u64) -> Result<Option<Fragment>> {
        let Some(affected) = self
            .options
            .affected_rows
            .as_ref()
            .and_then(|r| r.get(&ours.id))
        else {
            return Ok(None);
        };
        let before = read_deletions(self.store, theirs)?;
        if !before.is_disjoint(affected) {
            return Ok(None);
        }
        let all = before | affected;
        if theirs.physical_rows.is_some_and(|rows| all.len() >= rows) {
            return Ok(None);
        }
        let file = write_deletions(self.store, theirs.id, latest, &all, self.options.sync)?;
        Ok(Some(Fragment {
            deletion: Some(file),
            ..theirs.clone()
        }))
    }

    fn restored(&self) -> Result<Option<Arc<Manifest>>> {
        match self.transaction.operation {
            Operation::Restore { version } => Ok(Some(Snapshot::at(self.store, version)?.manifest)),
            _ => Ok(None),
        }
    }

    fn conflict(&self, version: u64, theirs: &Footprint) -> TableError {
        TableError::new(
            TableErrorKind::CommitConflict,
            format!(
                "this {} was preempted by a concurrent {} in version {version}; do it again on \
                 the newest version",
                self.transaction.operation.name(),
                theirs.name
            ),
        )
        .in_version(version)
    }

    fn incompatible(&self, version: u64, theirs: &Footprint) -> TableError {
        TableError::new(
            TableErrorKind::Incompatible,
            format!(
                "this {} cannot be combined with the concurrent {} in version {version}; look at \
                 the newest version before doing it again",
                self.transaction.operation.name(),
                theirs.name
            ),
        )
        .in_version(version)
    }
}

/// Writes the transaction's file and the manifest; `None` when the version exists by now.
///
/// The transaction is stored twice, as every reader expects at least one copy: without any, other
/// writers cannot tell what the version changed.
fn publish(
    store: &dyn Store,
    naming: Naming,
    manifest: Manifest,
    transaction: &Transaction,
    options: &CommitOptions,
) -> Result<Option<Snapshot>> {
    let path = format!("{TRANSACTIONS}/{}", transaction.file_name());
    store.put(
        &path,
        transaction.to_proto().encode_to_vec().into(),
        options.sync,
    )?;
    let path = naming.manifest(manifest.version);
    match store.put_if_absent(&path, manifest.encode(), options.sync)? {
        PutOutcome::Created => Ok(Some(Snapshot {
            manifest: Arc::new(manifest),
            naming,
        })),
        PutOutcome::AlreadyExists => Ok(None),
    }
}

/// Waits for a random time that grows with the attempts.
fn pause(attempt: u32) {
    let longest = 4u64
        .saturating_mul(1 << attempt.min(8))
        .min(LONGEST_PAUSE_MS);
    thread::sleep(Duration::from_millis(random_id() % longest + 1));
}
