//! The cost of statements: allocations and time for each, from the client's packet to the answer.
//!
//! `cargo bench -p squall --bench statements` starts a server in this process without a listener. The client uses a socket pair, and
//! allocations of its thread are not counted. `-- --test` runs each statement only a few times, as a test.

#![expect(unsafe_code, reason = "an allocator that counts")]

use mimalloc::MiMalloc;
use squall_client::{Client, ConnectOptions, Target, TlsMode};
use squall_server::{Server, ServerOptions};
use squall_session::{Database, OpenOptions};
use squall_wire::parameters::BinaryValue;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rows of the table.
const ROWS: u32 = 10_000;
/// Rows of a statement that fills it.
const ROWS_PER_INSERT: u32 = 500;

/// The server's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread is the client.
    static IS_CLIENT: Cell<bool> = const { Cell::new(false) };
}

fn count(bytes: usize) {
    if !IS_CLIENT.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

// SAFETY: everything is left to mimalloc.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promises are mimalloc's.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Bench {
    server: Server,
    /// Executions that are measured.
    runs: u32,
}

impl Bench {
    fn connect(&self) -> Client {
        self.connect_to("bench")
    }

    fn connect_to(&self, database: &str) -> Client {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        self.server.attach(theirs).expect("an event loop");
        let mut options = ConnectOptions::new(Target::Unix("".into()));
        options.user = "root".to_owned();
        options.database = database.to_owned();
        options.tls = TlsMode::Disabled;
        Client::connect_over(ours, &options).expect("a session")
    }

    /// Runs something again and again, first to warm up, and prints what one run costs.
    fn measure(&self, name: &str, runs: u32, mut run: impl FnMut(u32)) {
        (0..runs / 4).for_each(&mut run);
        let before = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed), Instant::now());
        (runs / 4..runs / 4 + runs).for_each(&mut run);
        let took = before.2.elapsed();
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before.0;
        let bytes = BYTES.load(Ordering::Relaxed) - before.1;
        let per = |sum: f64| sum / f64::from(runs);
        println!(
            "{name:44}{:14.1}{:14.0}{:12.1}",
            per(allocations as f64),
            per(bytes as f64),
            per(took.as_secs_f64() * 1e6)
        );
    }

    fn text(&self, client: &mut Client, name: &str, sql: impl Fn(u32) -> String) {
        self.measure(name, self.runs, |run| {
            client.run(&sql(run)).expect(name);
        });
    }

    fn prepared<const N: usize>(&self, client: &mut Client, name: &str, sql: &str, values: impl Fn(u32) -> [i64; N]) {
        let statement = client.prepare(sql).expect(name);
        self.measure(name, self.runs, |run| {
            let values = values(run).map(BinaryValue::Int);
            client.execute(&statement, &values, false).expect(name);
        });
        client.close_statement(&statement).expect("closed");
    }
}

/// The key of a run: all over the table.
fn key(run: u32) -> u32 {
    run.wrapping_mul(2_654_435_761) % ROWS + 1
}

fn fill(client: &mut Client) {
    client.run("CREATE TABLE t (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60), KEY (k))").expect("a table");
    for first in (1..=ROWS).step_by(ROWS_PER_INSERT as usize) {
        let rows: Vec<String> = (first..first + ROWS_PER_INSERT)
            .map(|id| format!("({id}, {}, '{}', '{}')", id % 100, "c".repeat(119), "p".repeat(59)))
            .collect();
        client.run(&format!("INSERT INTO t VALUES {}", rows.join(","))).expect("rows");
    }
}

