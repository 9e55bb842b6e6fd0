//! `squall import-config`: option files as MySQL and MariaDB have them, files with mistakes, and the SQL on a real server.

use mysql::prelude::Queryable as _;
use squall_test_support::server::TestServer;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_squall");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/option_files")
}

/// Runs the command in the folder of option files, so that places are named alike everywhere.
fn import(arguments: &[&str]) -> Output {
    let mut command = Command::new(BINARY);
    command.current_dir(folder()).arg("import-config").args(arguments).stdin(Stdio::null());
    command.output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Compares a report with the file that it is kept in, or writes the file.
fn compare(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var("SQUALL_GOLDEN").is_ok_and(|mode| mode == "update") {
        std::fs::write(&path, found).expect("a file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "tests/option_files/{name}; SQUALL_GOLDEN=update writes it");
}

#[test]
fn a_file_of_mysql_is_taken_over() {
    let table = import(&["mysql84.cnf"]);
    assert!(table.status.success(), "{}", text(&table.stderr));
    compare("mysql84.table", &text(&table.stdout));
    let sql = import(&["mysql84.cnf", "--format", "sql"]);
    assert!(sql.status.success());
    compare("mysql84.sql", &text(&sql.stdout));
    for report in [table, sql] {
        let report = text(&report.stdout);
        assert!(!report.contains("replica secret") && !report.contains("client secret"), "{report}");
    }
}

#[test]
fn a_file_of_mariadb_and_its_includes_are_taken_over() {
    let table = import(&["mariadb.cnf"]);
    assert!(table.status.success(), "{}", text(&table.stderr));
    compare("mariadb.table", &text(&table.stdout));
    assert!(!text(&table.stdout).contains("galera secret"));
}

#[test]
fn mistakes_are_told_and_the_exit_code_is_1() {
    for format in ["table", "sql"] {
        let report = import(&["bad.cnf", "--format", format]);
        assert_eq!(report.status.code(), Some(1), "{}", text(&report.stderr));
        compare(&format!("bad.{format}"), &text(&report.stdout));
        assert!(!text(&report.stdout).contains("top secret"));
    }
    let missing = import(&["nothing.cnf"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).starts_with("squall: cannot read nothing.cnf: No such file"), "{missing:?}");
}

/// The report of a file with this text.
fn report(option_file: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(BINARY);
    command.args(["import-config", "-"]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("its input").write_all(option_file.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("its output");
    (output.status.code(), text(&output.stdout))
}

#[test]
fn only_loose_names_may_be_unknown() {
    assert_eq!(report("[mysqld]\nloose-no-such-thing=1\n", &[]).0, Some(0));
    assert_eq!(report("[mysqld]\nno-such-thing=1\n", &[]).0, Some(1));
    assert_eq!(report("[mysqld]\nloose_max_connections=many\n", &[]).0, Some(1));
    assert_eq!(report("[mysqld1]\nno-such-thing=1\n", &[]).0, Some(0));
    assert_eq!(report("[mysqld1]\nno-such-thing=1\n", &["--group", "mysqld1"]).0, Some(1));
}

#[test]
fn options_of_the_start_become_flags() {
    let start = |option_file: &str| {
        let (code, table) = report(&format!("[mysqld]\n{option_file}"), &[]);
        (code, table.lines().find_map(|line| line.strip_prefix("Start with: squall serve ")).map(ToOwned::to_owned))
    };
    let flags = |text: &str| (Some(0), Some(text.to_owned()));
    assert_eq!(start("bind-address = *\nport = 0\n"), flags("--bind-address '*'"));
    assert_eq!(start("socket = it's.sock\n"), flags(r"--socket 'it'\''s.sock'"));
    assert_eq!(start("skip-networking\n"), flags("--bind-address ''"));
    assert_eq!(start("skip-networking = 0\nsecure-file-priv = NULL\n"), (Some(0), None));
    assert_eq!(start("admin_address = ::1\nport = 3307\nport = 3308\n"), flags("--admin-address ::1 --port 3308"));
    assert_eq!(start("port\n"), (Some(1), None));
    assert_eq!(start("port = 99999\n"), (Some(1), None));
}

#[test]
fn nothing_of_a_file_leaves_its_literal_or_comment() {
    let option_file = "[mysqld]\nslow_query_log_file=\"a'x\\n; DROP DATABASE d; -- \"\nunknown\u{1b}[2J\r=a\\nSELECT 1;\n\
                       loose-plugin-load='a\\nDROP DATABASE d;'\n";
    let (_, sql) = report(option_file, &["--format", "sql"]);
    let statements: Vec<&str> = sql.lines().filter(|line| !line.starts_with("-- ")).collect();
    assert_eq!(
        statements,
        [
            "SET NAMES utf8mb4;",
            "SET SESSION sql_mode = 'TRADITIONAL';",
            "SET PERSIST slow_query_log_file = 'a''x\\n; DROP DATABASE d; -- ';"
        ]
    );
    assert!(!sql.contains('\u{1b}'), "{sql}");
}

/// Feeds SQL to a client program of a server.
fn feed(server: &TestServer, sql: &str) {
    let port = server.port().to_string();
    let mut command = Command::new(BINARY);
    command.args(["sql", "-P", &port]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("its input").write_all(sql.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("its output");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_server_has_the_imported_values_after_a_restart() {
    let mut server = TestServer::start(Path::new(BINARY));
    for file in ["mysql84.cnf", "mariadb.cnf"] {
        let sql = text(&import(&[file, "--format", "sql"]).stdout);
        feed(&server, &sql);
        server.terminate();
        server.restart();
        let mut conn = server.connect();
        let mut count = 0;
        for line in sql.lines().filter_map(|line| line.strip_prefix("SET PERSIST ")) {
            let (name, value) = line.trim_end_matches(';').split_once(" = ").expect("an assignment");
            let value = if value == "ON" {
                "1"
            } else if value == "OFF" {
                "0"
            } else {
                value
            };
            let sql = format!("SELECT @@global.{name} <=> {value}, @@global.{name}");
            let found: Option<(bool, Option<String>)> =
                conn.query_first(sql).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(found.as_ref().is_some_and(|(is_same, _)| *is_same), "{file}: {name} = {value}: {found:?}");
            count += 1;
        }
        assert!(count > 5, "{file}: {count} values");
    }
}

/// The code blocks of the guide in a language.
fn blocks<'a>(guide: &'a str, language: &str) -> Vec<&'a str> {
    let fenced = guide.split("\n```").skip(1).step_by(2);
    fenced
        .filter_map(|block| block.split_once('\n'))
        .filter(|(found, _)| *found == language)
        .map(|(_, text)| text)
        .collect()
}

#[test]
fn the_guide_tells_the_truth() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/configure.md");
    let guide = std::fs::read_to_string(path).expect("the guide");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("my.cnf"), blocks(&guide, "ini")[0]).expect("a file");
    let output = Command::new(BINARY).args(["import-config", "my.cnf"]).current_dir(folder.path()).output();
    let printed = text(&output.expect("the binary runs").stdout);
    assert_eq!(printed.trim_end(), blocks(&guide, "text")[0].trim_end());
    let server = TestServer::start(Path::new(BINARY));
    let sql = blocks(&guide, "sql");
    assert_eq!(sql.len(), 3);
    sql.iter().for_each(|statements| feed(&server, statements));
    let kept = "SELECT variable_name FROM performance_schema.persisted_variables ORDER BY variable_name";
    let kept: Vec<String> = server.connect().query(kept).expect("rows");
    // The last statement has put back what RESET PERSIST had taken.
    assert_eq!(kept, ["max_connections", "query_memory_limit"]);
}
