//! The settings of a session that change the meaning of its statements.

use squall_types::temporal::TimeZone;
use squall_types::{CollationId, SqlMode};
use std::sync::Arc;

/// The settings that parsing, binding and evaluation read, and the default database. A statement has its session's settings at its
/// beginning, and shares them with its parts and nested statements. Sessions with equal settings share plans.
///
/// A variable that changes plans must be a field here, so that no plan outlives its value. Privileges and TEMPORARY tables are no
/// settings: plans that depend on them are not shared.
#[derive(Clone, Debug, PartialEq)]
pub struct BindSettings {
    /// `DATABASE()`: the default database.
    pub database: Option<Arc<str>>,
    /// `sql_mode`.
    pub sql_mode: SqlMode,
    /// CLIENT_IGNORE_SPACE: blanks may stand between a function's name and its parenthesis.
    pub ignore_space: bool,
    /// `parser_max_mem_size`, bytes.
    pub parser_memory_max: u64,
    /// `time_zone`.
    pub time_zone: Arc<TimeZone>,
    /// `collation_connection`: of literals and of numbers turned into strings.
    pub collation: CollationId,
    /// The default collation of `character_set_client`.
    pub client_collation: CollationId,
    /// `max_allowed_packet`, bytes: the longest string a function may build.
    pub max_allowed_packet: u64,
    /// `group_concat_max_len`, bytes.
    pub group_concat_max_len: u64,
    /// `div_precision_increment`, digits.
    pub div_precision_increment: u8,
    /// `block_encryption_mode`.
    pub block_encryption_mode: Arc<str>,
    /// `default_week_format`.
    pub default_week_format: u8,
    /// `cte_max_recursion_depth`.
    pub cte_max_recursion_depth: u64,
    /// `sql_safe_updates`.
    pub safe_updates: bool,
}

/// MySQL's defaults.
impl Default for BindSettings {
    fn default() -> Self {
        BindSettings {
            database: None,
            sql_mode: SqlMode::DEFAULT,
            ignore_space: false,
            parser_memory_max: u64::MAX,
            time_zone: Arc::new(TimeZone::system()),
            collation: CollationId::UTF8MB4_0900_AI_CI,
            client_collation: CollationId::UTF8MB4_0900_AI_CI,
            max_allowed_packet: 64 << 20,
            group_concat_max_len: 1024,
            div_precision_increment: 4,
            block_encryption_mode: "aes-128-ecb".into(),
            default_week_format: 0,
            cte_max_recursion_depth: 1000,
            safe_updates: false,
        }
    }
}
