//! A table of performance_schema over time.

use super::{History, NAME};
use squall_history_store::{Condition, Moment, Reader, TableRows};
use squall_registry::{ColumnRange, RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_types::temporal::TimeZone;
use squall_types::{DateTime, IntWidth, SqlResult, SqlType, Value};
use std::ops::Bound;
use std::sync::Arc;

const SERVER_ID: &str = "server_id";
const TS: &str = "ts";
/// Digits behind the second's point.
const TS_FSP: u8 = 5;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The type of the column `server_id`.
pub(crate) const SERVER_ID_TYPE: SqlType =
    SqlType::Int { width: IntWidth::Int, unsigned: true, zerofill: false, display_width: None };
/// The type of the column `ts`.
pub(crate) const TS_TYPE: SqlType = SqlType::DateTime { fsp: TS_FSP };

/// One of the history tables.
#[derive(Debug)]
pub(super) struct HistoryTable {
    history: Arc<History>,
    name: String,
    /// Those of the source, then `server_id` and `ts`.
    columns: Vec<VirtualColumn>,
}

impl HistoryTable {
    /// The history of a table with such columns.
    pub fn new(history: &Arc<History>, name: &str, source: &[VirtualColumn]) -> HistoryTable {
        let mut columns: Vec<VirtualColumn> = source
            .iter()
            .map(|column| VirtualColumn {
                name: column.name.clone(),
                sql_type: match column.sql_type {
                    SqlType::Timestamp { fsp } => SqlType::DateTime { fsp },
                    ref other => other.clone(),
                },
                nullable: true,
                invisible: false,
            })
            .collect();
        for (name, sql_type) in [(SERVER_ID, SERVER_ID_TYPE), (TS, TS_TYPE)] {
            columns.push(VirtualColumn { name: name.into(), sql_type, nullable: true, invisible: false });
        }
        HistoryTable { history: history.clone(), name: name.to_string(), columns }
    }
}

impl VirtualTable for HistoryTable {
    fn database(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn order(&self) -> Option<usize> {
        Some(self.columns.len() - 1)
    }

    fn parts(&self, scan: &VirtualScan<'_>) -> SqlResult<RowParts> {
        let zone = scan.context.settings.time_zone.clone();
        let (from, to) = time_range(scan.ranges, self.columns.len() - 1, &zone);
        let reader = self.history.store()?.reader(from, to, scan.backward);
        let source_columns = &self.columns[..self.columns.len() - 2];
        let wanted = |at: &usize| scan.wanted.is_none_or(|wanted| wanted.contains(at));
        let ordinals: Vec<usize> = (0..source_columns.len()).filter(wanted).collect();
        let names = ordinals.iter().map(|at| source_columns[*at].name.to_string()).collect();
        let width = self.columns.len();
        let place = |ordinal: usize| ordinals.iter().position(|wanted| *wanted == ordinal);
        let texts = (0..source_columns.len())
            .filter_map(|ordinal| Some((place(ordinal)?, scan.equal_text(ordinal)?.to_string())))
            .filter(|(_, text)| text.is_ascii())
            .map(|(column, text)| (column, Test::Equal(text)));
        let numbers = scan.ranges.iter().filter_map(|range| Some((place(range.column)?, Test::of_range(range)?)));
        let tests = texts.chain(numbers).collect();
        Ok(Box::new(Parts { reader, table: self.name.clone(), zone, ordinals, names, tests, width }))
    }
}

/// The snapshots that conditions on `ts` allow, first and last, microseconds since 1970 UTC.
pub(crate) fn time_range(ranges: &[ColumnRange], ts: usize, zone: &TimeZone) -> (i64, i64) {
    let (mut from, mut to) = (i64::MIN, i64::MAX);
    for range in ranges.iter().filter(|range| range.column == ts) {
        if let Bound::Included(Value::DateTime(moment)) | Bound::Excluded(Value::DateTime(moment)) = range.low {
            from = from.max(near(moment, zone, -MICROS_PER_DAY));
        }
        if let Bound::Included(Value::DateTime(moment)) | Bound::Excluded(Value::DateTime(moment)) = range.high {
            to = to.min(near(moment, zone, MICROS_PER_DAY));
        }
    }
    (from, to)
}

/// A local time as a moment; one that is further away by `slack` where clocks change and local times do not order as moments do.
fn near(local: DateTime, zone: &TimeZone, slack: i64) -> i64 {
    let micros = zone.to_unix_micros(local).unix_micros;
    let offset = |micros: i64| zone.offset_at(micros.div_euclid(1_000_000));
    match offset(micros - MICROS_PER_DAY) == offset(micros + MICROS_PER_DAY) {
        true => micros,
        false => micros.saturating_add(slack),
    }
}

/// A time of a snapshot, which is kept in UTC, as the session sees it; zero stays zero.
pub(crate) fn localized(value: &Value, zone: &TimeZone) -> Value {
    match value {
        Value::DateTime(moment) if !moment.is_zero() => {
            let local = moment.unix_micros().and_then(|micros| zone.from_unix_micros(micros));
            local.map_or(Value::Null, Value::DateTime)
        }
        other => other.clone(),
    }
}

/// The time and the server of a snapshot, as the columns `ts` and `server_id` have them.
pub(crate) fn stamps(moment: Moment, zone: &TimeZone) -> (Value, Value) {
    let ts = zone.from_unix_micros(moment.ts_micros).map_or(Value::Null, Value::DateTime);
    (ts, Value::UInt(u64::from(moment.server_id)))
}

/// The rows of one snapshot after the other.
struct Parts {
    reader: Reader,
    table: String,
    zone: Arc<TimeZone>,
    /// The columns that are wanted.
    ordinals: Vec<usize>,
    names: Vec<String>,
    /// What some of them have to be, by their places among the wanted.
    tests: Vec<(usize, Test)>,
    width: usize,
}

/// What a value has to be; the caller tests it again.
enum Test {
    /// Equal to a text without letters beyond ASCII, in some collation.
    Equal(String),
    /// A whole number from one to another.
    Within(i128, i128),
}

impl Test {
    fn of_range(range: &ColumnRange) -> Option<Test> {
        let low = match &range.low {
            Bound::Unbounded => i128::MIN,
            Bound::Included(value) => whole(value)?,
            Bound::Excluded(value) => whole(value)? + 1,
        };
        let high = match &range.high {
            Bound::Unbounded => i128::MAX,
            Bound::Included(value) => whole(value)?,
            Bound::Excluded(value) => whole(value)? - 1,
        };
        Some(Test::Within(low, high))
    }

    /// Whether a value can be what is asked for.
    fn allows(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) => false,
            (Test::Equal(text), Value::String(own)) if own.is_ascii() => {
                own.trim_end().eq_ignore_ascii_case(text.trim_end())
            }
            (Test::Within(low, high), value) => whole(value).is_none_or(|number| (*low..=*high).contains(&number)),
            _ => true,
        }
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    }
}

