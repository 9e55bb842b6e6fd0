//! Tests README's commands: runs all its shell and SQL blocks, in their order, on a fresh data directory.
//!
//! Some names stand for other programs here: `cargo run --release --` is the binary that was built for the tests, on its own port and
//! directory, and `pidof squall` gives only that server.

use mysql::Conn;
use mysql::prelude::Queryable;
use squall_test_support::server::{connect, free_port};
use squall_test_support::skip;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How many rows the CSV file gets here, and in README: a server that was built for tests is slow.
const ROWS: u64 = 20_000;
const ROWS_OF_README: &str = "1000000";

/// What the server does by itself twice a minute.
const COPIES: &str = "for time in 1 2; do mysql -h 127.0.0.1 -u root -e 'CALL ps_history.collect()'; sleep 1; done\n";

/// How long the server may take until it answers.
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// `cargo`, as README calls it.
const CARGO: &str = r#"#!/bin/bash
[ "$1 $2 $3" = "run --release --" ] || { echo "no command that the test knows: cargo $*" >&2; exit 1; }
shift 3
if [ "$1" = serve ]; then
    shift
    echo $$ >"$PLACE/process"
    exec "$SQUALL" serve --port "$MYSQL_TCP_PORT" --socket "$PLACE/s.sock" "$@" >>"$PLACE/log" 2>&1
fi
program=$1
shift
exec "$SQUALL" "$program" -P "$MYSQL_TCP_PORT" "$@"
"#;

/// `pidof`, which would find servers of other tests.
const PIDOF: &str = "#!/bin/bash\ncat \"$PLACE/process\"\n";

/// MariaDB's clients, which have MySQL's names only where another package is.
const MARIADB: &str = "#!/bin/bash\nexec mariadb \"$@\"\n";
const MARIADB_ADMIN: &str = "#!/bin/bash\nexec mariadb-admin \"$@\"\n";

/// Whether a program is installed.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|it| it.status.success())
}

/// A code block of README: its language and its text.
struct Block<'a> {
    language: &'a str,
    text: &'a str,
}

fn blocks(readme: &str) -> Vec<Block<'_>> {
    let fenced = readme.split("\n```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).map(|(language, text)| Block { language, text }).collect()
}

/// A reader's folder, with the server that they start.
struct Reader {
    folder: TempDir,
    port: u16,
}

impl Reader {
    fn new() -> Reader {
        let folder = tempfile::tempdir().expect("a folder");
        let mut programs = vec![("cargo", CARGO), ("pidof", PIDOF)];
        if !has("mysql") {
            programs.extend([("mysql", MARIADB), ("mysqladmin", MARIADB_ADMIN)]);
        }
        for (name, text) in programs {
            let programs = folder.path().join("programs");
            fs::create_dir_all(&programs).expect("a folder");
            let path = programs.join(name);
            fs::write(&path, text).expect("a program");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program that can be run");
        }
        Reader { folder, port: free_port() }
    }

    /// Runs a block of commands, which stop at the first one that fails; what they print.
    fn run(&self, commands: &str) -> String {
        let place = self.folder.path();
        let path = format!("{}/programs:{}", place.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", commands])
            .current_dir(place)
            .env("PATH", path)
            .env("PLACE", place)
            .env("SQUALL", env!("CARGO_BIN_EXE_squall"))
            .env("MYSQL_TCP_PORT", self.port.to_string())
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{commands}\n{text}\n{}", self.log());
        text
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A connection, once the server answers.
    fn connect(&self) -> Conn {
        let started = std::time::Instant::now();
        loop {
            match connect("127.0.0.1", self.port, START_TIME_MAX) {
                Ok(conn) => return conn,
                Err(error) if started.elapsed() > START_TIME_MAX => panic!("{error}\n{}", self.log()),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // If it is there, the server is on its own.
        let _ = Command::new("bash")
            .args(["-c", "kill -9 $(cat \"$0\") 2>/dev/null"])
            .arg(self.folder.path().join("process"))
            .status();
    }
}

/// Commands without what takes a terminal or far too long.
fn prepared(commands: &str) -> String {
    let mut prepared = String::new();
    for line in commands.replace(ROWS_OF_README, &ROWS.to_string()).lines() {
        let command = line.split("  #").next().unwrap_or_default().trim_end();
        match command {
            // All that CI runs, this test included.
            "cargo xtask check" => {}
            "cargo run --release -- serve" => prepared.push_str("cargo run --release -- serve &\n"),
            _ => {
                // A reader has had the server for longer than what is between two copies.
                if command.contains(" -- history ") {
                    prepared.push_str(COPIES);
                }
                prepared.push_str(command);
                prepared.push('\n');
            }
        }
    }
    prepared
}

#[test]
fn every_command_does_what_it_says() {
    if !has("bash") || !has("python3") || !(has("mysql") && has("mysqladmin") || has("mariadb")) {
        return skip("every_command_does_what_it_says", "bash, python3 and a MySQL or MariaDB client");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).expect("README");
    let ci = fs::read_to_string(root.join(".ci/run")).expect("CI");
    assert!(
        readme.contains("\ncargo xtask check ") && ci.contains("\ncargo xtask check\n"),
        "CI runs what README says"
    );

    let reader = Reader::new();
    let (mut conn, mut statements, mut printed) = (None, 0, String::new());
    for Block { language, text } in blocks(&readme) {
        match language {
            "sh" => printed.push_str(&reader.run(&prepared(text))),
            "sql" => {
                let conn = conn.get_or_insert_with(|| reader.connect());
                for sql in text.split_terminator(";\n") {
                    let rows: Vec<mysql::Row> = conn.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
                    assert!(!rows.is_empty() || !sql.starts_with("SELECT"), "nothing is found by {sql}");
                    statements += 1;
                }
            }
            other => panic!("blocks of `{other}` are not run"),
        }
        // What was shown was shown of a running server.
        reader.connect();
    }
    assert!(statements > 8, "{statements} statements");
    assert!(printed.contains(&format!("COUNT(*)\n{ROWS}\n")), "all rows are there after kill -9:\n{printed}");
}
