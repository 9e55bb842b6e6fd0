//! Power cuts at any time. The disk has all synced data of the data directory, and any part of the unsynced data: rows, log, catalog,
//! segments, snapshots and jobs. Afterwards the server starts, acknowledged work is there, each transaction is there as a whole or not
//! at all, and counters are above every key. Some cuts happen while a server recovers from a kill.
//!
//! `SQUALL_POWER_CUTS=500` makes the long run, `SQUALL_SEED=7` chooses the same times, although the order of threads may differ.

#![cfg(target_os = "linux")]

mod check;
mod work;

use check::check;
use squall_test_support::power_cuts::Recorder;
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;
use std::path::Path;
use std::sync::Arc;
use work::{Acknowledged, set_up, work_until_killed};

const BINARY: &str = env!("CARGO_BIN_EXE_squall");
const TEST: &str = "power_cuts_lose_nothing_that_was_acknowledged";
/// Moments that are tried of one recording.
const CUTS_OF_A_RECORDING: u64 = 20;
/// Where files are until a batch of the log names them, and moments behind something that was done there.
const PENDING: &str = "rows/rows/pending";
const AROUND: u64 = 60;
/// Starts of the server in a recording, but for the first.
const RESTARTS: u64 = 4;

fn cuts(otherwise: u64) -> u64 {
    std::env::var("SQUALL_POWER_CUTS").map_or(otherwise, |text| text.parse().expect("SQUALL_POWER_CUTS is a number"))
}

#[test]
fn power_cuts_lose_nothing_that_was_acknowledged() {
    let mut random = Random::of_run(TEST);
    let (mut left, mut total) = (cuts(6), Acknowledged::default());
    let (all, mut commits_of_files) = (left, 0);
    while left > 0 {
        let Some((mut server, recorder)) = Recorder::start(Path::new(BINARY)) else {
            return squall_test_support::skip(TEST, "a C compiler");
        };
        set_up(&server);
        let begun = recorder.now();
        let recorder = Arc::new(recorder);
        let mut acknowledged = Acknowledged::default();
        // Several times, with an end of one kind or the other in between: files are made then, and the log begins again. What a killed
        // server has left may be in the system's memory only, and the next one acts upon it.
        let mut starts = Vec::new();
        for _ in 0..RESTARTS {
            work_until_killed(&mut server, &recorder, &mut acknowledged, &mut random, |server, random| {
                match random.below(4) {
                    0 => drop(server.terminate()),
                    _ => server.kill(),
                }
            });
            recorder.mend();
            let start_begun = recorder.now();
            server.restart();
            starts.push((start_begun, recorder.now()));
        }
        work_until_killed(&mut server, &recorder, &mut acknowledged, &mut random, |server, _| server.kill());
        let record = recorder.record();
        let pending = record.moments_in(Path::new(PENDING));
        for _ in 0..left.min(CUTS_OF_A_RECORDING) {
            let moment = match random.below(6) {
                0 => acknowledged.moment(&mut random).unwrap_or(begun),
                // Around a commit of files.
                1 if !pending.is_empty() => {
                    let moment = pending[random.below(pending.len() as u64) as usize] + random.below(AROUND);
                    moment.min(record.moments())
                }
                1 | 2 => {
                    let (start_begun, start_ended) = starts[random.below(RESTARTS) as usize];
                    start_begun + random.below(start_ended - start_begun + 1)
                }
                _ => begun + random.below(record.moments() - begun + 1),
            };
            let folder = tempfile::Builder::new().disable_cleanup(true).tempdir().expect("a folder");
            let path = folder.path().to_path_buf();
            // What fails is kept, also as it was before a server has seen it.
            record.cut_power(moment, &path.join("before"), &mut random.clone());
            record.cut_power(moment, &path.join("data"), &mut random);
            let mut cut = TestServer::stopped(Path::new(BINARY), folder);
            println!("moment {moment} of {} in {}", record.moments(), path.display());
            cut.restart();
            check(&cut, &acknowledged, moment);
            drop(cut);
            std::fs::remove_dir_all(path).expect("the folder is removed");
        }
        left = left.saturating_sub(CUTS_OF_A_RECORDING);
        commits_of_files += pending.len();
        total.add(acknowledged);
    }
    println!("{all} power cuts; {}; {commits_of_files} events of commits of files", total.description());
    total.assert_not_nothing();
}
