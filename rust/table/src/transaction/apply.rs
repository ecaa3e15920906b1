//! From the newest manifest and an operation to the next manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use pennon_file::FileVersion;
use pennon_proto::table as proto;
use prost::Message;

use super::{Operation, Transaction};
use crate::fragment::{DataFile, Fragment};
use crate::manifest::Manifest;
use crate::{Result, TableError, features};

/// The manifest that follows `latest` once `transaction` is applied. `restored` is the version
/// that a Restore brings back.
pub(super) fn next_manifest(
    latest: Option<&Manifest>,
    transaction: &Transaction,
    restored: Option<&Manifest>,
    data_version: Option<FileVersion>,
) -> Result<Manifest> {
    let version = latest.map_or(1, |manifest| manifest.version + 1);
    let mut next = match (latest, &transaction.operation) {
        (None, Operation::Overwrite { .. }) => empty(data_version.unwrap_or(FileVersion::DEFAULT)),
        (None, operation) => {
            return Err(TableError::invalid_input(format!(
                "a dataset begins with an Overwrite, not with a {}",
                operation.name()
            )));
        }
        (Some(latest), Operation::Restore { .. }) => bring_back(latest, restored)?,
        (Some(latest), _) => latest.clone(),
    };
    next.version = version;
    next.timestamp = SystemTime::now();
    apply(&mut next, &transaction.operation, data_version)?;
    let mixed = has_other_versions(&next);
    let fragments = next.fragments.iter().map(Fragment::to_proto).collect();
    next.rest.fragments = fragments;
    features::refresh(&mut next.rest, mixed);
    next.rest.fragments = Vec::new();
    next.rest.transaction_file = transaction.file_name();
    next.rest.writer_version = Some(writer_version());
    next.transaction = Some(transaction.to_proto().encode_to_vec().into());
    Ok(next)
}

fn empty(version: FileVersion) -> Manifest {
    Manifest {
        version: 0,
        schema: pennon_file::Schema::default(),
        fragments: Arc::default(),
        timestamp: SystemTime::now(),
        rest: proto::Manifest {
            data_format: Some(data_format(version)),
            ..Default::default()
        },
        indices: Vec::new(),
        transaction: None,
    }
}

fn apply(
    next: &mut Manifest,
    operation: &Operation,
    data_version: Option<FileVersion>,
) -> Result<()> {
    match operation {
        Operation::Append { fragments } => {
            // Files of today do not go beside those of 0.1.
            next.data_version()?;
            let new = admit(next, fragments)?;
            Arc::make_mut(&mut next.fragments).extend(new);
        }
        Operation::Overwrite { schema, fragments } => {
            if let Some(version) = data_version.or_else(|| newest_version(fragments)) {
                next.rest.data_format = Some(data_format(version));
            }
            next.rest.max_fragment_id = next.max_fragment_id();
            next.indices.clear();
            next.schema = schema.clone();
            next.fragments = Arc::default();
            next.fragments = Arc::new(admit(next, fragments)?);
        }
        Operation::Delete {
            updated_fragments,
            deleted_fragment_ids,
            ..
        } => {
            delete(next, updated_fragments, deleted_fragment_ids)?;
        }
        Operation::Restore { .. } => {}
    }
    next.rest.max_fragment_id = next.max_fragment_id();
    Ok(())
}

/// Gives new fragments their ids and, where rows have stable ids, the rows theirs.
fn admit(next: &mut Manifest, fragments: &[Fragment]) -> Result<Vec<Fragment>> {
    let too_many = || TableError::invalid_input("the dataset has no fragment ids left");
    let mut id = next
        .max_fragment_id()
        .map_or(Some(0), |id| id.checked_add(1));
    let mut admitted = Vec::with_capacity(fragments.len());
    for fragment in fragments {
        let mut fragment = fragment.clone();
        let given = id.ok_or_else(too_many)?;
        fragment.id = u64::from(given);
        id = given.checked_add(1);
        if next.uses_stable_row_ids() {
            let rows = fragment.physical_rows.ok_or_else(|| {
                TableError::invalid_input("a new fragment must know its number of rows")
            })?;
            fragment.assign_row_ids(next.rest.next_row_id, rows, next.version);
            next.rest.next_row_id += rows;
        }
        admitted.push(fragment);
    }
    Ok(admitted)
}

fn delete(next: &mut Manifest, updated: &[Fragment], gone: &[u64]) -> Result<()> {
    let mut updated: BTreeMap<u64, &Fragment> = updated.iter().map(|f| (f.id, f)).collect();
    let gone: BTreeSet<u64> = gone.iter().copied().collect();
    let mut fragments = Vec::with_capacity(next.fragments.len());
    for fragment in next
        .fragments
        .iter()
        .filter(|fragment| !gone.contains(&fragment.id))
    {
        match updated.remove(&fragment.id) {
            Some(changed) => fragments.push(changed.clone()),
            None => fragments.push(fragment.clone()),
        }
    }
    match updated.keys().next() {
        Some(id) => Err(TableError::invalid_input(format!(
            "the operation updates fragment {id}, which the dataset does not have"
        ))),
        None => {
            next.fragments = Arc::new(fragments);
            Ok(())
        }
    }
}

/// An older version as the newest: all of it, but for the counters, which never go back.
fn bring_back(latest: &Manifest, restored: Option<&Manifest>) -> Result<Manifest> {
    let mut next = restored
        .ok_or_else(|| TableError::invalid_input("the version to restore does not exist"))?
        .clone();
    next.rest.max_fragment_id = next.max_fragment_id().max(latest.max_fragment_id());
    next.rest.next_row_id = next.rest.next_row_id.max(latest.rest.next_row_id);
    Ok(next)
}

/// Whether a data file's version differs from the one that the manifest names.
fn has_other_versions(manifest: &Manifest) -> bool {
    let Ok(version) = manifest.data_version() else {
        return false;
    };
    let mut files = manifest
        .fragments
        .iter()
        .flat_map(|fragment| &fragment.files);
    files.any(|file| file.version().is_some_and(|other| other != version))
}

/// The newest of the versions of the fragments' files: what a dataset made of them is called.
fn newest_version(fragments: &[Fragment]) -> Option<FileVersion> {
    let files = fragments.iter().flat_map(|fragment| &fragment.files);
    files.filter_map(DataFile::version).max()
}

fn data_format(version: FileVersion) -> proto::DataStorageFormat {
    proto::DataStorageFormat {
        file_format: "lance".to_owned(),
        version: version.to_string(),
    }
}

fn writer_version() -> proto::WriterVersion {
    proto::WriterVersion {
        library: "pennon".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        prerelease: None,
        build_metadata: None,
    }
}
