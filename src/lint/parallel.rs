//! Work on several items at once, with results in the order of the items whatever the number of threads.

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Items that are done before the results of any are taken: bounds what is held back.
const BATCH: usize = 256;

/// Does the work on every item and takes the results in their order. Ends with the first error of `take`.
pub(super) fn in_order<I: Sync, O: Send + Sync, E>(
    items: &[I],
    work: impl Fn(&I) -> O + Sync,
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    for batch in items.chunks(BATCH) {
        for result in worked(batch, threads.min(batch.len()), &work) {
            take(result)?;
        }
    }
    Ok(())
}

fn worked<I: Sync, O: Send + Sync>(items: &[I], threads: usize, work: &(impl Fn(&I) -> O + Sync)) -> Vec<O> {
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let results: Vec<OnceLock<O>> = items.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let (Some(item), Some(result)) = (items.get(index), results.get(index)) else {
                        break;
                    };
                    // Each index is handed out once: the place is empty.
                    let _ = result.set(work(item));
                }
            });
        }
    });
    results.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        let mut taken = Vec::new();
        let done: Result<(), ()> = in_order(
            &items,
            |item| item * 2,
            |result| {
                taken.push(result);
                Ok(())
            },
        );
        assert_eq!(done, Ok(()));
        assert_eq!(taken, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(worked(&items, 7, &|item| *item), items);
    }

    #[test]
    fn an_error_ends_the_work() {
        let items = [1; 2000];
        let mut taken = 0;
        let done = in_order(
            &items,
            |item| *item,
            |_| {
                taken += 1;
                Err("full")
            },
        );
        assert_eq!((done, taken), (Err("full"), 1));
    }
}
