//! Activity of hosts and users.

use super::files::FILE_EVENTS;
use super::source::{Row, Tables};
use super::sums::{COUNT, Groups, MAX, SUM, Waits, descending, n, or_background, order, per};
use super::view::{Column, Names, View, bytes, count, event, host, name, number, time};
use squall_types::{SqlResult, Value};
use std::collections::HashSet;

/// Hosts or users: the tables by them, and the columns of statements in those.
struct Who {
    column: &'static str,
    others: &'static str,
    statements: &'static str,
    waits: &'static str,
    stages: &'static str,
    memory: &'static str,
    sums: &'static [&'static str],
    wait_sums: &'static [&'static str],
    memory_sums: &'static [&'static str],
}

const LOCK: &str = "SUM_LOCK_TIME";
const CPU: &str = "SUM_CPU_TIME";
const SENT: &str = "SUM_ROWS_SENT";
const EXAMINED: &str = "SUM_ROWS_EXAMINED";
const AFFECTED: &str = "SUM_ROWS_AFFECTED";
const NO_INDEX: &str = "SUM_NO_INDEX_USED";
const NO_GOOD_INDEX: &str = "SUM_NO_GOOD_INDEX_USED";
const MEMORY: &str = "CURRENT_NUMBER_OF_BYTES_USED";
const MEMORY_EVER: &str = "SUM_NUMBER_OF_BYTES_ALLOC";

const HOSTS: Who = Who {
    column: "HOST",
    others: "USER",
    statements: "events_statements_summary_by_host_by_event_name",
    waits: "events_waits_summary_by_host_by_event_name",
    stages: "events_stages_summary_by_host_by_event_name",
    memory: "memory_summary_by_host_by_event_name",
    sums: &["HOST", "EVENT_NAME", COUNT, SUM, MAX, LOCK, CPU, SENT, EXAMINED, AFFECTED, NO_INDEX, NO_GOOD_INDEX],
    wait_sums: &["HOST", "EVENT_NAME", COUNT, SUM, MAX],
    memory_sums: &["HOST", "EVENT_NAME", MEMORY, MEMORY_EVER],
};

const USERS: Who = Who {
    column: "USER",
    others: "HOST",
    statements: "events_statements_summary_by_user_by_event_name",
    waits: "events_waits_summary_by_user_by_event_name",
    stages: "events_stages_summary_by_user_by_event_name",
    memory: "memory_summary_by_user_by_event_name",
    sums: &["USER", "EVENT_NAME", COUNT, SUM, MAX, LOCK, CPU, SENT, EXAMINED, AFFECTED, NO_INDEX, NO_GOOD_INDEX],
    wait_sums: &["USER", "EVENT_NAME", COUNT, SUM, MAX],
    memory_sums: &["USER", "EVENT_NAME", MEMORY, MEMORY_EVER],
};

const fn summary(who: Column, others: &'static str) -> [Column; 12] {
    [
        who,
        count("statements"),
        time("statement_latency"),
        time("statement_avg_latency"),
        count("table_scans"),
        count("file_ios"),
        time("file_io_latency"),
        number("current_connections"),
        number("total_connections"),
        count(others),
        bytes("current_memory"),
        bytes("total_memory_allocated"),
    ]
}

const fn by_file_io_type(who: Column, latency: &'static str) -> [Column; 5] {
    [who, event("event_name"), count("total"), time(latency), time("max_latency")]
}

const fn by_stages(who: Column) -> [Column; 5] {
    [who, event("event_name"), count("total"), time("total_latency"), time("avg_latency")]
}

const fn by_latency(who: Column) -> [Column; 10] {
    [
        who,
        count("total"),
        time("total_latency"),
        time("max_latency"),
        time("lock_latency"),
        time("cpu_latency").new_in_8(),
        count("rows_sent"),
        count("rows_examined"),
        count("rows_affected"),
        count("full_scans"),
    ]
}

const fn by_type(who: Column) -> [Column; 11] {
    [
        who,
        event("statement"),
        count("total"),
        time("total_latency"),
        time("max_latency"),
        time("lock_latency"),
        time("cpu_latency").new_in_8(),
        count("rows_sent"),
        count("rows_examined"),
        count("rows_affected"),
        count("full_scans"),
    ]
}

