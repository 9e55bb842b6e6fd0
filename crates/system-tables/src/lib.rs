//! information_schema, performance_schema and data_dictionary. Their tables are made when they are read, from the catalog, the
//! variables, the process list and the counters. Also the texts of SHOW CREATE.
//!
//! Reading order: `names`, `source` ([`Source`], [`Server`]), `spec` (descriptions of tables), `register`, then one file for each
//! family of tables.
//!
//! Knows: [`ServerState`](squall_server_state::ServerState). Must not know: sessions, which it asks through [`Server`].

mod access;
mod background_threads;
mod column_segments;
mod columns;
mod constraints;
pub mod create_table;
mod described;
mod dictionary;
pub mod events;
mod files;
mod grant_tables;
pub mod help;
mod innodb;
mod jobs;
mod locks;
mod logs;
mod memory_parts;
mod names;
mod ndbinfo;
mod partition_text;
mod performance;
mod performance_empty;
mod performance_events;
mod performance_files;
mod performance_objects;
mod performance_replication;
mod performance_sessions;
mod performance_setup;
mod performance_sockets;
mod performance_sums;
mod performance_truncate;
mod performance_waits;
mod plain;
mod plan_cache;
mod processor_samples;
pub mod quoting;
mod register;
mod roles;
pub mod routine_view;
pub mod routines;
mod server;
mod server_lists;
mod sessions;
mod source;
mod spatial;
mod spec;
mod statistics;
mod status;
mod status_names;
pub mod tables;
pub mod triggers;
pub mod type_text;
mod usage;
mod variable_items;
mod variables;

pub use access::{Who, with_subject};
pub use columns::{column_default, column_key, column_privileges, extra, type_facts};
pub use grant_tables::is_unlisted;
pub use names::{
    PERFORMANCE, ROWS_OF_STATEMENT, SYSTEM_DATABASE, is_public, is_system_table, virtual_database, virtual_databases,
};
pub use performance_truncate::{is_counted_table, truncate};
pub use processor_samples::ProcessorSampler;
pub use register::register;
pub use server::{charsets, collation_rows, engine_rows, plugins, process_rows, variable_rows};
pub use source::{BuiltInProcedure, LoadedModule, PlanCacheEntry, PlanCacheSize, PlanKind, Server, Source};
pub(crate) use spec::DescribedTable;
pub use spec::{
    ColumnSpec, RowsOf, TableSpec, blob, choice, double, duration, int, int32, json, local_micros, local_time,
    long_text, medium_text, moment, no_rows, s, s_or_null, small_uint, text, time, u, uint, yes_no,
};
pub use statistics::index_rows;
pub use status::status_rows;
