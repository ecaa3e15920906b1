//! What every store does, checked once per kind of store.
#![expect(
    clippy::unwrap_used,
    reason = "the functions that the tests call are tests too"
)]

use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use pennon_io::{IoErrorKind, LocalStore, PutOutcome, RemoteStore, Store};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Larger than every buffer on the way, and no multiple of one.
const LARGE: usize = (20 << 20) + 12_345;

/// A check that every store passes.
type Check = fn(&dyn Store);

const CHECKS: &[(&str, Check)] = &[
    ("put and get", put_and_get),
    (
        "objects appear in their directory only",
        list_shows_direct_children,
    ),
    ("delete", delete),
    (
        "one of many conditional puts wins",
        one_conditional_put_wins,
    ),
    (
        "a sink shows nothing before it is finished",
        sinks_are_invisible_before_the_end,
    ),
    ("a dropped sink leaves nothing", dropped_sinks_leave_nothing),
    (
        "sinks take writes of any size",
        sinks_take_writes_of_any_size,
    ),
    ("sinks replace an object", sinks_replace),
    ("ranges", ranges_in_any_order),
    ("ranges equal slices", ranges_equal_slices),
    ("ranges past the end", ranges_past_the_end),
    ("missing objects", missing_objects),
    ("paths that leave the root", escapes_are_refused),
];

#[test]
fn local_stores_behave() {
    for (name, check) in CHECKS {
        eprintln!("{name}");
        let folder = tempfile::tempdir().unwrap();
        check(&LocalStore::open(folder.path().join("root")).unwrap());
    }
}

#[test]
fn remote_stores_behave() {
    for (name, check) in CHECKS {
        eprintln!("{name}");
        check(&RemoteStore::memory());
    }
}

fn names(store: &dyn Store, directory: &str) -> Vec<String> {
    let mut names: Vec<_> = store
        .list(directory)
        .unwrap()
        .into_iter()
        .map(|e| e.path)
        .collect();
    names.sort();
    names
}

fn put(store: &dyn Store, path: &str, bytes: impl Into<Bytes>) {
    store.put(path, bytes.into(), false).unwrap();
}

fn pattern(len: usize) -> Vec<u8> {
    (0..251).cycle().take(len).collect()
}

fn put_and_get(store: &dyn Store) {
    for (path, bytes) in [
        ("a", &b"one"[..]),
        ("deep/er/b", b""),
        ("name with #1", b"x"),
    ] {
        store.put(path, Bytes::from(bytes), true).unwrap();
        assert_eq!(store.get(path).unwrap(), bytes);
        let object = store.open(path, None).unwrap();
        assert_eq!(object.len().unwrap(), bytes.len() as u64);
        assert_eq!(object.is_empty().unwrap(), bytes.is_empty());
        assert!(object.location().ends_with(path), "{}", object.location());
        assert!(
            object.location().starts_with(store.root()),
            "{}",
            object.location()
        );
    }
    put(store, "a", "two");
    assert_eq!(store.get("a").unwrap(), "two");
}

fn list_shows_direct_children(store: &dyn Store) {
    assert!(store.list("").unwrap().is_empty());
    for path in ["top", "d/a", "d/b", "d/e/c", "dd/a"] {
        put(store, path, "123");
    }
    assert_eq!(names(store, ""), ["top"]);
    assert_eq!(names(store, "d"), ["d/a", "d/b"]);
    assert_eq!(names(store, "d/e"), ["d/e/c"]);
    assert!(names(store, "missing/too").is_empty());
    assert!(names(store, "top").is_empty());
    let entry = &store.list("d/e").unwrap()[0];
    assert_eq!(entry.size, 3);
    assert!(entry.modified.is_some());
}

fn delete(store: &dyn Store) {
    put(store, "d/a", "1");
    put(store, "d/b", "2");
    store.delete("d/a").unwrap();
    assert_eq!(names(store, "d"), ["d/b"]);
    for missing in ["d/a", "x/y/z", "d/b/c"] {
        store.delete(missing).unwrap();
    }
}

