//! The process's bounded pool of worker threads.
//!
//! No thread exists before the first parallel operation. A child process that was forked has none
//! of its parent's threads, so the pool belongs to a process id: a child finds its parent's pool,
//! sees that it is not its own, and links a new one behind it. The parent's threads and queue are
//! left alone, because only the parent may touch them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    process: u32,
    queue: Mutex<Sender<Job>>,
    heir: OnceLock<Box<Pool>>,
}

static FIRST: OnceLock<Box<Pool>> = OnceLock::new();

/// How many worker threads the pool has: one per core that this process may use.
pub(crate) fn parallelism() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `job` on a worker thread. Returns whether a worker took it; when none could be started,
/// the caller does the work itself.
pub(crate) fn spawn(job: impl FnOnce() + Send + 'static) -> bool {
    let pool = current();
    let queue = pool.queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.send(Box::new(job)).is_ok()
}

fn current() -> &'static Pool {
    let process = std::process::id();
    let mut pool = FIRST.get_or_init(|| Box::new(Pool::start(process)));
    while pool.process != process {
        pool = pool.heir.get_or_init(|| Box::new(Pool::start(process)));
    }
    pool
}

impl Pool {
    fn start(process: u32) -> Self {
        let (sender, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        for index in 0..parallelism() {
            let receiver = Arc::clone(&receiver);
            // A failed start leaves fewer workers; with none left the queue is closed and
            // `spawn` says so.
            drop(
                thread::Builder::new()
                    .name(format!("pennon-{index}"))
                    .spawn(move || work(&receiver)),
            );
        }
        Self {
            process,
            queue: Mutex::new(sender),
            heir: OnceLock::new(),
        }
    }
}

fn work(receiver: &Mutex<Receiver<Job>>) {
    loop {
        let job = receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}
