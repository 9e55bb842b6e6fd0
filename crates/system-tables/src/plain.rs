//! Empty tables, with MySQL's columns, for features that Squall does not have yet.

use super::{ColumnSpec, TableSpec, int, json, long_text, no_rows, text, uint};

const INFORMATION: &str = "information_schema";

macro_rules! empty {
    ($($name:literal: $columns:expr;)*) => {
        pub(crate) const TABLES: &[TableSpec] = &[
            $(TableSpec { database: INFORMATION, name: $name, columns: $columns, rows: no_rows },)*
        ];
    };
}

empty! {
    "OPTIMIZER_TRACE": &[
        long_text("QUERY"), long_text("TRACE"), int("MISSING_BYTES_BEYOND_MAX_MEM_SIZE"),
        int("INSUFFICIENT_PRIVILEGES"),
    ];
    "PROFILING": &[int("QUERY_ID"), int("SEQ"), text("STATE", 30), text("DURATION", 20)];
    "TABLESPACES": &[
        text("TABLESPACE_NAME", 64), text("ENGINE", 64), text("TABLESPACE_TYPE", 64).or_null(),
        text("LOGFILE_GROUP_NAME", 64).or_null(), uint("EXTENT_SIZE").or_null(), uint("AUTOEXTEND_SIZE").or_null(),
        uint("MAXIMUM_SIZE").or_null(), uint("NODEGROUP_ID").or_null(), text("TABLESPACE_COMMENT", 2048).or_null(),
    ];
    "COLUMN_STATISTICS": &[
        text("SCHEMA_NAME", 64), text("TABLE_NAME", 64), text("COLUMN_NAME", 64), json("HISTOGRAM"),
    ];
    "RESOURCE_GROUPS": &[
        text("RESOURCE_GROUP_NAME", 64), text("RESOURCE_GROUP_TYPE", 6), int("RESOURCE_GROUP_ENABLED"),
        text("VCPU_IDS", 64).or_null(), int("THREAD_PRIORITY"),
    ];
    "INNODB_FT_CONFIG": &[text("KEY", 193), text("VALUE", 193)];
    "INNODB_FT_DELETED": &[uint("DOC_ID")];
    "INNODB_FT_BEING_DELETED": &[uint("DOC_ID")];
    "INNODB_FT_INDEX_TABLE": WORDS_OF_DOCUMENTS;
    "INNODB_FT_INDEX_CACHE": WORDS_OF_DOCUMENTS;
    "INNODB_BUFFER_PAGE": BUFFER_PAGE;
    "INNODB_BUFFER_PAGE_LRU": BUFFER_PAGE_LRU;
}

/// The words of the table that `innodb_ft_aux_table` names: there is no such table.
const WORDS_OF_DOCUMENTS: &[ColumnSpec] = &[
    text("WORD", 337),
    uint("FIRST_DOC_ID"),
    uint("LAST_DOC_ID"),
    uint("DOC_COUNT"),
    uint("DOC_ID"),
    uint("POSITION"),
];

/// What INNODB_BUFFER_PAGE and INNODB_BUFFER_PAGE_LRU say of a page, given the columns in which they differ.
macro_rules! page_columns {
    ($place:expr, $state:expr, [$($last:expr),*]) => {
        &[
            uint("POOL_ID"),
            $place,
            uint("SPACE"),
            uint("PAGE_NUMBER"),
            text("PAGE_TYPE", 64).or_null(),
            uint("FLUSH_TYPE"),
            uint("FIX_COUNT"),
            text("IS_HASHED", 3).or_null(),
            uint("NEWEST_MODIFICATION"),
            uint("OLDEST_MODIFICATION"),
            uint("ACCESS_TIME"),
            text("TABLE_NAME", 1024).or_null(),
            text("INDEX_NAME", 64).or_null(),
            uint("NUMBER_RECORDS"),
            uint("DATA_SIZE"),
            uint("COMPRESSED_SIZE"),
            $state,
            text("IO_FIX", 64).or_null(),
            text("IS_OLD", 3).or_null(),
            uint("FREE_PAGE_CLOCK"),
            $($last,)*
        ]
    };
}

const BUFFER_PAGE: &[ColumnSpec] =
    page_columns!(uint("BLOCK_ID"), text("PAGE_STATE", 64).or_null(), [text("IS_STALE", 3).or_null()]);

const BUFFER_PAGE_LRU: &[ColumnSpec] = page_columns!(uint("LRU_POSITION"), text("COMPRESSED", 3).or_null(), []);
