//! `squall serve --init-from-env`: a first start as the environment asks for it, as a container does.

use mysql::prelude::Queryable as _;
use squall_test_support::server::free_port;
use squall_test_support::wait_until;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_squall");

/// A folder with a data directory and scripts.
struct Site {
    folder: tempfile::TempDir,
    port: u16,
}

/// A running server, and what it printed until it was ready.
struct Running {
    child: Child,
    printed: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that has failed leaves no server behind; one that has ended cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn end(mut self) {
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(told.success());
        assert!(self.child.wait().expect("its end").success());
    }
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("scripts")).expect("a folder");
        Self { folder, port: free_port() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, contents: &[u8], mode: u32) {
        let path = self.path("scripts").join(name);
        fs::write(&path, contents).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
    }

    fn command(&self, environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--init-from-env", "--bind-address", "0.0.0.0", "--port", &self.port.to_string()]);
        command.arg("--datadir").arg(self.path("data")).arg("--init-scripts").arg(self.path("scripts"));
        for name in ["MYSQL_ROOT_PASSWORD", "MYSQL_ALLOW_EMPTY_PASSWORD", "MYSQL_RANDOM_ROOT_PASSWORD", "MYSQL_PWD"] {
            command.env_remove(name);
        }
        command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a server that must become ready.
    fn start(&self, environment: &[(&str, &str)]) -> Running {
        let mut running =
            Running { child: self.command(environment).spawn().expect("the binary runs"), printed: String::new() };
        let mut lines = BufReader::new(running.child.stdout.take().expect("its output"));
        while !running.printed.contains("squall is ready on ") {
            if lines.read_line(&mut running.printed).expect("a line") == 0 {
                let mut error = String::new();
                running.child.stderr.take().expect("its errors").read_to_string(&mut error).expect("its errors");
                panic!("the server has ended:\n{}{error}", running.printed);
            }
        }
        running
    }

    /// The error of a server that must not become ready.
    fn error(&self, environment: &[(&str, &str)]) -> String {
        let mut running =
            Running { child: self.command(environment).spawn().expect("the binary runs"), printed: String::new() };
        wait_until("the end of the server", || running.child.try_wait().expect("its state").is_some());
        let code = running.child.wait().expect("its end").code();
        let mut error = String::new();
        running.child.stderr.take().expect("its errors").read_to_string(&mut error).expect("its errors");
        assert_eq!(code, Some(1), "{error}");
        error
    }

    fn connect(&self, user: &str, password: &str) -> mysql::Result<mysql::Conn> {
        let options = mysql::OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(self.port);
        mysql::Conn::new(options.user(Some(user)).pass(Some(password)).prefer_socket(false))
    }
}

