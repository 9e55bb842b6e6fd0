//! The parts of the server.

use super::{NODE, NdbTable, Rows, node};
use crate::background_threads::background_threads;
use crate::source::Source;
use crate::spec::{s, u};
use squall_registry::VirtualScan;

/// Wire protocols and event loops.
pub(super) const WIRE: &str = "WIRE";
/// Sessions, planner and queries.
pub(super) const SQL: &str = "SQL";

/// The parts, by their numbers.
const BLOCKS: [&str; 7] = [WIRE, SQL, "ROWSTORE", "COLUMNSTORE", "LOG", "LOCKS", "JOBS"];

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "blocks",
        comment: "parts of the server",
        columns: "block_number:w block_name:v512",
        rows: |_, _| Ok(BLOCKS.iter().zip(1..).map(|(name, number)| vec![u(number), s(*name)]).collect()),
    },
    NdbTable {
        name: "threadblocks",
        comment: "the part that a thread works for",
        columns: "node_id:w thr_no:w block_name:v512 block_instance:w",
        rows: thread_blocks,
    },
];

/// The part that a thread works for, by its name.
fn block_of(thread: &str) -> &'static str {
    let begins = |with: &[&str]| with.iter().any(|word| thread.starts_with(word));
    match () {
        () if begins(&["squall-loop", "squall-accept", "squall-event"]) => WIRE,
        () if begins(&["squall-commit", "squall-log", "squall-redo"]) => "LOG",
        () if begins(&["squall-job"]) => "JOBS",
        () if begins(&["squall-column", "squall-seal"]) => "COLUMNSTORE",
        () if begins(&["fjall", "lsm", "squall-row"]) => "ROWSTORE",
        () => SQL,
    }
}

fn thread_blocks(_: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let threads = background_threads();
    let row = |(number, name): (u64, &String)| vec![node(), u(number), s(block_of(name)), u(NODE - 1)];
    Ok((0..).zip(threads.values()).map(row).collect())
}
