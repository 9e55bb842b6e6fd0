//! System variables that the server itself reads, with their decoded values.

use squall_row_store::IsolationLevel;
use squall_system_variables::{ValueTable, VariableId};
use squall_types::Value;

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
        EXECUTE_MAX_STATEMENTS = "execute_max_statements";
        INSERT_ID = "insert_id";
        LAST_INSERT_ID = "last_insert_id";
        IDENTITY = "identity";
        SESSION_TRACK_SYSTEM_VARIABLES = "session_track_system_variables";
        VERSION = "version";
        LOGGING_STATS_ENABLED = "logging_stats_enabled";
        LOGGING_STATS_MAX_USER_COUNT = "logging_stats_max_user_count";
        MAX_CONNECTIONS = "max_connections";
        MAX_USER_CONNECTIONS = "max_user_connections";
        OFFLINE_MODE = "offline_mode";
        SELECT_INTO_DISK_SYNC = "select_into_disk_sync";
        LOG_QUERIES_NOT_USING_INDEXES = "log_queries_not_using_indexes";
        CONNECT_TIMEOUT = "connect_timeout";
        NET_READ_TIMEOUT = "net_read_timeout";
        NET_WRITE_TIMEOUT = "net_write_timeout";
        WAIT_TIMEOUT = "wait_timeout";
        INTERACTIVE_TIMEOUT = "interactive_timeout";
        PROTOCOL_COMPRESSION_ALGORITHMS = "protocol_compression_algorithms";
        REQUIRE_SECURE_TRANSPORT = "require_secure_transport";
        READ_ONLY = "read_only";
        SUPER_READ_ONLY = "super_read_only";
        INNODB_LOCK_WAIT_TIMEOUT = "innodb_lock_wait_timeout";
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
        AUTOMATIC_SP_PRIVILEGES = "automatic_sp_privileges";
        MAX_SP_RECURSION_DEPTH = "max_sp_recursion_depth";
        EXPLAIN_FORMAT = "explain_format";
        PRINT_IDENTIFIED_WITH_AS_HEX = "print_identified_with_as_hex";
        DEFAULT_PASSWORD_LIFETIME = "default_password_lifetime";
        PASSWORD_HISTORY = "password_history";
        PASSWORD_REUSE_INTERVAL = "password_reuse_interval";
        PASSWORD_REQUIRE_CURRENT = "password_require_current";
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
        VECTOR_MEMORY_LIMIT = "vector_memory_limit";
        TRANSACTION_BUFFER_SIZE = "transaction_buffer_size";
        THREAD_POOL_MAX_THREADS = "thread_pool_max_threads";
        BLOB_INLINE_LIMIT = "blob_inline_limit";
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
        DATADIR = "datadir";
        HOSTNAME = "hostname";
        PORT = "port";
        SOCKET = "socket";
        SERVER_ID = "server_id";
        SERVER_UUID = "server_uuid";
    }
}

/// Pairs of names for one variable: setting one sets the other.
const ALIASES: &[(VariableId, VariableId)] = &[
    (ids::TRANSACTION_ISOLATION, ids::TX_ISOLATION),
    (ids::TRANSACTION_READ_ONLY, ids::TX_READ_ONLY),
    (ids::DEFAULT_STORAGE_ENGINE, ids::STORAGE_ENGINE),
    (ids::PSEUDO_REPLICA_MODE, ids::PSEUDO_SLAVE_MODE),
    named("max_delayed_threads", "max_insert_delayed_threads"),
    named("init_replica", "init_slave"),
    named("log_slow_replica_statements", "log_slow_slave_statements"),
    named("replica_allow_batching", "slave_allow_batching"),
    named("replica_checkpoint_group", "slave_checkpoint_group"),
    named("replica_checkpoint_period", "slave_checkpoint_period"),
    named("replica_compressed_protocol", "slave_compressed_protocol"),
    named("replica_exec_mode", "slave_exec_mode"),
    named("replica_max_allowed_packet", "slave_max_allowed_packet"),
    named("replica_net_timeout", "slave_net_timeout"),
    named("replica_parallel_type", "slave_parallel_type"),
    named("replica_parallel_workers", "slave_parallel_workers"),
    named("replica_pending_jobs_size_max", "slave_pending_jobs_size_max"),
    named("replica_preserve_commit_order", "slave_preserve_commit_order"),
    named("replica_sql_verify_checksum", "slave_sql_verify_checksum"),
    named("replica_transaction_retries", "slave_transaction_retries"),
    named("replica_type_conversions", "slave_type_conversions"),
    named("rpl_stop_replica_timeout", "rpl_stop_slave_timeout"),
    named("source_verify_checksum", "master_verify_checksum"),
    named("sql_replica_skip_counter", "sql_slave_skip_counter"),
    named("sync_source_info", "sync_master_info"),
];

const fn named(name: &str, other: &str) -> (VariableId, VariableId) {
    (VariableId::of(name), VariableId::of(other))
}

/// The other name of a variable that has two.
pub fn alias(id: VariableId) -> Option<VariableId> {
    ALIASES.iter().find_map(|(left, right)| match id {
        _ if *left == id => Some(*right),
        _ if *right == id => Some(*left),
        _ => None,
    })
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
    #[inline]
    fn get(self, id: VariableId) -> &'a Value {
        self.0.get(id)
    }

    /// A switch.
    #[inline]
    pub fn on(self, id: VariableId) -> bool {
        matches!(self.get(id), Value::Int(value) if *value != 0)
    }

    /// An unsigned number.
    #[inline]
    pub fn number(self, id: VariableId) -> u64 {
        match self.get(id) {
            Value::UInt(value) => *value,
            Value::Int(value) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        }
    }

    /// A number.
    #[inline]
    pub fn double(self, id: VariableId) -> f64 {
        match self.get(id) {
            Value::Double(value) => *value,
            _ => 0.0,
        }
    }

    /// A text; empty for NULL.
    #[inline]
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
