//! Files under a passing name.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How many names are tried before we give up.
const ATTEMPTS: u32 = 1024;

/// A file that is removed when this is dropped, unless it was moved to its final name.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: Option<PathBuf>,
}

impl Temporary {
    /// A new file `.tmpXXXXXX`, with six random letters and digits, in the folder of `target`.
    pub(crate) fn beside(target: &Path) -> io::Result<(Self, File)> {
        Self::first_free(|_| target.with_file_name(format!(".tmp{}", random_letters())))
    }

    /// A new file `{target}#1`, or with the next number that is free.
    pub(crate) fn numbered(target: &Path) -> io::Result<(Self, File)> {
        Self::first_free(|attempt| {
            let mut name = target.as_os_str().to_owned();
            name.push(format!("#{attempt}"));
            PathBuf::from(name)
        })
    }

    fn first_free(name: impl Fn(u32) -> PathBuf) -> io::Result<(Self, File)> {
        for attempt in 1..=ATTEMPTS {
            let path = name(attempt);
            match File::create_new(&path) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|file| (Self { path: Some(path) }, file)),
            }
        }
        Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "every temporary name is taken",
        ))
    }

    /// Moves the file to its final name, replacing what is there.
    pub(crate) fn rename(mut self, target: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            fs::rename(path, target)?;
        }
        self.path = None;
        Ok(())
    }

    /// Gives the file a second, final name; `AlreadyExists` when that name is taken.
    pub(crate) fn link(&self, target: &Path) -> io::Result<()> {
        self.path
            .as_ref()
            .map_or(Ok(()), |path| fs::hard_link(path, target))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Nobody is left to hear of a failure; readers ignore what remains.
            let _ = fs::remove_file(path);
        }
    }
}

/// Six letters and digits from the randomness of the standard library's hash maps, which the
/// operating system provides. The process is mixed in because a forked child inherits that state.
fn random_letters() -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let mut bits = hasher.finish();
    let mut letters = String::with_capacity(6);
    for _ in 0..6 {
        let index = usize::try_from(bits % 62).unwrap_or_default();
        letters.push(char::from(ALPHABET[index]));
        bits /= 62;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_names_have_six_letters_and_differ() {
        let names: std::collections::HashSet<_> = (0..100).map(|_| random_letters()).collect();
        assert_eq!(names.len(), 100);
        assert!(
            names
                .iter()
                .all(|n| n.len() == 6 && n.bytes().all(|b| b.is_ascii_alphanumeric()))
        );
    }

    #[test]
    fn a_dropped_file_is_gone_and_a_renamed_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        drop(Temporary::beside(&target).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        Temporary::beside(&target)
            .unwrap()
            .0
            .rename(&target)
            .unwrap();
        assert!(target.exists());
    }

    #[test]
    fn numbers_count_past_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("1.manifest");
        fs::write(folder.path().join("1.manifest#1"), "left behind").unwrap();
        let (temporary, _file) = Temporary::numbered(&target).unwrap();
        assert_eq!(temporary.path, Some(folder.path().join("1.manifest#2")));
    }
}
