//! Bytes from local disks and object stores. Nothing here knows a file format.
//!
//! Two traits are the whole seam between storage and the layers above:
//!
//! * [`ReadAt`]: one immutable object, read by byte ranges.
//! * [`Store`]: a tree of objects below one root, addressed by relative [paths](crate::path).
//!
//! Both are synchronous. A local disk answers in microseconds, and a task switch per range would
//! cost more than the read; an object store hides its latency by fetching the ranges of one call
//! concurrently on a runtime of its own, which is started when the first remote store is opened.

mod error;
mod read_at;
mod store;

pub use error::{IoError, IoErrorKind, Result};
pub use read_at::ReadAt;
pub use store::{Entry, PutOutcome, Sink, Store};
