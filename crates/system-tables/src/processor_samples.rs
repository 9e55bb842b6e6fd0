//! Samples of the time of processors that threads take, taken as long as somebody reads them.

use crate::background_threads::TASKS;
use parking_lot::Mutex;
use squall_types::{SqlError, SqlResult};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How long the intervals of the three lists are.
const INTERVALS: [Duration; 3] = [Duration::from_millis(50), Duration::from_secs(1), Duration::from_secs(20)];
/// Samples that a list has.
const SAMPLES_MAX: usize = 20;
/// After as long without a reader nothing is sampled.
const IDLE_MAX: Duration = Duration::from_secs(600);
/// The pause between two samples is at least as many times what a sample takes: many threads do not make it a load.
const PAUSE: u32 = 20;
/// Microseconds of a tick, in which the system counts time of processors.
const TICK_MICROS: u64 = 10_000;

/// What the system tells of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadUse {
    pub user_micros: u64,
    pub system_micros: u64,
    pub soft_faults: u64,
    pub hard_faults: u64,
}

/// Every thread by the system's number.
pub(crate) type Uses = BTreeMap<u64, ThreadUse>;

/// Samples of the time that threads take. Its thread ends when nobody reads, and with the server.
#[derive(Debug, Default)]
pub struct ProcessorSampler {
    state: Mutex<Samples>,
}

#[derive(Debug, Default)]
struct Samples {
    /// When somebody has read last; `None` if nothing is sampled.
    read_at: Option<Instant>,
    /// What was used in each interval, the newest last, with its microseconds.
    lists: [VecDeque<(Uses, u64)>; INTERVALS.len()],
}

impl ProcessorSampler {
    /// Somebody reads: samples are taken from now on, if they are not yet.
    pub(crate) fn note_reader(self: &Arc<Self>) -> SqlResult<()> {
        let mut state = self.state.lock();
        let runs = state.read_at.replace(Instant::now()).is_some();
        if !runs {
            let sampler = Arc::downgrade(self);
            let started = thread::Builder::new().name("squall-cpustat".to_owned()).spawn(move || sample(&sampler));
            if let Err(error) = started {
                state.read_at = None;
                return Err(SqlError::internal(format_args!("cannot start a thread: {error}")));
            }
        }
        Ok(())
    }

    /// The samples of one of the three lists (50 milliseconds, a second, 20 seconds), the newest first, with the microseconds of each.
    pub(crate) fn samples(&self, list: usize) -> Vec<(Uses, u64)> {
        self.state.lock().lists[list].iter().rev().cloned().collect()
    }

    /// Adds a sample to a list; `false` if nobody has read for long.
    fn add(&self, list: usize, uses: Uses, micros: u64) -> bool {
        let mut state = self.state.lock();
        if state.read_at.is_none_or(|at| at.elapsed() > IDLE_MAX) {
            *state = Samples::default();
            return false;
        }
        let samples = &mut state.lists[list];
        samples.push_back((uses, micros));
        if samples.len() > SAMPLES_MAX {
            samples.pop_front();
        }
        true
    }
}

/// Takes samples until nobody reads them, or the server is gone.
fn sample(sampler: &Weak<ProcessorSampler>) {
    let first = (uses(), Instant::now());
    let mut last = [first.clone(), first.clone(), first];
    let mut took = Duration::ZERO;
    loop {
        thread::sleep(INTERVALS[0].max(took * PAUSE));
        let begun = Instant::now();
        let now = uses();
        took = begun.elapsed();
        for (list, (before, at)) in last.iter_mut().enumerate() {
            let passed = at.elapsed();
            if passed < INTERVALS[list] {
                continue;
            }
            let Some(sampler) = sampler.upgrade() else { return };
            let micros = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
            if !sampler.add(list, since(&now, before), micros) {
                return;
            }
            (*before, *at) = (now.clone(), Instant::now());
        }
    }
}

/// What was used after another time.
fn since(now: &Uses, before: &Uses) -> Uses {
    let of_thread = |(number, uses): (&u64, &ThreadUse)| {
        let earlier = before.get(number).cloned().unwrap_or_default();
        let user_micros = uses.user_micros.saturating_sub(earlier.user_micros);
        let system_micros = uses.system_micros.saturating_sub(earlier.system_micros);
        (*number, ThreadUse { user_micros, system_micros, ..ThreadUse::default() })
    };
    now.iter().map(of_thread).collect()
}

/// What the system tells of all threads now.
pub(crate) fn uses() -> Uses {
    let mut uses = Uses::new();
    let Ok(tasks) = std::fs::read_dir(TASKS) else { return uses };
    for task in tasks.flatten() {
        let number = task.file_name().to_str().and_then(|name| name.parse().ok());
        let (Some(number), Ok(text)) = (number, std::fs::read_to_string(task.path().join("stat"))) else { continue };
        // The name, in parentheses, may have blanks.
        let Some((_, rest)) = text.rsplit_once(')') else { continue };
        let fields: Vec<u64> = rest.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
        let field = |place: usize| fields.get(place).copied().unwrap_or(0);
        // proc(5) counts from 1, and two fields are before the rest.
        let (soft_faults, hard_faults) = (field(7), field(9));
        uses.insert(
            number,
            ThreadUse {
                user_micros: field(11) * TICK_MICROS,
                system_micros: field(12) * TICK_MICROS,
                soft_faults,
                hard_faults,
            },
        );
    }
    uses
}
