//! A server process that tests can start, kill and start again.

use mysql::prelude::Queryable as _;
use std::ffi::OsString;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a start may take before the test gives up. Far above what is expected, for busy machines.
pub(crate) const START_TIME_MAX: Duration = Duration::from_secs(60);

/// A running server and its data directory.
#[derive(Debug)]
pub struct TestServer {
    binary: PathBuf,
    folder: TempDir,
    port: u16,
    environment: Vec<(&'static str, OsString)>,
    arguments: Vec<String>,
    child: Option<Child>,
    /// Other ports that may be tried if this one is taken.
    ports_left: u32,
}

impl TestServer {
    /// Starts `binary` on a new data directory and a free port.
    ///
    /// # Panics
    /// If the server does not come up.
    pub fn start(binary: &Path) -> TestServer {
        TestServer::start_in(binary, tempfile::tempdir().expect("a temporary folder"))
    }

    /// Starts `binary` on a new data directory in a folder, which is removed with the server.
    ///
    /// # Panics
    /// If the server does not come up.
    pub fn start_in(binary: &Path, folder: TempDir) -> TestServer {
        TestServer::start_with(binary, folder, Vec::new())
    }

    /// Starts `binary` likewise, with additions to the environment; restarts have them too.
    ///
    /// # Panics
    /// If the server does not come up.
    pub fn start_with(binary: &Path, folder: TempDir, environment: Vec<(&'static str, OsString)>) -> TestServer {
        let mut server = TestServer::stopped(binary, folder);
        server.environment = environment;
        server.restart();
        server
    }

    /// Starts `binary` on a new data directory and a free port, with more arguments; restarts have them too.
    ///
    /// # Panics
    /// If the server does not come up.
    pub fn start_with_arguments(binary: &Path, arguments: &[&str]) -> TestServer {
        let mut server = TestServer::stopped(binary, tempfile::tempdir().expect("a temporary folder"));
        server.arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        server.restart();
        server
    }

    /// A server that is not running, with a folder for its data directory, `data`, and free port: [`TestServer::restart`] starts it.
    pub fn stopped(binary: &Path, folder: TempDir) -> TestServer {
        let (environment, arguments) = (Vec::new(), Vec::new());
        let (binary, port, child) = (binary.to_path_buf(), free_port(), None);
        TestServer { binary, folder, port, environment, arguments, child, ports_left: 3 }
    }

    /// Starts the server again on the same directory and port, and returns how long it took until it answered.
    ///
    /// # Panics
    /// If the server does not come up; with what it printed.
    pub fn restart(&mut self) -> Duration {
        let started = Instant::now();
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .expect("a log file for the server");
        let child = Command::new(&self.binary)
            .arg("serve")
            .arg("--datadir")
            .arg(self.folder.path().join("data"))
            .arg("--port")
            .arg(self.port.to_string())
            .arg("--socket")
            .arg(self.folder.path().join("s.sock"))
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log's descriptor"))
            .stderr(log)
            .spawn()
            .expect("the server's binary");
        self.child = Some(child);
        while started.elapsed() < START_TIME_MAX {
            let answers = self.answers_within(Duration::from_secs(5));
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if ended.is_some() && self.ports_left > 0 && self.log().contains("Address already in use") {
                // Another server has taken the port meanwhile.
                (self.port, self.ports_left) = (free_port(), self.ports_left - 1);
                return self.restart();
            }
            assert!(ended.is_none(), "the server ended at its start:\n{}", self.log());
            if answers {
                // Clients know the port now.
                self.ports_left = 0;
                return started.elapsed();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not answer:\n{}", self.log());
    }

    /// `kill -9`.
    ///
    /// # Panics
    /// If the process is not there any more: it died by itself before.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("a running server");
        let ended = child.try_wait().expect("the server's state");
        assert!(ended.is_none(), "the server had died by itself ({ended:?}):\n{}", self.log());
        child.kill().expect("kill");
        child.wait().expect("wait");
    }

    /// The number of the server's process.
    ///
    /// # Panics
    /// If no server is running.
    pub fn process_id(&self) -> u32 {
        self.child.as_ref().expect("a running server").id()
    }

    /// SIGTERM; gives the exit code, or `None` if a signal ended the process.
    ///
    /// # Panics
    /// If there is no server, or it cannot be told.
    pub fn terminate(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("a running server");
        let told = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().expect("kill runs");
        assert!(told.success(), "SIGTERM");
        child.wait().expect("wait").code()
    }

    /// Waits for a server that was told to end otherwise; gives the exit code, or `None` if a signal ended the process.
    ///
    /// # Panics
    /// If there is no server.
    pub fn wait(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("a running server");
        child.wait().expect("wait").code()
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Bytes of the server's memory that are in RAM; `None` where the system does not tell.
    pub fn resident_bytes(&self) -> Option<u64> {
        let id = self.child.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    }

    /// Whether the process is there.
    pub fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// The server's data directory.
    pub fn data_directory(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What the server has printed.
    pub fn log(&self) -> String {
        let mut text = String::new();
        if let Ok(mut file) = std::fs::File::open(self.folder.path().join("log")) {
            // A log that cannot be read only makes a failure's message shorter.
            let _ = file.read_to_string(&mut text);
        }
        text
    }

    /// A connection as root.
    ///
    /// # Panics
    /// If the server refuses.
    pub fn connect(&self) -> mysql::Conn {
        connect("127.0.0.1", self.port, Duration::from_secs(60))
            .unwrap_or_else(|error| panic!("{error}\n{}", self.log()))
    }

    /// Runs one of the binary's client programs on this server: `arguments` are its name and what follows the port.
    ///
    /// # Panics
    /// If there are no arguments, or the binary does not start.
    pub fn client(&self, arguments: &[&str]) -> Output {
        let (program, rest) = arguments.split_first().expect("a client program's name");
        let port = self.port.to_string();
        let mut process = Command::new(&self.binary);
        process.args([program, "-P", &port]).args(rest).stdin(Stdio::null());
        process.output().expect("the binary runs")
    }

    /// What a [client program](TestServer::client) printed.
    ///
    /// # Panics
    /// If it failed.
    pub fn client_output(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The error that a [client program](TestServer::client) printed.
    ///
    /// # Panics
    /// If it did not fail.
    pub fn client_error(&self, arguments: &[&str]) -> String {
        let output = self.client(arguments);
        assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Whether the server answers. Another process that had the port just before the server may have taken the connection and be gone
    /// without a word, so that an answer is not waited for without end.
    fn answers_within(&self, time: Duration) -> bool {
        let conn = mysql::Conn::new(options("root", "127.0.0.1", self.port, time).read_timeout(Some(time)));
        let Ok(mut conn) = conn else { return false };
        // Another server may have the port, and this one not have found out yet.
        match conn.query_first::<String, _>("SELECT @@datadir") {
            Ok(Some(folder)) => {
                let canonical = |folder: PathBuf| folder.canonicalize().ok();
                canonical(folder.into()) == canonical(self.folder.path().join("data"))
            }
            _ => true,
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Nothing of the directory is kept, so there is nothing to close cleanly.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A connection as root without password.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn connect(host: &str, port: u16, time: Duration) -> mysql::Result<mysql::Conn> {
    connect_as("root", host, port, time)
}

/// A connection of an account without password.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub fn connect_as(user: &str, host: &str, port: u16, time: Duration) -> mysql::Result<mysql::Conn> {
    mysql::Conn::new(options(user, host, port, time))
}

fn options(user: &str, host: &str, port: u16, time: Duration) -> mysql::OptsBuilder {
    mysql::OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(port)
        .user(Some(user))
        .prefer_socket(false)
        .tcp_connect_timeout(Some(time))
        .max_allowed_packet(Some(64 << 20))
}

/// The number of a statement's error, if it had one.
///
/// # Panics
/// If the connection broke.
pub fn error_code(result: mysql::Result<()>) -> Option<u16> {
    match result {
        Ok(()) => None,
        Err(mysql::Error::MySqlError(error)) => Some(error.code),
        Err(error) => panic!("the connection broke: {error}"),
    }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
