//! Relative paths that cannot leave their root.

use std::fmt;

use crate::{IoError, IoErrorKind, Result};

/// The name of an object, or of a directory, below a store's root.
///
/// Paths come from files that anybody may have written, so a path is taken only when every store
/// reads it the same way and none can be led out of its root by it: parts separated by `/`, none
/// of them empty, `.` or `..`; no backslash and no control character; no leading `/`, no drive
/// letter and no URL scheme.
///
/// ```
/// use pennon_io::RelativePath;
///
/// let data = RelativePath::new("data")?;
/// assert_eq!(data.join("a.lance")?.as_str(), "data/a.lance");
/// assert!(data.join("../a.lance").is_err());
/// # Ok::<(), pennon_io::IoError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelativePath(String);

impl RelativePath {
    /// Checks the path of an object.
    ///
    /// # Errors
    ///
    /// [`IoErrorKind::InvalidPath`] when the path breaks one of the rules above.
    pub fn new(path: &str) -> Result<Self> {
        match fault(path) {
            None => Ok(Self(path.to_owned())),
            Some(fault) => Err(IoError::new(
                IoErrorKind::InvalidPath,
                path.escape_debug().to_string(),
                format!("not a path below the root: {fault}"),
            )),
        }
    }

    /// The path of the root itself: the only one without parts.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// Checks the path of a directory; the empty path is the root itself.
    ///
    /// # Errors
    ///
    /// [`IoErrorKind::InvalidPath`] as [`new`](Self::new).
    pub fn directory(path: &str) -> Result<Self> {
        if path.is_empty() {
            Ok(Self::root())
        } else {
            Self::new(path)
        }
    }

    /// The path of `other` below this directory.
    ///
    /// # Errors
    ///
    /// [`IoErrorKind::InvalidPath`] when `other` is not a path by itself.
    pub fn join(&self, other: &str) -> Result<Self> {
        let other = Self::new(other)?;
        if self.0.is_empty() {
            Ok(other)
        } else {
            Ok(Self(format!("{}/{other}", self.0)))
        }
    }

    /// The path with `/` between its parts; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts from the root on.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with a path, if anything.
fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if has_scheme(path) {
        return Some("it has a URL scheme or a drive letter");
    }
    path.split('/').find_map(part_fault)
}

fn part_fault(part: &str) -> Option<&'static str> {
    match part {
        "" => Some("a part is empty"),
        "." | ".." => Some("a part is \".\" or \"..\""),
        _ if part.contains('\\') => Some("it contains a backslash"),
        _ if part.contains(|c: char| c.is_ascii_control()) => {
            Some("it contains a control character")
        }
        _ if starts_with_drive(part) => Some("a part starts with a drive letter"),
        _ => None,
    }
}

/// Whether the text starts with a drive letter as Windows knows it: `C:`.
pub(crate) fn starts_with_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// Whether the first part starts like a URL: `scheme:`.
fn has_scheme(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    first
        .split_once(':')
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

/// Whether the text has the form of a URL scheme: a letter, then letters, digits, `+`, `-`, `.`.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_paths_are_taken_as_they_are() {
        for path in [
            "a",
            "data/a.lance",
            "_versions/1.manifest#1",
            "a b/ü/日本",
            "...",
            "..a",
            ".x",
        ] {
            assert_eq!(RelativePath::new(path).unwrap().as_str(), path);
        }
    }

    #[test]
    fn paths_that_could_leave_the_root_are_refused() {
        let escapes = [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../a",
            "a/..",
            "a/../../b",
            ".",
            "./a",
            "a/./b",
            "a//b",
            "a/",
            "a\\b",
            "\\\\host\\share",
            "C:",
            "C:/a",
            "c:a",
            "a/C:/b",
            "file:///a",
            "s3://b/k",
            "file:a",
            "a\0b",
            "a\nb",
        ];
        for path in escapes {
            let error = RelativePath::new(path).expect_err(path);
            assert_eq!(error.kind(), IoErrorKind::InvalidPath, "{path:?}");
        }
    }

    #[test]
    fn the_empty_directory_is_the_root() {
        let root = RelativePath::directory("").unwrap();
        assert_eq!(root.parts().count(), 0);
        assert_eq!(root.join("a/b").unwrap().as_str(), "a/b");
        assert!(RelativePath::directory("/").is_err());
    }

    proptest! {
        #[test]
        fn an_accepted_path_never_leaves_the_root(path in r"[a-zA-Z:./\\ ]{0,12}") {
            if let Ok(path) = RelativePath::new(&path) {
                let parts: Vec<_> = std::path::Path::new(path.as_str()).components().collect();
                prop_assert_eq!(parts.len(), path.parts().count());
                prop_assert!(parts.iter().all(|c| matches!(c, std::path::Component::Normal(_))));
            }
        }
    }
}
