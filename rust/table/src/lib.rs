//! A Lance dataset's versions: manifests, fragments, deletion vectors, transactions and commits.
//!
//! [`Snapshot`] is one version; [`commit`] makes the next one out of a [`Transaction`]. Nothing
//! here knows SQL or the inside of a data file.

mod deletion;
mod error;
mod features;
mod fragment;
mod manifest;
mod paths;
mod snapshot;
mod transaction;

pub use deletion::{read_deletions, write_deletions};
pub use error::{Result, TableError, TableErrorKind};
pub use fragment::{DataFile, DeletionFile, DeletionFileType, Fragment};
pub use manifest::Manifest;
pub use paths::data_file_name;
pub use snapshot::{Snapshot, VersionInfo, latest_version, version_details};
pub use transaction::{CommitOptions, Operation, Transaction, commit};
