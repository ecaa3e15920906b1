//! Reading a file at a position, into memory that is not zeroed first where the system lets us.

use std::fs::File;
use std::io::{self, ErrorKind};

/// Exactly `len` bytes from `offset` on; fewer are an error of kind `UnexpectedEof`.
///
/// The caller has checked that the range lies within the file.
pub(crate) fn read_exact_at(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(len)
        .map_err(|e| io::Error::new(ErrorKind::OutOfMemory, e))?;
    fill(file, offset, len, &mut buffer)?;
    Ok(buffer)
}

/// The position `done` bytes after `offset`.
fn advance(offset: u64, done: usize) -> io::Result<u64> {
    offset
        .checked_add(done as u64)
        .ok_or_else(|| ErrorKind::InvalidInput.into())
}

#[cfg(unix)]
fn fill(file: &File, offset: u64, len: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    use rustix::buffer::spare_capacity;
    use rustix::io::{pread, retry_on_intr};

    while buffer.len() < len {
        let position = advance(offset, buffer.len())?;
        if retry_on_intr(|| pread(file, spare_capacity(buffer), position))? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    // The allocator may have reserved more than it was asked for, and then more was read.
    buffer.truncate(len);
    Ok(())
}

#[cfg(windows)]
fn fill(file: &File, offset: u64, len: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    // Windows offers no stable way to read into uninitialised memory.
    buffer.resize(len, 0);
    let mut done = 0;
    while done < len {
        match file.seek_read(&mut buffer[done..], advance(offset, done)?) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => done += read,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn reads_exactly_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"0123456789").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(read_exact_at(&file, 3, 4).unwrap(), b"3456");
        assert_eq!(read_exact_at(&file, 0, 10).unwrap(), b"0123456789");
        assert_eq!(read_exact_at(&file, 10, 0).unwrap(), b"");
    }

    #[test]
    fn a_file_that_shrank_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"0123").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(
            read_exact_at(&file, 2, 3).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
    }
}
