//! Feature flags: what a reader or writer of a dataset must understand.

use pennon_proto::table as proto;

use crate::{Result, TableError};

pub(crate) const DELETION_FILES: u64 = 1;
pub(crate) const STABLE_ROW_IDS: u64 = 2;
const V2_FILES: u64 = 4;
const TABLE_CONFIG: u64 = 8;
const BASE_PATHS: u64 = 16;
const NO_TRANSACTION_FILE: u64 = 32;
const COVERING_INDEX: u64 = 128;
/// Data files of several 2.x versions. Set in both words, and never taken back.
pub(crate) const MIXED_FILE_VERSIONS: u64 = 256;

/// What this release understands when it reads.
const READABLE: u64 = DELETION_FILES
    | STABLE_ROW_IDS
    | V2_FILES
    | TABLE_CONFIG
    | BASE_PATHS
    | NO_TRANSACTION_FILE
    | COVERING_INDEX
    | MIXED_FILE_VERSIONS;

/// What this release understands when it writes.
const WRITABLE: u64 = READABLE;

/// Refuses a dataset that needs more than this release can read.
pub(crate) fn check_readable(manifest: &proto::Manifest) -> Result<()> {
    check_paired(manifest)?;
    check(manifest.reader_feature_flags, READABLE, "read")
}

/// Refuses to change a dataset that needs more than this release can write.
pub(crate) fn check_writable(manifest: &proto::Manifest) -> Result<()> {
    check(manifest.writer_feature_flags, WRITABLE, "changed")
}

fn check(flags: u64, known: u64, verb: &str) -> Result<()> {
    let unknown = flags & !known;
    if unknown == 0 {
        return Ok(());
    }
    let bits: Vec<String> = (0..u64::BITS)
        .filter(|bit| unknown >> bit & 1 == 1)
        .map(|bit| bit.to_string())
        .collect();
    Err(TableError::unsupported(format!(
        "the dataset uses features that this release does not know (feature flags {}), so it \
         cannot be {verb}; a newer release may know them",
        bits.join(", ")
    )))
}

fn check_paired(manifest: &proto::Manifest) -> Result<()> {
    let (reader, writer) = (manifest.reader_feature_flags, manifest.writer_feature_flags);
    if (reader ^ writer) & MIXED_FILE_VERSIONS != 0 {
        return Err(TableError::corrupt(
            "the feature flag for mixed file versions is set for readers or writers only",
        ));
    }
    Ok(())
}

/// Sets the flags that follow from a manifest's content, and keeps those that never go away.
pub(crate) fn refresh(manifest: &mut proto::Manifest, mixed_versions: bool) {
    let deletions = manifest
        .fragments
        .iter()
        .any(|fragment| fragment.deletion_file.is_some());
    let sticky = manifest.reader_feature_flags & (STABLE_ROW_IDS | COVERING_INDEX);
    let mixed = mixed_versions || manifest.reader_feature_flags & MIXED_FILE_VERSIONS != 0;
    let when = |condition: bool, flag: u64| if condition { flag } else { 0 };
    let both = sticky
        | when(deletions, DELETION_FILES)
        | when(!manifest.base_paths.is_empty(), BASE_PATHS)
        | when(mixed, MIXED_FILE_VERSIONS);
    manifest.reader_feature_flags = both;
    manifest.writer_feature_flags = both | when(!manifest.config.is_empty(), TABLE_CONFIG);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_flags(reader: u64, writer: u64) -> proto::Manifest {
        proto::Manifest {
            reader_feature_flags: reader,
            writer_feature_flags: writer,
            ..proto::Manifest::default()
        }
    }

    #[test]
    fn unknown_flags_are_refused_by_number() {
        let error = check_readable(&with_flags(1 << 12 | 1 << 20, 0))
            .unwrap_err()
            .to_string();
        assert!(error.contains("12, 20"), "{error}");
        assert!(check_readable(&with_flags(0, 1 << 20)).is_ok());
        assert!(check_writable(&with_flags(0, 1 << 20)).is_err());
    }

    #[test]
    fn a_flag_that_must_be_set_twice_is_checked() {
        assert!(check_readable(&with_flags(256, 0)).is_err());
        assert!(check_readable(&with_flags(256, 256)).is_ok());
    }

    #[test]
    fn the_deletion_flag_goes_with_the_last_deletion_file() {
        let mut manifest = with_flags(DELETION_FILES | 256, DELETION_FILES | 256);
        refresh(&mut manifest, false);
        assert_eq!(manifest.reader_feature_flags, MIXED_FILE_VERSIONS);
        assert_eq!(manifest.writer_feature_flags, MIXED_FILE_VERSIONS);
    }
}
