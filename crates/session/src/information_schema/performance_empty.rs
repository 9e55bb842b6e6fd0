//! Tables of performance_schema for what Squall has none of or does not measure: they are there, with MySQL's columns, and empty.
//!
//! They are told in a short form, as there are many columns of few kinds; see [`super::described`].

/// All of them.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("cond_instances", "NAME:v128 OBJECT_INSTANCE_BEGIN:u"),
    (
        "events_statements_summary_by_program",
        "OBJECT_TYPE:v9 OBJECT_SCHEMA:v64 OBJECT_NAME:v64 * COUNT_STATEMENTS:u SUM_STATEMENTS_WAIT:u \
         MIN_STATEMENTS_WAIT:u AVG_STATEMENTS_WAIT:u MAX_STATEMENTS_WAIT:u $STATEMENT_SUMS",
    ),
    (
        "host_cache",
        "IP:v64 HOST:v255? HOST_VALIDATED:v3 SUM_CONNECT_ERRORS:i COUNT_HOST_BLOCKED_ERRORS:i \
         COUNT_NAMEINFO_TRANSIENT_ERRORS:i COUNT_NAMEINFO_PERMANENT_ERRORS:i COUNT_FORMAT_ERRORS:i \
         COUNT_ADDRINFO_TRANSIENT_ERRORS:i COUNT_ADDRINFO_PERMANENT_ERRORS:i COUNT_FCRDNS_ERRORS:i \
         COUNT_HOST_ACL_ERRORS:i COUNT_NO_AUTH_PLUGIN_ERRORS:i COUNT_AUTH_PLUGIN_ERRORS:i COUNT_HANDSHAKE_ERRORS:i \
         COUNT_PROXY_USER_ERRORS:i COUNT_PROXY_USER_ACL_ERRORS:i COUNT_AUTHENTICATION_ERRORS:i COUNT_SSL_ERRORS:i \
         COUNT_MAX_USER_CONNECTIONS_ERRORS:i COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS:i \
         COUNT_DEFAULT_DATABASE_ERRORS:i COUNT_INIT_CONNECT_ERRORS:i COUNT_LOCAL_ERRORS:i COUNT_UNKNOWN_ERRORS:i \
         FIRST_SEEN:moment LAST_SEEN:moment FIRST_ERROR_SEEN:moment? LAST_ERROR_SEEN:moment?",
    ),
    ("keyring_component_status", "STATUS_KEY:v256 STATUS_VALUE:v1024"),
    ("keyring_keys", "KEY_ID:v255 KEY_OWNER:v255? BACKEND_KEY_ID:v255?"),
    ("memory_summary_by_account_by_event_name", "USER:v32? HOST:v255? EVENT_NAME:v128 $MEMORY"),
    ("memory_summary_by_host_by_event_name", "HOST:v255? EVENT_NAME:v128 $MEMORY"),
    ("memory_summary_by_thread_by_event_name", "THREAD_ID:u EVENT_NAME:v128 $MEMORY"),
    ("memory_summary_by_user_by_event_name", "USER:v32? EVENT_NAME:v128 $MEMORY"),
    ("mutex_instances", "NAME:v128 OBJECT_INSTANCE_BEGIN:u LOCKED_BY_THREAD_ID:u?"),
    ("rwlock_instances", "NAME:v128 OBJECT_INSTANCE_BEGIN:u WRITE_LOCKED_BY_THREAD_ID:u? READ_LOCKED_BY_COUNT:w"),
    ("socket_instances", "EVENT_NAME:v128 OBJECT_INSTANCE_BEGIN:u THREAD_ID:u? SOCKET_ID:n IP:v64 PORT:n STATE:v6"),
    (
        "socket_summary_by_event_name",
        "EVENT_NAME:v128 * *READ SUM_NUMBER_OF_BYTES_READ:u *WRITE SUM_NUMBER_OF_BYTES_WRITE:u *MISC",
    ),
    (
        "socket_summary_by_instance",
        "EVENT_NAME:v128 OBJECT_INSTANCE_BEGIN:u * *READ SUM_NUMBER_OF_BYTES_READ:u *WRITE \
         SUM_NUMBER_OF_BYTES_WRITE:u *MISC",
    ),
    (
        "table_handles",
        "OBJECT_TYPE:v64 OBJECT_SCHEMA:v64 OBJECT_NAME:v64 OBJECT_INSTANCE_BEGIN:u OWNER_THREAD_ID:u? \
         OWNER_EVENT_ID:u? INTERNAL_LOCK:v64? EXTERNAL_LOCK:v64?",
    ),
    (
        "table_lock_waits_summary_by_table",
        "OBJECT_TYPE:v64? OBJECT_SCHEMA:v64? OBJECT_NAME:v64? * *READ *WRITE *READ_NORMAL *READ_WITH_SHARED_LOCKS \
         *READ_HIGH_PRIORITY *READ_NO_INSERT *READ_EXTERNAL *WRITE_ALLOW_WRITE *WRITE_CONCURRENT_INSERT \
         *WRITE_LOW_PRIORITY *WRITE_NORMAL *WRITE_EXTERNAL",
    ),
    ("tls_channel_status", "CHANNEL:v128 PROPERTY:v128 VALUE:v2048"),
    ("user_defined_functions", "UDF_NAME:v64 UDF_RETURN_TYPE:v20 UDF_TYPE:v20 UDF_LIBRARY:v1024? UDF_USAGE_COUNT:i?"),
];
