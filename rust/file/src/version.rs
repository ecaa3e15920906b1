//! File versions, and the three ways in which they are spelt.

use std::fmt;
use std::str::FromStr;

use crate::{FileError, FileErrorKind};

/// A version of the file format that this build knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileVersion {
    /// 0.1, also called legacy: pages of plain values. It is read and not written.
    V0_1,
    /// 2.0: array encodings, one column per struct header and list.
    V2_0,
    /// 2.1: structural layouts with repetition and definition levels.
    V2_1,
    /// 2.2: as 2.1, with wide chunk words, constant pages, maps and packed variable structs.
    V2_2,
}

impl FileVersion {
    /// What new datasets are written as.
    pub const DEFAULT: Self = Self::V2_2;

    /// The pair of numbers in a file's footer. 2.0 says (0, 3) there, for history's sake.
    pub fn footer_pair(self) -> (u16, u16) {
        match self {
            Self::V0_1 => (0, 2),
            Self::V2_0 => (0, 3),
            Self::V2_1 => (2, 1),
            Self::V2_2 => (2, 2),
        }
    }

    /// The version that a footer's pair of numbers names, if it is one of ours.
    pub fn from_footer_pair(major: u16, minor: u16) -> Option<Self> {
        match (major, minor) {
            (0, 3) | (2, 0) => Some(Self::V2_0),
            (2, 1) => Some(Self::V2_1),
            (2, 2) => Some(Self::V2_2),
            _ => None,
        }
    }

    /// The pair of numbers in a manifest's entry for a data file.
    pub fn manifest_pair(self) -> (u32, u32) {
        match self {
            Self::V0_1 => (0, 2),
            Self::V2_0 => (2, 0),
            Self::V2_1 => (2, 1),
            Self::V2_2 => (2, 2),
        }
    }

    /// The version that a manifest's pair of numbers names, if it is one of ours.
    pub fn from_manifest_pair(major: u32, minor: u32) -> Option<Self> {
        match (major, minor) {
            (2, 0) | (0, 3) => Some(Self::V2_0),
            (2, 1) => Some(Self::V2_1),
            (2, 2) => Some(Self::V2_2),
            _ => None,
        }
    }

    /// The name in a manifest's data format and in the `data_storage_version` option.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V2_0 => "2.0",
            Self::V2_1 => "2.1",
            Self::V2_2 => "2.2",
        }
    }
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FileVersion {
    type Err = FileError;

    /// Reads a version's name or one of its aliases (`stable`, and `0.3` for 2.0).
    fn from_str(name: &str) -> Result<Self, FileError> {
        match name {
            "2.0" | "0.3" => Ok(Self::V2_0),
            "2.1" => Ok(Self::V2_1),
            "2.2" | "stable" => Ok(Self::V2_2),
            other => Err(FileError::new(
                FileErrorKind::Unsupported,
                format!(
                    "data storage version '{other}' is not supported: this release writes \
                     2.0, 2.1 and 2.2 (alias 'stable')"
                ),
            )),
        }
    }
}
