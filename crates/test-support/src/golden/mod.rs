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
//! `-- session NAME` before the SQL runs the block on another connection of that name (`main` without it); one of the name `as USER` is that
//! account's, which has no password. `-- session NAME, waits` starts the block's one statement and expects it to be waiting for a row or metadata
//! lock; `-- session NAME, goes on` gives the answer of the statement that was waiting. `-- session NAME, until` repeats the block's one statement
//! until it gives the expected answer, which is written by hand. After every statement that has warnings they are listed; more than twenty are
//! counted instead. `-- sorted` before the SQL sorts the rows of the answer, and the warnings; use it where the order is not defined. `-- lines`
//! shows values of several lines as lines, with the times of EXPLAIN ANALYZE left out. `-- types` shows the types of the result's columns behind
//! their names.
//!
//! Each script is run in several [ways](Way), and must get the same answers in each. A block with `-- by text` is never prepared, one with `-- once`
//! is prepared and executed once, one with `-- any route` is always run with `query_route = AUTO`: it tests how statements are sent or run, or how
//! often. `-- all by text` and the like are for the rest of the script. A comment says why.
//!
//! Scripts run one after the other on a server for each way, in no fixed order. One that shows what the server as a whole has seen (who set a variable,
//! what is in a cache) says `-- server of its own` in its first block, and gets a new one.
//!
//! With `SQUALL_GOLDEN_ORDER=reverse` the scripts run in the reverse order: none may show what the scripts before it left.
//! With `SQUALL_GOLDEN=update` the answers are written into the scripts instead of being compared.
//! With `SQUALL_GOLDEN_PORT=3306` the scripts run on whatever server listens there (root without password).

mod answer;
mod script;

use crate::server;
use answer::execute;
use mysql::Conn;
use mysql::prelude::Queryable;
use script::{Block, Mode, Show, parse};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a statement that must come to wait for a lock may take until it does, and one that goes on to end.
const WAIT_TIME_MAX: Duration = Duration::from_secs(60);

/// How the statements of a script are sent and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As texts. What update mode writes are these answers.
    Text,
    /// What can be prepared is, and goes by the binary protocol; queries that can be repeated are executed several times.
    Prepared,
    /// As texts, with `query_route = ROW_BY_ROW`: nested loops also for what has a shorter route.
    RowByRow,
    /// As texts, with `query_route = FULL_PLANNER`, which keeps plans from the first time on; queries that can be repeated are executed twice.
    /// Transactions may have next to nothing in memory.
    FullPlanner,
}

impl Way {
    /// How often what can be repeated is executed: the last time it is answered by a plan that was kept.
    fn executions(self) -> usize {
        match self {
            Way::Text | Way::RowByRow => 1,
            Way::Prepared => 3,
            Way::FullPlanner => 2,
        }
    }
}

/// Whether answers are written into the scripts instead of being compared.
pub fn is_update() -> bool {
    std::env::var("SQUALL_GOLDEN").is_ok_and(|mode| mode == "update")
}

/// Whether a script says that it needs a server that no other script has used.
///
/// # Errors
/// The file cannot be read.
pub fn needs_own_server(path: &Path) -> Result<bool, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(script::needs_own_server(&text))
}

/// Runs a script on a server and compares, or rewrites it in update mode.
///
/// # Errors
/// The differences, with both sides; or what is wrong with the script.
pub fn run_script(path: &Path, port: u16, way: Way) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let blocks = parse(&text)?;
    let mut run = Run::new(port, way)?;
    let mut updated = String::new();
    let update = is_update();
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
        let text = updated.trim_end_matches('\n').to_string() + "\n";
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if !update {
        differences.push_str(&run.check_tables()?);
    }
    if differences.is_empty() { Ok(()) } else { Err(differences) }
}

