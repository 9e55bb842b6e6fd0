//! The command line: starting, refusing to start, stopping, and the shell on a server and on a directory.

use mysql::prelude::Queryable as _;
use squall_test_support::server::TestServer;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_squall");

/// How long something that must come about may take. Far above what is expected, for busy machines.
const WAIT_MAX: Duration = Duration::from_secs(60);

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
    for arguments in [
        &["--help"][..],
        &["serve", "--help"],
        &["sql", "--help"],
        &["history", "--help"],
        &["check", "--help"],
        &["import-config", "--help"],
        &["completion", "--help"],
        &["man", "--help"],
        &["ping", "--help"],
    ] {
        assert!(printed(arguments).contains("Usage: squall"), "{arguments:?}");
    }
}

#[test]
fn shells_and_man_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let completion = printed(&["completion", shell]);
        assert!(completion.contains("import-config") && completion.contains("init-from-env"), "{shell}: {completion}");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), &completion).expect("written");
        // A shell that is not installed cannot look at it.
        if let Ok(checked) = Command::new(shell).arg("-n").arg(file.path()).output() {
            assert!(checked.status.success(), "{shell}: {}", text(&checked.stderr));
        }
    }
    assert!(!squall(&["completion", "cmd.exe"]).status.success());
    assert!(printed(&["man"]).contains(".TH squall 1"));
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man");
    printed(&["man", path(&pages)]);
    for page in ["squall.1", "squall-serve.1", "squall-sql.1", "squall-import-config.1"] {
        let page = std::fs::read_to_string(pages.join(page)).expect("a page");
        assert!(page.contains(".SH NAME") && page.contains(".SH OPTIONS"), "{page}");
    }
}