fn statements(bench: &Bench) {
    let client = &mut bench.connect();
    let insert = |id: u32| format!("INSERT INTO t VALUES ({id}, 7, 'new', 'row')");
    bench.text(client, "SELECT 1, text", |_| "SELECT 1".to_owned());
    bench.prepared(client, "SELECT 1, prepared", "SELECT 1", |_| []);
    bench.text(client, "point select, text", |run| format!("SELECT c FROM t WHERE id={}", key(run)));
    let point = "SELECT c FROM t WHERE id=?";
    bench.prepared(client, "point select, prepared", point, |run| [i64::from(key(run))]);
    let range = |run| {
        let low = i64::from(key(run) % (ROWS - 100) + 1);
        [low, low + 99]
    };
    bench.text(client, "100 rows, text", |run| {
        let [low, high] = range(run);
        format!("SELECT c FROM t WHERE id BETWEEN {low} AND {high}")
    });
    bench.prepared(client, "100 rows, prepared", "SELECT c FROM t WHERE id BETWEEN ? AND ?", range);
    bench.text(client, "four keys row by row, text", |run| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|add| key(run + add));
        format!("SELECT c FROM t WHERE id IN ({a}, {b}, {c}, {d})")
    });
    bench.text(client, "UPDATE of a row, text", |run| format!("UPDATE t SET k=k+1 WHERE id={}", key(run)));
    let update = "UPDATE t SET k=k+1 WHERE id=?";
    bench.prepared(client, "UPDATE of a row, prepared", update, |run| [i64::from(key(run))]);
    bench.text(client, "INSERT of a row, text", |run| insert(1_000_000 + run));
    let insert = "INSERT INTO t VALUES (?, 7, 'new', 'row')";
    bench.prepared(client, "INSERT of a row, prepared", insert, |run| [i64::from(2_000_000 + run)]);
    bench.text(client, "DELETE of a row, text", |run| format!("DELETE FROM t WHERE id={}", 1_000_000 + run));
    let delete = "DELETE FROM t WHERE id=?";
    bench.prepared(client, "DELETE of a row, prepared", delete, |run| [i64::from(2_000_000 + run)]);
}

/// What a session costs that lives for a statement or two.
fn sessions(bench: &Bench) {
    let runs = bench.runs / 4 + 1;
    bench.measure("connect, disconnect", runs, |_| bench.connect().quit().expect("the end"));
    bench.measure("connect, point select as text, disconnect", runs, |run| {
        let mut client = bench.connect();
        client.run(&format!("SELECT c FROM t WHERE id={}", key(run))).expect("a row");
        client.quit().expect("the end");
    });
    bench.measure("connect, prepared point select, disconnect", runs, |run| {
        let mut client = bench.connect();
        let statement = client.prepare("SELECT c FROM t WHERE id=?").expect("a statement");
        client.execute(&statement, &[BinaryValue::Int(i64::from(key(run)))], false).expect("a row");
        client.quit().expect("the end");
    });
    let client = &mut bench.connect();
    let join =
        "SELECT a.c, COUNT(*) FROM t a JOIN t b ON a.k = b.id WHERE a.id = ? GROUP BY a.c ORDER BY 2 DESC LIMIT 5";
    for (name, sql) in [
        ("PREPARE, close: point select", "SELECT c FROM t WHERE id=?"),
        ("PREPARE, close: UPDATE of a row", "UPDATE t SET k=k+1 WHERE id=?"),
        ("PREPARE, close: join of two tables", join),
    ] {
        bench.measure(name, bench.runs, |_| {
            let statement = client.prepare(sql).expect(name);
            client.close_statement(&statement).expect("closed");
        });
    }
}

fn main() {
    IS_CLIENT.set(true);
    // `cargo bench` passes `--bench`, `cargo test --benches` nothing.
    let short = std::env::args().any(|argument| argument == "--test") || !std::env::args().any(|it| it == "--bench");
    let directory = tempfile::tempdir().expect("a directory");
    let database = Database::open(directory.path(), OpenOptions::default()).expect("a database");
    let options = ServerOptions {
        data_directory: directory.path().to_owned(),
        bind_address: String::new(),
        port: 0,
        admin_address: None,
        admin_port: 0,
        socket: None,
        event_loops: NonZeroUsize::MIN,
        drain_timeout: Duration::from_secs(5),
    };
    let server = Server::start(&options, Arc::new(database.clone())).expect("a server");
    let bench = Bench { server, runs: if short { 8 } else { 20_000 } };
    let mut first = bench.connect_to("");
    // What commits wait for is the disk's business.
    first.run("CREATE DATABASE bench; SET GLOBAL durability = 'os'").expect("a database");
    fill(&mut bench.connect());
    println!("{:44}{:>14}{:>14}{:>12}", "", "allocations", "bytes", "us");
    statements(&bench);
    sessions(&bench);
    println!("\nwhere every session parses and plans for itself (plan_cache_size = 0)");
    first.run("SET GLOBAL plan_cache_size = 0").expect("a setting");
    sessions(&bench);
    drop(first);
    bench.server.shut_down().expect("the end");
    database.close().expect("closed");
}
