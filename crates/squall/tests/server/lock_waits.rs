//! A change that waits for another one: the tables of locks and transactions say the same of it.

use super::{connect, run, start, value};
use squall_test_support::wait_until;

#[test]
fn a_blocked_update_is_the_same_in_all_tables_of_locks() {
    let server = start();
    let (mut holder, mut waiter, mut watcher) = (connect(&server), connect(&server), connect(&server));
    run(&mut holder, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT); INSERT INTO d.t VALUES (1, 1)");
    run(&mut holder, "BEGIN; UPDATE d.t SET a = 2 WHERE id = 1");
    let ids = [&mut holder, &mut waiter].map(|client| value(client, "SELECT CONNECTION_ID()"));
    std::thread::scope(|scope| {
        let update = scope.spawn(|| run(&mut waiter, "UPDATE d.t SET a = 3 WHERE id = 1"));
        let waits = "SELECT COUNT(*) FROM data_dictionary.innodb_lock_waits";
        wait_until("an update that waits", || value(&mut watcher, waits) == "1");
        let transactions =
            "SELECT GROUP_CONCAT(trx_drizzle_thread_id, ' ', trx_state, ' ', IFNULL(trx_query, '-') ORDER BY trx_state)
                            FROM data_dictionary.innodb_trx WHERE trx_rows_locked > 0";
        let [holding, waiting] = &ids;
        let expected = format!("{waiting} LOCK WAIT UPDATE d.t SET a = 3 WHERE id = 1,{holding} RUNNING -");
        assert_eq!(value(&mut watcher, transactions), expected);
        let locks = "SELECT GROUP_CONCAT(t.trx_drizzle_thread_id, ' ', l.lock_mode, ' ', l.lock_type, ' ', l.lock_table, ' ', l.lock_index, ' ', l.lock_data
                         ORDER BY t.trx_state)
                     FROM data_dictionary.innodb_locks l JOIN data_dictionary.innodb_trx t ON t.trx_id = l.lock_trx_id";
        let expected = format!("{waiting} X RECORD `d`.`t` PRIMARY 1,{holding} X RECORD `d`.`t` PRIMARY 1");
        assert_eq!(value(&mut watcher, locks), expected);
        let same = "SELECT COUNT(*)
                    FROM data_dictionary.innodb_lock_waits w
                    JOIN data_dictionary.innodb_locks r ON r.lock_id = w.requested_lock_id AND r.lock_trx_id = w.requesting_trx_id
                    JOIN data_dictionary.innodb_locks b ON b.lock_id = w.blocking_lock_id AND b.lock_trx_id = w.blocking_trx_id
                    JOIN data_dictionary.innodb_trx t ON t.trx_id = w.requesting_trx_id AND t.trx_requested_lock_id = r.lock_id
                    JOIN performance_schema.data_lock_waits p ON p.requesting_engine_lock_id = w.requested_lock_id
                        AND p.blocking_engine_lock_id = w.blocking_lock_id";
        assert_eq!(value(&mut watcher, same), "1");
        let in_ndbinfo = "SELECT GROUP_CONCAT(w.mysql_connection_id, ' ', w.mode, ' ', w.state, ' ', t.state, ' waits for ', h.mysql_connection_id, ' ', h.mode, ' ', h.state)
                          FROM ndbinfo.server_locks w
                          JOIN ndbinfo.server_transactions t ON t.transid = w.transid AND t.mysql_connection_id = w.mysql_connection_id
                          JOIN ndbinfo.server_locks h ON h.lock_num = w.waiting_for AND h.rowid = w.rowid AND h.tableid = w.tableid
                          JOIN data_dictionary.innodb_lock_waits i ON i.requesting_trx_id = w.transid AND i.blocking_trx_id = h.transid";
        let expected = format!("{waiting} X W Started waits for {holding} X H");
        assert_eq!(value(&mut watcher, in_ndbinfo), expected);
        run(&mut holder, "COMMIT");
        update.join().expect("the update");
        assert_eq!(value(&mut watcher, waits), "0");
    });
    assert_eq!(value(&mut watcher, "SELECT a FROM d.t"), "3");
}
