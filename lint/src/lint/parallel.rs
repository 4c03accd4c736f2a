//! Works on several items at once. The results are in the order of the items, however many threads there are.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, mpsc};
use std::thread;

/// The most items that a thread gets at once.
const PORTION: usize = 16;

/// Portions for each thread that are handed out before the first result is taken: limits the memory of waiting
/// results.
const AHEAD: usize = 4;

/// Does the work on every item and takes the results in their order. Ends with the first error of `take`.
pub fn in_order<I: Sync, O: Send, E>(
    items: &[I],
    work: impl Fn(&I) -> O + Sync,
    take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    on_threads(threads.min(items.len()), items, &work, take)
}

fn on_threads<I: Sync, O: Send, E>(
    threads: usize,
    items: &[I],
    work: &(impl Fn(&I) -> O + Sync),
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    if threads < 2 {
        return items.iter().map(work).try_for_each(take);
    }
    let portion = (items.len() / threads / AHEAD).clamp(1, PORTION);
    let mut portions = items.chunks(portion).enumerate();
    let count = portions.len();
    let (todo, waiting) = mpsc::channel::<(usize, &[I])>();
    let waiting = &Mutex::new(waiting);
    let worked = move |(number, items): (usize, &[I])| {
        let results = || items.iter().map(work).collect::<Vec<O>>();
        (number, panic::catch_unwind(AssertUnwindSafe(results)))
    };
    // An error or a panic that ends this closure also ends the threads: they get no more items.
    thread::scope(move |scope| {
        let (done, finished) = mpsc::channel();
        for _ in 1..threads {
            let done = done.clone();
            let next = || waiting.lock().ok()?.recv().ok();
            scope.spawn(move || while next().is_some_and(|portion| done.send(worked(portion)).is_ok()) {});
        }
        for portion in portions.by_ref().take(threads * AHEAD) {
            let _ = todo.send(portion);
        }
        let mut early = BTreeMap::new();
        for number in 0..count {
            while !early.contains_key(&number) {
                // This thread works too: to wake it for each result would cost more.
                // A thread that waits for a portion has the lock: then there is none.
                let portion = waiting
                    .try_lock()
                    .ok()
                    .and_then(|waiting| waiting.try_recv().ok());
                early.extend(portion.map(worked).or_else(|| finished.recv().ok()));
                early.extend(finished.try_iter());
            }
            if let Some(portion) = portions.next() {
                let _ = todo.send(portion);
            }
            let results = early.remove(&number).into_iter();
            for result in results.flat_map(|results| results.unwrap_or_else(|why| panic::resume_unwind(why)))
            {
                take(result)?;
            }
        }
        Ok(())
    })
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
        for threads in [1, 2, 7] {
            taken.clear();
            let mut take = |result| {
                taken.push(result);
                Ok(())
            };
            let done: Result<(), ()> = on_threads(threads, &items, &|item| *item, &mut take);
            assert_eq!((done, &taken), (Ok(()), &items), "{threads}");
        }
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

    #[test]
    #[should_panic(expected = "the worst item")]
    fn a_panic_is_that_of_the_whole() {
        let items: Vec<usize> = (0..1000).collect();
        let work = |item: &usize| assert_ne!(*item, 500, "the worst item");
        let _: Result<(), ()> = on_threads(3, &items, &work, |()| Ok(()));
    }
}
