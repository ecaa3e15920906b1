//! The threads on which requests to object stores run.
//!
//! They are started by the first request, and shared by all stores of the process. A forked child
//! has none of its parent's threads, so the runtime remembers its process, and a child builds
//! another; the parent's is left alone, because tearing it down would wait for threads that do
//! not exist. No lock is involved: one that another thread held during the fork would stay locked
//! in the child forever.
#![expect(
    unsafe_code,
    reason = "a lock-free pointer that is set once per process"
)]

use std::future::Future;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::{IoError, IoErrorKind, Result};

/// Requests wait for the network most of the time: two threads serve many.
const MAX_THREADS: usize = 2;

struct Shared {
    process: u32,
    runtime: Runtime,
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// Runs a request to its end while the calling thread waits.
///
/// The request runs on a thread of the runtime, not on the caller's, which may itself belong to
/// an asynchronous runtime that forbids to enter another.
///
/// # Errors
///
/// When the threads cannot be started, or the request panics.
pub(crate) fn wait<T: Send + 'static>(
    location: &str,
    request: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    handle(location)?.spawn(async move {
        // The receiver waits below until something is sent.
        let _ = sender.send(request.await);
    });
    receiver.recv().map_err(|e| {
        IoError::new(IoErrorKind::Other, location, "the request was broken off").with_source(e)
    })
}

/// The runtime of this process.
pub(crate) fn handle(location: &str) -> Result<&'static Handle> {
    shared(&SHARED, std::process::id()).map_err(|e| {
        let message = format!("cannot start the threads for requests: {e}");
        IoError::new(IoErrorKind::Other, location, message).with_source(e)
    })
}

fn shared(slot: &'static AtomicPtr<Shared>, process: u32) -> std::io::Result<&'static Handle> {
    loop {
        let current = slot.load(Ordering::Acquire);
        // SAFETY: the slot holds null or a pointer that `Box::into_raw` gave below and that is
        // never freed or written through once it is in the slot; a fork copies the memory behind
        // it. The acquiring load pairs with the releasing exchange, so the value is complete.
        if let Some(shared) = unsafe { current.as_ref() }
            && shared.process == process
        {
            return Ok(shared.runtime.handle());
        }
        let fresh = Box::into_raw(Box::new(Shared {
            process,
            runtime: build()?,
        }));
        if slot
            .compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
        {
            // SAFETY: `fresh` came from `Box::into_raw` and never reached the slot.
            let lost = unsafe { Box::from_raw(fresh) };
            lost.runtime.shutdown_background();
        }
    }
}

fn build() -> std::io::Result<Runtime> {
    let threads = available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_THREADS);
    Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("pennon-io")
        .enable_all()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_keeps_its_runtime_and_a_child_gets_another() {
        static SLOT: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());
        let parent = shared(&SLOT, 1).unwrap().id();
        assert_eq!(shared(&SLOT, 1).unwrap().id(), parent);
        let child = shared(&SLOT, 2).unwrap().id();
        assert_ne!(child, parent);
        assert_eq!(shared(&SLOT, 2).unwrap().id(), child);
    }

    #[test]
    fn threads_that_race_share_one_runtime() {
        static SLOT: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());
        let ids: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| shared(&SLOT, 1).unwrap().id()))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]));
    }

    #[test]
    fn waits_inside_of_another_runtime() {
        let outer = Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        assert_eq!(outer.block_on(async { wait("x", async { 7 }).unwrap() }), 7);
    }

    #[test]
    fn a_request_that_panics_is_an_error() {
        let error = wait("x", async { panic!("as intended") }).unwrap_err();
        assert_eq!(error.kind(), IoErrorKind::Other);
    }
}
