//! From an address to a store.

use std::sync::{Arc, LazyLock};

use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::path::{is_scheme, starts_with_drive};
use crate::{IoError, IoErrorKind, LocalStore, RemoteStore, Result, Store};

/// What addresses this build opens, for messages.
const SUPPORTED: &str = "this build opens plain paths, file:// URLs and memory:// names";

/// The objects behind `memory://`, which live as long as the process.
static MEMORY: LazyLock<Arc<InMemory>> = LazyLock::new(|| Arc::new(InMemory::new()));

/// Opens the store at an address. Nothing has to exist there yet, and nothing is created.
///
/// | address | store |
/// |---|---|
/// | `relative/path`, `/path`, `C:\path` | a directory, taken literally; a relative path is made absolute |
/// | `file:///path`, `file://localhost/path`, `file:/path` | a directory, percent-decoded |
/// | `memory://name` | objects in this process, the same for the same name |
///
/// ```
/// use pennon_io::open_store;
///
/// assert_eq!(open_store("file:///srv/my%20data")?.root(), open_store("/srv/my data")?.root());
/// # Ok::<(), pennon_io::IoError>(())
/// ```
///
/// # Errors
///
/// [`IoErrorKind::Unsupported`] for any other scheme; [`IoErrorKind::InvalidPath`] for an address
/// that names no place.
pub fn open_store(uri: &str) -> Result<Arc<dyn Store>> {
    match scheme(uri) {
        None => Ok(Arc::new(LocalStore::open(uri)?)),
        Some(("file", rest)) => Ok(Arc::new(LocalStore::open(file_path(uri, rest)?)?)),
        Some(("memory", rest)) => {
            let name = rest.trim_start_matches("//").trim_end_matches('/');
            let memory = Arc::clone(&*MEMORY) as Arc<dyn ObjectStore>;
            Ok(Arc::new(RemoteStore::new(
                memory,
                name,
                format!("memory://{name}"),
            )?))
        }
        // The rest of the address may hold credentials.
        Some((scheme, _)) => Err(IoError::new(
            IoErrorKind::Unsupported,
            format!("{scheme}://"),
            format!("the scheme \"{scheme}\" is not supported; {SUPPORTED}"),
        )),
    }
}

/// The scheme of a URL and what follows its colon: `scheme://…`, or `file:/…` as Java writes it.
/// A single letter is a drive, and everything else is a path.
fn scheme(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let is_url = rest.starts_with("//") || (scheme == "file" && rest.starts_with('/'));
    (is_url && scheme.len() > 1 && is_scheme(scheme)).then_some((scheme, rest))
}

/// The path of a file URL without its scheme.
fn file_path(uri: &str, rest: &str) -> Result<String> {
    let invalid = |message: &str| IoError::new(IoErrorKind::InvalidPath, uri, message);
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => rest
            .strip_prefix("localhost")
            .filter(|p| p.starts_with('/'))
            .unwrap_or(rest),
    };
    if !path.starts_with('/') {
        return Err(invalid("a file URL needs an absolute path: file:///path"));
    }
    if path.contains(['?', '#']) {
        return Err(invalid("in a file URL, write ? as %3F and # as %23"));
    }
    let path =
        percent_decode(path).ok_or_else(|| invalid("a percent sign starts no UTF-8 text"))?;
    match path.strip_prefix('/') {
        Some(drive) if cfg!(windows) && starts_with_drive(drive) => Ok(drive.to_owned()),
        _ => Ok(path),
    }
}

/// Replaces `%41` by `A`; none when a percent sign is not followed by two hexadecimal digits or
/// the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn kind(uri: &str) -> IoErrorKind {
        open_store(uri).expect_err(uri).kind()
    }

    #[cfg(unix)]
    #[test]
    fn file_urls_and_paths_name_the_same_place() {
        for uri in [
            "/a/b c",
            "/a/b c/",
            "file:///a/b%20c",
            "file://localhost/a/b%20c",
            "file:/a/b%20c",
        ] {
            assert_eq!(open_store(uri).unwrap().root(), "/a/b c", "{uri}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_are_taken_literally() {
        let here = std::env::current_dir().unwrap();
        for path in [
            "a%20b", "~", "~/x", "a?b#c", "C:/x", "file:x", "s3:/x", "a/b://c",
        ] {
            let expected: std::path::PathBuf = here.join(path).components().collect();
            assert_eq!(
                open_store(path).unwrap().root(),
                expected.display().to_string()
            );
        }
    }

    #[cfg(windows)]
    #[test]
    fn drive_letters_are_paths() {
        for uri in ["C:\\a\\b", "C:/a/b", "file:///C:/a/b"] {
            assert_eq!(open_store(uri).unwrap().root(), "C:\\a\\b", "{uri}");
        }
    }

    #[test]
    fn file_urls_that_name_no_place_are_refused() {
        for uri in [
            "",
            "file://",
            "file://host/a",
            "file://a/b",
            "file:///a%2",
            "file:///a%zz",
            "file:///%+1",
            "file:///a%ff",
            "file:///a%00b",
            "file:///a?b",
            "file:///a#b",
        ] {
            assert_eq!(kind(uri), IoErrorKind::InvalidPath, "{uri}");
        }
    }

    #[test]
    fn one_memory_name_is_one_store() {
        let put = open_store("memory://one/table").unwrap();
        put.put("a", Bytes::from_static(b"1"), false).unwrap();
        assert_eq!(
            open_store("memory://one/table/").unwrap().get("a").unwrap(),
            "1"
        );
        assert!(open_store("memory://two/table").unwrap().get("a").is_err());
        assert_eq!(
            put.open("a", None).unwrap().location(),
            "memory://one/table/a"
        );
        assert_eq!(kind("memory://../a"), IoErrorKind::InvalidPath);
    }

    #[test]
    fn other_schemes_are_refused_by_name_and_without_secrets() {
        let error = open_store("s3://key:secret@bucket/table?sig=secret").unwrap_err();
        assert_eq!(error.kind(), IoErrorKind::Unsupported);
        let message = error.to_string();
        assert!(
            message.contains("\"s3\"") && message.contains("memory://"),
            "{message}"
        );
        assert!(!message.contains("secret"), "{message}");
    }
}
