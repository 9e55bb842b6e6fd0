//! The thirteen queries of the Star Schema Benchmark through the star kernel: dimensions filtered, maps made, fact table passed;
//! and some of the fact table alone.
//!
//! ```sh
//! bench/ssb.py DIR
//! cargo bench -p squall-column-store --bench ssb -- DIR [THREADS [ROUNDS]]
//! ```
//!
//! Segments are made in `DIR/segments` the first time. Prints one JSON line for the segments and one per query: the best of the
//! rounds, in milliseconds, warm, and the answer; then one for a list of keys. `bench/star.py` compares both with DuckDB's.

mod fact;
mod list;
mod load;
mod queries;

use load::Tables;
use queries::queries;
use std::path::PathBuf;
use std::time::Instant;

fn main() {
    // Cargo itself passes `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(folder) = arguments.next().map(PathBuf::from) else {
        println!("give it the folder that bench/ssb.py wrote");
        return;
    };
    let mut number = |default: usize| arguments.next().map_or(default, |text| text.parse().expect("a number"));
    let (threads, rounds) = (number(2), number(5));
    let tables = Tables::load(&folder);
    println!("{}", tables.describe());
    for query in queries().into_iter().chain(fact::queries()) {
        let mut best = f64::INFINITY;
        let mut answer = Vec::new();
        for _ in 0..rounds {
            let started = Instant::now();
            let found = (query.run)(&tables, threads);
            best = best.min(started.elapsed().as_secs_f64() * 1000.0);
            answer = found;
        }
        answer.sort();
        let rows: Vec<String> = answer.iter().map(|row| format!("\"{row}\"")).collect();
        println!("{{\"query\": \"{}\", \"ms\": {best:.3}, \"answer\": [{}]}}", query.name, rows.join(", "));
    }
    println!("{}", tables.describe_memory());
    println!("{}", list::measure(threads, rounds));
}
