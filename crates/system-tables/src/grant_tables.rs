//! `mysql.user`, `mysql.db` and the other tables of accounts and grants, with MySQL's columns. They are read-only: statements about
//! accounts change them. Reading one, or one of its columns, needs grants as for other tables.

use crate::source::Source;
use crate::spec::{ColumnSpec, TableSpec, blob, choice, json, local_time, long_text, s, small_uint, text, time, u};
use squall_catalog::{AccountDef, AccountKey, EarlierPassword, PasswordLockTime, Privileges, TlsRequirement};
use squall_registry::VirtualScan;
use squall_types::json::{Document, quote};
use squall_types::temporal::DateTime;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

const DATABASE: &str = "mysql";

/// The words of a switch.
const NO_YES: &[&str] = &["N", "Y"];

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec { database: DATABASE, name: "user", columns: USER, rows: users },
    TableSpec { database: DATABASE, name: "db", columns: DB, rows: databases },
    TableSpec {
        database: DATABASE,
        name: "tables_priv",
        columns: &[
            text("Host", 255),
            text("Db", 64),
            text("User", 32),
            text("Table_name", 64),
            text("Grantor", 288),
            time("Timestamp"),
            text("Table_priv", 128),
            text("Column_priv", 64),
        ],
        rows: tables,
    },
    TableSpec {
        database: DATABASE,
        name: "columns_priv",
        columns: &[
            text("Host", 255),
            text("Db", 64),
            text("User", 32),
            text("Table_name", 64),
            text("Column_name", 64),
            time("Timestamp"),
            text("Column_priv", 64),
        ],
        rows: columns,
    },
    TableSpec {
        database: DATABASE,
        name: "procs_priv",
        columns: &[
            text("Host", 255),
            text("Db", 64),
            text("User", 32),
            text("Routine_name", 64),
            choice("Routine_type", &["FUNCTION", "PROCEDURE"]),
            text("Grantor", 288),
            text("Proc_priv", 64),
            time("Timestamp"),
        ],
        rows: routines,
    },
    TableSpec {
        database: DATABASE,
        name: "role_edges",
        columns: &[
            text("FROM_HOST", 255),
            text("FROM_USER", 32),
            text("TO_HOST", 255),
            text("TO_USER", 32),
            choice("WITH_ADMIN_OPTION", NO_YES),
        ],
        rows: role_edges,
    },
    TableSpec {
        database: DATABASE,
        name: "default_roles",
        columns: &[text("HOST", 255), text("USER", 32), text("DEFAULT_ROLE_HOST", 255), text("DEFAULT_ROLE_USER", 32)],
        rows: default_roles,
    },
    TableSpec {
        database: DATABASE,
        name: "global_grants",
        columns: &[text("USER", 32), text("HOST", 255), text("PRIV", 32), choice("WITH_GRANT_OPTION", NO_YES)],
        rows: global_grants,
    },
];

const USER: &[ColumnSpec] = &[
    text("Host", 255),
    text("User", 32),
    choice("Select_priv", NO_YES),
    choice("Insert_priv", NO_YES),
    choice("Update_priv", NO_YES),
    choice("Delete_priv", NO_YES),
    choice("Create_priv", NO_YES),
    choice("Drop_priv", NO_YES),
    choice("Reload_priv", NO_YES),
    choice("Shutdown_priv", NO_YES),
    choice("Process_priv", NO_YES),
    choice("File_priv", NO_YES),
    choice("Grant_priv", NO_YES),
    choice("References_priv", NO_YES),
    choice("Index_priv", NO_YES),
    choice("Alter_priv", NO_YES),
    choice("Show_db_priv", NO_YES),
    choice("Super_priv", NO_YES),
    choice("Create_tmp_table_priv", NO_YES),
    choice("Lock_tables_priv", NO_YES),
    choice("Execute_priv", NO_YES),
    choice("Repl_slave_priv", NO_YES),
    choice("Repl_client_priv", NO_YES),
    choice("Create_view_priv", NO_YES),
    choice("Show_view_priv", NO_YES),
    choice("Create_routine_priv", NO_YES),
    choice("Alter_routine_priv", NO_YES),
    choice("Create_user_priv", NO_YES),
    choice("Event_priv", NO_YES),
    choice("Trigger_priv", NO_YES),
    choice("Create_tablespace_priv", NO_YES),
    choice("ssl_type", &["", "ANY", "X509", "SPECIFIED"]),
    blob("ssl_cipher"),
    blob("x509_issuer"),
    blob("x509_subject"),
    small_uint("max_questions"),
    small_uint("max_updates"),
    small_uint("max_connections"),
    small_uint("max_user_connections"),
    text("plugin", 64),
    long_text("authentication_string").or_null(),
    choice("password_expired", NO_YES),
    time("password_last_changed").or_null(),
    small_uint("password_lifetime").or_null(),
    choice("account_locked", NO_YES),
    choice("Create_role_priv", NO_YES),
    choice("Drop_role_priv", NO_YES),
    small_uint("Password_reuse_history").or_null(),
    small_uint("Password_reuse_time").or_null(),
    choice("Password_require_current", NO_YES).or_null(),
    json("User_attributes").or_null(),
];

