//! The command line: starting, refusing to start, stopping, and the shell on a server and on a directory.

use squall_test_support::server::TestServer;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_squall");

fn squall(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).stdin(Stdio::null()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a shell that must succeed, and gives what it prints.
fn printed(arguments: &[&str]) -> String {
    let output = squall(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path that is text")
}

#[test]
fn help_and_version_are_everywhere() {
    assert!(printed(&["--version"]).starts_with("squall "));
    for arguments in [&["--help"][..], &["serve", "--help"], &["sql", "--help"]] {
        assert!(printed(arguments).contains("Usage: squall"), "{arguments:?}");
    }
}

#[test]
fn the_shell_runs_on_a_directory_and_keeps_what_it_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let on_directory = ["sql", "--datadir", path(&data), "-e"];
    let run = |sql: &str| printed(&[&on_directory[..], &[sql]].concat());
    run("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, name VARCHAR(20)); \
         INSERT INTO shop.t VALUES (1, 'one'), (2, NULL)");
    assert_eq!(run("SELECT * FROM shop.t ORDER BY id"), "id\tname\n1\tone\n2\tNULL\n");
    let table = printed(&["sql", "--datadir", path(&data), "shop", "--table", "-e", "SELECT * FROM t WHERE id = 1"]);
    assert_eq!(table, "+----+------+\n| id | name |\n+----+------+\n|  1 | one  |\n+----+------+\n");
    let failed = squall(&[&on_directory[..], &["SELECT 1;\nSELECT * FROM shop.nothing"]].concat());
    assert!(!failed.status.success());
    assert_eq!(text(&failed.stdout), "1\n1\n");
    assert!(text(&failed.stderr).starts_with("ERROR 1146 (42S02) at line 2:"), "{}", text(&failed.stderr));
}

#[test]
fn scripts_come_from_standard_input_and_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let sourced = folder.path().join("sourced.sql");
    std::fs::write(&sourced, "SELECT 'from a file';\n").expect("a file");
    let script = format!(
        "CREATE DATABASE shop;\nuse shop\nSELECT DATABASE();\nsource {}\ndelimiter //\nSELECT 'a;b'//\n\
         delimiter ;\nSELECT 7 AS n\\G\nquit\nSELECT 'not reached';\n",
        sourced.display()
    );
    let mut child = Command::new(BINARY)
        .args(["sql", "--skip-column-names", "--datadir", path(&data)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    child.stdin.take().expect("its input").write_all(script.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success());
    let stars = "*".repeat(27);
    assert_eq!(text(&output.stdout), format!("shop\nfrom a file\na;b\n{stars} 1. row {stars}\n7\n"));
}

#[test]
fn a_directory_has_one_process_at_a_time() {
    let server = TestServer::start(Path::new(BINARY));
    let data = server.data_directory();
    let second = squall(&["serve", "--datadir", path(&data), "--port", "0"]);
    assert!(!second.status.success());
    assert!(text(&second.stderr).contains("in use by another process"), "{}", text(&second.stderr));
    let shell = squall(&["sql", "--datadir", path(&data), "-e", "SELECT 1"]);
    assert!(text(&shell.stderr).contains("in use by another process"), "{}", text(&shell.stderr));
    let port = server.port().to_string();
    assert_eq!(printed(&["sql", "--port", &port, "-e", "SELECT 1 AS one"]), "one\n1\n");
}

#[test]
fn listening_beyond_this_machine_needs_a_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let refused = squall(&["serve", "--datadir", path(&data), "--port", "0", "--bind-address", "0.0.0.0"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("root has no password"), "{}", text(&refused.stderr));
}

#[test]
fn a_database_is_opened_by_another_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = squall::Database::open(folder.path().join("data")).expect("a database");
    let mut connection = database.connect().expect("a session");
    let results = connection.query("CREATE DATABASE d; SELECT 1 + 1 AS two, 'x' AS x, NULL AS n").expect("answers");
    assert_eq!(results.len(), 2);
    assert_eq!(results[0].affected_rows, 1);
    let names: Vec<&str> = results[1].columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["two", "x", "n"]);
    assert_eq!(results[1].rows, [[squall::Value::Int(2), squall::Value::String("x".to_owned()), squall::Value::Null]]);
    assert_eq!(connection.query("SELECT * FROM d.nothing").map_err(|error| error.code), Err(1146));
    drop(connection);
    database.close().expect("closed");
}