fn one_conditional_put_wins(store: &dyn Store) {
    for round in 0..10 {
        let path = format!("v/{round}.manifest");
        let attempt = |i: u8| {
            let bytes = Bytes::from(vec![i; 1000]);
            store.put_if_absent(&path, bytes, round == 0).unwrap()
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|i| scope.spawn(move || attempt(i))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let winners: Vec<_> = (0u8..)
            .zip(&outcomes)
            .filter(|o| *o.1 == PutOutcome::Created)
            .collect();
        assert_eq!(winners.len(), 1, "{outcomes:?}");
        assert_eq!(store.get(&path).unwrap(), vec![winners[0].0; 1000]);
    }
    assert_eq!(store.list("v").unwrap().len(), 10);
}

fn sinks_are_invisible_before_the_end(store: &dyn Store) {
    for len in [5, LARGE] {
        let path = format!("s/{len}");
        let mut sink = store.create(&path).unwrap();
        sink.write(&pattern(len)).unwrap();
        assert_eq!(store.get(&path).unwrap_err().kind(), IoErrorKind::NotFound);
        assert!(!names(store, "s").contains(&path));
        assert_eq!(sink.position(), len as u64);
        assert!(sink.location().ends_with(&path));
        assert_eq!(sink.finish(true).unwrap(), len as u64);
        assert!(store.get(&path).unwrap() == pattern(len));
        assert!(names(store, "s").contains(&path));
    }
}

fn dropped_sinks_leave_nothing(store: &dyn Store) {
    for len in [5, LARGE] {
        let mut sink = store.create("s/a").unwrap();
        sink.write(&pattern(len)).unwrap();
        drop(sink);
        assert!(store.list("s").unwrap().is_empty());
    }
}

fn sinks_take_writes_of_any_size(store: &dyn Store) {
    let whole = pattern(LARGE);
    let mut sink = store.create("a").unwrap();
    let mut rest = &whole[..];
    for len in [0, 1, 7, 300_000, 8 << 20, 1_000, 9 << 20, 64]
        .into_iter()
        .cycle()
    {
        let (now, later) = rest.split_at(rest.len().min(len));
        sink.write(now).unwrap();
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    assert_eq!(sink.finish(false).unwrap(), LARGE as u64);
    assert!(store.get("a").unwrap() == whole);

    assert_eq!(store.create("empty").unwrap().finish(false).unwrap(), 0);
    assert!(store.get("empty").unwrap().is_empty());
}

fn sinks_replace(store: &dyn Store) {
    put(store, "a", "old and longer");
    let mut sink = store.create("a").unwrap();
    sink.write(b"new").unwrap();
    assert_eq!(store.get("a").unwrap(), "old and longer");
    sink.finish(false).unwrap();
    assert_eq!(store.get("a").unwrap(), "new");
}

fn ranges_in_any_order(store: &dyn Store) {
    put(store, "a", "0123456789");
    let object = store.open("a", Some(10)).unwrap();
    assert_eq!(object.read(3..6).unwrap(), "345");
    assert_eq!(object.read(10..10).unwrap(), "");
    let ranges = [8..10, 0..3, 2..5, 4..4, 0..10, 8..10];
    let expected = ["89", "012", "234", "", "0123456789", "89"];
    assert_eq!(object.read_ranges(&ranges).unwrap(), expected);
    assert!(object.read_ranges(&[]).unwrap().is_empty());
}

fn ranges_equal_slices(store: &dyn Store) {
    let whole = pattern(3 << 20);
    put(store, "a", whole.clone());
    let object = store.open("a", None).unwrap();
    let len = whole.len() as u64;
    let range = (0..len, 0u64..70_000).prop_map(move |(at, size)| at..len.min(at + size));
    let ranges = prop::collection::vec(range, 0..40);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 32,
        ..Default::default()
    });
    let index = |n: u64| usize::try_from(n).unwrap();
    let property = |ranges: Vec<std::ops::Range<u64>>| {
        let read = object.read_ranges(&ranges).unwrap();
        prop_assert_eq!(read.len(), ranges.len());
        for (range, bytes) in ranges.iter().zip(read) {
            prop_assert!(bytes == whole[index(range.start)..index(range.end)]);
        }
        Ok(())
    };
    runner.run(&ranges, property).unwrap();
}

fn ranges_past_the_end(store: &dyn Store) {
    put(store, "a", "0123456789");
    let object = store.open("a", None).unwrap();
    for range in [9..11, 11..11, 10..12, 0..u64::MAX, u64::MAX - 1..u64::MAX] {
        assert_eq!(
            object.read(range.clone()).unwrap_err().kind(),
            IoErrorKind::OutOfRange
        );
        let ranges = [0..1, range];
        let error = object.read_ranges(&ranges).unwrap_err();
        assert_eq!(error.kind(), IoErrorKind::OutOfRange);
        assert!(error.location().ends_with("/a"), "{}", error.location());
    }
}

fn missing_objects(store: &dyn Store) {
    put(store, "d/a", "1");
    for path in ["missing", "d", "d/b", "d/a/b", "x/y"] {
        assert_eq!(
            store.get(path).unwrap_err().kind(),
            IoErrorKind::NotFound,
            "{path}"
        );
        assert_eq!(
            store.open(path, None).unwrap_err().kind(),
            IoErrorKind::NotFound,
            "{path}"
        );
    }
}

fn escapes_are_refused(store: &dyn Store) {
    for path in [
        "",
        "/a",
        "../a",
        "a/../../b",
        "a//b",
        ".",
        "a\\b",
        "C:/a",
        "s3://a/b",
        "a\0",
    ] {
        let put = store
            .put(path, Bytes::new(), false)
            .map(|()| PutOutcome::Created);
        let outcomes = [
            put,
            store.put_if_absent(path, Bytes::new(), false),
            store.get(path).map(|_| PutOutcome::Created),
            store.open(path, Some(1)).map(|_| PutOutcome::Created),
            store.create(path).map(|_| PutOutcome::Created),
            store.delete(path).map(|()| PutOutcome::Created),
        ];
        for outcome in outcomes {
            assert_eq!(
                outcome.unwrap_err().kind(),
                IoErrorKind::InvalidPath,
                "{path:?}"
            );
        }
        if !path.is_empty() {
            assert_eq!(
                store.list(path).unwrap_err().kind(),
                IoErrorKind::InvalidPath,
                "{path:?}"
            );
        }
    }
}

#[test]
fn stores_are_shared_between_threads() {
    fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Arc<dyn Store>>();
    shareable::<LocalStore>();
    shareable::<RemoteStore>();
}