macro_rules! views {
    ($($name:literal $columns:expr, $function:ident $who:ident;)*) => {
        pub(super) const VIEWS: &[View] = &[
            $(View {
                name: $name,
                names: Names::Both,
                columns: &$columns,
                rows: |tables| $function(tables, &$who),
                over_time: true,
            },)*
        ];
    };
}

views! {
    "host_summary" summary(host("host"), "unique_users"), summarize HOSTS;
    "user_summary" summary(name("user"), "unique_hosts"), summarize USERS;
    "host_summary_by_file_io" [host("host"), count("ios"), time("io_latency")], file_io HOSTS;
    "user_summary_by_file_io" [name("user"), count("ios"), time("io_latency")], file_io USERS;
    "host_summary_by_file_io_type" by_file_io_type(host("host"), "total_latency"), file_io_types HOSTS;
    "user_summary_by_file_io_type" by_file_io_type(name("user"), "latency"), file_io_types USERS;
    "host_summary_by_stages" by_stages(host("host")), stages HOSTS;
    "user_summary_by_stages" by_stages(name("user")), stages USERS;
    "host_summary_by_statement_latency" by_latency(host("host")), statement_latency HOSTS;
    "user_summary_by_statement_latency" by_latency(name("user")), statement_latency USERS;
    "host_summary_by_statement_type" by_type(host("host")), statement_types HOSTS;
    "user_summary_by_statement_type" by_type(name("user")), statement_types USERS;
}

/// Sums over statements.
#[derive(Default)]
struct Statements {
    waits: Waits,
    others: [u64; 6],
}

impl Statements {
    fn add(&mut self, row: &Row<'_>) {
        self.waits.count += row.number(COUNT);
        self.waits.sum = self.waits.sum.saturating_add(row.number(SUM));
        self.waits.max = self.waits.max.max(row.number(MAX));
        let others = [LOCK, CPU, SENT, EXAMINED, AFFECTED].map(|name| row.number(name));
        self.others.iter_mut().zip(others).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self.others[5] += row.number(NO_INDEX) + row.number(NO_GOOD_INDEX);
    }

    fn scans(&self) -> u64 {
        self.others[5]
    }

    fn values(&self) -> impl Iterator<Item = Value> {
        [self.waits.count, self.waits.sum, self.waits.max].into_iter().chain(self.others).map(n)
    }
}

#[derive(Default)]
struct Summary {
    statements: Statements,
    file_io: Waits,
    current: u64,
    total: u64,
    others: HashSet<String>,
    memory: u64,
    memory_ever: u64,
}

fn summarize(tables: &mut Tables<'_>, who: &Who) -> SqlResult<Vec<Vec<Value>>> {
    let mut sums: Groups<String, Summary> = Groups::new();
    for account in tables.get("accounts", &["USER", "HOST", "CURRENT_CONNECTIONS", "TOTAL_CONNECTIONS"])?.iter() {
        let sum = sums.of(or_background(account.value(who.column)));
        sum.current += account.number("CURRENT_CONNECTIONS");
        sum.total += account.number("TOTAL_CONNECTIONS");
        if !account.is_null(who.others) {
            sum.others.insert(account.text(who.others).to_string());
        }
    }
    for row in tables.get(who.statements, who.sums)?.iter() {
        sums.of(or_background(row.value(who.column))).statements.add(&row);
    }
    for row in tables.get(who.waits, who.wait_sums)?.iter() {
        if row.text("EVENT_NAME").starts_with(FILE_EVENTS) {
            let io = &mut sums.of(or_background(row.value(who.column))).file_io;
            io.count += row.number(COUNT);
            io.sum += row.number(SUM);
        }
    }
    for row in tables.get(who.memory, who.memory_sums)?.iter() {
        let sum = sums.of(or_background(row.value(who.column)));
        sum.memory += row.number(MEMORY);
        sum.memory_ever += row.number(MEMORY_EVER);
    }
    let row = |(name, sum): (String, Summary)| {
        let statements = &sum.statements;
        vec![
            Value::String(name),
            n(statements.waits.count),
            n(statements.waits.sum),
            n(per(statements.waits.sum, statements.waits.count)),
            n(statements.scans()),
            n(sum.file_io.count),
            n(sum.file_io.sum),
            n(sum.current),
            n(sum.total),
            n(sum.others.len() as u64),
            n(sum.memory),
            n(sum.memory_ever),
        ]
    };
    Ok(descending(sums.into_vec().into_iter().map(row).collect(), 2))
}