#[test]
fn the_environment_and_scripts_set_a_new_directory_up() {
    let site = Site::new();
    fs::write(site.path("secret"), "user's \\ password\n").expect("a file");
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    compressed.write_all(b"INSERT INTO part VALUES (2, 'from a compressed file');\n").expect("compressed");
    let procedure = "CREATE TABLE part (id INT PRIMARY KEY, name VARCHAR(99));\nDELIMITER //\nCREATE PROCEDURE p() BEGIN \
                     INSERT INTO part VALUES (1, 'from a procedure'); END//\nDELIMITER ;\nCALL p();\n";
    site.script("10-tables.sql", procedure.as_bytes(), 0o644);
    site.script("20-rows.sql.gz", &compressed.finish().expect("compressed"), 0o644);
    let sourced = "mysql_note 'a sourced script'\ndocker_process_sql <<< \"INSERT INTO part VALUES (3, '$MYSQL_USER')\"\n\
                   docker_process_sql --database=mysql -N -e 'SELECT CONCAT(\"in \", DATABASE())'\n";
    site.script("30-sourced.sh", sourced.as_bytes(), 0o644);
    let executed =
        "#!/bin/sh\n\"$SQUALL\" sql -S \"$MYSQL_UNIX_PORT\" shop_1 -e \"INSERT INTO part VALUES (4, 'program')\"\n";
    site.script("40-executed.sh", executed.as_bytes(), 0o755);
    site.script("README.md", b"no script", 0o644);
    let secret = site.path("secret");
    let environment = [
        ("MYSQL_ROOT_PASSWORD", "root's"),
        ("MYSQL_DATABASE", "shop_1"),
        ("MYSQL_USER", "ann"),
        ("MYSQL_PASSWORD_FILE", secret.to_str().expect("a text")),
    ];
    let running = site.start(&environment);
    for expected in ["a sourced script", "in mysql", "ignoring ", "running "] {
        assert!(running.printed.contains(expected), "{expected}: {}", running.printed);
    }
    assert!(!running.printed.contains("root's"), "{}", running.printed);
    let mut ann = site.connect("ann", "user's \\ password").expect("ann");
    let rows: Vec<(u32, String)> = ann.query("SELECT * FROM shop_1.part ORDER BY id").expect("rows");
    let names: Vec<&str> = rows.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["from a procedure", "from a compressed file", "ann", "program"]);
    let hosts: Vec<String> = site
        .connect("root", "root's")
        .expect("root")
        .query("SELECT host FROM mysql.user WHERE user = 'root' ORDER BY host")
        .expect("hosts");
    assert_eq!(hosts, ["%", "localhost"]);
    // The name's underscore stands for itself.
    assert!(ann.query_drop("CREATE DATABASE shopx1").is_err());
    assert!(site.connect("root", "").is_err());
    running.end();

    // Another start finds the directory as it is: scripts do not run again, and other passwords change nothing.
    fs::remove_dir_all(site.path("scripts")).expect("removed");
    let running = site.start(&[("MYSQL_ROOT_PASSWORD", "another")]);
    assert!(site.connect("root", "another").is_err());
    let mut root = site.connect("root", "root's").expect("root");
    assert_eq!(root.query_first::<u32, _>("SELECT COUNT(*) FROM shop_1.part").expect("a row"), Some(4));
    running.end();
}

#[test]
fn a_random_password_is_printed_once() {
    let site = Site::new();
    let running = site.start(&[("MYSQL_RANDOM_ROOT_PASSWORD", "yes"), ("MYSQL_ROOT_HOST", "localhost")]);
    let password = running.printed.split("GENERATED ROOT PASSWORD: ").nth(1).and_then(|rest| rest.lines().next());
    let password = password.expect("a password").to_owned();
    assert_eq!(password.len(), 24);
    let mut root = site.connect("root", &password).expect("root");
    let hosts: Vec<String> = root.query("SELECT host FROM mysql.user WHERE user = 'root'").expect("hosts");
    assert_eq!(hosts, ["localhost"]);
    running.end();
    let running = site.start(&[("MYSQL_RANDOM_ROOT_PASSWORD", "yes")]);
    assert!(!running.printed.contains("GENERATED"), "{}", running.printed);
    running.end();
}

#[test]
fn an_empty_password_has_to_be_allowed() {
    let site = Site::new();
    let error = site.error(&[]);
    assert!(error.contains("the first start needs a password for root"), "{error}");
    assert!(!site.path("data").exists());
    let environment = [("MYSQL_ALLOW_EMPTY_PASSWORD", "yes")];
    site.start(&environment).end();
    let running = site.start(&environment);
    site.connect("root", "").expect("root");
    running.end();
    let error = site.error(&[]);
    assert!(error.contains("not listening on 0.0.0.0: root has no password"), "{error}");
}

#[test]
fn a_directory_that_was_left_halfway_is_not_served() {
    let site = Site::new();
    site.script("a.sql", b"CREATE DATABASE a;\nSELECT 1;\nSELECT * FROM nothing.here;\n", 0o644);
    let environment = [("MYSQL_ROOT_PASSWORD", "x")];
    let error = site.error(&environment);
    assert!(error.contains("ERROR 1049 (42000) at line 3: Unknown database 'nothing'"), "{error}");
    assert!(error.contains("a.sql: a statement has failed"), "{error}");
    fs::remove_file(site.path("scripts").join("a.sql")).expect("removed");
    let error = site.error(&environment);
    assert!(error.contains("an earlier first start on ") && error.contains("empty the directory"), "{error}");
    fs::remove_dir_all(site.path("data")).expect("removed");
    site.script("b.sh", b"exit 3\n", 0o644);
    let error = site.error(&environment);
    assert!(error.contains("b.sh: the script has failed: exit status: 3"), "{error}");
    fs::remove_dir_all(site.path("data")).expect("removed");
    site.script("b.sh", b"true\n", 0o644);
    site.start(&environment).end();
}
