//! A MariaDB server, to compare answers with.

use crate::server::{START_TIME_MAX, connect, free_port};
use crate::skip;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A running MariaDB on a data directory of its own; both are gone with it.
#[derive(Debug)]
pub struct MariaDb {
    child: Child,
    folder: TempDir,
    port: u16,
}

impl MariaDb {
    /// Starts the machine's MariaDB on a new data directory and a free port; `None`, and the test is [skipped](skip), where it is not
    /// installed.
    ///
    /// # Panics
    /// If it does not come up, or it is not installed and tests must not be skipped.
    pub fn start(test: &str) -> Option<MariaDb> {
        if !Command::new("mariadbd").arg("--version").output().is_ok_and(|output| output.status.success()) {
            skip(test, "apt-get install mariadb-server");
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = format!("--datadir={}", folder.path().join("data").display());
        // Who is not root runs it as themselves.
        let user: &[&str] = if is_root() { &["--user=root"] } else { &[] };
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db", &data])
            .args(user)
            .output()
            .expect("mariadb-install-db runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let log = std::fs::File::create(folder.path().join("log")).expect("a log file for the server");
        let port = free_port();
        let child = Command::new("mariadbd")
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-log-bin", "--performance-schema=OFF"])
            // Nothing of it is kept.
            .args(["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=128M"])
            .args(["--character-set-server=utf8mb4", "--max-allowed-packet=64M", &data, &format!("--port={port}")])
            .arg(format!("--socket={}", folder.path().join("s.sock").display()))
            .args(user)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log's descriptor"))
            .stderr(log)
            .spawn()
            .expect("mariadbd runs");
        let mut server = MariaDb { child, folder, port };
        server.wait_until_it_answers();
        Some(server)
    }

    fn wait_until_it_answers(&mut self) {
        let started = Instant::now();
        while started.elapsed() < START_TIME_MAX {
            let answers = connect("127.0.0.1", self.port, Duration::from_secs(5)).is_ok();
            let ended = self.child.try_wait().ok().flatten();
            assert!(ended.is_none(), "MariaDB ended at its start:\n{}", self.log());
            if answers {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("MariaDB does not answer:\n{}", self.log());
    }

    /// A connection as root.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn connect(&self) -> mysql::Conn {
        connect("127.0.0.1", self.port, Duration::from_secs(60))
            .unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
    }

    fn log(&self) -> String {
        let path: PathBuf = self.folder.path().join("log");
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Nothing of the directory is kept, so there is nothing to close cleanly.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
