//! EXPLAIN of SET and ALTER TABLE: what it says beforehand is what the statement then does.

use super::{connect, error, options, run, start, value};
use squall_client::{Client, ConnectOptions, QueryResult};

/// A step: action, name, old and new value, when it applies, what it blocks, whether its time is known, bytes, whether it can be undone.
type Step = [String; 9];

fn explain(client: &mut Client, sql: &str) -> Vec<Step> {
    let results = client.run(&format!("EXPLAIN {sql}")).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Some((QueryResult::Rows(columns), rows)) = results.first() else { panic!("{sql}: no rows") };
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    assert_eq!(
        names.join(" "),
        "STEP NODE ACTION NAME OLD_VALUE NEW_VALUE APPLIES BLOCKS ESTIMATED_SECONDS ESTIMATED_BYTES REVERSIBLE NOTE"
    );
    let step = |row: &Vec<Option<Vec<u8>>>| {
        [2, 3, 4, 5, 6, 7, 8, 9, 10].map(|column| match &row[column] {
            Some(value) if column == 8 => (!value.is_empty()).to_string(),
            Some(value) => String::from_utf8_lossy(value).into_owned(),
            None => "-".to_owned(),
        })
    };
    rows.iter().map(step).collect()
}

fn lines(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|step| step.join("|")).collect()
}

#[test]
fn a_variable_that_is_read_where_it_is_needed() {
    let server = start();
    let mut client = connect(&server);
    let sql = "SET PERSIST max_execution_time = 100, GLOBAL long_query_time = 2, SESSION sql_mode = ''";
    let steps = explain(&mut client, sql);
    let mode = value(&mut client, "SELECT @@sql_mode");
    let expected = [
        "check|-|-|-|-|nothing|true|0|YES".to_owned(),
        "publish|max_execution_time|0|100|new_sessions|nothing|true|0|YES".to_owned(),
        "publish|long_query_time|10.000000|2.000000|new_sessions|nothing|true|0|YES".to_owned(),
        format!("publish|sql_mode|{mode}||immediate|nothing|true|0|YES"),
        // Nothing was kept yet, so nobody knows how long that takes.
        "keep|max_execution_time|-|100|next_start|nothing|-|0|YES".to_owned(),
        "total|-|-|-|-|nothing|-|0|YES".to_owned(),
    ];
    assert_eq!(lines(&steps), expected);
    let unchanged = "SELECT CONCAT_WS(' ', @@GLOBAL.max_execution_time, @@GLOBAL.long_query_time, LENGTH(@@sql_mode) > 0,
        (SELECT COUNT(*) FROM data_dictionary.configuration_history), (SELECT COUNT(*) FROM performance_schema.persisted_variables))";
    assert_eq!(value(&mut client, unchanged), "0 10.000000 1 0 0");
    run(&mut client, sql);
    assert_eq!(value(&mut client, unchanged), "100 2.000000 0 3 1");
    let steps = lines(&explain(&mut client, sql));
    assert_eq!(steps[4], "keep|max_execution_time|100|100|next_start|nothing|true|0|YES");
    let steps = lines(&explain(&mut client, "RESET PERSIST"));
    assert_eq!(steps[1], "forget|max_execution_time|100|-|next_start|nothing|true|0|YES");
    let steps = lines(&explain(&mut client, "RESET PERSIST TO VERSION 0"));
    assert_eq!(steps[1], "publish|max_execution_time|100|0|new_sessions|nothing|true|0|YES");
    assert_eq!(steps[3], "forget|max_execution_time|100|-|next_start|nothing|true|0|YES");
    assert_eq!(value(&mut client, unchanged), "100 2.000000 0 3 1");
}

