//! Decoded variables of a session, so that statements need not look them up by name.

use crate::client_text::is_read_as_utf8;
use crate::plans::QueryRoute;
use crate::result::writer::NetTimeouts;
use squall_row_store::IsolationLevel;
use squall_server_state::charset;
use squall_server_state::variables::{Values, ids, isolation};
use squall_statement_context::BindSettings;
use squall_system_variables::VariableValues;
use squall_types::CollationId;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The variables that the session itself acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The settings that change the meaning of statements, and the default database.
    pub bind: Arc<BindSettings>,
    /// `autocommit`.
    pub autocommit: bool,
    /// Whether texts in `character_set_client` are taken as they come.
    pub client_is_utf8: bool,
    /// The default collation of `character_set_results`; `None` is no conversion.
    pub results_collation: Option<CollationId>,
    /// `transaction_isolation`.
    pub isolation: IsolationLevel,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `completion_type`.
    pub completion: Completion,
    /// `innodb_lock_wait_timeout`, seconds.
    pub lock_wait_seconds: u64,
    /// How long to look for the next command; zero on a machine of one core, where the client could not send it meanwhile.
    pub busy_poll: Duration,
    /// `lock_wait_timeout`, seconds.
    pub table_lock_wait_seconds: u64,
    /// `innodb_snapshot_isolation`.
    pub snapshot_isolation: bool,
    /// `max_error_count`.
    pub max_error_count: usize,
    /// `sql_notes`.
    pub notes: bool,
    /// `max_execution_time`, milliseconds.
    pub max_execution_millis: u64,
    /// `max_statement_time`, milliseconds.
    pub max_statement_millis: u64,
    /// `net_read_timeout` and `net_write_timeout`.
    pub net_timeouts: NetTimeouts,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// `query_route`.
    pub query_route: QueryRoute,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `auto_increment_increment`.
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`.
    pub auto_increment_offset: u64,
    /// `insert_id`.
    pub insert_id: u64,
    /// `timestamp`, microseconds; 0 is the clock.
    pub timestamp_micros: i64,
    /// `session_track_schema`.
    pub track_schema: bool,
    /// `session_track_state_change`.
    pub track_state: bool,
    /// `session_track_system_variables`, in lower case; `*` is all.
    pub tracked_variables: Arc<[String]>,
    /// `session_track_transaction_info`.
    pub track_transaction: TransactionTracking,
    /// `long_query_time`, microseconds.
    pub long_query_micros: u64,
    /// `min_examined_row_limit`.
    pub min_examined_rows: u64,
    /// `sql_log_off`.
    pub general_log_off: bool,
}

/// `completion_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Nothing follows.
    NoChain,
    /// A transaction of the same kind follows.
    Chain,
    /// The connection ends.
    Release,
}

/// `session_track_transaction_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionTracking {
    /// Nothing.
    Off,
    /// Eight letters.
    State,
    /// Also the statements that would start it again.
    Characteristics,
}

impl Settings {
    /// Decodes a session's values, for a client that may have asked for CLIENT_IGNORE_SPACE.
    pub fn decode(variables: &VariableValues, database: Option<Arc<str>>, ignore_space: bool) -> Settings {
        let values = Values(&variables.session);
        let charset = |id| charset::default_collation(values.text(id)).ok();
        let tracked = values.text(ids::SESSION_TRACK_SYSTEM_VARIABLES);
        let bind = BindSettings::of_variables(&variables.session, database, ignore_space);
        Settings {
            autocommit: values.on(ids::AUTOCOMMIT),
            client_is_utf8: is_read_as_utf8(bind.client_collation.charset()),
            bind: Arc::new(bind),
            results_collation: charset(ids::CHARACTER_SET_RESULTS),
            isolation: isolation(values.text(ids::TRANSACTION_ISOLATION)),
            read_only: values.on(ids::TRANSACTION_READ_ONLY),
            completion: match values.text(ids::COMPLETION_TYPE) {
                "CHAIN" => Completion::Chain,
                "RELEASE" => Completion::Release,
                _ => Completion::NoChain,
            },
            busy_poll: busy_poll(values.number(ids::BUSY_POLL_MICROSECONDS)),
            lock_wait_seconds: values.number(ids::INNODB_LOCK_WAIT_TIMEOUT),
            table_lock_wait_seconds: values.number(ids::LOCK_WAIT_TIMEOUT),
            snapshot_isolation: values.on(ids::INNODB_SNAPSHOT_ISOLATION),
            max_error_count: values.number(ids::MAX_ERROR_COUNT) as usize,
            notes: values.on(ids::SQL_NOTES),
            max_execution_millis: values.number(ids::MAX_EXECUTION_TIME),
            max_statement_millis: (values.double(ids::MAX_STATEMENT_TIME) * 1e3).ceil() as u64,
            net_timeouts: NetTimeouts {
                read_seconds: values.number(ids::NET_READ_TIMEOUT),
                write_seconds: values.number(ids::NET_WRITE_TIMEOUT),
            },
            select_limit: values.number(ids::SQL_SELECT_LIMIT),
            query_route: QueryRoute::of(values.text(ids::QUERY_ROUTE)),
            foreign_key_checks: values.on(ids::FOREIGN_KEY_CHECKS),
            auto_increment_increment: values.number(ids::AUTO_INCREMENT_INCREMENT),
            auto_increment_offset: values.number(ids::AUTO_INCREMENT_OFFSET),
            insert_id: values.number(ids::INSERT_ID),
            timestamp_micros: (values.double(ids::TIMESTAMP) * 1e6) as i64,
            track_schema: values.on(ids::SESSION_TRACK_SCHEMA),
            track_state: values.on(ids::SESSION_TRACK_STATE_CHANGE),
            tracked_variables: tracked.split(',').map(|name| name.trim().to_ascii_lowercase()).collect(),
            track_transaction: match values.text(ids::SESSION_TRACK_TRANSACTION_INFO) {
                "STATE" => TransactionTracking::State,
                "CHARACTERISTICS" => TransactionTracking::Characteristics,
                _ => TransactionTracking::Off,
            },
            long_query_micros: (values.double(ids::LONG_QUERY_TIME) * 1e6) as u64,
            min_examined_rows: values.number(ids::MIN_EXAMINED_ROW_LIMIT),
            general_log_off: values.on(ids::SQL_LOG_OFF),
        }
    }
}

fn busy_poll(micros: u64) -> Duration {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    if *CORES == 1 { Duration::ZERO } else { Duration::from_micros(micros) }
}
