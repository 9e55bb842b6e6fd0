//! `data_dictionary.http_client_requests`: the latest requests.

use super::{DATABASE, Shared};
use parking_lot::Mutex;
use squall_registry::{VirtualColumn, VirtualScan, VirtualTable};
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::collections::VecDeque;
use std::sync::Arc;

/// Requests that are kept.
const KEPT_MAX: usize = 1000;
/// Characters of a URL and of a message that are kept.
const TEXT_CHARACTERS_MAX: u32 = 512;

/// A request that has ended.
#[derive(Clone, Debug)]
pub(super) struct RequestEntry {
    /// Counts from 1 on.
    pub id: u64,
    /// When it began, microseconds since 1970 UTC.
    pub started_micros: i64,
    pub connection_id: u64,
    /// The account whose it was.
    pub user: Arc<str>,
    pub function: &'static str,
    pub method: String,
    /// Without credentials and query.
    pub url: String,
    pub status: Option<u16>,
    pub request_bytes: usize,
    pub response_bytes: Option<usize>,
    pub redirects: Option<u32>,
    pub elapsed_micros: u64,
    /// Number and message of its error.
    pub error: Option<(u16, String)>,
}

/// The last requests, in memory.
#[derive(Debug, Default)]
pub(super) struct RequestLog(Mutex<(u64, VecDeque<RequestEntry>)>);

impl RequestLog {
    /// Notes a request; it gets its number here.
    pub fn push(&self, mut entry: RequestEntry) {
        let cut = |text: &mut String| {
            if let Some((at, _)) = text.char_indices().nth(TEXT_CHARACTERS_MAX as usize) {
                text.truncate(at);
                text.shrink_to_fit();
            }
        };
        cut(&mut entry.url);
        if let Some((_, message)) = &mut entry.error {
            cut(message);
        }
        let mut kept = self.0.lock();
        kept.0 += 1;
        entry.id = kept.0;
        if kept.1.len() == KEPT_MAX {
            kept.1.pop_front();
        }
        kept.1.push_back(entry);
    }

    fn all(&self) -> Vec<RequestEntry> {
        self.0.lock().1.iter().cloned().collect()
    }
}

/// The table. An account sees its own requests, and those of all with PROCESS.
#[derive(Debug)]
pub(super) struct RequestTable {
    shared: Arc<Shared>,
    columns: Vec<VirtualColumn>,
}

impl RequestTable {
    pub fn new(shared: Arc<Shared>) -> Self {
        let text = |length| SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI);
        let number = SqlType::BIGINT_UNSIGNED;
        let column = |(name, sql_type, nullable): (&'static str, SqlType, bool)| VirtualColumn {
            name: name.into(),
            sql_type,
            nullable,
            invisible: false,
        };
        let columns = [
            ("id", number.clone(), false),
            ("started", SqlType::DateTime { fsp: 6 }, false),
            ("connection_id", number.clone(), false),
            ("user", text(288), false),
            ("function_name", text(16), false),
            ("method", text(16), false),
            ("url", text(TEXT_CHARACTERS_MAX), false),
            ("status", number.clone(), true),
            ("request_bytes", number.clone(), false),
            ("response_bytes", number.clone(), true),
            ("redirects", number.clone(), true),
            ("elapsed_us", number.clone(), false),
            ("error_number", number, true),
            ("error_message", text(TEXT_CHARACTERS_MAX), true),
        ];
        Self { shared, columns: columns.into_iter().map(column).collect() }
    }
}

impl VirtualTable for RequestTable {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        "http_client_requests"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let access = self.shared.database()?.access_of(scan.context);
        let number = |number: Option<u64>| number.map_or(Value::Null, Value::UInt);
        let moment = |micros| {
            let moment = scan.context.settings.time_zone.from_unix_micros(micros);
            moment.map_or(Value::Null, Value::DateTime)
        };
        let row = |entry: RequestEntry| {
            vec![
                Value::UInt(entry.id),
                moment(entry.started_micros),
                Value::UInt(entry.connection_id),
                Value::from(&*entry.user),
                Value::from(entry.function),
                Value::String(entry.method),
                Value::String(entry.url),
                number(entry.status.map(u64::from)),
                Value::UInt(entry.request_bytes as u64),
                number(entry.response_bytes.map(|bytes| bytes as u64)),
                number(entry.redirects.map(u64::from)),
                Value::UInt(entry.elapsed_micros),
                number(entry.error.as_ref().map(|(number, _)| u64::from(*number))),
                entry.error.map_or(Value::Null, |(_, message)| Value::String(message)),
            ]
        };
        let seen = self.shared.log.all().into_iter();
        Ok(seen.filter(|entry| access.sees_statements(*entry.user == *scan.context.current_user)).map(row).collect())
    }
}
