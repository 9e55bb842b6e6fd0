//! The names of system databases and tables, and the accounts that may read them.

/// The database of accounts, jobs and time zones.
pub const SYSTEM_DATABASE: &str = "mysql";

/// The database of performance tables.
pub const PERFORMANCE: &str = "performance_schema";

/// The database of rows that a statement makes itself, such as the rows that SHOW … WHERE filters. No identifier can name it.
pub const ROWS_OF_STATEMENT: &str = "\u{0}show";

/// Databases that are not in the catalog.
const VIRTUAL_DATABASES: &[&str] = &["data_dictionary", "information_schema", "ndbinfo", "performance_schema"];

/// The proper name of a database without storage, in any letter case.
pub fn virtual_database(name: &str) -> Option<&'static str> {
    VIRTUAL_DATABASES.iter().find(|database| database.eq_ignore_ascii_case(name)).copied()
}

/// All databases without storage.
pub fn virtual_databases() -> &'static [&'static str] {
    VIRTUAL_DATABASES
}

/// The tables of performance_schema that need no privilege, as in MySQL. They show the connections that the reader may see.
const PUBLIC_TABLES: [&str; 10] = [
    "global_status",
    "global_variable_attributes",
    "global_variables",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "variables_info",
    "variables_metadata",
];

/// Whether a table needs no privilege: all tables of information_schema and data_dictionary, which show only objects that the
/// reader may see.
pub fn is_public(database: &str, table: &str) -> bool {
    match virtual_database(database) {
        Some(PERFORMANCE) => PUBLIC_TABLES.iter().any(|name| name.eq_ignore_ascii_case(table)),
        database => database.is_some(),
    }
}

/// Whether a table tells of the files and transactions of all accounts, or of the server's process, so that reading it needs PROCESS.
pub fn needs_process(database: &str, table: &str) -> bool {
    let is = |name: &str| table.eq_ignore_ascii_case(name);
    let is_of_innodb = table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("INNODB_"));
    match virtual_database(database) {
        // Those of Embedded InnoDB have numbers of the server, and settings.
        Some("data_dictionary") => {
            is("ENVIRONMENTAL") || is_of_innodb && !is("innodb_configuration") && !is("innodb_status")
        }
        Some("information_schema") => is_of_innodb || is("FILES"),
        // The system is asked for each thread of the process.
        Some("ndbinfo") => {
            let is_of_processors = table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("cpustat"));
            is_of_processors || is("threadstat")
        }
        _ => false,
    }
}

/// A table of `mysql` that only the server writes, with any privileges.
pub fn is_system_table(database: &str, table: &str) -> bool {
    database == "mysql" && matches!(table, "job" | "job_output")
}
