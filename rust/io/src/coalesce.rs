//! Fewer, larger requests for ranges that lie close together.
//!
//! ```text
//! ranges       |--2--|   |-1-|                  |--0--|
//! requests     |---------0---|                  |--1--|
//! ```
//!
//! Planning and slicing are pure; fetching the requests is the caller's business.

use std::ops::Range;

use bytes::Bytes;

use crate::{IoError, IoErrorKind, Result};

/// When two ranges share a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most bytes that are read for nothing between two ranges.
    pub(crate) max_gap: u64,
    /// The most bytes of a merged request; a single range may be longer.
    pub(crate) max_size: u64,
}

/// The requests that cover a list of ranges.
#[derive(Debug)]
pub(crate) struct Plan {
    requests: Vec<Range<u64>>,
    pieces: Vec<Piece>,
}

/// Where one range lies: at `start` of the request's bytes.
#[derive(Debug)]
struct Piece {
    request: usize,
    start: u64,
    len: u64,
}

impl Plan {
    /// Covers `ranges`, each of which ends where it starts or later. Empty ranges need no request.
    pub(crate) fn new(ranges: &[Range<u64>], limits: Limits) -> Self {
        let mut order: Vec<usize> = (0..ranges.len())
            .filter(|&i| !ranges[i].is_empty())
            .collect();
        order.sort_unstable_by_key(|&i| ranges[i].start);

        let mut requests: Vec<Range<u64>> = Vec::new();
        let mut pieces: Vec<Piece> = ranges
            .iter()
            .map(|_| Piece {
                request: 0,
                start: 0,
                len: 0,
            })
            .collect();
        for i in order {
            let range = &ranges[i];
            match requests.last_mut() {
                Some(last) if limits.allow(last, range) => last.end = last.end.max(range.end),
                _ => requests.push(range.clone()),
            }
            let request = requests.len() - 1;
            let start = range.start - requests[request].start;
            pieces[i] = Piece {
                request,
                start,
                len: range.end - range.start,
            };
        }
        Self { requests, pieces }
    }

    /// What to fetch: ascending starts, none of them empty.
    pub(crate) fn requests(&self) -> &[Range<u64>] {
        &self.requests
    }

    /// The bytes of every planned range, sliced without a copy from the bytes of the requests.
    ///
    /// # Errors
    ///
    /// [`IoErrorKind::OutOfRange`] when a request came back shorter than it was asked for.
    pub(crate) fn slice(&self, location: &str, buffers: &[Bytes]) -> Result<Vec<Bytes>> {
        let slices = self.pieces.iter().map(|piece| piece.slice(buffers));
        slices
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| short_read(location))
    }
}

impl Limits {
    /// Whether `next`, which starts no earlier than `request`, is fetched with it.
    fn allow(&self, request: &Range<u64>, next: &Range<u64>) -> bool {
        let gap = next.start.saturating_sub(request.end);
        let end = request.end.max(next.end);
        gap <= self.max_gap && (end == request.end || end - request.start <= self.max_size)
    }
}

impl Piece {
    fn slice(&self, buffers: &[Bytes]) -> Option<Bytes> {
        if self.len == 0 {
            return Some(Bytes::new());
        }
        let buffer = buffers.get(self.request)?;
        let start = usize::try_from(self.start).ok()?;
        let end = start.checked_add(usize::try_from(self.len).ok()?)?;
        (end <= buffer.len()).then(|| buffer.slice(start..end))
    }
}

/// The error for an object that ends earlier than its length promised.
pub(crate) fn short_read(location: &str) -> IoError {
    IoError::new(
        IoErrorKind::OutOfRange,
        location,
        "the object is shorter than it said",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests(ranges: &[Range<u64>], max_gap: u64, max_size: u64) -> Vec<Range<u64>> {
        Plan::new(ranges, Limits { max_gap, max_size }).requests
    }

    #[test]
    fn close_ranges_share_a_request_in_any_order() {
        assert_eq!(requests(&[40..45, 10..12, 0..8], 4, 100), [0..12, 40..45]);
    }

    #[test]
    fn a_merged_request_stays_below_its_limit() {
        assert_eq!(requests(&[0..6, 6..12, 12..18], 0, 12), [0..12, 12..18]);
        assert_eq!(requests(&[0..50, 50..51, 10..20], 0, 12), [0..50, 50..51]);
    }

    #[test]
    fn empty_ranges_need_no_request() {
        let plan = Plan::new(
            &[3..3, u64::MAX..u64::MAX],
            Limits {
                max_gap: 9,
                max_size: 9,
            },
        );
        assert!(plan.requests().is_empty());
        assert_eq!(plan.slice("x", &[]).unwrap(), [Bytes::new(), Bytes::new()]);
    }

    #[test]
    fn the_end_of_the_number_space_does_not_overflow() {
        let end = u64::MAX;
        assert_eq!(
            requests(&[end - 4..end, 0..1, 1..1], end, end - 1),
            [0..1, end - 4..end]
        );
        assert_eq!(requests(&[end - 4..end, 0..1], end, end).len(), 1);
    }

    #[test]
    fn slices_share_the_memory_of_their_request() {
        let plan = Plan::new(
            &[2..4, 0..1],
            Limits {
                max_gap: 9,
                max_size: 9,
            },
        );
        let buffer = Bytes::from_static(b"abcd");
        let slices = plan.slice("x", std::slice::from_ref(&buffer)).unwrap();
        assert_eq!(slices, ["cd", "a"]);
        assert_eq!(slices[0].as_ptr(), buffer[2..].as_ptr());
    }

    #[test]
    fn a_short_answer_is_an_error() {
        let plan = Plan::new(
            &[0..4, 1..2],
            Limits {
                max_gap: 0,
                max_size: 9,
            },
        );
        let error = plan.slice("x", &[Bytes::from_static(b"abc")]).unwrap_err();
        assert_eq!(error.kind(), IoErrorKind::OutOfRange);
        assert!(plan.slice("x", &[]).is_err());
    }

    proptest! {
        #[test]
        fn every_range_gets_its_own_bytes(
            spans in prop::collection::vec((0u64..200, 0u64..40), 0..20),
            max_gap in 0u64..30,
            max_size in 0u64..80,
        ) {
            let object: Vec<u8> = (0..240).collect();
            let ranges: Vec<_> = spans.iter().map(|&(start, len)| start..start + len).collect();
            let index = |n: u64| usize::try_from(n).unwrap();
            let at = |r: &Range<u64>| object[index(r.start)..index(r.end)].to_vec();

            let plan = Plan::new(&ranges, Limits { max_gap, max_size });
            let buffers: Vec<_> = plan.requests().iter().map(|r| Bytes::from(at(r))).collect();
            let slices = plan.slice("x", &buffers).unwrap();
            prop_assert_eq!(slices, ranges.iter().map(at).collect::<Vec<_>>());

            let longest = ranges.iter().map(|r| r.end - r.start).max().unwrap_or(0);
            let limit = longest.max(max_size);
            prop_assert!(plan.requests().iter().all(|r| r.end - r.start <= limit));
            prop_assert!(plan.requests().is_sorted_by(|a, b| a.start <= b.start));
        }
    }
}