/// The size of a cache: the memory that it gives back is what the plan says, and the second time how long that takes is known.
#[test]
fn the_size_of_a_cache() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    let held = "SELECT bytes FROM (SELECT CURRENT_NUMBER_OF_BYTES_USED AS bytes FROM performance_schema.memory_summary_global_by_event_name
                WHERE EVENT_NAME = 'memory/squall/plan_cache') AS t";
    for round in 0..2 {
        for number in 0..50 {
            let sql = format!("WITH unused AS (SELECT 1) SELECT id AS column_{round}_{number} FROM d.t");
            (0..3).for_each(|_| run(&mut client, &sql));
        }
        let steps = explain(&mut client, "SET GLOBAL plan_cache_size = 0");
        let freed: i64 = steps[1][7].parse().expect("bytes");
        let bytes: i64 = value(&mut client, held).parse().expect("bytes");
        assert_eq!((&*steps[1][0], &*steps[1][1]), ("evict", "plan_cache_size"));
        assert!(-freed > bytes / 2 && -freed < bytes * 2, "{freed} of {bytes}");
        assert_eq!(steps[1][6], if round == 0 { "-" } else { "true" });
        assert_eq!(
            lines(&steps)[2],
            format!("resize|plan_cache_size|33554432|0|immediate|nothing|{}|0|YES", steps[1][6])
        );
        run(&mut client, "SET GLOBAL plan_cache_size = 0");
        assert_eq!(value(&mut client, held), "0");
        run(&mut client, "SET GLOBAL plan_cache_size = DEFAULT");
    }
    // More memory than there is.
    let results = client.run("EXPLAIN SET GLOBAL column_cache_size = 1099511627776").expect("a plan");
    let note = results[0].1[1][11].clone().expect("a note");
    assert!(String::from_utf8_lossy(&note).contains("more than the machine has free"), "{note:?}");
}

/// A listener that moves, and a log file.
#[test]
fn listeners_and_log_files() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "SET GLOBAL json_server_port = 0");
    for known in ["-", "true"] {
        let sql = "SET GLOBAL json_server_enabled = ON";
        let steps = lines(&explain(&mut client, sql));
        let step =
            format!("move listener|json_server_enabled|OFF|ON|immediate|new connections of the listener|{known}|0|YES");
        // Setting the port has moved nothing, but was measured.
        assert_eq!(steps[1].replace("|true|", &format!("|{known}|")), step);
        assert_eq!(
            value(
                &mut client,
                "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Json_server_port'"
            ),
            "0"
        );
        run(&mut client, sql);
        run(&mut client, "SET GLOBAL json_server_enabled = OFF");
    }
    let folder = value(&mut client, "SELECT @@datadir");
    let sql = format!("SET GLOBAL general_log_file = '{folder}other.log', GLOBAL general_log = ON");
    let steps = lines(&explain(&mut client, &sql));
    assert!(steps[1].starts_with("reconfigure logs|general_log_file|"), "{steps:?}");
    assert!(!std::path::Path::new(&format!("{folder}other.log")).exists());
    run(&mut client, &sql);
    assert!(std::path::Path::new(&format!("{folder}other.log")).exists());
    let steps = lines(&explain(&mut client, "SET GLOBAL general_log = OFF"));
    assert_eq!(steps[1], "reconfigure logs|general_log|ON|OFF|immediate|nothing|true|0|YES");
    let steps = lines(&explain(&mut client, "SET GLOBAL offline_mode = ON"));
    assert_eq!(steps[1], "end connections|offline_mode|OFF|ON|immediate|accounts without CONNECTION_ADMIN|-|0|NO");
}

