//! One immutable object, read by byte ranges.

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

use crate::Result;

/// An object whose bytes do not change and can be read from any position.
///
/// Implementations never return fewer bytes than asked for: a range that reaches past the end is
/// an error of kind [`IoErrorKind::OutOfRange`](crate::IoErrorKind::OutOfRange).
pub trait ReadAt: Debug + Send + Sync {
    /// The absolute path or URL, for messages.
    fn location(&self) -> &str;

    /// The object's length in bytes.
    fn len(&self) -> Result<u64>;

    /// Whether the object has no bytes.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The bytes of one range.
    fn read(&self, range: Range<u64>) -> Result<Bytes>;

    /// The bytes of several ranges, in the order given.
    ///
    /// Implementations coalesce ranges that lie close together and, where a request has latency,
    /// fetch them concurrently. Ranges may be empty, overlap, and come in any order.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;
}