/// The privileges of the columns of `user` behind its name, in their order; the last two stand further behind.
const USER_PRIVILEGES: [Privileges; 29] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::RELOAD,
    Privileges::SHUTDOWN,
    Privileges::PROCESS,
    Privileges::FILE,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::SHOW_DATABASES,
    Privileges::SUPER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::EXECUTE,
    Privileges::REPLICATION_SLAVE,
    Privileges::REPLICATION_CLIENT,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::CREATE_USER,
    Privileges::EVENT,
    Privileges::TRIGGER,
    Privileges::CREATE_TABLESPACE,
];

const DB: &[ColumnSpec] = &[
    text("Host", 255),
    text("Db", 64),
    text("User", 32),
    choice("Select_priv", NO_YES),
    choice("Insert_priv", NO_YES),
    choice("Update_priv", NO_YES),
    choice("Delete_priv", NO_YES),
    choice("Create_priv", NO_YES),
    choice("Drop_priv", NO_YES),
    choice("Grant_priv", NO_YES),
    choice("References_priv", NO_YES),
    choice("Index_priv", NO_YES),
    choice("Alter_priv", NO_YES),
    choice("Create_tmp_table_priv", NO_YES),
    choice("Lock_tables_priv", NO_YES),
    choice("Create_view_priv", NO_YES),
    choice("Show_view_priv", NO_YES),
    choice("Create_routine_priv", NO_YES),
    choice("Alter_routine_priv", NO_YES),
    choice("Execute_priv", NO_YES),
    choice("Event_priv", NO_YES),
    choice("Trigger_priv", NO_YES),
];

/// The privileges of the columns of `db` behind the names.
const DB_PRIVILEGES: [Privileges; 19] = [
    Privileges::SELECT,
    Privileges::INSERT,
    Privileges::UPDATE,
    Privileges::DELETE,
    Privileges::CREATE,
    Privileges::DROP,
    Privileges::GRANT_OPTION,
    Privileges::REFERENCES,
    Privileges::INDEX,
    Privileges::ALTER,
    Privileges::CREATE_TEMPORARY_TABLES,
    Privileges::LOCK_TABLES,
    Privileges::CREATE_VIEW,
    Privileges::SHOW_VIEW,
    Privileges::CREATE_ROUTINE,
    Privileges::ALTER_ROUTINE,
    Privileges::EXECUTE,
    Privileges::EVENT,
    Privileges::TRIGGER,
];

/// The members of the SETs of `tables_priv`, `columns_priv` and `procs_priv` in their order.
const SET_WORDS: [(&str, Privileges); 15] = [
    ("Select", Privileges::SELECT),
    ("Insert", Privileges::INSERT),
    ("Update", Privileges::UPDATE),
    ("Delete", Privileges::DELETE),
    ("Create", Privileges::CREATE),
    ("Drop", Privileges::DROP),
    ("Execute", Privileges::EXECUTE),
    ("Alter Routine", Privileges::ALTER_ROUTINE),
    ("Grant", Privileges::GRANT_OPTION),
    ("References", Privileges::REFERENCES),
    ("Index", Privileges::INDEX),
    ("Alter", Privileges::ALTER),
    ("Create View", Privileges::CREATE_VIEW),
    ("Show view", Privileges::SHOW_VIEW),
    ("Trigger", Privileges::TRIGGER),
];

