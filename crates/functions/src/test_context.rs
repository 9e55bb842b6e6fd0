//! A statement's context for tests.

use parking_lot::Mutex;
use squall_registry::{Diagnostics, KillState, StatementContext};
use squall_types::{CollationId, SqlMode};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A query at 2026-11-21 09:30:15.123456 UTC under the default settings.
pub fn context() -> StatementContext {
    StatementContext {
        sql_mode: SqlMode::DEFAULT,
        time_zone: "+00:00".into(),
        now_micros: 1_795_253_415_123_456,
        connection_id: 7,
        user: "root@localhost".into(),
        current_user: "root@localhost".into(),
        database: Some("test".into()),
        version: "8.4.0-squall".into(),
        collation: CollationId::UTF8MB4_0900_AI_CI,
        max_allowed_packet: 1 << 20,
        group_concat_max_len: 1024,
        div_precision_increment: 4,
        default_week_format: 0,
        cte_max_recursion_depth: 1000,
        strict_write: false,
        found_rows: 0,
        row_count: 0,
        last_insert_id: AtomicU64::new(0),
        diagnostics: Diagnostics::new(1024),
        user_variables: Arc::new(Mutex::new(HashMap::new())),
        kill: Arc::new(KillState::default()),
        random_state: AtomicU64::new(1),
    }
}