impl Parts {
    fn next_part(&mut self) -> SqlResult<Option<Vec<Vec<Value>>>> {
        let Some(moment) = self.reader.next()? else { return Ok(None) };
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let tests = &self.tests;
        let holding = |rows: &Arc<TableRows>| {
            let holds = |at: &usize| tests.iter().all(|(column, test)| test.allows(rows.value(*at, *column)));
            (0..rows.rows).filter(holds).map(|at| at as u32).collect()
        };
        let tested: Vec<&str> = tests.iter().filter_map(|(column, _)| names.get(*column).copied()).collect();
        let content = match tests.is_empty() {
            true => self.reader.table(&self.table, &names)?,
            false => self.reader.table_where(&self.table, &names, Condition { columns: &tested, holding: &holding })?,
        };
        let (ts, server_id) = stamps(moment, &self.zone);
        let row = |at: usize| {
            let mut row = vec![Value::Null; self.width];
            for (column, ordinal) in self.ordinals.iter().enumerate() {
                row[*ordinal] = localized(content.value(at, column), &self.zone);
            }
            row[self.width - 2] = server_id.clone();
            row[self.width - 1] = ts.clone();
            row
        };
        Ok(Some((0..content.rows).map(row).collect()))
    }
}

impl Iterator for Parts {
    type Item = SqlResult<Vec<Vec<Value>>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_part().transpose()
    }
}
