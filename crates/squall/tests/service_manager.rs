//! Plays the service manager's part: a socket that hears how the server does, and listening sockets that it passes on.

use mysql::prelude::Queryable as _;
use squall_test_support::{skip, wait_until};
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_squall");

/// Makes the environment and the descriptors that systemd would make, and becomes the server: the process's number must be its own.
const LAUNCHER: &str = r#"
export LISTEN_PID=$$ WATCHDOG_PID=$$
exec "$@"
"#;

/// A server, which does not outlive a test that has failed.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn end(mut self) {
        let told = Command::new("kill").arg("-TERM").arg(self.0.id().to_string()).status().expect("kill runs");
        assert!(told.success());
        assert!(self.0.wait().expect("its end").success());
    }

    /// The error of a server that does not start.
    fn error(mut self) -> String {
        wait_until("the end of the server", || self.0.try_wait().expect("its state").is_some());
        assert_eq!(self.0.wait().expect("its end").code(), Some(1));
        let mut error = String::new();
        self.0.stderr.take().expect("its errors").read_to_string(&mut error).expect("its errors");
        error
    }
}

/// A manager with a socket to be told by.
struct Manager {
    folder: tempfile::TempDir,
    socket: UnixDatagram,
}

impl Manager {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        Self { folder, socket }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a text").to_owned()
    }

    /// Starts a server with these listening sockets as its descriptors from 3 on.
    fn start(&self, sockets: Vec<OwnedFd>, environment: &[(&str, &str)], arguments: &[&str]) -> Server {
        let redirections: String =
            sockets.iter().enumerate().map(|(at, socket)| format!(" {}<&{}", at + 3, socket.as_raw_fd())).collect();
        // The shell passes on what it is told to alone: each descriptor is copied before it is given its number.
        for socket in &sockets {
            rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::empty()).expect("inheritable");
            assert!(socket.as_raw_fd() > 2 + sockets.len() as i32, "numbers that overlap");
        }
        let script = LAUNCHER.replace("exec \"$@\"", &format!("exec \"$@\"{redirections}"));
        let mut command = Command::new("bash");
        command.args(["-c", &script, "launcher", BINARY, "serve", "--datadir", &self.path("data")]);
        command.args(arguments).env("NOTIFY_SOCKET", self.path("notify")).stdin(Stdio::null());
        if !sockets.is_empty() {
            command.env("LISTEN_FDS", sockets.len().to_string());
        }
        command.envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        Server(command.spawn().expect("bash runs"))
    }

    /// The next message, in lines.
    fn told(&self) -> Vec<String> {
        let mut buffer = [0; 4096];
        let length = self.socket.recv(&mut buffer).expect("a message");
        String::from_utf8_lossy(&buffer[..length]).lines().map(ToOwned::to_owned).collect()
    }

    /// Messages up to one with this line, which is given.
    fn wait_for(&self, line: &str) -> Vec<String> {
        loop {
            let told = self.told();
            if told.iter().any(|found| found == line) {
                return told;
            }
        }
    }
}

/// A descriptor with a number above those that are passed.
fn high(descriptor: OwnedFd) -> OwnedFd {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, 20).expect("a copy")
}

fn connect(port: u16) -> mysql::Conn {
    squall_test_support::server::connect("127.0.0.1", port, Duration::from_secs(60)).expect("a connection")
}

#[test]
fn the_manager_hears_of_readiness_life_and_end() {
    let manager = Manager::new();
    let port = squall_test_support::server::free_port().to_string();
    let server = manager.start(Vec::new(), &[("WATCHDOG_USEC", "400000")], &["--port", &port]);
    assert_eq!(manager.told(), ["STATUS=Opening the data directory"]);
    let ready = manager.told();
    assert_eq!(ready[0], "READY=1");
    assert!(ready[1].starts_with(&format!("STATUS=Ready on 127.0.0.1:{port} and ")), "{ready:?}");
    for _ in 0..3 {
        assert_eq!(manager.told(), ["WATCHDOG=1"]);
    }
    server.end();
    manager.wait_for("STOPPING=1");
}