#[test]
fn ping_tells_whether_a_server_answers() {
    let server = TestServer::start(Path::new(BINARY));
    let port = server.port().to_string();
    assert_eq!(printed(&["ping", "-P", &port]), format!("127.0.0.1:{port} answers\n"));
    let socket = server.data_directory().join("../s.sock");
    printed(&["ping", "--socket", path(&socket), "--wait", "60"]);
    drop(server);
    let silent = squall(&["ping", "-P", &port]);
    assert_eq!(silent.status.code(), Some(1));
    assert!(text(&silent.stderr).contains("does not answer: "), "{}", text(&silent.stderr));
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
fn history_draws_charts() {
    let server = TestServer::start(Path::new(BINARY));
    let mut conn = server.connect();
    for _ in 0..4 {
        conn.query_drop("DO 1; CALL ps_history.collect()").expect("a snapshot");
    }
    let port = server.port().to_string();
    let run = |arguments: &[&str]| squall(&[&["history", "--port", &port][..], arguments].concat());
    let drawn =
        run(&["--ascii", "--width", "60", "--height", "5", "Questions", "hosts.TOTAL_CONNECTIONS[HOST=localhost]"]);
    assert!(drawn.status.success(), "{}", text(&drawn.stderr));
    let drawn = text(&drawn.stdout);
    assert!(drawn.is_ascii() && drawn.lines().count() == 17, "{drawn}");
    assert!(drawn.starts_with("Questions per second   min "), "{drawn}");
    let folder = tempfile::tempdir().expect("a folder");
    for (option, name, start) in [("--svg", "chart.svg", "<svg "), ("--html", "chart.html", "<!DOCTYPE html>")] {
        let file = folder.path().join(name);
        let written = run(&["Uptime", "--since", "10m", option, path(&file)]);
        assert!(written.status.success(), "{}", text(&written.stderr));
        let chart = std::fs::read_to_string(&file).expect("the file");
        assert!(chart.starts_with(start) && chart.contains("<polyline"), "{chart}");
    }
    assert!(text(&run(&["--list"]).stdout).lines().any(|line| line == "hosts.TOTAL_CONNECTIONS"));
    for (arguments, expected) in [
        (&["Nothing_like_it"][..], "Nothing_like_it: nothing in ps_history in that time"),
        (&["Ssl_cipher"], "Ssl_cipher: its values are no numbers"),
        (&["hosts.NO_COLUMN"], "hosts.NO_COLUMN: "),
        (&["hosts.[x"], "'hosts.[x' is no metric: expected TABLE.COLUMN"),
        (&["--since", "soon"], "'soon' is no time: expected 90s"),
        (&["--since", "1h", "--until", "2h"], "--until is not later than --since"),
    ] {
        let refused = run(arguments);
        assert!(!refused.status.success(), "{arguments:?}");
        assert!(text(&refused.stderr).starts_with(&format!("squall: {expected}")), "{}", text(&refused.stderr));
    }
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

fn start_shell(arguments: &[&str]) -> Child {
    Command::new(BINARY)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

/// Waits until a server runs a statement with this text in it.
fn wait_for_statement(server: &TestServer, text: &str) {
    let mut observer = server.connect();
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%{text}%' AND id <> CONNECTION_ID()"
    );
    let started = Instant::now();
    while observer.query_first::<u64, _>(&sql).expect("the process list") != Some(1) {
        assert!(started.elapsed() < WAIT_MAX, "`{text}` does not run");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send_signal(process: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

#[test]
fn control_c_cancels_the_statement_of_a_shell() {
    let server = TestServer::start(Path::new(BINARY));
    let port = server.port().to_string();
    let shell =
        start_shell(&["sql", "--port", &port, "--force", "-e", "SELECT COUNT(*), SLEEP(600) AS x; SELECT 42 AS y"]);
    wait_for_statement(&server, "SLEEP(600) AS x");
    send_signal(shell.id(), "-INT");
    let output = shell.wait_with_output().expect("an end");
    assert!(text(&output.stderr).contains("ERROR 1317 (70100) at line 1"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "y\n42\n", "the shell goes on");
    assert!(!output.status.success());
}

#[test]
fn control_c_cancels_the_statement_of_a_shell_on_a_directory() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let script = "SELECT 'started' AS s;\nSELECT COUNT(*), SLEEP(600);\nSELECT 42 AS y";
    let mut shell = start_shell(&["sql", "--datadir", path(&data), "--force", "-N", "-e", script]);
    let mut output = BufReader::new(shell.stdout.take().expect("its output"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "started\n");
    // The next statement follows at once, but no other client can see it: the directory is this shell's alone.
    std::thread::sleep(Duration::from_millis(500));
    send_signal(shell.id(), "-INT");
    line.clear();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "42\n");
    let output = shell.wait_with_output().expect("an end");
    assert!(text(&output.stderr).contains("ERROR 1317"), "{}", text(&output.stderr));
}

#[test]
fn sigterm_lets_statements_end_and_closes_in_order() {
    let mut server = TestServer::start(Path::new(BINARY));
    let mut idle = server.connect();
    let mut busy = server.connect();
    busy.query_drop("CREATE DATABASE d").expect("a database");
    busy.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)").expect("a table");
    let port = server.port();
    let statement = std::thread::spawn(move || busy.query_drop("INSERT INTO d.t SELECT 1 + SLEEP(1)"));
    wait_for_statement(&server, "SLEEP(1)");
    let code = server.terminate();
    assert_eq!(code, Some(0), "{}", server.log());
    statement.join().expect("no panic").expect("the running statement ends");
    assert!(idle.query_drop("SELECT 1").is_err());
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "the listener is closed");
    server.restart();
    let count: Option<u64> = server.connect().query_first("SELECT COUNT(*) FROM d.t").expect("a count");
    assert_eq!(count, Some(1));
}

#[test]
fn the_password_of_root_comes_from_the_environment_at_the_first_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let mut server = Command::new(BINARY)
        .args(["serve", "--datadir", path(&data), "--port", "0", "--bind-address", "0.0.0.0"])
        .env("MYSQL_ROOT_PASSWORD", "first")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(server.stdout.take().expect("its output")).lines();
    let ready = lines.next().expect("a line").expect("text");
    assert!(ready.starts_with("squall is ready on 0.0.0.0:"), "{ready}");
    let port: String = ready["squall is ready on 0.0.0.0:".len()..].chars().take_while(char::is_ascii_digit).collect();
    let with =
        |password: &str| squall(&["sql", "--port", &port, &format!("--password={password}"), "-N", "-e", "SELECT 1"]);
    assert_eq!(text(&with("first").stdout), "1\n");
    let refused = with("wrong");
    assert!(text(&refused.stderr).contains("ERROR 1045 (28000): Access denied"), "{}", text(&refused.stderr));
    send_signal(server.id(), "-TERM");
    assert!(server.wait().expect("an end").success());
    // Later the variable means nothing: the account is what counts.
    let output = Command::new(BINARY)
        .args([
            "sql",
            "--datadir",
            path(&data),
            "-N",
            "-e",
            "ALTER USER root@localhost IDENTIFIED BY 'second'; SELECT 2",
        ])
        .env("MYSQL_ROOT_PASSWORD", "third")
        .output()
        .expect("the binary runs");
    assert_eq!(text(&output.stdout), "2\n", "{}", text(&output.stderr));
}

#[test]
fn wrong_options_say_what_is_wrong() {
    for (arguments, expected) in [
        (&["serve", "--nothing"][..], "unexpected argument '--nothing'"),
        (&["serve", "--port", "x"], "invalid value 'x' for '--port"),
        (&["nothing"], "unrecognized subcommand 'nothing'"),
        (&["sql", "--host", "x", "--datadir", "y"], "cannot be used with"),
        (&[], "Usage: squall"),
    ] {
        let output = squall(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{arguments:?}: {}", text(&output.stderr));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "x").expect("a file");
    let output = squall(&["serve", "--datadir", path(&file), "--port", "0"]);
    assert!(text(&output.stderr).starts_with("squall: "), "{}", text(&output.stderr));
    let output = squall(&["sql", "--port", "1", "-e", "SELECT 1"]);
    assert!(text(&output.stderr).contains("cannot connect to 127.0.0.1:1"), "{}", text(&output.stderr));
}

/// A bit of an acknowledged commit in the log is another one: no server starts on that, until the operator gives up what is behind it.
#[test]
fn a_damaged_log_is_refused_and_can_be_ended() {
    let mut server = TestServer::start(Path::new(BINARY));
    let data = server.data_directory();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(40))").expect("a table");
    for id in 1..=9 {
        conn.query_drop(format!("INSERT INTO d.t VALUES ({id}, 'needle number {id}')")).expect("a row");
    }
    server.kill();
    let whole = text(&squall(&["check", path(&data), "--log-only"]).stdout);
    assert!(whole.starts_with(&format!("redo log {}: ", data.join("rows/redo").display())), "{whole}");
    let log = data.join("rows/redo/1.redo");
    let mut bytes = std::fs::read(&log).expect("the log");
    let at = bytes.windows(15).position(|window| window == b"needle number 5").expect("the fifth row");
    bytes[at] ^= 1;
    std::fs::write(&log, &bytes).expect("damage");
    let refused = squall(&["sql", "--datadir", path(&data), "-e", "SELECT 1"]);
    assert!(!refused.status.success(), "{}", text(&refused.stdout));
    let named = format!("the redo log is damaged: {}, byte ", log.display());
    assert!(text(&refused.stderr).contains(&named), "{}", text(&refused.stderr));
    let checked = squall(&["check", path(&data)]);
    assert!(!checked.status.success());
    let told = text(&checked.stderr);
    assert!(told.starts_with(&format!("squall: {named}")), "{told}");
    let fragment = told.split("--recover-to ").nth(1).and_then(|rest| rest.split('`').next()).expect("a fragment");
    let beyond = squall(&["check", path(&data), "--recover-to", "1000000"]);
    assert!(text(&beyond.stderr).contains("it cannot end at 1000000"), "{}", text(&beyond.stderr));
    let ended = printed(&["check", path(&data), "--recover-to", fragment]);
    assert!(ended.contains("it is to end in segment 1, byte "), "{ended}");
    let rows = printed(&["sql", "--datadir", path(&data), "-e", "SELECT COUNT(*), MAX(id) FROM d.t"]);
    assert_eq!(rows, "COUNT(*)\tMAX(id)\n4\t4\n");
    // It is closed now, and everything is in files.
    assert!(printed(&["check", path(&data)]).contains(": 0 transactions"));
    let tables = printed(&["check", path(&data), "d.t"]);
    assert!(tables.contains("\nd.t: OK (") && tables.ends_with("\n1 tables are whole\n"), "{tables}");
    assert!(text(&squall(&["check", path(&data), "d.x"]).stderr).starts_with("squall: there is no table d.x"));
    assert!(!printed(&["check", path(&data), "--log-only"]).contains("d.t"));
    assert!(text(&squall(&["check", "/nothing/there"]).stderr).starts_with("squall: there is no directory"));
}

/// A byte of a table's file that is another one is found, in rows, in indexes and in segments; other tables are checked all the same.
#[test]
fn damaged_tables_are_found() {
    let mut server = TestServer::start(Path::new(BINARY));
    let data = server.data_directory();
    let mut conn = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.rows_of (id INT PRIMARY KEY, v VARCHAR(40), KEY (v))",
        "CREATE TABLE d.whole (id INT PRIMARY KEY, v VARCHAR(40), KEY (v))",
        "CREATE TABLE d.columns_of (id INT, v VARCHAR(40)) ENGINE = COLUMN",
        "INSERT INTO d.rows_of SELECT seq, MD5(seq) FROM d.seq_1_to_20000",
        "INSERT INTO d.whole SELECT seq, MD5(seq) FROM d.seq_1_to_20000",
        "INSERT INTO d.columns_of SELECT seq, MD5(seq) FROM d.seq_1_to_20000",
        "OPTIMIZE TABLE d.rows_of, d.columns_of",
    ] {
        conn.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    drop(conn);
    assert_eq!(server.terminate(), Some(0));
    let whole = printed(&["check", path(&data)]);
    for table in ["d.rows_of: OK", "d.whole: OK", "d.columns_of: OK", "tables are whole"] {
        assert!(whole.contains(table), "{whole}");
    }
    // The largest file of each is one of a table: of which, the check tells.
    for folder in ["rows", "columns"] {
        let files = files_in(&data.join(folder)).into_iter();
        let of_tables = files.filter(|file| file.extension().is_none_or(|extension| extension != "redo"));
        let largest =
            of_tables.max_by_key(|file| file.metadata().map_or(0, |metadata| metadata.len())).expect("a file");
        let mut bytes = std::fs::read(&largest).expect("a file");
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        std::fs::write(&largest, &bytes).expect("damage");
    }
    let found = squall(&["check", path(&data)]);
    let (told, failed) = (text(&found.stdout), text(&found.stderr));
    assert!(!found.status.success(), "{told}");
    assert!(failed.starts_with("squall: 2 of ") && failed.contains("tables are damaged"), "{failed}\n{told}");
    assert_eq!(told.matches("d.columns_of: OK").count(), 0, "{told}");
    assert_eq!(told.matches("d.rows_of: OK").count() + told.matches("d.whole: OK").count(), 1, "{told}");
}

/// The files of a folder and of those in it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}