/// Whether lists of tables leave out a virtual table. A dump with the virtual tables of `mysql` could not be loaded. For the logs,
/// programs that make dumps have a form of their own.
pub fn is_unlisted(database: &str, table: &str) -> bool {
    database == DATABASE && !matches!(table, "general_log" | "slow_log")
}

/// Privileges as the value of such a SET.
pub(crate) fn words(privileges: Privileges) -> Value {
    let granted = SET_WORDS.iter().filter(|(_, one)| privileges.contains(*one)).map(|(word, _)| *word);
    s(granted.collect::<Vec<_>>().join(","))
}

fn switch(on: bool) -> Value {
    s(if on { "Y" } else { "N" })
}

/// The account that granted a privilege, and when, is not kept.
fn unknown_time() -> Value {
    Value::DateTime(DateTime::ZERO)
}

/// All accounts in the order of MySQL's keys, by host and user.
fn accounts(source: &Source<'_>) -> Vec<Arc<AccountDef>> {
    let mut all: Vec<Arc<AccountDef>> = source.state.accounts.load_full().accounts.values().cloned().collect();
    all.sort_by(|left, right| (&left.host, &left.user).cmp(&(&right.host, &right.user)));
    all
}

/// The rows that `rows` makes of each account.
fn of_accounts<R: IntoIterator<Item = Vec<Value>>>(
    source: &Source<'_>,
    rows: impl Fn(&AccountDef) -> R,
) -> SqlResult<Vec<Vec<Value>>> {
    Ok(accounts(source).iter().flat_map(|account| rows(account)).collect())
}

fn users(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| [user(account, scan)])
}

fn user(account: &AccountDef, scan: &VirtualScan<'_>) -> Vec<Value> {
    let number = |number: Option<u64>| number.map_or(Value::Null, u);
    let mut row = vec![s(&account.host), s(&account.user)];
    row.extend(USER_PRIVILEGES.iter().map(|one| switch(account.global.contains(*one))));
    row.extend(tls_requirement(&account.tls));
    row.extend(account.limits.by_option().map(|(_, limit)| u(limit)));
    row.extend([
        s(&account.plugin),
        s(String::from_utf8_lossy(&account.authentication)),
        switch(account.password_expired),
        local_time(scan.context, account.password_changed_micros),
        number(account.password_lifetime_days),
        switch(account.locked),
        switch(account.global.contains(Privileges::CREATE_ROLE)),
        switch(account.global.contains(Privileges::DROP_ROLE)),
        number(account.password_history),
        number(account.password_reuse_days),
        account.password_require_current.map_or(Value::Null, switch),
        attributes(account),
    ]);
    row
}

/// The verifiers that may not come back, newest first.
pub(crate) fn password_history(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let row = |password: &EarlierPassword| {
            let verifier = String::from_utf8_lossy(&password.verifier).into_owned();
            vec![s(&account.host), s(&account.user), local_time(scan.context, password.set_micros), s(verifier)]
        };
        account.earlier_passwords.iter().map(row).collect::<Vec<_>>()
    })
}

/// The columns `ssl_type`, `ssl_cipher`, `x509_issuer` and `x509_subject`.
fn tls_requirement(requirement: &TlsRequirement) -> [Value; 4] {
    let bytes = |text: Option<&String>| Value::Bytes(text.map(|text| text.clone().into_bytes()).unwrap_or_default());
    let (kind, texts) = match requirement {
        TlsRequirement::None => ("", [None; 3]),
        TlsRequirement::Encrypted => ("ANY", [None; 3]),
        TlsRequirement::Certificate => ("X509", [None; 3]),
        TlsRequirement::Specified { subject, issuer, cipher } => {
            ("SPECIFIED", [cipher.as_ref(), issuer.as_ref(), subject.as_ref()])
        }
    };
    let [cipher, issuer, subject] = texts.map(bytes);
    [s(kind), cipher, issuer, subject]
}

