//! A process that only uses local files keeps to its own threads. The check counts the threads of
//! the whole process, so it has one to itself.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "the functions that the tests call are tests too"
)]

use bytes::Bytes;
use pennon_io::{RemoteStore, Store, open_store};

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn only_a_request_to_a_remote_store_starts_threads() {
    let before = threads();
    let folder = tempfile::tempdir().unwrap();
    let store = open_store(folder.path().to_str().unwrap()).unwrap();
    store
        .put("a", Bytes::from_static(b"0123456789"), true)
        .unwrap();
    store.put_if_absent("b", Bytes::new(), true).unwrap();
    let mut sink = store.create("c").unwrap();
    sink.write(b"c").unwrap();
    sink.finish(true).unwrap();
    store
        .open("a", None)
        .unwrap()
        .read_ranges(&[0..1, 5..6])
        .unwrap();
    let remote = RemoteStore::memory();
    assert_eq!(threads(), before);

    remote.put("a", Bytes::new(), false).unwrap();
    assert!(threads() > before && threads() <= before + 2);
}