fn file_io(tables: &mut Tables<'_>, who: &Who) -> SqlResult<Vec<Vec<Value>>> {
    let mut sums: Groups<String, Waits> = Groups::new();
    let is_file = |row: &Row<'_>| row.text("EVENT_NAME").starts_with(FILE_EVENTS);
    for row in tables.get_where(who.waits, who.wait_sums, &["EVENT_NAME"], is_file)?.iter() {
        let sum = sums.of(or_background(row.value(who.column)));
        sum.count += row.number(COUNT);
        sum.sum += row.number(SUM);
    }
    let rows = sums.into_vec().into_iter().map(|(name, io)| vec![Value::String(name), n(io.count), n(io.sum)]);
    Ok(descending(rows.collect(), 2))
}

fn file_io_types(tables: &mut Tables<'_>, who: &Who) -> SqlResult<Vec<Vec<Value>>> {
    let waits = tables.get_where(who.waits, who.wait_sums, &["EVENT_NAME", COUNT], |row| {
        row.text("EVENT_NAME").starts_with(FILE_EVENTS) && row.number(COUNT) > 0
    })?;
    let rows = waits.iter().map(|row| {
        let who = Value::String(or_background(row.value(who.column)));
        vec![who, row.get("EVENT_NAME"), n(row.number(COUNT)), n(row.number(SUM)), n(row.number(MAX))]
    });
    Ok(by_name_then(rows.collect(), 3))
}

fn stages(tables: &mut Tables<'_>, who: &Who) -> SqlResult<Vec<Vec<Value>>> {
    let stages = tables.get_where(who.stages, who.wait_sums, &[SUM], |row| row.number(SUM) > 0)?;
    let rows = stages.iter().map(|row| {
        let (count, sum) = (row.number(COUNT), row.number(SUM));
        let who = Value::String(or_background(row.value(who.column)));
        vec![who, row.get("EVENT_NAME"), n(count), n(sum), n(per(sum, count))]
    });
    Ok(by_name_then(rows.collect(), 3))
}

fn statement_latency(tables: &mut Tables<'_>, who: &Who) -> SqlResult<Vec<Vec<Value>>> {
    let mut sums: Groups<String, Statements> = Groups::new();
    for row in tables.get(who.statements, who.sums)?.iter() {
        sums.of(or_background(row.value(who.column))).add(&row);
    }
    let rows = sums.into_vec().into_iter();
    let rows = rows.map(|(name, sum)| std::iter::once(Value::String(name)).chain(sum.values()).collect());
    Ok(descending(rows.collect(), 2))
}

fn statement_types(tables: &mut Tables<'_>, who: &Who) -> SqlResult<Vec<Vec<Value>>> {
    let statements = tables.get_where(who.statements, who.sums, &[SUM], |row| row.number(SUM) > 0)?;
    let rows = statements.iter().map(|row| {
        let event = row.text("EVENT_NAME");
        let kind = event.rsplit('/').next().unwrap_or(event);
        let mut sum = Statements::default();
        sum.add(&row);
        let names = [Value::String(or_background(row.value(who.column))), Value::from(kind)];
        names.into_iter().chain(sum.values()).collect()
    });
    Ok(by_name_then(rows.collect(), 3))
}

/// Rows by their first column, and of each of its values by another, the greatest first.
fn by_name_then(rows: Vec<Vec<Value>>, column: usize) -> Vec<Vec<Value>> {
    let mut rows = descending(rows, column);
    rows.sort_by(|left, right| order(left.first(), right.first()));
    rows
}
