//! Folders: made on demand, and brought to the disk.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Runs `create`, which makes something in the folder of `target`, and makes the folder first
/// when it is missing. Also returns the folders that gained an entry that way: they belong to the
/// disk with the object.
pub(crate) fn with_folder<T>(
    target: &Path,
    create: impl Fn() -> io::Result<T>,
) -> io::Result<(T, Vec<PathBuf>)> {
    let mut changed: Vec<PathBuf> = target.parent().map(PathBuf::from).into_iter().collect();
    let created = match (create(), target.parent()) {
        (Err(e), Some(folder)) if e.kind() == ErrorKind::NotFound => {
            changed.extend(make(folder)?);
            create()?
        }
        (created, _) => created?,
    };
    Ok((created, changed))
}

/// Makes a folder with its parents and returns the folders in which one was missing.
fn make(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|path| !path.exists())
        .collect();
    fs::create_dir_all(folder)?;
    Ok(missing
        .into_iter()
        .filter_map(Path::parent)
        .map(PathBuf::from)
        .collect())
}

/// Brings the entries of folders to the disk.
#[cfg(unix)]
pub(crate) fn sync(folders: &[PathBuf]) -> io::Result<()> {
    folders
        .iter()
        .try_for_each(|folder| fs::File::open(folder)?.sync_all())
}

/// Windows keeps the entries of folders by itself, and cannot open a folder as a file.
#[cfg(windows)]
pub(crate) fn sync(_folders: &[PathBuf]) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_that_gained_an_entry_is_named() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a/b/c");
        let write = || fs::write(&target, "x");
        let ((), changed) = with_folder(&target, write).unwrap();
        let paths = ["a/b", "a", ""].map(|p| root.path().join(p).components().collect::<PathBuf>());
        assert_eq!(changed, paths);
        sync(&changed).unwrap();

        let ((), changed) = with_folder(&target, write).unwrap();
        assert_eq!(changed, [root.path().join("a/b")]);
    }
}
