//! Views of ndbinfo that move under load.

use super::{connect, run, start, value};
use squall_test_support::SetOnDrop;
use squall_test_support::wait_until;
use std::sync::atomic::{AtomicBool, Ordering};

/// What load has to move.
const COUNTED: &str = "SELECT CONCAT_WS(' ',
    (SELECT SUM(val) FROM ndbinfo.counters WHERE counter_name IN ('COMMITS', 'READS', 'WRITES')),
    (SELECT SUM(tot_key_reads) FROM ndbinfo.operations_per_fragment WHERE fq_name = 'd/def/t'),
    (SELECT SUM(tot_key_inserts) FROM ndbinfo.operations_per_fragment WHERE fq_name = 'd/def/t'),
    (SELECT used FROM ndbinfo.memoryusage WHERE memory_type = 'Data memory'),
    (SELECT SUM(used) FROM ndbinfo.logbuffers),
    (SELECT SUM(used) FROM ndbinfo.logspaces),
    (SELECT SUM(transactions) FROM ndbinfo.tc_time_track_stats),
    (SELECT SUM(os_ru_utime + os_ru_stime) FROM ndbinfo.threadstat))";

#[test]
fn load_moves_the_counters() {
    let server = start();
    let (mut client, mut watcher) = (connect(&server), connect(&server));
    run(&mut client, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(1000))");
    let numbers = |watcher: &mut _| -> Vec<u64> {
        value(watcher, COUNTED).split(' ').map(|number| number.parse().expect("a number")).collect()
    };
    let before = numbers(&mut watcher);
    // The first reader begins the samples.
    assert_eq!(value(&mut watcher, "SELECT COUNT(*) FROM ndbinfo.cpustat_1sec"), "0");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = SetOnDrop(&stop);
        scope.spawn(|| {
            let mut id = 0;
            while !stop.load(Ordering::Relaxed) {
                id += 1;
                run(&mut client, "INSERT INTO d.t (a) VALUES (REPEAT('x', 1000))");
                run(&mut client, &format!("SELECT a FROM d.t WHERE id = {id}"));
            }
        });
        wait_until("a second that was busy", || {
            value(&mut watcher, "SELECT IFNULL(SUM(exec_time), 0) > 0 FROM ndbinfo.cpustat_1sec") == "1"
        });
        let of_interval = "SELECT COUNT(*) > 0 AND SUM(exec_time) <= SUM(elapsed_time) AND MIN(elapsed_time) >= 50000 FROM ndbinfo.cpustat_50ms";
        assert_eq!(value(&mut watcher, of_interval), "1");
        let percent =
            "SELECT MAX(OS_user + OS_system) > 0 AND MAX(OS_user + OS_system + OS_idle) <= 110 FROM ndbinfo.cpustat";
        wait_until("a busy thread", || value(&mut watcher, percent) == "1");
        drop(end);
    });
    let after = numbers(&mut watcher);
    let moved: Vec<bool> = before.iter().zip(&after).map(|(before, after)| after > before).collect();
    assert_eq!(moved, [true; 8], "{before:?} {after:?}");
}