/// The document that MySQL stores for an account: its comment or attribute, its partial revokes, a second password, and what wrong passwords do.
fn attributes(account: &AccountDef) -> Value {
    let mut members = Vec::new();
    if let Some(attribute) = &account.attribute {
        members.push(format!("\"metadata\": {attribute}"));
    }
    if !account.restrictions.is_empty() {
        let one = |(database, privileges): (&String, &Privileges)| {
            let names: Vec<String> = privileges.names().into_iter().map(quote).collect();
            format!("{{\"Database\": {}, \"Privileges\": [{}]}}", quote(database), names.join(", "))
        };
        let all: Vec<String> = account.restrictions.iter().map(one).collect();
        members.push(format!("\"Restrictions\": [{}]", all.join(", ")));
    }
    if !account.second_authentication.is_empty() {
        let second = quote(&String::from_utf8_lossy(&account.second_authentication));
        members.push(format!("\"additional_password\": {second}"));
    }
    if account.failed_login_attempts != 0 || account.password_lock_time != PasswordLockTime::Off {
        let days = match account.password_lock_time {
            PasswordLockTime::Off => "0".to_owned(),
            PasswordLockTime::Days(days) => days.to_string(),
            PasswordLockTime::Unbounded => "-1".to_owned(),
        };
        let attempts = account.failed_login_attempts;
        members.push(format!(
            "\"Password_locking\": {{\"failed_login_attempts\": {attempts}, \"password_lock_time_days\": {days}}}"
        ));
    }
    if members.is_empty() {
        return Value::Null;
    }
    Document::parse(&format!("{{{}}}", members.join(", "))).map_or(Value::Null, Value::Json)
}

fn databases(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let row = |(database, granted): (&String, &Privileges)| {
            let mut row = vec![s(&account.host), s(database), s(&account.user)];
            row.extend(DB_PRIVILEGES.iter().map(|one| switch(granted.contains(*one))));
            row
        };
        account.databases.iter().map(row).collect::<Vec<_>>()
    })
}

fn tables(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let mut rows = Vec::with_capacity(account.tables.len());
        for ((database, table), grant) in &account.tables {
            let on_columns = grant.columns.values().fold(Privileges::NONE, |all, one| all.union(*one));
            let names = [s(&account.host), s(database), s(&account.user), s(table), s("")];
            rows.push(names.into_iter().chain([unknown_time(), words(grant.table), words(on_columns)]).collect());
        }
        rows
    })
}

fn columns(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let mut rows = Vec::new();
        for ((database, table), grant) in &account.tables {
            for (column, privileges) in &grant.columns {
                let names = [s(&account.host), s(database), s(&account.user), s(table), s(column)];
                rows.push(names.into_iter().chain([unknown_time(), words(*privileges)]).collect());
            }
        }
        rows
    })
}

fn routines(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let row = |((database, is_function, name), granted): (&(String, bool, String), &Privileges)| {
            let kind = if *is_function { "FUNCTION" } else { "PROCEDURE" };
            let names = [s(&account.host), s(database), s(&account.user), s(name), s(kind), s("")];
            names.into_iter().chain([words(*granted), unknown_time()]).collect()
        };
        account.routines.iter().map(row).collect::<Vec<Vec<Value>>>()
    })
}

fn role_edges(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let row = |(role, admin): (&AccountKey, &bool)| {
            vec![s(&role.host), s(&role.user), s(&account.host), s(&account.user), switch(*admin)]
        };
        account.roles.iter().map(row).collect::<Vec<_>>()
    })
}

fn default_roles(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let row = |role: &AccountKey| vec![s(&account.host), s(&account.user), s(&role.host), s(&role.user)];
        account.default_roles.iter().map(row).collect::<Vec<_>>()
    })
}

fn global_grants(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    of_accounts(source, |account| {
        let row = |(privilege, grant): (&String, &bool)| {
            vec![s(&account.user), s(&account.host), s(privilege), switch(*grant)]
        };
        account.dynamic.iter().map(row).collect::<Vec<_>>()
    })
}
