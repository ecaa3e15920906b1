//! Bytes from local disks and object stores. Nothing here knows a file format.
//!
//! Two traits are the whole seam between storage and the layers above:
//!
//! * [`ReadAt`]: one immutable object, read by byte ranges.
//! * [`Store`]: a tree of objects below one root, addressed by [relative paths](RelativePath).
//!
//! Both are synchronous. A local disk answers in microseconds, and a task switch per range would
//! cost more than the read; an object store hides its latency by fetching the ranges of one call
//! concurrently on a runtime of its own, which is started by the first request to a remote store.
//!
//! ```
//! use bytes::Bytes;
//! use pennon_io::{PutOutcome, open_store};
//!
//! let store = open_store("memory://example")?;
//! store.put("letters/abc", Bytes::from_static(b"abcdef"), false)?;
//! assert_eq!(store.open("letters/abc", None)?.read(2..4)?, "cd");
//!
//! let again = store.put_if_absent("letters/abc", Bytes::new(), false)?;
//! assert_eq!(again, PutOutcome::AlreadyExists);
//! # Ok::<(), pennon_io::IoError>(())
//! ```

mod address;
mod coalesce;
mod error;
mod local;
mod path;
mod read_at;
mod remote;
mod store;

pub use address::open_store;
pub use error::{IoError, IoErrorKind, Result};
pub use local::LocalStore;
pub use path::RelativePath;
pub use read_at::ReadAt;
pub use remote::RemoteStore;
pub use store::{Entry, PutOutcome, Sink, Store};
