//! Golden scripts: SQL with the answers it must get.
//!
//! A script is a list of blocks. A block is one or more statements, a line `----`, and the expected answers up to the
//! next empty line:
//!
//! ```text
//! # A comment.
//! CREATE TABLE t (id INT PRIMARY KEY);
//! INSERT INTO t VALUES (1), (2);
//! ----
//! ok
//! ok, 2 rows
//!
//! -- session b
//! SELECT * FROM t WHERE id > 5;
//! ----
//! id
//! ```
//!
//! `-- session NAME` before the SQL runs the block on another connection of that name (`main` without it); one of the
//! name `as USER` is that account's, which has no password.
//! `-- session NAME, waits` starts the block's one statement and expects it to be waiting for a row or metadata lock;
//! `-- session NAME, goes on` gives the answer of the statement that was waiting. `-- session NAME, until` repeats the
//! block's one statement until it gives the expected answer, which is written by hand. After every statement that has
//! warnings they are listed. `-- sorted` before the SQL sorts the rows of the answer; use it where the order is not
//! defined. `-- lines` shows values of several lines as lines, with the times of EXPLAIN ANALYZE left out.
//!
//! With `SQUALL_GOLDEN=update` the answers are written into the scripts instead of being compared.
//! With `SQUALL_GOLDEN_PORT=3306` the scripts run on whatever server listens there (root without password).

use crate::server;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a statement that must come to wait for a lock may take until it does, and one that goes on to end.
const WAIT_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs a script on a server and compares, or rewrites it in update mode.
///
/// # Errors
/// The first difference, with both sides; or what is wrong with the script.
pub fn run_script(path: &Path, port: u16) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let blocks = parse(&text)?;
    let mut run = Run::new(port)?;
    let mut updated = String::new();
    let update = std::env::var("SQUALL_GOLDEN").is_ok_and(|mode| mode == "update");
    let mut differences = String::new();
    for block in &blocks {
        let answer = run.block(block)?;
        if update {
            let _ = write!(updated, "{}{}----\n{answer}", block.comment, block.head_and_sql);
        } else if answer != block.expected {
            let _ = write!(
                differences,
                "{}:{}: the answer differs\n{}--- expected\n{}--- got\n{answer}\n",
                path.display(),
                block.line,
                block.head_and_sql,
                block.expected
            );
        }
    }
    if update {
        let text = updated.trim_end().to_string() + "\n";
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

#[derive(Debug, PartialEq)]
enum Mode {
    Run,
    Waits,
    GoesOn,
    Until,
}

/// How rows are shown.
#[derive(Clone, Copy, Default)]
struct Show {
    sorted: bool,
    lines: bool,
}

struct Block {
    line: usize,
    comment: String,
    head_and_sql: String,
    session: String,
    mode: Mode,
    show: Show,
    statements: Vec<String>,
    expected: String,
}

fn parse(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while lines.peek().is_some() {
        let mut comment = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| line.is_empty() || line.starts_with('#')) {
            comment.push_str(line);
            comment.push('\n');
        }
        let Some(&(number, _)) = lines.peek() else { break };
        let mut block = Block {
            line: number + 1,
            comment,
            head_and_sql: String::new(),
            session: "main".to_string(),
            mode: Mode::Run,
            show: Show::default(),
            statements: Vec::new(),
            expected: String::new(),
        };
        let mut sql = String::new();
        loop {
            let Some((number, line)) = lines.next() else {
                return Err(format!("line {}: a block without ----", block.line));
            };
            if line == "----" {
                break;
            }
            block.head_and_sql.push_str(line);
            block.head_and_sql.push('\n');
            if let Some(head) = line.strip_prefix("-- session ") {
                let (name, mode) = head.split_once(", ").unwrap_or((head, ""));
                block.session = name.to_string();
                block.mode = match mode {
                    "" => Mode::Run,
                    "waits" => Mode::Waits,
                    "goes on" => Mode::GoesOn,
                    "until" => Mode::Until,
                    other => return Err(format!("line {}: unknown mode `{other}`", number + 1)),
                };
            } else if line == "-- sorted" {
                block.show.sorted = true;
            } else if line == "-- lines" {
                block.show.lines = true;
            } else {
                sql.push_str(line);
                if line.ends_with(';') {
                    sql.pop();
                    block.statements.push(std::mem::take(&mut sql));
                } else {
                    sql.push('\n');
                }
            }
        }
        if !sql.trim().is_empty() {
            return Err(format!("line {}: the last statement does not end with `;`", block.line));
        }
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
            block.expected.push_str(line);
            block.expected.push('\n');
        }
        blocks.push(block);
    }
    Ok(blocks)
}

