//! One object of an object store, read by ranges.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use object_store::ObjectStoreExt;
use tokio::task::JoinSet;

use super::target::from_store;
use super::{PARALLELISM, Target, runtime};
use crate::coalesce::{Limits, Plan, short_read};
use crate::read_at::check_range;
use crate::{IoError, IoErrorKind, ReadAt, Result};

/// A request takes about as long as a megabyte of transfer.
const LIMITS: Limits = Limits {
    max_gap: 1 << 20,
    max_size: CHUNK,
};

/// The most bytes of one request; longer ranges are fetched in pieces side by side.
const CHUNK: u64 = 8 << 20;

/// An object of known length.
#[derive(Debug)]
pub(crate) struct RemoteObject {
    target: Target,
    len: u64,
}

impl RemoteObject {
    pub(crate) fn new(target: Target, len: u64) -> Self {
        Self { target, len }
    }

    /// Fetches non-empty ranges, several at once.
    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let chunks: Vec<_> = ranges.iter().flat_map(chunks).collect();
        let fetched = runtime::wait(
            &self.target.location,
            fetch_all(self.target.clone(), chunks),
        )?;
        let mut fetched = fetched?.into_iter();
        ranges
            .iter()
            .map(|range| self.gather(range, &mut fetched))
            .collect()
    }

    /// Puts the chunks of one range together.
    fn gather(
        &self,
        range: &Range<u64>,
        fetched: &mut impl Iterator<Item = Bytes>,
    ) -> Result<Bytes> {
        let len = check_range(&self.target.location, range, self.len)?;
        let first = fetched
            .next()
            .ok_or_else(|| short_read(&self.target.location))?;
        let others = chunks(range).count() - 1;
        if others == 0 {
            return Ok(first);
        }
        let mut whole = BytesMut::with_capacity(len);
        whole.extend_from_slice(&first);
        for chunk in fetched.by_ref().take(others) {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }
}

impl ReadAt for RemoteObject {
    fn location(&self) -> &str {
        &self.target.location
    }

    fn len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let bytes = self.read_ranges(std::slice::from_ref(&range))?;
        bytes
            .into_iter()
            .next()
            .ok_or_else(|| short_read(&self.target.location))
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        for range in ranges {
            check_range(&self.target.location, range, self.len)?;
        }
        let plan = Plan::new(ranges, LIMITS);
        if plan.requests().is_empty() {
            return plan.slice(&self.target.location, &[]);
        }
        plan.slice(&self.target.location, &self.fetch(plan.requests())?)
    }
}

/// Cuts a range into pieces of at most [`CHUNK`] bytes.
fn chunks(range: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let end = range.end;
    std::iter::successors(Some(range.start), move |start| start.checked_add(CHUNK))
        .take_while(move |start| *start < end)
        .map(move |start| start..end.min(start.saturating_add(CHUNK)))
}

/// Fetches every range, in the order given, with a bounded number of requests under way. The
/// first failure breaks off the others.
async fn fetch_all(target: Target, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
    let mut results = vec![Bytes::new(); ranges.len()];
    let mut requests = JoinSet::new();
    for (index, range) in ranges.into_iter().enumerate() {
        if requests.len() == PARALLELISM {
            collect_one(&target, &mut requests, &mut results).await?;
        }
        let target = target.clone();
        requests.spawn(async move { (index, fetch_one(&target, range).await) });
    }
    while !requests.is_empty() {
        collect_one(&target, &mut requests, &mut results).await?;
    }
    Ok(results)
}

async fn collect_one(
    target: &Target,
    requests: &mut JoinSet<(usize, Result<Bytes>)>,
    results: &mut [Bytes],
) -> Result<()> {
    if let Some(finished) = requests.join_next().await {
        let (index, bytes) = finished.map_err(|e| broken_off(&target.location, e))?;
        results[index] = bytes?;
    }
    Ok(())
}

