//! Sixteen clients work on few rows, and the server is killed under them. A checker tests whether their answers fit an order of events
//! that the isolation level allows.
//!
//! `SQUALL_HISTORY_SECONDS=600` makes the long run. A fourth of the rounds runs at each level. In every other round the power is cut
//! instead, which loses all unsynced data. In every second pair of levels the tables of lists are also redefined.

#![cfg(unix)]

mod check;
mod check_tests;
mod dependencies;
mod facts;
mod families;
mod record;
mod statements;
mod workload;

use record::{Level, List};
use squall_test_support::faults::{Control, Faults};
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;
use squall_test_support::skip;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workload::{Client, Shared};

const CLIENTS: u64 = 16;
const ROUNDS: u64 = 8;
/// Transactions on lists that a round has at least.
const COMMITS: u64 = 60;

/// How much longer a sync takes in rounds that end with a power cut: there is something to lose then.
const SYNC_DELAY_MICROS: u64 = 3000;

#[test]
fn histories_are_what_the_levels_allow() {
    let seconds: Option<u64> = std::env::var("SQUALL_HISTORY_SECONDS").ok().and_then(|text| text.parse().ok());
    let binary = Path::new(env!("CARGO_BIN_EXE_squall"));
    let (mut server, faults) = match Faults::start(binary) {
        Some((server, faults)) => (server, Some(faults)),
        None => {
            skip("the power cuts of histories_are_what_the_levels_allow", "a C compiler");
            (TestServer::start(binary), None)
        }
    };
    workload::create_tables(&mut server.connect());
    let shared = Arc::new(Shared::new());
    let mut random = Random::of_run("histories_are_what_the_levels_allow");
    let (mut facts, mut counts) = (facts::Facts::default(), check::Counts::default());
    let mut families = families::Done::default();
    let started = Instant::now();
    for round in 0.. {
        let go_on = seconds.map_or(round < ROUNDS, |seconds| started.elapsed() < Duration::from_secs(seconds));
        if !go_on {
            break;
        }
        let level = Level::ALL[(round % 4) as usize];
        let power_cut = faults.as_ref().filter(|_| round / 4 % 2 == 1);
        let is_defined_anew = round / 2 % 2 == 1;
        if let Some(faults) = &faults {
            faults.set(Control::SyncDelayMicros, if power_cut.is_some() { SYNC_DELAY_MICROS } else { 0 });
        }
        let lists = statements::create_lists(&mut server.connect(), round);
        let clients: Vec<_> = (1..=CLIENTS)
            .map(|number| {
                let client = Client::new(number, level, lists.clone(), shared.clone(), Random::new(random.number()));
                let port = server.port();
                std::thread::spawn(move || client.run(port))
            })
            .collect();
        let (port, mut definer) = (server.port(), Random::new(random.number()));
        let definer = is_defined_anew.then(|| std::thread::spawn(move || statements::define(port, &mut definer)));
        shared.await_commits(COMMITS + random.below(COMMITS));
        server.kill();
        counts.definitions += definer.map_or(0, |definer| definer.join().expect("definitions"));
        let logs: Vec<_> = clients.into_iter().map(|client| client.join().expect("a client")).collect();
        if let Some(faults) = power_cut {
            faults.cut_power();
        }
        server.restart();

        let mut conn = server.connect();
        let last: Vec<(u64, List)> = lists.map(|key| (key, statements::read_manifest(&mut conn, key))).collect();
        let (mut transactions, mut told) = (Vec::new(), Vec::new());
        for log in logs {
            log.kinds.iter().for_each(|(kind, count)| *counts.kinds.entry(kind).or_default() += count);
            transactions.extend(log.transactions);
            told.push(log.facts);
            families.add(log.families);
        }
        let end = if power_cut.is_some() { "a power cut" } else { "kill -9" };
        match check::check(level, &transactions, &last.into_iter().collect()) {
            Ok(found) => counts.add(&found),
            Err(anomaly) => panic!("round {round} ({level:?}, {end}): {anomaly}"),
        }
        told.into_iter().for_each(|told| facts.add(told));
        facts.check(&mut conn).unwrap_or_else(|wrong| panic!("round {round} ({level:?}, {end}): {wrong}"));
        if let Ok(Some(wrong)) = families::look(&mut conn) {
            panic!("round {round} ({level:?}, {end}): {wrong}");
        }
        counts.rounds += 1;
    }
    println!("{counts}; {facts}; {families}");
    assert!(families.is_enough(), "never done: {families}");
    let left_out: Vec<_> = statements::EXPECTED.iter().filter(|kind| !counts.kinds.contains_key(*kind)).collect();
    assert!(left_out.is_empty() && counts.definitions > 0, "never done: {left_out:?}; {counts}");
    assert!(
        counts.committed > counts.rounds * 20 && counts.reads > counts.rounds * 20,
        "too little for the run to mean anything: {counts}"
    );
}
