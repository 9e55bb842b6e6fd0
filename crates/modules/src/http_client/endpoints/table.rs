//! `data_dictionary.http_endpoints`, and the rows of SHOW HTTP ENDPOINTS.

use super::super::{DATABASE, Shared};
use super::{Endpoint, Users};
use squall_parser::ast::AccountName;
use squall_registry::{VirtualColumn, VirtualScan, VirtualTable};
use squall_types::json::Json;
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Most characters of a URL and of the list of users that the types of the columns speak of.
const TEXT_CHARACTERS_MAX: u32 = 16_383;

/// A text column of that many characters.
pub(super) fn text(length: u32) -> SqlType {
    SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI)
}

/// The columns that the table and SHOW HTTP ENDPOINTS begin with.
pub(super) fn columns() -> Vec<(&'static str, SqlType)> {
    vec![
        ("name", text(64)),
        ("url", text(TEXT_CHARACTERS_MAX)),
        ("headers", SqlType::Json),
        ("has_secret", text(3)),
        ("users", text(TEXT_CHARACTERS_MAX)),
    ]
}

/// The values of these columns.
pub(super) fn values(endpoint: &Endpoint) -> Vec<Value> {
    let headers = endpoint.headers.iter().map(|(name, value)| Json::String(format!("{name}: {value}")));
    vec![
        Value::from(endpoint.name.as_str()),
        Value::from(endpoint.url.as_str()),
        Json::Array(headers.collect()).to_value(),
        Value::from(if endpoint.secret.is_empty() { "NO" } else { "YES" }),
        Value::String(users(endpoint)),
    ]
}

/// Who may use an endpoint, as FOR says it.
pub(super) fn users(endpoint: &Endpoint) -> String {
    let accounts = match &endpoint.users {
        Users::Public => return "PUBLIC".to_string(),
        Users::Accounts(accounts) if accounts.is_empty() => return "NONE".to_string(),
        Users::Accounts(accounts) => accounts,
    };
    let shown = accounts.iter().map(|account| {
        let (user, host) = (account.user.as_str().into(), Some(account.host.as_str().into()));
        AccountName::Named { user, host }.to_string()
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The table. An account sees the endpoints that it may use.
#[derive(Debug)]
pub(in super::super) struct EndpointTable {
    shared: Arc<Shared>,
    columns: Vec<VirtualColumn>,
}

impl EndpointTable {
    pub fn new(shared: Arc<Shared>) -> Self {
        let column = |(name, sql_type): (&'static str, SqlType)| VirtualColumn {
            name: name.into(),
            sql_type,
            nullable: false,
            invisible: false,
        };
        let more = [("modified_by", text(288)), ("modified", SqlType::DateTime { fsp: 0 })];
        Self { shared, columns: columns().into_iter().chain(more).map(column).collect() }
    }
}

impl VirtualTable for EndpointTable {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        "http_endpoints"
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let row = |endpoint: Endpoint| {
            // Seconds: the type has no parts of them.
            let micros = endpoint.modified_micros / 1_000_000 * 1_000_000;
            let modified = scan.context.settings.time_zone.from_unix_micros(micros);
            let mut row = values(&endpoint);
            row.push(Value::String(endpoint.modified_by));
            row.push(modified.map_or(Value::Null, Value::DateTime));
            row
        };
        Ok(self.shared.endpoints(scan.context)?.into_iter().map(row).collect())
    }
}
