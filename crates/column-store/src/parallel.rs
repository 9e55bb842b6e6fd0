//! Runs independent pieces of work on several threads.

use parking_lot::Mutex;
use squall_accounting::work_meter::carried;

/// Runs `work` for every item, on up to `threads` threads, the caller's among them; results come in the items' order.
pub(crate) fn map_in_parallel<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(usize, T) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(items.len());
    let items = Mutex::new(items.into_iter().enumerate());
    let run = || {
        let mut done = Vec::new();
        loop {
            let next = items.lock().next();
            match next {
                Some((number, item)) => done.push((number, work(number, item))),
                None => return done,
            }
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(carried(run))).collect();
        let mut done = run();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}
