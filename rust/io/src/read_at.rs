//! One immutable object, read by byte ranges.

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

use crate::{IoError, IoErrorKind, Result};

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

/// Checks a range against the object's length, before anything is allocated for it, and returns
/// the number of bytes it asks for.
pub(crate) fn check_range(location: &str, range: &Range<u64>, len: u64) -> Result<usize> {
    let out_of_range = || {
        let message = format!("bytes {}..{} of {len} do not exist", range.start, range.end);
        IoError::new(IoErrorKind::OutOfRange, location, message)
    };
    if range.end > len {
        return Err(out_of_range());
    }
    let bytes = range
        .end
        .checked_sub(range.start)
        .ok_or_else(out_of_range)?;
    usize::try_from(bytes).map_err(|_| out_of_range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_lies_within_the_object_or_is_refused() {
        assert_eq!(check_range("x", &(2..5), 5).unwrap(), 3);
        assert_eq!(check_range("x", &(5..5), 5).unwrap(), 0);
        #[expect(clippy::reversed_empty_ranges, reason = "that is the case under test")]
        let reversed = 4..3;
        for range in [0..6, 6..6, reversed, 0..u64::MAX] {
            let error = check_range("x", &range, 5).unwrap_err();
            assert_eq!(error.kind(), IoErrorKind::OutOfRange);
        }
    }
}
