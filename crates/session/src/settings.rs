//! A session's variables decoded, so that statements need not look them up by name.

use crate::api::NetTimeouts;
use crate::charset;
use crate::client_text::is_read_as_utf8;
use crate::route::QueryRoute;
use squall_registry::{BindSettings, ValueTable, VariableId, VariableValues};
use squall_row_store::IsolationLevel;
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, SqlMode, Value};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The variables that the session itself acts on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Those that the meaning of statements depends on, and the default database.
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

macro_rules! variable_ids {
    ($($constant:ident = $name:literal;)*) => {
        $(#[doc = $name] pub const $constant: VariableId = VariableId::of($name);)*
    };
}

/// Ids of the variables that the session knows by name.
pub mod ids {
    use super::VariableId;

    variable_ids! {
        AUTOCOMMIT = "autocommit";
        SQL_MODE = "sql_mode";
        TIME_ZONE = "time_zone";
        EVENT_SCHEDULER = "event_scheduler";
        CHARACTER_SET_CLIENT = "character_set_client";
        CHARACTER_SET_CONNECTION = "character_set_connection";
        CHARACTER_SET_RESULTS = "character_set_results";
        CHARACTER_SET_DATABASE = "character_set_database";
        CHARACTER_SET_SERVER = "character_set_server";
        COLLATION_CONNECTION = "collation_connection";
        COLLATION_DATABASE = "collation_database";
        COLLATION_SERVER = "collation_server";
        TRANSACTION_ISOLATION = "transaction_isolation";
        TX_ISOLATION = "tx_isolation";
        TRANSACTION_READ_ONLY = "transaction_read_only";
        TX_READ_ONLY = "tx_read_only";
        COMPLETION_TYPE = "completion_type";
        INNODB_LOCK_WAIT_TIMEOUT = "innodb_lock_wait_timeout";
        LOCK_WAIT_TIMEOUT = "lock_wait_timeout";
        INNODB_SNAPSHOT_ISOLATION = "innodb_snapshot_isolation";
        MAX_ERROR_COUNT = "max_error_count";
        SQL_NOTES = "sql_notes";
        MAX_EXECUTION_TIME = "max_execution_time";
        MAX_ALLOWED_PACKET = "max_allowed_packet";
        PARSER_MAX_MEM_SIZE = "parser_max_mem_size";
        GROUP_CONCAT_MAX_LEN = "group_concat_max_len";
        DIV_PRECISION_INCREMENT = "div_precision_increment";
        DEFAULT_WEEK_FORMAT = "default_week_format";
        CTE_MAX_RECURSION_DEPTH = "cte_max_recursion_depth";
        SQL_SELECT_LIMIT = "sql_select_limit";
        QUERY_ROUTE = "query_route";
        SQL_SAFE_UPDATES = "sql_safe_updates";
        FOREIGN_KEY_CHECKS = "foreign_key_checks";
        AUTO_INCREMENT_INCREMENT = "auto_increment_increment";
        AUTO_INCREMENT_OFFSET = "auto_increment_offset";
        INSERT_ID = "insert_id";
        LAST_INSERT_ID = "last_insert_id";
        IDENTITY = "identity";
        TIMESTAMP = "timestamp";
        SESSION_TRACK_SCHEMA = "session_track_schema";
        SESSION_TRACK_STATE_CHANGE = "session_track_state_change";
        SESSION_TRACK_SYSTEM_VARIABLES = "session_track_system_variables";
        SESSION_TRACK_TRANSACTION_INFO = "session_track_transaction_info";
        VERSION = "version";
        MAX_CONNECTIONS = "max_connections";
        CONNECT_TIMEOUT = "connect_timeout";
        NET_READ_TIMEOUT = "net_read_timeout";
        NET_WRITE_TIMEOUT = "net_write_timeout";
        WAIT_TIMEOUT = "wait_timeout";
        BUSY_POLL_MICROSECONDS = "busy_poll_microseconds";
        INTERACTIVE_TIMEOUT = "interactive_timeout";
        REQUIRE_SECURE_TRANSPORT = "require_secure_transport";
        READ_ONLY = "read_only";
        SUPER_READ_ONLY = "super_read_only";
        LOCAL_INFILE = "local_infile";
        SECURE_FILE_PRIV = "secure_file_priv";
        MAX_PREPARED_STMT_COUNT = "max_prepared_stmt_count";
        PLAN_CACHE_SIZE = "plan_cache_size";
        SQL_REQUIRE_PRIMARY_KEY = "sql_require_primary_key";
        DURABILITY = "durability";
        INNODB_FLUSH_LOG_AT_TRX_COMMIT = "innodb_flush_log_at_trx_commit";
        QUERY_MEMORY_LIMIT = "query_memory_limit";
        PARTIAL_REVOKES = "partial_revokes";
        MANDATORY_ROLES = "mandatory_roles";
        ACTIVATE_ALL_ROLES_ON_LOGIN = "activate_all_roles_on_login";
        EXPLAIN_FORMAT = "explain_format";
        PRINT_IDENTIFIED_WITH_AS_HEX = "print_identified_with_as_hex";
        GENERATED_RANDOM_PASSWORD_LENGTH = "generated_random_password_length";
        DEFAULT_STORAGE_ENGINE = "default_storage_engine";
        STORAGE_ENGINE = "storage_engine";
        TABLE_COMPRESSION = "table_compression";
        PSEUDO_REPLICA_MODE = "pseudo_replica_mode";
        PSEUDO_SLAVE_MODE = "pseudo_slave_mode";
        GENERAL_LOG = "general_log";
        GENERAL_LOG_FILE = "general_log_file";
        SLOW_QUERY_LOG = "slow_query_log";
        SLOW_QUERY_LOG_FILE = "slow_query_log_file";
        LOG_SLOW_ADMIN_STATEMENTS = "log_slow_admin_statements";
        LOG_OUTPUT = "log_output";
        LOG_FORMAT = "log_format";
        LOG_ENTRY_MAX_BYTES = "log_entry_max_bytes";
        LOG_TABLE_MAX_ROWS = "log_table_max_rows";
        LOG_WRITE_MODE = "log_write_mode";
        ROW_CACHE_SIZE = "row_cache_size";
        TRANSACTION_BUFFER_SIZE = "transaction_buffer_size";
        PERFORMANCE_SCHEMA = "performance_schema";
        COLUMN_CACHE_SIZE = "column_cache_size";
        LOG_ROTATE_BYTES = "log_rotate_bytes";
        LOG_ROTATE_SECONDS = "log_rotate_seconds";
        QUERY_LOG_ENABLED = "query_log_enabled";
        QUERY_LOG_FILE = "query_log_file";
        QUERY_LOG_FILE_ENABLED = "query_log_file_enabled";
        QUERY_LOG_THRESHOLD_EXECUTION_TIME = "query_log_threshold_execution_time";
        QUERY_LOG_THRESHOLD_LOCK_TIME = "query_log_threshold_lock_time";
        QUERY_LOG_THRESHOLD_SESSION_TIME = "query_log_threshold_session_time";
        QUERY_LOG_THRESHOLD_ROWS_EXAMINED = "query_log_threshold_rows_examined";
        QUERY_LOG_THRESHOLD_ROWS_SENT = "query_log_threshold_rows_sent";
        QUERY_LOG_THRESHOLD_TMP_TABLES = "query_log_threshold_tmp_tables";
        QUERY_LOG_THRESHOLD_WARNINGS = "query_log_threshold_warnings";
        AUDIT_LOG = "audit_log";
        AUDIT_LOG_FILE = "audit_log_file";
        AUDIT_LOG_STRICT = "audit_log_strict";
        AUDIT_LOG_SYNC = "audit_log_sync";
        LOG_ERROR = "log_error";
        LOG_ERROR_VERBOSITY = "log_error_verbosity";
        LOG_RAW = "log_raw";
        LOG_TIMESTAMPS = "log_timestamps";
        LONG_QUERY_TIME = "long_query_time";
        MIN_EXAMINED_ROW_LIMIT = "min_examined_row_limit";
        SQL_LOG_OFF = "sql_log_off";
        DATADIR = "datadir";
        HOSTNAME = "hostname";
        PORT = "port";
        SOCKET = "socket";
        SERVER_ID = "server_id";
    }
}

/// Pairs of names for one variable: setting one sets the other.
pub const ALIASES: &[(VariableId, VariableId)] = &[
    (ids::TRANSACTION_ISOLATION, ids::TX_ISOLATION),
    (ids::TRANSACTION_READ_ONLY, ids::TX_READ_ONLY),
    (ids::DEFAULT_STORAGE_ENGINE, ids::STORAGE_ENGINE),
    (ids::PSEUDO_REPLICA_MODE, ids::PSEUDO_SLAVE_MODE),
];

impl Settings {
    /// Decodes a session's values, for a client that may have asked for CLIENT_IGNORE_SPACE.
    pub fn decode(variables: &VariableValues, database: Option<Arc<str>>, ignore_space: bool) -> Settings {
        let values = Values(&variables.session);
        let collation = |id| charset::collation(values.text(id)).unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
        let charset = |id| charset::default_collation(values.text(id)).ok();
        let client_collation = charset(ids::CHARACTER_SET_CLIENT).unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
        let tracked = values.text(ids::SESSION_TRACK_SYSTEM_VARIABLES);
        let bind = BindSettings {
            database,
            ignore_space,
            client_collation,
            sql_mode: SqlMode::parse(values.text(ids::SQL_MODE)).unwrap_or_default(),
            time_zone: Arc::new(TimeZone::parse(values.text(ids::TIME_ZONE)).unwrap_or_else(TimeZone::system)),
            collation: collation(ids::COLLATION_CONNECTION),
            max_allowed_packet: values.number(ids::MAX_ALLOWED_PACKET),
            parser_memory_max: values.number(ids::PARSER_MAX_MEM_SIZE),
            group_concat_max_len: values.number(ids::GROUP_CONCAT_MAX_LEN),
            div_precision_increment: values.number(ids::DIV_PRECISION_INCREMENT) as u8,
            default_week_format: values.number(ids::DEFAULT_WEEK_FORMAT) as u8,
            cte_max_recursion_depth: values.number(ids::CTE_MAX_RECURSION_DEPTH),
            safe_updates: values.on(ids::SQL_SAFE_UPDATES),
        };
        Settings {
            bind: Arc::new(bind),
            autocommit: values.on(ids::AUTOCOMMIT),
            client_is_utf8: is_read_as_utf8(client_collation.charset()),
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

/// An isolation level by the words that variables use.
pub fn isolation(words: &str) -> IsolationLevel {
    match words {
        "READ-UNCOMMITTED" => IsolationLevel::ReadUncommitted,
        "READ-COMMITTED" => IsolationLevel::ReadCommitted,
        "SERIALIZABLE" => IsolationLevel::Serializable,
        _ => IsolationLevel::RepeatableRead,
    }
}

/// The words of an isolation level.
pub fn isolation_words(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
        IsolationLevel::ReadCommitted => "READ-COMMITTED",
        IsolationLevel::RepeatableRead => "REPEATABLE-READ",
        IsolationLevel::Serializable => "SERIALIZABLE",
    }
}

/// Reads values by id.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a>(pub &'a ValueTable);

impl<'a> Values<'a> {
    fn get(self, id: VariableId) -> &'a Value {
        self.0.get(id)
    }

    /// A switch.
    pub fn on(self, id: VariableId) -> bool {
        matches!(self.get(id), Value::Int(value) if *value != 0)
    }

    /// An unsigned number.
    pub fn number(self, id: VariableId) -> u64 {
        match self.get(id) {
            Value::UInt(value) => *value,
            Value::Int(value) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }

    /// A number.
    pub fn double(self, id: VariableId) -> f64 {
        match self.get(id) {
            Value::Double(value) => *value,
            _ => 0.0,
        }
    }

    /// A text; empty for NULL.
    pub fn text(self, id: VariableId) -> &'a str {
        match self.get(id) {
            Value::String(text) => text,
            _ => "",
        }
    }

    /// A text or NULL.
    pub fn text_or_null(self, id: VariableId) -> Option<&'a str> {
        match self.get(id) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}