type Answer = (Conn, String);

struct Run {
    port: u16,
    sessions: HashMap<String, Conn>,
    waiting: HashMap<String, mpsc::Receiver<Answer>>,
}

impl Run {
    /// Connects and makes an empty `test` the only database.
    fn new(port: u16) -> Result<Run, String> {
        let mut run = Run { port, sessions: HashMap::new(), waiting: HashMap::new() };
        let mut conn = run.open()?;
        let system = ["data_dictionary", "information_schema", "mysql", "performance_schema", "sys"];
        let databases: Vec<String> = conn.query("SHOW DATABASES").map_err(text)?;
        // What scripts have put into the database of a module goes; the database itself stays.
        let filled = "fastbit";
        for table in conn.query::<String, _>(format!("SHOW TABLES FROM `{filled}`")).unwrap_or_default() {
            let table = table.replace('`', "``");
            conn.query_drop(format!("DROP TABLE `{filled}`.`{table}`")).map_err(text)?;
        }
        for database in databases.iter().filter(|name| !system.contains(&name.as_str())) {
            match conn.query_drop(format!("DROP DATABASE `{database}`")) {
                // Those of modules stay.
                Err(mysql::Error::MySqlError(error)) if error.code == 3552 => {}
                result => result.map_err(text)?,
            }
        }
        conn.query_drop("CREATE DATABASE test").map_err(text)?;
        conn.query_drop("USE test").map_err(text)?;
        run.sessions.insert("main".to_string(), conn);
        Ok(run)
    }

    fn open(&self) -> Result<Conn, String> {
        server::connect("127.0.0.1", self.port, Duration::from_secs(60)).map_err(text)
    }

    fn session(&mut self, name: &str) -> Result<Conn, String> {
        if let Some(conn) = self.sessions.remove(name) {
            return Ok(conn);
        }
        let mut conn = match name.strip_prefix("as ") {
            Some(user) => server::connect_as(user, "127.0.0.1", self.port, Duration::from_secs(60)).map_err(text)?,
            None => self.open()?,
        };
        conn.query_drop("USE test").map_err(text)?;
        Ok(conn)
    }