/// Drops the accounts that other scripts have left: each script begins with root alone.
fn drop_accounts(conn: &mut Conn) -> Result<(), String> {
    let quoted = |part: &str| part.replace('`', "``");
    let accounts: Vec<(String, String)> = conn
        .query("SELECT User, Host FROM mysql.user WHERE User NOT IN ('root', 'mysql') AND User NOT LIKE '%.%'")
        .map_err(text)?;
    for (user, host) in accounts {
        conn.query_drop(format!("DROP USER `{}`@`{}`", quoted(&user), quoted(&host))).map_err(text)?;
    }
    Ok(())
}

type Answer = (Conn, String);

struct Run {
    port: u16,
    way: Way,
    sessions: HashMap<String, Conn>,
    waiting: HashMap<String, mpsc::Receiver<Answer>>,
}

impl Run {
    /// Connects and makes an empty `test` the only database, and root the only account.
    fn new(port: u16, way: Way) -> Result<Run, String> {
        let mut run = Run { port, way, sessions: HashMap::new(), waiting: HashMap::new() };
        let mut conn = run.open()?;
        let system = ["data_dictionary", "information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];
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
        drop_accounts(&mut conn)?;
        conn.query_drop("CREATE DATABASE test").map_err(text)?;
        conn.query_drop("USE test").map_err(text)?;
        run.sessions.insert("main".to_string(), conn);
        Ok(run)
    }

    /// What CHECK TABLE says of the tables that a script has left, if it is not that all is well.
    fn check_tables(mut self) -> Result<String, String> {
        // Their transactions end.
        self.sessions.clear();
        let mut conn = self.open()?;
        let tables: Vec<(String, String)> = conn
            .query(
                "SELECT table_schema, table_name FROM information_schema.tables
                 WHERE table_type = 'BASE TABLE' AND table_schema REGEXP '^(test|d[0-9]*|db[0-9]*)$'",
            )
            .map_err(text)?;
        let mut found = String::new();
        for (database, table) in tables {
            let (database, table) = (database.replace('`', "``"), table.replace('`', "``"));
            let checks: Vec<(String, String, String, String)> =
                conn.query(format!("CHECK TABLE `{database}`.`{table}`")).map_err(text)?;
            for (name, _, kind, answer) in checks {
                if answer != "OK" {
                    let _ = writeln!(found, "CHECK TABLE at the end: {name}: {kind}: {answer}");
                }
            }
        }
        Ok(found)
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
        let forced = matches!(self.way, Way::RowByRow | Way::FullPlanner) && block.limits.any_route;
        if forced {
            self.set_route(&block.session, "AUTO", "DEFAULT")?;
        }
        let prepared = self.way == Way::Prepared && !block.limits.by_text;
        let executions = if block.limits.once || block.limits.by_text { 1 } else { self.way.executions() };
        let answer = self.answer(block, Show { prepared, executions, ..block.show });
        if forced {
            let buffer = if self.way == Way::FullPlanner { "1024" } else { "DEFAULT" };
            self.set_route(&block.session, "DEFAULT", buffer)?;
        }
        answer
    }

    fn set_route(&mut self, session: &str, route: &str, buffer: &str) -> Result<(), String> {
        let sets = [
            (session, format!("SET SESSION query_route = {route}")),
            ("watcher", format!("SET GLOBAL transaction_buffer_size = {buffer}")),
        ];
        for (session, sql) in sets {
            let mut conn = self.session(session)?;
            conn.query_drop(sql).map_err(text)?;
            self.sessions.insert(session.to_string(), conn);
        }
        Ok(())
    }

    fn answer(&mut self, block: &Block, show: Show) -> Result<String, String> {
        match block.mode {
            Mode::Run => {
                let mut conn = self.session(&block.session)?;
                let mut answer = String::new();
                for statement in &block.statements {
                    answer.push_str(&execute(&mut conn, statement, show));
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
                let statement = statement.clone();
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
                let mut answer = execute(&mut conn, statement, show);
                while answer != block.expected && started.elapsed() < WAIT_TIME_MAX {
                    std::thread::sleep(Duration::from_millis(2));
                    answer = execute(&mut conn, statement, show);
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