#[test]
fn a_watchdog_of_another_process_is_left_alone() {
    let manager = Manager::new();
    let port = squall_test_support::server::free_port().to_string();
    let mut command = Command::new(BINARY);
    command.args(["serve", "--datadir", &manager.path("data"), "--port", &port]);
    command.env("NOTIFY_SOCKET", manager.path("notify")).env("WATCHDOG_USEC", "100000").env("WATCHDOG_PID", "1");
    // Sockets of another process.
    command.env("LISTEN_FDS", "1").env("LISTEN_PID", "1");
    let server = Server(command.stdout(Stdio::null()).spawn().expect("the binary runs"));
    manager.wait_for("READY=1");
    manager.socket.set_read_timeout(Some(Duration::from_millis(500))).expect("a limit");
    let silence = manager.socket.recv(&mut [0; 64]).expect_err("silence").kind();
    assert!(matches!(silence, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{silence}");
    server.end();
}

#[test]
fn passed_sockets_stand_for_addresses() {
    let manager = Manager::new();
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = tcp.local_addr().expect("its address").port();
    let admin = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let admin_port = admin.local_addr().expect("its address").port();
    let path = manager.path("activated.sock");
    let unix = UnixListener::bind(&path).expect("a listener");
    let passed = || {
        let copies = [
            OwnedFd::from(tcp.try_clone().expect("a copy")),
            OwnedFd::from(unix.try_clone().expect("a copy")),
            OwnedFd::from(admin.try_clone().expect("a copy")),
        ];
        copies.map(high).into_iter().collect::<Vec<_>>()
    };
    let names = [("LISTEN_FDNAMES", "mysql:mysql:admin")];
    let server = manager.start(passed(), &names, &[]);
    let ready = manager.wait_for("READY=1");
    let places = format!("STATUS=Ready on 127.0.0.1:{port} and 127.0.0.1:{admin_port} (administrative) and {path}");
    assert_eq!(ready[1], places);
    let mut conn = connect(port);
    let values: Option<(u16, String, String, u16)> =
        conn.query_first("SELECT @@port, @@bind_address, @@socket, @@admin_port").expect("values");
    assert_eq!(values, Some((port, "127.0.0.1".to_owned(), path.clone(), admin_port)));
    connect(admin_port);
    let options = mysql::OptsBuilder::new().socket(Some(&path)).user(Some("root"));
    mysql::Conn::new(options).expect("a connection by the Unix socket");
    assert!(!Path::new(&manager.path("data/squall.sock")).exists(), "a socket of its own");
    drop(conn);
    server.end();

    // Who comes while no server runs is served by the next one, at the same addresses.
    assert!(Path::new(&path).exists(), "the manager's socket is removed");
    let waiting = std::thread::spawn(move || connect(port).query_first::<u32, _>("SELECT 7").expect("a row"));
    let server = manager.start(passed(), &[], &[]);
    assert_eq!(waiting.join().expect("a thread"), Some(7));
    server.end();
}

#[test]
fn passed_sockets_are_checked() {
    let manager = Manager::new();
    let open = TcpListener::bind("0.0.0.0:0").expect("a listener");
    let refused = manager.start(vec![high(open.into())], &[], &[]).error();
    assert!(refused.contains("not listening on the sockets of the service manager: root has no password"), "{refused}");
    let (one, _other) = UnixDatagram::pair().expect("sockets");
    let refused = manager.start(vec![high(one.into())], &[], &[]).error();
    assert!(refused.contains("the passed descriptor 3: "), "{refused}");
    let refused = manager.start(Vec::new(), &[("LISTEN_FDS", "5")], &[]).error();
    assert!(refused.contains("the passed descriptor 3: "), "{refused}");
    let refused = manager.start(Vec::new(), &[("LISTEN_FDS", "many")], &[]).error();
    assert!(refused.contains("LISTEN_FDS=many is no number"), "{refused}");
    let refused = manager.start(Vec::new(), &[("NOTIFY_SOCKET", "relative")], &[]).error();
    assert!(refused.contains("NOTIFY_SOCKET relative: "), "{refused}");
}

/// The unit files have what systemd asks for: `systemd-analyze` says so where it is, and where it is not their keys are looked at.
#[test]
fn unit_files_are_valid() {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    let service = std::fs::read_to_string(packaging.join("squall.service")).expect("the unit");
    for line in
        ["Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=squall", "LimitNOFILE=1048576"]
    {
        assert!(service.lines().any(|found| found == line), "{line}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    // The program is where the tests have built it.
    let here = service.replace("/usr/bin/squall", BINARY);
    std::fs::write(folder.path().join("squall.service"), here).expect("a copy");
    std::fs::copy(packaging.join("squall.socket"), folder.path().join("squall.socket")).expect("a copy");
    let verify = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "squall.service", "squall.socket"])
        .current_dir(folder.path())
        .output();
    let Ok(verified) = verify else {
        skip("the check of the unit files", "systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    // Of other units that the machine has it may say more.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("squall.")).collect();
    assert!(ours.is_empty(), "{ours:#?}");
}
