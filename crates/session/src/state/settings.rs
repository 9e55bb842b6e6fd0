//! Decoded variables of a session, so that statements need not look them up by name.

use crate::client_text::is_read_as_utf8;
use crate::plans::QueryRoute;
use crate::result::writer::NetTimeouts;
use squall_row_store::IsolationLevel;
use squall_server_state::variables::{Values, ids, isolation};
use squall_statement_context::BindSettings;
use squall_system_variables::{VariableId, VariableValues};
use squall_types::{Charset, CollationId};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Declares the settings that follow from one variable: field, type, variable, and how its value is read.
macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $variable:literal, $read:expr;)*) => {
        /// The variables that the session itself acts on.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            /// The settings that change the meaning of statements, and the default database.
            pub bind: Arc<BindSettings>,
            /// Whether texts in `character_set_client` are taken as they come.
            pub client_is_utf8: bool,
            /// `net_read_timeout` and `net_write_timeout`.
            pub net_timeouts: NetTimeouts,
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Settings {
            /// Decodes a session's values, for a client that may have asked for CLIENT_IGNORE_SPACE.
            pub fn decode(variables: &VariableValues, database: Option<Arc<str>>, ignore_space: bool) -> Settings {
                let values = Values(&variables.session);
                let bind = BindSettings::of_variables(&variables.session, database, ignore_space);
                Settings {
                    client_is_utf8: is_read_as_utf8(bind.client_collation.charset()),
                    bind: Arc::new(bind),
                    net_timeouts: NetTimeouts {
                        read_seconds: values.number(ids::NET_READ_TIMEOUT),
                        write_seconds: values.number(ids::NET_WRITE_TIMEOUT),
                    },
                    $($field: $read(values, const { VariableId::of($variable) }),)*
                }
            }
        }
    };
}

settings! {
    /// `autocommit`.
    autocommit: bool = "autocommit", Values::on;
    /// The default collation of `character_set_results`; `None` is no conversion.
    results_collation: Option<CollationId> = "character_set_results", default_collation;
    /// `transaction_isolation`.
    isolation: IsolationLevel = "transaction_isolation", |values: Values<'_>, id| isolation(values.text(id));
    /// `transaction_read_only`.
    read_only: bool = "transaction_read_only", Values::on;
    /// `completion_type`.
    completion: Completion = "completion_type", Completion::read;
    /// `innodb_lock_wait_timeout`, seconds.
    lock_wait_seconds: u64 = "innodb_lock_wait_timeout", Values::number;
    /// How long to look for the next command; zero on a machine of one core, where the client could not send it meanwhile.
    busy_poll: Duration = "busy_poll_microseconds", busy_poll;
    /// `lock_wait_timeout`, seconds.
    table_lock_wait_seconds: u64 = "lock_wait_timeout", Values::number;
    /// `innodb_snapshot_isolation`.
    snapshot_isolation: bool = "innodb_snapshot_isolation", Values::on;
    /// `max_error_count`.
    max_error_count: usize = "max_error_count", |values: Values<'_>, id| values.number(id) as usize;
    /// `sql_notes`.
    notes: bool = "sql_notes", Values::on;
    /// `max_execution_time`, milliseconds.
    max_execution_millis: u64 = "max_execution_time", Values::number;
    /// `max_statement_time`, milliseconds.
    max_statement_millis: u64 = "max_statement_time", |values: Values<'_>, id| (values.double(id) * 1e3).ceil() as u64;
    /// `sql_select_limit`.
    select_limit: u64 = "sql_select_limit", Values::number;
    /// `query_route`.
    query_route: QueryRoute = "query_route", |values: Values<'_>, id| QueryRoute::of(values.text(id));
    /// `foreign_key_checks`.
    foreign_key_checks: bool = "foreign_key_checks", Values::on;
    /// `auto_increment_increment`.
    auto_increment_increment: u64 = "auto_increment_increment", Values::number;
    /// `auto_increment_offset`.
    auto_increment_offset: u64 = "auto_increment_offset", Values::number;
    /// `insert_id`.
    insert_id: u64 = "insert_id", Values::number;
    /// `timestamp`, microseconds; 0 is the clock.
    timestamp_micros: i64 = "timestamp", |values: Values<'_>, id| (values.double(id) * 1e6) as i64;
    /// `session_track_schema`.
    track_schema: bool = "session_track_schema", Values::on;
    /// `session_track_state_change`.
    track_state: bool = "session_track_state_change", Values::on;
    /// `session_track_system_variables`, in lower case; `*` is all.
    tracked_variables: Arc<[String]> = "session_track_system_variables", lower_case_names;
    /// `session_track_transaction_info`.
    track_transaction: TransactionTracking = "session_track_transaction_info", TransactionTracking::read;
    /// `long_query_time`, microseconds.
    long_query_micros: u64 = "long_query_time", |values: Values<'_>, id| (values.double(id) * 1e6) as u64;
    /// `min_examined_row_limit`.
    min_examined_rows: u64 = "min_examined_row_limit", Values::number;
    /// `sql_log_off`.
    general_log_off: bool = "sql_log_off", Values::on;
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

impl Completion {
    fn read(values: Values<'_>, id: VariableId) -> Completion {
        match values.text(id) {
            "CHAIN" => Completion::Chain,
            "RELEASE" => Completion::Release,
            _ => Completion::NoChain,
        }
    }
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

impl TransactionTracking {
    fn read(values: Values<'_>, id: VariableId) -> TransactionTracking {
        match values.text(id) {
            "STATE" => TransactionTracking::State,
            "CHARACTERISTICS" => TransactionTracking::Characteristics,
            _ => TransactionTracking::Off,
        }
    }
}

fn default_collation(values: Values<'_>, id: VariableId) -> Option<CollationId> {
    Charset::named(values.text(id)).map(Charset::default_collation).ok()
}

fn lower_case_names(values: Values<'_>, id: VariableId) -> Arc<[String]> {
    values.text(id).split(',').map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn busy_poll(values: Values<'_>, id: VariableId) -> Duration {
    static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    if *CORES == 1 { Duration::ZERO } else { Duration::from_micros(values.number(id)) }
}
