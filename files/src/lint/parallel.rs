//! Works on several items in parallel. The results are in the order of the items, however many threads there are.

use std::num::NonZero;
use std::panic;
use std::thread;

/// How many items each thread gets before the first result is taken: limits the memory of waiting results.
const PORTION: usize = 16;

/// Does the work on every item and takes the results in their order. Ends with the first error of `take`.
pub fn in_order<I: Sync, O: Send, E>(
    items: &[I],
    work: impl Fn(&I) -> O + Sync,
    take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    on_threads(threads, items, &work, take)
}

fn on_threads<I: Sync, O: Send, E>(
    threads: usize,
    items: &[I],
    work: &(impl Fn(&I) -> O + Sync),
    mut take: impl FnMut(O) -> Result<(), E>,
) -> Result<(), E> {
    let worked = |portion: &[I]| portion.iter().map(work).collect::<Vec<O>>();
    for batch in items.chunks(threads * PORTION) {
        let mut portions = batch.chunks(batch.len().div_ceil(threads));
        let own = portions.next().unwrap_or_default();
        let results: Vec<Vec<O>> = thread::scope(|scope| {
            let others: Vec<_> = portions
                .map(|portion| scope.spawn(move || worked(portion)))
                .collect();
            let others = others.into_iter().map(thread::ScopedJoinHandle::join);
            let others = others.map(|results| results.unwrap_or_else(|why| panic::resume_unwind(why)));
            [worked(own)].into_iter().chain(others).collect()
        });
        results.into_iter().flatten().try_for_each(&mut take)?;
    }
    Ok(())
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
