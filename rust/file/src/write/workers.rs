//! A few threads for pages that are due at the same time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Applies `work` to every item on up to `parallelism` threads, the calling one among them, and
/// returns the results in the order of the items.
pub(crate) fn for_each_parallel<T: Sync, R: Send>(
    items: &[T],
    parallelism: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = parallelism.min(items.len());
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        while let Some((number, item)) = take(&next, items) {
            let result = work(item);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    items.get(number).map(|item| (number, item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 3, 200] {
            let doubled = for_each_parallel(&items, threads, |item| item * 2);
            assert!(
                doubled
                    .iter()
                    .enumerate()
                    .all(|(at, value)| *value == at * 2)
            );
        }
    }
}