    fn block(&mut self, block: &Block) -> Result<String, String> {
        match block.mode {
            Mode::Run => {
                let mut conn = self.session(&block.session)?;
                let mut answer = String::new();
                for statement in &block.statements {
                    answer.push_str(&execute(&mut conn, statement, block.show));
                }
                self.sessions.insert(block.session.clone(), conn);
                Ok(answer)
            }
            Mode::Waits => {
                let [statement] = block.statements.as_slice() else {
                    return Err(format!("line {}: one statement can wait, not several", block.line));
                };
                let conn = self.session(&block.session)?;
                let waiters_before = self.lock_waiters()?;
                let (sender, receiver) = mpsc::channel();
                let (statement, show) = (statement.clone(), block.show);
                std::thread::spawn(move || {
                    let mut conn = conn;
                    let answer = execute(&mut conn, &statement, show);
                    // A receiver that is gone means the script has already failed.
                    let _ = sender.send((conn, answer));
                });
                let started = Instant::now();
                while self.lock_waiters()? <= waiters_before {
                    if let Ok((conn, answer)) = receiver.try_recv() {
                        self.sessions.insert(block.session.clone(), conn);
                        return Ok(format!("did not wait\n{answer}"));
                    }
                    if started.elapsed() > WAIT_TIME_MAX {
                        return Ok("neither waits nor ends\n".to_string());
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                self.waiting.insert(block.session.clone(), receiver);
                Ok("waits\n".to_string())
            }
            Mode::Until => {
                let [statement] = block.statements.as_slice() else {
                    return Err(format!("line {}: one statement can be repeated, not several", block.line));
                };
                let mut conn = self.session(&block.session)?;
                let started = Instant::now();
                let mut answer = execute(&mut conn, statement, block.show);
                while answer != block.expected && started.elapsed() < WAIT_TIME_MAX {
                    std::thread::sleep(Duration::from_millis(2));
                    answer = execute(&mut conn, statement, block.show);
                }
                self.sessions.insert(block.session.clone(), conn);
                Ok(answer)
            }
            Mode::GoesOn => {
                let receiver = self.waiting.remove(&block.session).ok_or("no statement is waiting there")?;
                match receiver.recv_timeout(WAIT_TIME_MAX) {
                    Ok((conn, answer)) => {
                        self.sessions.insert(block.session.clone(), conn);
                        Ok(answer)
                    }
                    Err(_) => Ok("still waits\n".to_string()),
                }
            }
        }
    }

    /// How many sessions wait for a lock of a row or a name now.
    fn lock_waiters(&mut self) -> Result<u64, String> {
        let mut conn = self.session("watcher")?;
        let row: Option<(String, u64)> =
            conn.query_first("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'").map_err(text)?;
        let named = "SELECT COUNT(*) FROM performance_schema.metadata_locks \
                     WHERE object_type = 'USER LEVEL LOCK' AND lock_status = 'PENDING'";
        let named: Option<u64> = conn.query_first(named).map_err(text)?;
        self.sessions.insert("watcher".to_string(), conn);
        row.map(|row| row.1 + named.unwrap_or(0)).ok_or_else(|| "no status Innodb_row_lock_current_waits".to_string())
    }
}

fn text(error: mysql::Error) -> String {
    error.to_string()
}

/// Runs a statement and shows what came back.
fn execute(conn: &mut Conn, sql: &str, show: Show) -> String {
    let mut answer = String::new();
    let mut warnings = 0;
    match conn.query_iter(sql) {
        Err(error) => return show_error(error),
        Ok(mut result) => {
            while let Some(mut set) = result.iter() {
                let columns: Vec<String> =
                    set.columns().as_ref().iter().map(|column| column.name_str().into_owned()).collect();
                if columns.is_empty() {
                    match set.affected_rows() {
                        0 => answer.push_str("ok\n"),
                        1 => answer.push_str("ok, 1 row\n"),
                        rows => {
                            let _ = writeln!(answer, "ok, {rows} rows");
                        }
                    }
                } else {
                    let _ = writeln!(answer, "{}", columns.join(" | "));
                }
                let mut rows = Vec::new();
                for row in set.by_ref() {
                    match row {
                        Ok(row) => {
                            let values: Vec<String> =
                                row.unwrap().iter().map(|value| show_value(value, show)).collect();
                            rows.push(values.join(" | "));
                        }
                        Err(error) => return answer + &show_error(error),
                    }
                }
                if show.sorted {
                    rows.sort_unstable();
                }
                for row in rows {
                    // An empty line would end the expected answer.
                    let _ = writeln!(answer, "{}", if row.is_empty() { "''" } else { &row });
                }
                warnings = set.warnings();
            }
        }
    }
    if warnings > 0 {
        match conn.query::<(String, u32, String), _>("SHOW WARNINGS") {
            Ok(rows) => {
                for (level, code, message) in rows {
                    let _ = writeln!(answer, "{level} {code}: {message}");
                }
            }
            Err(error) => answer.push_str(&show_error(error)),
        }
    }
    answer
}

fn show_error(error: mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => format!("ERROR {} ({}): {}\n", error.code, error.state, error.message),
        other => format!("CONNECTION LOST: {other}\n"),
    }
}

fn show_value(value: &Value, show: Show) -> String {
    match value {
        Value::NULL => "NULL".to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if show.lines => without_times(text.trim_end()),
            Ok(text) if !text.chars().any(char::is_control) => text.to_string(),
            Ok(text) => text.escape_debug().to_string(),
            Err(_) => bytes.iter().fold("0x".to_string(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02X}");
                hex
            }),
        },
        other => other.as_sql(true),
    }
}

/// The text of EXPLAIN ANALYZE without what is never the same twice.
fn without_times(text: &str) -> String {
    const TIME: &str = "actual time=";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(TIME) {
        let (before, after) = rest.split_at(at + TIME.len());
        out.push_str(before);
        out.push('…');
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    }
    out + rest
}
