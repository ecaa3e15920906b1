//! Finding and reading versions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use pennon_io::{IoErrorKind, ReadAt, Store};

use crate::manifest::Manifest;
use crate::paths::{Naming, VERSIONS};
use crate::{Result, TableError, TableErrorKind};

/// How much of a manifest's end is read at first.
const FIRST_READ: u64 = 64 * 1024;

/// One version of a dataset.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// What the version consists of.
    pub manifest: Arc<Manifest>,
    pub(crate) naming: Naming,
}

/// What a listing of versions tells of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionInfo {
    /// The version's number.
    pub version: u64,
    /// When it was made, by its writer's clock.
    pub timestamp: SystemTime,
    /// Counts by name, as text: fragments, files, rows, bytes.
    pub metadata: BTreeMap<String, String>,
}

/// The manifests that a listing shows.
struct Listing {
    naming: Naming,
    /// Version and size, newest first.
    manifests: Vec<(u64, u64)>,
}

impl Snapshot {
    /// The newest version: one listing and one read.
    ///
    /// # Errors
    ///
    /// When there is no dataset, or its newest manifest cannot be read.
    pub fn latest(store: &dyn Store) -> Result<Self> {
        let listing = Listing::of(store)?;
        match listing.manifests.first() {
            Some(&(version, size)) => read(store, listing.naming, version, Some(size)),
            None => Err(not_found(store)),
        }
    }

    /// A version by its number: one read.
    ///
    /// # Errors
    ///
    /// When there is no such version, or its manifest cannot be read.
    pub fn at(store: &dyn Store, version: u64) -> Result<Self> {
        match find(store, version)? {
            Some(snapshot) => Ok(snapshot),
            None => {
                let listing = Listing::of(store)?;
                let Some(&(newest, _)) = listing.manifests.first() else {
                    return Err(not_found(store));
                };
                Err(TableError::new(
                    TableErrorKind::VersionNotFound,
                    format!("there is no version {version}; the newest is {newest}"),
                )
                .at(store.root())
                .in_version(version))
            }
        }
    }
}

/// The version with this number, or `None` when its manifest does not exist.
pub(crate) fn find(store: &dyn Store, version: u64) -> Result<Option<Snapshot>> {
    for naming in [Naming::V2, Naming::V1] {
        match read(store, naming, version, None) {
            Err(error) if error.kind() == TableErrorKind::Io(IoErrorKind::NotFound) => {}
            found => return found.map(Some),
        }
    }
    Ok(None)
}

/// The number of the newest version: one listing.
///
/// # Errors
///
/// When there is no dataset.
pub fn latest_version(store: &dyn Store) -> Result<u64> {
    let listing = Listing::of(store)?;
    listing
        .manifests
        .first()
        .map(|(version, _)| *version)
        .ok_or_else(|| not_found(store))
}

/// All versions that can be opened, oldest first, with what their manifests tell.
///
/// # Errors
///
/// When there is no dataset, or a manifest cannot be read. A manifest that is cleaned up while
/// the list is made is left out.
pub fn version_details(store: &dyn Store) -> Result<Vec<VersionInfo>> {
    let listing = Listing::of(store)?;
    if listing.manifests.is_empty() {
        return Err(not_found(store));
    }
    let mut versions = Vec::with_capacity(listing.manifests.len());
    for &(version, size) in listing.manifests.iter().rev() {
        match read(store, listing.naming, version, Some(size)) {
            Ok(snapshot) => versions.push(describe(&snapshot.manifest)),
            Err(error) if error.kind() == TableErrorKind::Io(IoErrorKind::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(versions)
}

fn describe(manifest: &Manifest) -> VersionInfo {
    let mut counts = BTreeMap::from([
        ("total_fragments", manifest.fragments.len() as u64),
        ("total_data_files", 0),
        ("total_data_file_rows", 0),
        ("total_files_size", 0),
        ("total_deletion_files", 0),
        ("total_deletion_file_rows", 0),
        ("total_rows", 0),
    ]);
    let mut add = |name, count: u64| {
        let total = counts.entry(name).or_insert(0);
        *total = total.saturating_add(count);
    };
    for fragment in manifest.fragments.iter() {
        let rows = fragment.physical_rows.unwrap_or(0);
        let deleted = fragment
            .deletion
            .as_ref()
            .map(|file| file.num_deleted_rows.unwrap_or(0));
        add("total_data_files", fragment.files.len() as u64);
        add("total_data_file_rows", rows);
        add(
            "total_files_size",
            fragment.files.iter().filter_map(|file| file.size).sum(),
        );
        add("total_deletion_files", u64::from(deleted.is_some()));
        add("total_deletion_file_rows", deleted.unwrap_or(0));
        add("total_rows", rows.saturating_sub(deleted.unwrap_or(0)));
    }
    let text = |(name, count): (&str, u64)| (name.to_owned(), count.to_string());
    VersionInfo {
        version: manifest.version,
        timestamp: manifest.timestamp,
        metadata: counts.into_iter().map(text).collect(),
    }
}

impl Listing {
    fn of(store: &dyn Store) -> Result<Self> {
        let mut naming = None;
        let mut manifests = Vec::new();
        for entry in store.list(VERSIONS)? {
            let Some((scheme, version)) = Naming::parse(&entry.path) else {
                continue;
            };
            if *naming.get_or_insert(scheme) != scheme {
                return Err(TableError::corrupt(
                    "the dataset has manifests under both naming schemes, so its newest version \
                     is not certain; open a version by its number",
                )
                .at(store.root()));
            }
            manifests.push((version, entry.size));
        }
        manifests.sort_unstable_by(|a, b| b.cmp(a));
        Ok(Self {
            naming: naming.unwrap_or(Naming::V2),
            manifests,
        })
    }
}

fn read(store: &dyn Store, naming: Naming, version: u64, size: Option<u64>) -> Result<Snapshot> {
    let path = naming.manifest(version);
    let file = store.open(&path, size)?;
    let manifest = read_manifest(file.as_ref())
        .map_err(|error| error.at(file.location()).in_version(version))?;
    Ok(Snapshot {
        manifest: Arc::new(manifest),
        naming,
    })
}

fn read_manifest(file: &dyn ReadAt) -> Result<Manifest> {
    let size = file.len()?;
    let mut offset = size.saturating_sub(FIRST_READ);
    let mut end = file.read(offset..size)?;
    while offset > 0 {
        let start = Manifest::start(&end, offset, size)?;
        if start >= offset {
            break;
        }
        let missing = Manifest::position(&end, size)?.min(start);
        offset = missing;
        end = file.read(offset..size)?;
    }
    Manifest::decode(&end, offset, size)
}

fn not_found(store: &dyn Store) -> TableError {
    let message = "there is no dataset here: no manifest under '_versions'";
    TableError::new(TableErrorKind::DatasetNotFound, message).at(store.root())
}
