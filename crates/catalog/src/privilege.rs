//! Static privileges as a set of bits, with MySQL's names and the levels each can be granted at.

/// A set of static privileges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Privileges(pub u64);

/// The levels that a privilege can be granted at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrivilegeLevel {
    /// `*.*`.
    Global,
    /// `db.*`.
    Database,
    /// `db.table`.
    Table,
    /// A column of a table.
    Column,
    /// A procedure or function.
    Routine,
}

macro_rules! privileges {
    ($($constant:ident = $bit:literal, $name:literal, $comment:literal, $context:literal;)*) => {
        impl Privileges {
            $(#[doc = $comment] pub const $constant: Privileges = Privileges(1 << $bit);)*
            /// Every static privilege in MySQL's order: name, flag, context and comment as SHOW PRIVILEGES gives them.
            pub const LIST: &'static [(&'static str, Privileges, &'static str, &'static str)] =
                &[$(($name, Privileges::$constant, $context, $comment),)*];
        }
    };
}

privileges! {
    SELECT = 0, "SELECT", "To retrieve rows from table", "Tables";
    INSERT = 1, "INSERT", "To insert data into tables", "Tables";
    UPDATE = 2, "UPDATE", "To update existing rows", "Tables";
    DELETE = 3, "DELETE", "To delete existing rows", "Tables";
    CREATE = 4, "CREATE", "To create new databases and tables", "Databases,Tables,Indexes";
    DROP = 5, "DROP", "To drop databases, tables, and views", "Databases,Tables";
    RELOAD = 6, "RELOAD", "To reload or refresh tables, logs and privileges", "Server Admin";
    SHUTDOWN = 7, "SHUTDOWN", "To shut down the server", "Server Admin";
    PROCESS = 8, "PROCESS", "To view the plain text of currently executing queries", "Server Admin";
    FILE = 9, "FILE", "To read and write files on the server", "File access on server";
    REFERENCES = 10, "REFERENCES", "To have references on tables", "Databases,Tables";
    INDEX = 11, "INDEX", "To create or drop indexes", "Tables";
    ALTER = 12, "ALTER", "To alter the table", "Tables";
    SHOW_DATABASES = 13, "SHOW DATABASES", "To see all databases with SHOW DATABASES", "Server Admin";
    SUPER = 14, "SUPER", "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc.", "Server Admin";
    CREATE_TEMPORARY_TABLES = 15, "CREATE TEMPORARY TABLES", "To use CREATE TEMPORARY TABLE", "Databases";
    LOCK_TABLES = 16, "LOCK TABLES", "To use LOCK TABLES (together with SELECT privilege)", "Databases";
    EXECUTE = 17, "EXECUTE", "To execute stored routines", "Functions,Procedures";
    REPLICATION_SLAVE = 18, "REPLICATION SLAVE", "To read binary log events from the source", "Server Admin";
    REPLICATION_CLIENT = 19, "REPLICATION CLIENT", "To ask where the replica or source servers are", "Server Admin";
    CREATE_VIEW = 20, "CREATE VIEW", "To create new views", "Tables";
    SHOW_VIEW = 21, "SHOW VIEW", "To see views with SHOW CREATE VIEW", "Tables";
    CREATE_ROUTINE = 22, "CREATE ROUTINE", "To use CREATE FUNCTION/PROCEDURE", "Databases";
    ALTER_ROUTINE = 23, "ALTER ROUTINE", "To alter or drop stored functions/procedures", "Functions,Procedures";
    CREATE_USER = 24, "CREATE USER", "To create new users", "Server Admin";
    EVENT = 25, "EVENT", "To create, alter, drop and execute events", "Server Admin";
    TRIGGER = 26, "TRIGGER", "To use triggers", "Tables";
    CREATE_TABLESPACE = 27, "CREATE TABLESPACE", "To create/alter/drop tablespaces", "Server Admin";
    CREATE_ROLE = 28, "CREATE ROLE", "To create new roles", "Server Admin";
    DROP_ROLE = 29, "DROP ROLE", "To drop roles", "Server Admin";
    GRANT_OPTION = 30, "GRANT OPTION", "To give to other users those privileges you possess", "Databases,Tables,Functions,Procedures";
}

impl Privileges {
    /// No privilege.
    pub const NONE: Privileges = Privileges(0);
    /// ALL at the global level: everything but GRANT OPTION.
    pub const ALL_GLOBAL: Privileges = Privileges((1 << 30) - 1);
    /// ALL on a database.
    pub const ALL_DATABASE: Privileges = Privileges(
        Self::ALL_TABLE.0
            | Self::CREATE_TEMPORARY_TABLES.0
            | Self::LOCK_TABLES.0
            | Self::EXECUTE.0
            | Self::CREATE_ROUTINE.0
            | Self::ALTER_ROUTINE.0
            | Self::EVENT.0,
    );
    /// ALL on a table.
    pub const ALL_TABLE: Privileges = Privileges(
        Self::SELECT.0
            | Self::INSERT.0
            | Self::UPDATE.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::REFERENCES.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );
    /// The privileges that can be granted on columns.
    pub const ALL_COLUMN: Privileges =
        Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);
    /// ALL on a routine.
    pub const ALL_ROUTINE: Privileges = Privileges(Self::EXECUTE.0 | Self::ALTER_ROUTINE.0);

    /// ALL at a level.
    pub fn all_at(level: PrivilegeLevel) -> Privileges {
        match level {
            PrivilegeLevel::Global => Self::ALL_GLOBAL,
            PrivilegeLevel::Database => Self::ALL_DATABASE,
            PrivilegeLevel::Table => Self::ALL_TABLE,
            PrivilegeLevel::Column => Self::ALL_COLUMN,
            PrivilegeLevel::Routine => Self::ALL_ROUTINE,
        }
    }

    /// The privilege of that name (upper case).
    pub fn named(name: &str) -> Option<Privileges> {
        Self::LIST.iter().find(|(text, ..)| *text == name).map(|(_, flag, ..)| *flag)
    }

    /// Whether every privilege of `other` is here.
    pub fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any privilege of `other` is here.
    pub fn intersects(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets.
    pub const fn union(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    /// This set without the other.
    pub const fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// What both sets have.
    pub const fn within(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Names in MySQL's order, GRANT OPTION left out.
    pub fn names(self) -> Vec<&'static str> {
        Self::LIST
            .iter()
            .filter(|(_, flag, ..)| *flag != Self::GRANT_OPTION && self.contains(*flag))
            .map(|(name, ..)| *name)
            .collect()
    }
}

/// The dynamic privileges of MySQL 8.4 that can be granted; ALL at the global level gives them too.
pub const DYNAMIC_PRIVILEGES: &[&str] = &[
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];