/// What an ALTER TABLE would do is what it does: the algorithm that EXPLAIN names is accepted, and the others are not.
#[test]
fn alterations_of_tables() {
    let server = start();
    let mut client = connect(&server);
    run(&mut client, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), KEY a (a))");
    run(
        &mut client,
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i, i, 'text' FROM n",
    );
    // The change, the algorithm, the actions, whether it can be undone.
    let cases = [
        ("ADD COLUMN c INT NOT NULL DEFAULT 7", "INSTANT", "check publish", "YES"),
        ("DROP COLUMN b", "INSTANT", "check publish", "NO"),
        ("RENAME TO u", "INSTANT", "check publish", "YES"),
        ("ADD KEY b (b), ADD KEY ab (a, b)", "INPLACE", "check build index build index publish", "YES"),
        ("DROP KEY a", "INSTANT", "check publish", "YES"),
        ("ENGINE=InnoDB", "INPLACE", "check copy rows publish drop old rows", "YES"),
        ("MODIFY a CHAR(10)", "COPY", "check copy rows publish drop old rows", "NO"),
        ("DROP PRIMARY KEY", "COPY", "check copy rows publish drop old rows", "YES"),
    ];
    for (change, algorithm, actions, is_reversible) in cases {
        let sql = format!("ALTER TABLE t {change}");
        let (before, definition) = (
            value(&mut client, "CHECKSUM TABLE t"),
            "SELECT create_options IS NOT NULL FROM information_schema.tables WHERE table_name = 't'",
        );
        let steps = explain(&mut client, &sql);
        assert_eq!(value(&mut client, "CHECKSUM TABLE t"), before);
        assert_eq!(value(&mut client, definition), "1");
        let of_steps: Vec<&str> = steps[..steps.len() - 1].iter().map(|step| &*step[0]).collect();
        assert_eq!(of_steps.join(" "), actions, "{change}");
        assert_eq!(steps[steps.len() - 1][8], is_reversible, "{change}");
        let is_copied = actions.contains("copy");
        // What is copied without a primary key.
        let is_locked = change == "DROP PRIMARY KEY";
        let blocks = if is_locked { "writes of the table" } else { "nothing" };
        assert_eq!(steps[steps.len() - 1][5], blocks, "{change}");
        match is_locked {
            true => assert!(error(&mut client, &format!("EXPLAIN {sql}, LOCK=NONE")).contains("1845")),
            false => run(&mut client, &format!("EXPLAIN {sql}, LOCK=NONE")),
        }
        let results = client.run(&format!("EXPLAIN {sql}")).expect("a plan");
        let note = results[0].1[0][11].clone().expect("a note");
        assert_eq!(String::from_utf8_lossy(&note), format!("ALGORITHM={algorithm}"), "{change}");
        if algorithm != "INSTANT" {
            let refused = error(&mut client, &format!("{sql}, ALGORITHM=INSTANT"));
            assert!(refused.contains("1845"), "{refused}");
            assert_eq!(error(&mut client, &format!("EXPLAIN {sql}, ALGORITHM=INSTANT")), refused);
        }
        run(
            &mut client,
            &format!("CREATE TABLE kept LIKE t; INSERT INTO kept SELECT * FROM t; {sql}, ALGORITHM={algorithm}"),
        );
        // The second time it is known how long that takes.
        if is_copied {
            let again = explain(&mut client, "ALTER TABLE kept ENGINE=InnoDB");
            assert_eq!(again[1][6], "true");
        }
        run(&mut client, "DROP TABLE IF EXISTS t, u; RENAME TABLE kept TO t");
    }
    for wrong in ["ADD COLUMN a INT", "DROP COLUMN nothing", "ADD KEY (nothing)", "RENAME TO t2, ALGORITHM=NEVER"] {
        let refused = error(&mut client, &format!("ALTER TABLE t {wrong}"));
        assert_eq!(error(&mut client, &format!("EXPLAIN ALTER TABLE t {wrong}")), refused);
    }
    run(&mut client, "CREATE USER reader; GRANT SELECT ON d.* TO reader");
    let mut reader =
        Client::connect(&ConnectOptions { user: "reader".to_owned(), ..options(&server) }).expect("a connection");
    let refused = error(&mut reader, "EXPLAIN ALTER TABLE d.t ADD COLUMN c INT");
    assert!(refused.contains("1142"), "{refused}");
    // It ends no transaction, and waits for none.
    run(&mut client, "BEGIN; UPDATE t SET a = 0 WHERE id = 1");
    explain(&mut client, "ALTER TABLE t ADD COLUMN c INT");
    run(&mut client, "ROLLBACK");
    assert_eq!(value(&mut client, "SELECT a FROM t WHERE id = 1"), "1");
}
