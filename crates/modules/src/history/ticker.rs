//! Takes copies at intervals.

use super::NAME;
use super::collector::Collector;
use super::settings::Settings;
use parking_lot::{Condvar, Mutex};
use squall_jobs::{Handler, Kind, KindSpec, NewJob, RunningJob};
use squall_logs::error_log::{Severity, error_log};
use squall_session::Database;
use squall_types::{SqlError, SqlResult};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Times that are one interval apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    start: Instant,
    interval: Duration,
}

impl Grid {
    /// The first time of the grid after `now`: missed ones are left out.
    pub fn next_after(&self, now: Instant) -> Instant {
        let passed = now.saturating_duration_since(self.start).as_nanos();
        let interval = self.interval.as_nanos().max(1);
        let steps = passed / interval + 1;
        let ahead = u64::try_from(steps * interval - passed).unwrap_or(u64::MAX);
        now + Duration::from_nanos(ahead)
    }
}

/// Copies as a job.
#[derive(Debug)]
struct CollectJob(Weak<Collector>);

impl Handler for CollectJob {
    fn run(&self, _job: &RunningJob) -> SqlResult<()> {
        match self.0.upgrade() {
            Some(collector) => collector.collect().map(|_| ()),
            None => Ok(()),
        }
    }
}

/// The thread that sleeps until the next copy is due.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    /// Counts changes of settings.
    settings: u64,
}

impl Ticker {
    /// Begins.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(database: &Database, collector: &Arc<Collector>) -> SqlResult<Ticker> {
        let kind = database.jobs().register(KindSpec::new(NAME, Arc::new(CollectJob(Arc::downgrade(collector)))))?;
        let shared = Arc::new(Shared::default());
        let (theirs, collector) = (shared.clone(), Arc::downgrade(collector));
        let thread = std::thread::Builder::new()
            .name("history-ticker".to_string())
            .spawn(move || theirs.run(&collector, &kind))
            .map_err(SqlError::internal)?;
        Ok(Ticker { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Variables may have changed.
    pub fn settings_changed(&self) {
        self.shared.state.lock().settings += 1;
        self.shared.changed.notify_all();
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.shared.state.lock().stopping = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().take();
        // It may be the thread itself that lets the database go.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // A panic has been reported already.
            let _ended = thread.join();
        }
    }
}

impl Shared {
    fn run(&self, collector: &Weak<Collector>, kind: &Kind) {
        let mut grid: Option<Grid> = None;
        let mut last_number = 0;
        loop {
            let settings_seen = self.state.lock().settings;
            let Some(settings) = current_settings(collector) else { return };
            let wanted = settings.is_enabled.then_some(settings.interval);
            if grid.map(|grid| grid.interval) != wanted {
                grid = wanted.map(|interval| Grid { start: Instant::now(), interval });
            }
            let due = grid.map(|grid| grid.next_after(Instant::now()));
            let mut state = self.state.lock();
            loop {
                if state.stopping {
                    return;
                }
                if state.settings != settings_seen {
                    break;
                }
                match due {
                    Some(due) if due <= Instant::now() => break,
                    Some(due) => {
                        self.changed.wait_until(&mut state, due);
                    }
                    None => self.changed.wait(&mut state),
                }
            }
            let is_due = state.settings == settings_seen;
            drop(state);
            if is_due {
                submit(collector, kind, &mut last_number);
            }
        }
    }
}

fn current_settings(collector: &Weak<Collector>) -> Option<Settings> {
    let database = collector.upgrade()?.database().ok()?;
    Some(Settings::of(&database))
}

/// Has a copy made, unless the last one is still being made.
fn submit(collector: &Weak<Collector>, kind: &Kind, last_number: &mut u64) {
    if kind.is_live(*last_number) {
        if let Some(collector) = collector.upgrade() {
            collector.skipped.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        return;
    }
    match kind.submit(NewJob::default()).and_then(|submitted| submitted.wait()) {
        Ok(number) => *last_number = number,
        Err(error) => error_log().write(Severity::Warning, &format!("{NAME}: {}", error.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_copy_does_not_move_the_next() {
        let start = Instant::now();
        let grid = Grid { start, interval: Duration::from_secs(30) };
        let after = |seconds| grid.next_after(start + Duration::from_secs(seconds)) - start;
        assert_eq!(after(0).as_secs(), 30);
        assert_eq!(after(29).as_secs(), 30);
        // What took until now was begun at 30.
        assert_eq!(after(38).as_secs(), 60);
        assert_eq!(after(60).as_secs(), 90);
        // Nothing is made up for.
        assert_eq!(after(1_000).as_secs(), 1_020);
    }
}
