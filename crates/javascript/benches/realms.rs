//! What realms cost: one that is new, the memory that it takes, one that is set back, and calls of a short script.
//!
//! `cargo bench -p squall-javascript --bench realms` prints one line of JSON; `bench/javascript.py` runs it.

use squall_javascript::TotalMemory;
use squall_javascript::engine::{Limits, Realm, ResultForm, Task};
use squall_statement_context::KillState;
use squall_types::temporal::TimeZone;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HEAP: usize = 64 << 20;
const REALMS: u32 = 200;
const CALLS: u32 = 20_000;

fn main() {
    let (kill, zone, total) =
        (Arc::new(KillState::default()), Arc::new(TimeZone::utc()), Arc::new(TotalMemory::default()));
    let task = Task {
        arguments: &[],
        form: ResultForm::Text,
        limits: Limits { heap: HEAP, stack: 1 << 20, time: None, result: 1 << 20 },
        kill: &kill,
        zone: &zone,
        statements: None,
        is_abandoned: None,
    };
    let new_realm = || Realm::new(HEAP, total.clone()).expect("there is memory");
    let made = micros(REALMS, || drop(new_realm()));
    let mut realm = new_realm();
    let bytes = realm.kept_bytes();
    let reset = micros(CALLS, || realm.reset());
    let code = realm.compile("1", &task).expect("a script");
    let called = micros(CALLS, || drop(realm.call(&code, &task).expect("a result")));
    let made_and_called = micros(REALMS, || drop(new_realm().call(&code, &task).expect("a result")));
    println!(
        "{{\"new_realm_us\": {made:.2}, \"reset_us\": {reset:.2}, \"reset_bytes\": {bytes}, \"call_us\": {called:.2}, \
         \"call_in_a_new_realm_us\": {made_and_called:.2}}}"
    );
}

/// Microseconds of a run, in the best of five rounds.
fn micros(runs: u32, mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        (0..runs).for_each(|_| run());
        best = best.min(begun.elapsed());
    }
    best.as_secs_f64() * 1e6 / f64::from(runs)
}
