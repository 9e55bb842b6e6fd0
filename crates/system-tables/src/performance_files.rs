//! performance_schema's tables of files and memory, and the waits of all sessions.

use super::performance_sums::{account, accounts, all_together, by_account, by_thread, host, timed, user};
use super::{DescribedTable, Source, s, u};
use crate::memory_parts::memory_parts;
use squall_accounting::file_use::{self, FileSums, FileTotals, IoTotals};
use squall_instrumentation::memory::{self, PartMemory, SessionPart};
use squall_instrumentation::timed::{Timed, TimesByEvent, merge_event};
use squall_instrumentation::waits;
use squall_registry::VirtualScan;
use squall_row_store::{FileIo, TableFileIo};
use squall_types::{SqlResult, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Files of row tables, which the storage engine reads and writes by itself. All that a table has are one instance, their folder.
pub(crate) const ROW_TABLE: &str = "wait/io/file/squall/row_table";
/// Any other file of the data directory.
const OTHER_FILE: &str = "wait/io/file/squall/other";
/// Where row tables are, in the data directory.
const ROWS_FOLDER: &str = "rows";

pub(crate) const TABLES: &[DescribedTable] = &[
    ("file_instances", "FILE_NAME:v512 EVENT_NAME:v128 OPEN_COUNT:w", file_instances),
    (
        "file_summary_by_event_name",
        "EVENT_NAME:v128 * *READ SUM_NUMBER_OF_BYTES_READ:i *WRITE SUM_NUMBER_OF_BYTES_WRITE:i *MISC",
        files_by_event,
    ),
    (
        "file_summary_by_instance",
        "FILE_NAME:v512 EVENT_NAME:v128 OBJECT_INSTANCE_BEGIN:u * *READ SUM_NUMBER_OF_BYTES_READ:i *WRITE \
         SUM_NUMBER_OF_BYTES_WRITE:i *MISC",
        files_by_instance,
    ),
    ("memory_summary_global_by_event_name", "EVENT_NAME:v128 $MEMORY", memory),
    ("memory_summary_by_thread_by_event_name", "THREAD_ID:u EVENT_NAME:v128 $MEMORY", |source, _| {
        by_thread(source, |process| session_memory(&memory::of_session(process)))
    }),
    ("memory_summary_by_account_by_event_name", "USER:v32? HOST:v255? EVENT_NAME:v128 $MEMORY", |source, _| {
        by_account(source, account, |known| session_memory(&known.memory))
    }),
    ("memory_summary_by_host_by_event_name", "HOST:v255? EVENT_NAME:v128 $MEMORY", |source, _| {
        by_account(source, host, |known| session_memory(&known.memory))
    }),
    ("memory_summary_by_user_by_event_name", "USER:v32? EVENT_NAME:v128 $MEMORY", |source, _| {
        by_account(source, user, |known| session_memory(&known.memory))
    }),
    ("events_waits_summary_by_instance", "EVENT_NAME:v128 OBJECT_INSTANCE_BEGIN:u *", waits_by_instance),
    ("events_waits_summary_global_by_event_name", "EVENT_NAME:v128 *", waits_by_event),
];

fn bytes(io: &IoTotals) -> Value {
    Value::Int(i64::try_from(io.bytes).unwrap_or(i64::MAX))
}

/// The columns of sums over reads, writes and the rest.
fn sums(totals: &FileTotals) -> Vec<Value> {
    let mut row = timed(&Timed::from(totals.all())).to_vec();
    row.extend(timed(&Timed::from(totals.read)));
    row.push(bytes(&totals.read));
    row.extend(timed(&Timed::from(totals.written)));
    row.push(bytes(&totals.written));
    row.extend(timed(&Timed::from(totals.other)));
    row
}

fn files(source: &Source<'_>) -> Vec<FileSums> {
    let directory = &source.state.directory;
    let mut files = file_use::of_files(&std::path::absolute(directory).unwrap_or_else(|_| directory.clone()));
    let of_table = |io: TableFileIo| FileSums { path: io.folder, event: ROW_TABLE, open: 0, totals: io.totals };
    files.extend(source.state.store.file_io().tables.into_iter().map(of_table));
    files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    files
}

/// Sums by what files are used for.
pub(crate) fn sums_by_event(source: &Source<'_>) -> BTreeMap<&'static str, FileTotals> {
    let mut sums = file_use::by_event();
    let FileIo { tables, gone } = source.state.store.file_io();
    let mut of_tables = gone;
    tables.iter().for_each(|io| of_tables.merge(&io.totals));
    sums.insert(ROW_TABLE, of_tables);
    sums
}

/// The names of all that files are used for.
fn events() -> impl Iterator<Item = &'static str> {
    file_use::EVENTS.iter().copied().chain([ROW_TABLE])
}

/// A number for a file, in place of an address.
fn instance(file: &FileSums) -> Value {
    u(xxh3_64(file.path.as_os_str().as_encoded_bytes()))
}

fn file_name(path: &Path) -> Value {
    s(path.to_string_lossy())
}

/// The files of the data directory that the process has open, and how often; nothing where the system does not tell.
fn open_files(source: &Source<'_>) -> BTreeMap<PathBuf, u64> {
    let mut open = BTreeMap::new();
    let (Ok(directory), Ok(descriptors)) = (source.state.directory.canonicalize(), std::fs::read_dir("/proc/self/fd"))
    else {
        return open;
    };
    let targets = descriptors.flatten().filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    for path in targets.filter(|path| path.starts_with(&directory)) {
        *open.entry(path).or_default() += 1;
    }
    open
}

fn file_instances(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut all: BTreeMap<PathBuf, (&str, u64)> = BTreeMap::new();
    for file in files(source) {
        all.insert(file.path.canonicalize().unwrap_or(file.path), (file.event, file.open));
    }
    let rows = source.state.directory.canonicalize().unwrap_or_default().join(ROWS_FOLDER);
    for (path, count) in open_files(source) {
        let event = if path.starts_with(&rows) { ROW_TABLE } else { OTHER_FILE };
        let folder = path.ancestors().skip(1).find(|folder| all.contains_key(*folder)).map(Path::to_path_buf);
        match folder {
            Some(table) => all.entry(table).or_insert((event, 0)).1 += count,
            None => all.entry(path).or_insert((event, 0)).1 = count,
        }
    }
    Ok(all.iter().map(|(path, (event, open))| vec![file_name(path), s(*event), u(*open)]).collect())
}

fn files_by_event(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let sums_of = sums_by_event(source);
    let row = |event| {
        let totals = sums_of.get(event).copied().unwrap_or_default();
        [vec![s(event)], sums(&totals)].concat()
    };
    Ok(events().map(row).collect())
}

fn files_by_instance(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row =
        |file: &FileSums| [vec![file_name(&file.path), s(file.event), instance(file)], sums(&file.totals)].concat();
    Ok(files(source).iter().map(row).collect())
}

/// Memory of sessions. The least that they have had is not known, so it is nothing.
fn session_memory(parts: &[SessionPart]) -> Vec<Vec<Value>> {
    let row = |(name, part): (&&str, &SessionPart)| {
        let mut row = vec![s(*name), u(0), u(0), u(0), u(0)];
        row.extend([0, part.count, part.count, 0, part.bytes, part.high_bytes.max(part.bytes)].map(number));
        row
    };
    memory::OF_SESSIONS.iter().zip(parts).map(row).collect()
}

fn number(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// How often memory was taken and given back is not counted.
fn memory(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |part: &PartMemory| {
        let seen = source.state.statistics.memory_seen.look(part);
        let mut row = vec![s(part.name), u(0), u(0), u(0), u(0)];
        row.extend([seen.low_count, part.count, seen.high_count].map(number));
        row.extend([seen.low_bytes, part.bytes, seen.high_bytes].map(number));
        row
    };
    Ok(memory_parts(source).iter().map(row).collect())
}

fn waits_by_instance(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |file: &FileSums| {
        [s(file.event), instance(file)].into_iter().chain(timed(&Timed::from(file.totals.all()))).collect()
    };
    Ok(files(source).iter().map(row).collect())
}

/// What sessions have waited for, tables, and files.
fn waits_by_event(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut times: TimesByEvent = waits::OF_SESSIONS.iter().map(|event| (*event, Timed::default())).collect();
    for (_, account) in accounts(source, all_together) {
        account.waits.iter().for_each(|(event, waited)| merge_event(&mut times, event, waited));
    }
    let tables = super::performance_objects::all_tables(source);
    merge_event(&mut times, waits::TABLE_IO, &tables.all());
    let files = sums_by_event(source);
    for event in events() {
        let totals = files.get(event).copied().unwrap_or_default();
        merge_event(&mut times, event, &Timed::from(totals.all()));
    }
    times.sort_unstable_by_key(|(event, _)| *event);
    Ok(times.iter().map(|(event, times)| [s(*event)].into_iter().chain(timed(times)).collect()).collect())
}