/// The error for a request whose task ended without an answer.
pub(crate) fn broken_off(location: &str, error: tokio::task::JoinError) -> IoError {
    IoError::new(IoErrorKind::Other, location, "the request was broken off").with_source(error)
}

async fn fetch_one(target: &Target, range: Range<u64>) -> Result<Bytes> {
    let expected = range.end - range.start;
    match target.store.get_range(&target.key, range.clone()).await {
        Ok(bytes) if bytes.len() as u64 == expected => Ok(bytes),
        Ok(_) => Err(short_read(&target.location)),
        Err(error) => Err(explain(target, range, error).await),
    }
}

/// Stores have no common word for a range past the end, so a failed request for an object that
/// turns out to be shorter is told apart by its length.
async fn explain(target: &Target, range: Range<u64>, error: object_store::Error) -> IoError {
    let error = from_store(&target.location, error);
    if error.kind() != IoErrorKind::Other {
        return error;
    }
    match target.store.head(&target.key).await {
        Ok(meta) if meta.size < range.end => short_read(&target.location).with_source(error),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RemoteStore, Store};

    #[test]
    fn chunks_cover_a_range_in_order() {
        let range = 5..2 * CHUNK + 6;
        let cut: Vec<_> = chunks(&range).collect();
        assert_eq!(
            cut,
            [
                5..CHUNK + 5,
                CHUNK + 5..2 * CHUNK + 5,
                2 * CHUNK + 5..range.end
            ]
        );
        assert_eq!(chunks(&(u64::MAX - 1..u64::MAX)).count(), 1);
        assert_eq!(chunks(&(7..7)).count(), 0);
    }

    #[test]
    fn a_long_range_is_put_together_from_its_chunks() {
        let len = usize::try_from(2 * CHUNK + 77).unwrap();
        let object: Vec<u8> = (0..251).cycle().take(len).collect();
        let store = RemoteStore::memory();
        store.put("a", object.clone().into(), false).unwrap();
        let file = store.open("a", None).unwrap();
        let ranges = [9..10, 3..len as u64, 0..CHUNK];
        let index = |n: u64| usize::try_from(n).unwrap();
        for (range, bytes) in ranges.iter().zip(file.read_ranges(&ranges).unwrap()) {
            assert!(bytes == object[index(range.start)..index(range.end)]);
        }
    }

    #[test]
    fn an_object_shorter_than_promised_is_out_of_range() {
        let store = RemoteStore::memory();
        store.put("a", Bytes::from_static(b"0123"), false).unwrap();
        let file = store.open("a", Some(100)).unwrap();
        assert_eq!(file.read(1..3).unwrap(), "12");
        for range in [2..6, 50..60, 0..101] {
            assert_eq!(
                file.read(range).unwrap_err().kind(),
                IoErrorKind::OutOfRange
            );
        }
    }

    #[test]
    fn a_known_size_saves_the_question_for_it() {
        let file = RemoteStore::memory().open("missing", Some(9)).unwrap();
        assert_eq!(file.len().unwrap(), 9);
        assert_eq!(file.read(0..1).unwrap_err().kind(), IoErrorKind::NotFound);
    }

    #[test]
    fn more_ranges_than_requests_at_once_come_back_in_order() {
        let target = Target {
            store: std::sync::Arc::new(object_store::memory::InMemory::new()),
            key: "a".into(),
            location: "a".to_owned(),
        };
        let object: Vec<u8> = (0..200).collect();
        target
            .run(|s, k| async move { s.put(&k, object.into()).await })
            .unwrap();
        let ranges: Vec<_> = (0..100).map(|i| 2 * i..2 * i + 1).collect();
        let bytes = runtime::wait("a", fetch_all(target, ranges))
            .unwrap()
            .unwrap();
        assert!(
            bytes
                .iter()
                .enumerate()
                .all(|(i, b)| usize::from(b[0]) == 2 * i)
        );
    }
}
