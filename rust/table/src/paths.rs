//! The names of a dataset's objects.

use uuid::Uuid;

use crate::{Result, TableError};

pub(crate) const VERSIONS: &str = "_versions";
pub(crate) const TRANSACTIONS: &str = "_transactions";
pub(crate) const DELETIONS: &str = "_deletions";

/// How a dataset names its manifests. Fixed when the dataset is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// `{version}.manifest`
    V1,
    /// `{2^64 - 1 - version, 20 digits}.manifest`: the newest one is listed first.
    V2,
}

impl Naming {
    /// The path of a version's manifest.
    pub(crate) fn manifest(self, version: u64) -> String {
        match self {
            Self::V1 => format!("{VERSIONS}/{version}.manifest"),
            Self::V2 => format!("{VERSIONS}/{:020}.manifest", u64::MAX - version),
        }
    }

    /// The naming and the version that a path below `_versions` stands for; `None` for anything
    /// else that may lie there.
    pub(crate) fn parse(path: &str) -> Option<(Self, u64)> {
        let name = path.rsplit('/').next()?;
        let stem = name.strip_suffix(".manifest")?;
        if stem.is_empty() || !stem.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: u64 = stem.parse().ok()?;
        match stem.len() {
            20 => Some((Self::V2, u64::MAX - number)),
            _ => Some((Self::V1, number)),
        }
    }
}

/// A fresh name for a data file: 24 binary digits, so that object stores spread the files over
/// their partitions, then 26 hexadecimal ones.
pub fn data_file_name() -> String {
    let bytes = Uuid::new_v4().into_bytes();
    let (head, tail) = bytes.split_at(3);
    let bits = head.iter().map(|byte| format!("{byte:08b}"));
    let digits = tail.iter().map(|byte| format!("{byte:02x}"));
    bits.chain(digits).chain([".lance".to_owned()]).collect()
}

/// A random number for a deletion file's name.
pub(crate) fn random_id() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

/// Checks a path that a manifest gives: relative, below its directory.
pub(crate) fn check_relative(path: &str) -> Result<()> {
    pennon_io::RelativePath::new(path)
        .map(drop)
        .map_err(|error| {
            TableError::corrupt(format!(
                "the manifest names a file outside of the dataset: {error}"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_named_newest_first() {
        assert_eq!(
            Naming::V2.manifest(1),
            "_versions/18446744073709551614.manifest"
        );
        assert_eq!(Naming::V1.manifest(12), "_versions/12.manifest");
        for naming in [Naming::V1, Naming::V2] {
            assert_eq!(Naming::parse(&naming.manifest(77)), Some((naming, 77)));
        }
    }

    #[test]
    fn other_files_among_the_manifests_are_ignored() {
        for name in [
            "latest_version_hint.json",
            "1.manifest#1",
            "d9.manifest",
            ".manifest",
            ".tmpA",
        ] {
            assert_eq!(Naming::parse(&format!("_versions/{name}")), None);
        }
    }

    #[test]
    fn data_file_names_have_the_format_s_shape() {
        let name = data_file_name();
        let (bits, rest) = name.split_at(24);
        assert!(bits.bytes().all(|b| b == b'0' || b == b'1'));
        let digits = rest.strip_suffix(".lance").unwrap();
        assert!(digits.len() == 26 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
