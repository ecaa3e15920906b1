//! Tasks run in parallel, results taken in order.
//!
//! A fixed list of tasks is worked off by the [pool](crate::pool) and by the consumer itself,
//! which runs tasks instead of waiting. At most a window of tasks is under way or finished but
//! not yet taken, so memory stays bounded however slow the consumer is.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::pool;

type Outcome<R> = std::result::Result<R, Box<dyn Any + Send>>;

/// An iterator over the results of tasks `0..total`, in that order.
pub(crate) struct Ordered<R> {
    shared: Arc<Shared<R>>,
    process: u32,
}

struct Shared<R> {
    run: Box<dyn Fn(usize) -> R + Send + Sync>,
    total: usize,
    window: usize,
    workers: usize,
    state: Mutex<State<R>>,
    finished: Condvar,
}

struct State<R> {
    /// The first task that nobody has claimed.
    unclaimed: usize,
    /// The task whose result is taken next; `slots[0]` is its place.
    front: usize,
    slots: VecDeque<Option<Outcome<R>>>,
    active_workers: usize,
    cancelled: bool,
}

/// What the consumer found.
pub(crate) enum Next<R> {
    /// The next task's result.
    Ready(R),
    /// All results have been taken.
    Done,
    /// The process is not the one that began.
    Forked,
}

impl<R: Send + 'static> Ordered<R> {
    /// Begins to run `run(0)` … `run(total - 1)` on at most `workers` threads of the pool; nothing
    /// runs before the first result is asked for.
    pub(crate) fn new(
        total: usize,
        workers: usize,
        run: impl Fn(usize) -> R + Send + Sync + 'static,
    ) -> Self {
        let workers = workers.max(1);
        Self {
            shared: Arc::new(Shared {
                run: Box::new(run),
                total,
                window: workers * 2 + 1,
                workers,
                state: Mutex::new(State {
                    unclaimed: 0,
                    front: 0,
                    slots: VecDeque::new(),
                    active_workers: 0,
                    cancelled: false,
                }),
                finished: Condvar::new(),
            }),
            process: std::process::id(),
        }
    }

    /// The next result. Runs tasks on the calling thread while it would otherwise wait.
    pub(crate) fn next(&mut self) -> Next<R> {
        if self.process != std::process::id() {
            return Next::Forked;
        }
        loop {
            let mut state = self.shared.lock();
            if state.front == self.shared.total {
                return Next::Done;
            }
            if state.slots.front().is_some_and(Option::is_some) {
                if let Some(outcome) = state.take_front() {
                    self.shared.top_up(state);
                    return Next::Ready(outcome.unwrap_or_else(|panic| resume_unwind(panic)));
                }
            } else if let Some(task) = state.claim(&self.shared) {
                self.shared.top_up(state);
                self.shared.run_one(task);
            } else {
                drop(
                    self.shared
                        .finished
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner),
                );
            }
        }
    }
}

impl<R> Drop for Ordered<R> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.lock().cancelled = true;
        }
    }
}

impl<R> Shared<R> {
    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_one(&self, task: usize) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.run)(task)));
        let mut state = self.lock();
        let place = task - state.front;
        if let Some(slot) = state.slots.get_mut(place) {
            *slot = Some(outcome);
        }
        drop(state);
        self.finished.notify_one();
    }
}

impl<R: Send + 'static> Shared<R> {
    /// Calls workers for the tasks that could run now.
    fn top_up(self: &Arc<Self>, mut state: MutexGuard<'_, State<R>>) {
        let claimable = self
            .total
            .min(state.front + self.window)
            .saturating_sub(state.unclaimed);
        let wanted = claimable
            .min(self.workers)
            .saturating_sub(state.active_workers);
        state.active_workers += wanted;
        drop(state);
        for _ in 0..wanted {
            let shared = Arc::clone(self);
            if !pool::spawn(move || shared.work()) {
                self.lock().active_workers -= 1;
            }
        }
    }

    fn work(&self) {
        loop {
            let mut state = self.lock();
            let Some(task) = state.claim(self) else {
                state.active_workers -= 1;
                return;
            };
            drop(state);
            self.run_one(task);
        }
    }
}

impl<R> State<R> {
    fn claim(&mut self, shared: &Shared<R>) -> Option<usize> {
        let open = !self.cancelled
            && self.unclaimed < shared.total
            && self.unclaimed < self.front + shared.window;
        open.then(|| {
            self.slots.push_back(None);
            self.unclaimed += 1;
            self.unclaimed - 1
        })
    }

    fn take_front(&mut self) -> Option<Outcome<R>> {
        let outcome = self.slots.pop_front().flatten();
        self.front += 1;
        outcome
    }
}

impl<R> fmt::Debug for Ordered<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered")
            .field("total", &self.shared.total)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    fn collect<R: Send + 'static>(mut ordered: Ordered<R>) -> Vec<R> {
        let mut results = Vec::new();
        while let Next::Ready(result) = ordered.next() {
            results.push(result);
        }
        results
    }

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let results = collect(Ordered::new(500, 4, |i| {
            if i % 7 == 0 {
                std::thread::yield_now();
            }
            i
        }));
        assert_eq!(results, (0..500).collect::<Vec<_>>());
    }

    #[test]
    fn no_tasks_give_no_results() {
        assert!(collect(Ordered::new(0, 4, |i| i)).is_empty());
    }

    #[test]
    fn only_a_window_of_tasks_runs_ahead_of_the_consumer() {
        let started = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&started);
        let mut ordered = Ordered::new(1000, 2, move |i| {
            counter.fetch_add(1, SeqCst);
            i
        });
        assert!(matches!(ordered.next(), Next::Ready(0)));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(started.load(SeqCst) <= 1 + ordered.shared.window);
    }

    #[test]
    fn a_panic_in_a_task_reaches_the_consumer() {
        let mut ordered = Ordered::new(3, 2, |i| {
            assert!(i != 1, "task one fails");
            i
        });
        assert!(matches!(ordered.next(), Next::Ready(0)));
        assert!(catch_unwind(AssertUnwindSafe(|| ordered.next())).is_err());
    }
}
