//! Users, roles and privileges.

use super::{Ident, ObjectName, StatementKind};

/// `'user'@'host'`.
#[derive(Clone, Debug, PartialEq)]
pub enum AccountName {
    Named {
        user: Box<str>,
        /// `None` is `%`; a role has none.
        host: Option<Box<str>>,
    },
    /// `CURRENT_USER`.
    CurrentUser,
    /// MariaDB's `CURRENT_ROLE`, as definer and in SET ROLE.
    CurrentRole,
}

/// CREATE USER and ALTER USER.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateUser {
    pub alter: bool,
    pub or_replace: bool,
    /// `IF NOT EXISTS`, and `IF EXISTS` of ALTER.
    pub if_exists_clause: bool,
    pub users: Vec<UserSpecification>,
    /// `DEFAULT ROLE`.
    pub default_role: Option<RoleSet>,
    pub tls: Vec<TlsRequirement>,
    pub limits: Vec<ResourceLimit>,
    pub account: Vec<AccountOption>,
    pub comment: Option<Box<str>>,
    pub attribute: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct UserSpecification {
    pub name: AccountName,
    /// Alternatives joined with AND (MySQL: factors) or OR (MariaDB: choices).
    pub authentication: Vec<Authentication>,
    /// `DISCARD OLD PASSWORD`.
    pub discard_old_password: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Authentication {
    /// `WITH plugin`.
    pub plugin: Option<Box<str>>,
    pub credential: Option<Credential>,
    /// `REPLACE 'current'`.
    pub replace: Option<Box<str>>,
    pub retain_current: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Credential {
    /// `BY 'text'`.
    Password(Box<str>),
    /// `BY RANDOM PASSWORD`.
    Random,
    /// `AS 'hash'`, and MariaDB's `BY PASSWORD 'hash'`.
    Hash(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum TlsRequirement {
    None,
    Ssl,
    X509,
    Cipher(Box<str>),
    Issuer(Box<str>),
    Subject(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum ResourceLimit {
    QueriesPerHour(u64),
    UpdatesPerHour(u64),
    ConnectionsPerHour(u64),
    UserConnections(u64),
    /// MariaDB.
    StatementTime(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum AccountOption {
    PasswordExpire(PasswordExpiry),
    /// `None` is the word DEFAULT; so below.
    PasswordHistory(Option<u64>),
    PasswordReuseInterval(Option<u64>),
    /// `OPTIONAL` is false.
    PasswordRequireCurrent(Option<bool>),
    FailedLoginAttempts(u64),
    /// `None` is UNBOUNDED.
    PasswordLockTime(Option<u64>),
    Lock(bool),
}

#[derive(Clone, Debug, PartialEq)]
pub enum PasswordExpiry {
    Now,
    Default,
    Never,
    Days(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropUser {
    pub if_exists: bool,
    pub names: Vec<AccountName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub names: Vec<AccountName>,
    /// MariaDB's `WITH ADMIN`.
    pub admin: Option<AccountName>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RoleSet {
    None,
    All,
    AllExcept(Vec<AccountName>),
    Default,
    Roles(Vec<AccountName>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetDefaultRole {
    pub roles: RoleSet,
    pub users: Vec<AccountName>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SetPassword {
    /// `None` is the current user.
    pub user: Option<AccountName>,
    pub password: Credential,
    pub replace: Option<Box<str>>,
    pub retain_current: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Grant {
    Privileges {
        privileges: Vec<Privilege>,
        on: GrantTarget,
        to: Vec<UserSpecification>,
        tls: Vec<TlsRequirement>,
        grant_option: bool,
        limits: Vec<ResourceLimit>,
        /// `AS user [WITH ROLE …]`.
        as_user: Option<(AccountName, Option<RoleSet>)>,
    },
    Proxy {
        user: AccountName,
        to: Vec<UserSpecification>,
        grant_option: bool,
    },
    Roles {
        roles: Vec<AccountName>,
        to: Vec<AccountName>,
        admin_option: bool,
    },
}

impl Grant {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            Grant::Roles { .. } => K::GrantRoles,
            _ => K::Grant,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Revoke {
    Privileges {
        if_exists: bool,
        privileges: Vec<Privilege>,
        on: GrantTarget,
        from: Vec<AccountName>,
        ignore_unknown_user: bool,
    },
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION FROM …`.
    All {
        if_exists: bool,
        from: Vec<AccountName>,
        ignore_unknown_user: bool,
    },
    Proxy {
        if_exists: bool,
        user: AccountName,
        from: Vec<AccountName>,
        ignore_unknown_user: bool,
    },
    Roles {
        if_exists: bool,
        roles: Vec<AccountName>,
        from: Vec<AccountName>,
        /// MariaDB's `ADMIN OPTION FOR`.
        admin_option_for: bool,
        ignore_unknown_user: bool,
    },
}

impl Revoke {
    /// How MySQL counts it.
    pub(super) fn kind(&self) -> StatementKind {
        use StatementKind as K;
        match self {
            Revoke::Roles { .. } => K::RevokeRoles,
            Revoke::All { .. } => K::RevokeAll,
            _ => K::Revoke,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Privilege {
    /// Upper case, words joined by one space: `SELECT`, `CREATE TEMPORARY TABLES`, `ALL`, `GRANT OPTION`,
    /// `BACKUP_ADMIN`.
    pub name: Box<str>,
    pub columns: Vec<Ident>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GrantTarget {
    pub kind: GrantTargetKind,
    pub level: GrantLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantTargetKind {
    Table,
    Function,
    Procedure,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GrantLevel {
    /// `*.*`.
    Global,
    /// `*`: the current database.
    CurrentDatabase,
    /// `db.*`; the name may hold the wildcards `%` and `_`.
    Database(Ident),
    Object(ObjectName),
}
