//! Creating a file only when nobody else has: the step on which commits rest.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::folder;
use super::temporary::Temporary;
use crate::PutOutcome;

/// Writes the bytes beside `target`, then gives them the final name by a hard link, which the
/// file system grants to exactly one caller and only for a complete file.
pub(crate) fn put_if_absent(target: &Path, bytes: &[u8], sync: bool) -> io::Result<PutOutcome> {
    put_by_link(target, bytes, sync, Temporary::link)
}

fn put_by_link(
    target: &Path,
    bytes: &[u8],
    sync: bool,
    link: impl Fn(&Temporary, &Path) -> io::Result<()>,
) -> io::Result<PutOutcome> {
    if fs::symlink_metadata(target).is_ok() {
        return Ok(PutOutcome::AlreadyExists);
    }
    let ((temporary, mut file), changed) =
        folder::with_folder(target, || Temporary::numbered(target))?;
    write_all(&mut file, bytes, sync)?;
    drop(file);
    let linked = match link(&temporary, target) {
        Err(e) if lacks_links(&e) => put_directly(target, bytes, sync),
        linked => linked,
    };
    drop(temporary);
    match linked {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(PutOutcome::AlreadyExists),
        linked => linked?,
    }
    if sync {
        folder::sync(&changed)?;
    }
    Ok(PutOutcome::Created)
}

/// Whether the file system cannot link files, as opposed to this link having failed.
fn lacks_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::Unsupported
    )
}

/// The way for file systems without hard links: still one winner, but a reader may meet the file
/// while it is being written.
fn put_directly(target: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let mut file = File::create_new(target)?;
    write_all(&mut file, bytes, sync).inspect_err(|_| {
        // The first failure is the one to report.
        let _ = fs::remove_file(target);
    })
}

fn write_all(file: &mut File, bytes: &[u8], sync: bool) -> io::Result<()> {
    file.write_all(bytes)?;
    if sync { file.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn nothing_but_the_object_remains() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        for (bytes, outcome) in [
            (b"1", PutOutcome::Created),
            (b"2", PutOutcome::AlreadyExists),
        ] {
            assert_eq!(put_if_absent(&target, bytes, true).unwrap(), outcome);
            assert_eq!(fs::read(&target).unwrap(), b"1");
            assert_eq!(names(folder.path()), ["a"]);
        }
    }

    #[test]
    fn a_rival_that_links_first_wins() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let rival = |temporary: &Temporary, target: &Path| {
            fs::write(target, "rival")?;
            temporary.link(target)
        };
        let outcome = put_by_link(&target, b"late", false, rival).unwrap();
        assert_eq!(outcome, PutOutcome::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"rival");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn file_systems_without_links_still_have_one_winner() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::Unsupported] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("a");
            let no_links = |_: &Temporary, _: &Path| Err(kind.into());
            let outcome = put_by_link(&target, b"1", true, no_links).unwrap();
            assert_eq!(outcome, PutOutcome::Created);
            assert_eq!(names(folder.path()), ["a"]);

            fs::remove_file(&target).unwrap();
            let late = |_: &Temporary, target: &Path| {
                fs::write(target, "rival")?;
                Err(kind.into())
            };
            let outcome = put_by_link(&target, b"2", true, late).unwrap();
            assert_eq!(outcome, PutOutcome::AlreadyExists);
            assert_eq!(fs::read(&target).unwrap(), b"rival");
        }
    }

    #[test]
    fn other_failures_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        let failing = |_: &Temporary, _: &Path| Err(ErrorKind::StorageFull.into());
        let error = put_by_link(&target, b"1", false, failing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(names(folder.path()).is_empty());
    }
}
