//! A statement's context for tests.

use squall_statement_context::{BindSettings, StatementContext};
use squall_types::temporal::TimeZone;
use std::sync::Arc;

/// A query at 2026-11-21 09:30:15.123456 UTC under the default settings.
pub fn context() -> StatementContext {
    let settings =
        BindSettings { time_zone: Arc::new(TimeZone::utc()), database: Some("test".into()), ..BindSettings::default() };
    StatementContext {
        settings: Arc::new(settings),
        now_micros: 1_795_253_415_123_456,
        connection_id: 7,
        user: "root@localhost".into(),
        current_user: "root@%".into(),
        ..StatementContext::default()
    }
}
