//! Origins of global variables in `performance_schema.variables_info`, over restarts.

use super::{connect, run, start, value};
use squall_test_support::random::Random;
use std::time::Duration;

fn origin(client: &mut squall_client::Client, variable: &str) -> String {
    let sql = format!(
        "SELECT CONCAT_WS(' ', variable_source, set_user, set_host, set_time BETWEEN NOW(6) - INTERVAL 1 HOUR AND NOW(6)) \
         FROM performance_schema.variables_info WHERE variable_name = '{variable}'"
    );
    value(client, &sql)
}

#[test]
fn origins_of_variables_outlive_kills() {
    let mut server = start();
    let mut client = connect(&server);
    assert_eq!(origin(&mut client, "port"), "COMMAND_LINE");
    // The default of Embedded InnoDB, until somebody sets the variable.
    let io_capacity = "SELECT value FROM data_dictionary.innodb_configuration WHERE name = 'io_capacity'";
    assert_eq!(value(&mut client, io_capacity), "200");
    run(&mut client, "SET GLOBAL innodb_io_capacity = 400");
    assert_eq!(value(&mut client, io_capacity), "400");
    assert_eq!(origin(&mut client, "net_retry_count"), "COMPILED");
    run(
        &mut client,
        "SET PERSIST net_retry_count = 11; SET PERSIST_ONLY lock_wait_timeout = 99; SET GLOBAL wait_timeout = 99",
    );
    assert_eq!(origin(&mut client, "net_retry_count"), "DYNAMIC root localhost 1");
    assert_eq!(origin(&mut client, "lock_wait_timeout"), "COMPILED");
    assert_eq!(origin(&mut client, "wait_timeout"), "DYNAMIC root localhost 1");
    server.kill();
    server.restart();
    let mut client = connect(&server);
    assert_eq!(origin(&mut client, "net_retry_count"), "PERSISTED root localhost 1");
    assert_eq!(origin(&mut client, "lock_wait_timeout"), "PERSISTED root localhost 1");
    assert_eq!(origin(&mut client, "wait_timeout"), "COMPILED");
    run(&mut client, "RESET PERSIST net_retry_count");
    server.kill();
    server.restart();
    let mut client = connect(&server);
    assert_eq!(origin(&mut client, "net_retry_count"), "COMPILED");
    assert_eq!(origin(&mut client, "lock_wait_timeout"), "PERSISTED root localhost 1");
}

#[test]
fn the_history_of_variables_outlives_kills_and_leads_back() {
    let mut server = start();
    let mut client = connect(&server);
    run(
        &mut client,
        "SET PERSIST net_retry_count = 11; SET PERSIST net_retry_count = 12; SET GLOBAL wait_timeout = 99",
    );
    let history = "SELECT GROUP_CONCAT(version, ' ', name, ' ', scope, ' ', old_value, ' ', new_value ORDER BY version, scope)
                   FROM (SELECT version, name, scope, IFNULL(old_value, '-') AS old_value, IFNULL(new_value, '-') AS new_value
                         FROM data_dictionary.configuration_history) AS h";
    let before = "1 net_retry_count GLOBAL 10 11,1 net_retry_count PERSIST - 11,\
                  2 net_retry_count GLOBAL 11 12,2 net_retry_count PERSIST 11 12,3 wait_timeout GLOBAL 28800 99";
    assert_eq!(value(&mut client, history), before);
    server.kill();
    server.restart();
    let mut client = connect(&server);
    assert_eq!(value(&mut client, history), before);
    run(&mut client, "RESET PERSIST TO VERSION 1");
    assert_eq!(value(&mut client, "SELECT @@GLOBAL.net_retry_count"), "11");
    server.kill();
    server.restart();
    let mut client = connect(&server);
    assert_eq!(value(&mut client, "SELECT @@GLOBAL.net_retry_count"), "11");
    run(&mut client, "RESET PERSIST TO VERSION 0");
    assert_eq!(value(&mut client, "SELECT @@GLOBAL.net_retry_count"), "10");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM performance_schema.persisted_variables"), "0");
    let unknown = client.run("RESET PERSIST TO VERSION 6").expect_err("a version that is not there").to_string();
    assert!(unknown.contains("1210") && unknown.contains("versions 0 to 5 are kept"), "{unknown}");
}

/// However a server ends in the middle of a SET: all of its values hold or none, and the history says which.
#[test]
fn a_kill_in_a_set_leaves_all_of_it_or_nothing() {
    const ROUNDS: usize = 8;
    let mut random = Random::of_run("a_kill_in_a_set");
    let mut server = start();
    let mut number = 1_u64;
    for _ in 0..ROUNDS {
        let mut setter = connect(&server);
        let moment = Duration::from_millis(random.below(60));
        let answered = std::thread::scope(|scope| {
            let sets = scope.spawn(|| {
                let mut answered = number;
                // Until the server is gone.
                while setter
                    .run(&format!("SET PERSIST net_retry_count = {}, net_read_timeout = {0}", answered + 1))
                    .is_ok()
                {
                    answered += 1;
                }
                answered
            });
            std::thread::sleep(moment);
            server.kill();
            sets.join().expect("the SETs")
        });
        server.restart();
        let mut client = connect(&server);
        let values = "SELECT CONCAT_WS(' ', @@GLOBAL.net_retry_count, @@GLOBAL.net_read_timeout,
                (SELECT GROUP_CONCAT(variable_value ORDER BY variable_name SEPARATOR ' ') FROM performance_schema.persisted_variables),
                (SELECT GROUP_CONCAT(new_value ORDER BY name SEPARATOR ' ') FROM data_dictionary.configuration_history
                 WHERE scope = 'PERSIST' AND state = 'applied'
                   AND version = (SELECT MAX(version) FROM data_dictionary.configuration_history)))";
        let values = value(&mut client, values);
        if answered == 1 && values.starts_with("10 30") {
            // It was gone before the first answer.
            continue;
        }
        number = values.split(' ').next().and_then(|first| first.parse().ok()).expect("a number");
        assert_eq!(values, vec![number.to_string(); 6].join(" "));
        // What was answered is there; the last one may have been done without an answer.
        assert!(number == answered || number == answered + 1, "{answered} was answered, {number} is there");
        let entries = "SELECT COUNT(DISTINCT version) FROM data_dictionary.configuration_history";
        assert_eq!(value(&mut client, entries), (number - 1).to_string());
    }
}
