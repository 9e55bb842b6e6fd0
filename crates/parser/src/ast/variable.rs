//! System variables and SET.

use super::{AccountName, ColumnName, Expr, Ident, RoleSet, SetDefaultRole, SetPassword, TransactionCharacteristics};

#[derive(Clone, Debug, PartialEq)]
pub struct SystemVariable {
    /// `None` when no scope was written.
    pub scope: Option<VariableScope>,
    /// `prefix.name`: a component's or a key cache's variable.
    pub prefix: Option<Ident>,
    pub name: Ident,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableScope {
    Global,
    /// `SESSION` and `LOCAL`.
    Session,
    Persist,
    PersistOnly,
}

/// One assignment of a SET statement; they are carried out together or not at all.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItem {
    /// `@name = value`.
    User { name: Box<str>, value: Expr },
    /// `[scope] name = value`, `@@[scope.]name = value`. Without scope and prefix the name may be a
    /// local variable of a stored program. A bare word as value (`ON`, `utf8mb4`, `STRICT_ALL_TABLES`)
    /// is an [`Expr::Column`]; `DEFAULT` is [`Expr::Default`].
    System { variable: SystemVariable, value: Expr },
    /// `NEW.column = value`, in a trigger.
    NewColumn { column: ColumnName, value: Expr },
    /// `NAMES charset [COLLATE collation]`; no charset is DEFAULT.
    Names { charset: Option<Box<str>>, collation: Option<Box<str>> },
    /// `CHARACTER SET charset`; `None` is DEFAULT.
    CharacterSet(Option<Box<str>>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    Items(Vec<SetItem>),
    Transaction {
        scope: Option<VariableScope>,
        characteristics: TransactionCharacteristics,
    },
    Password(Box<SetPassword>),
    Role(RoleSet),
    DefaultRole(SetDefaultRole),
    ResourceGroup {
        name: Ident,
        threads: Vec<u64>,
    },
    /// MariaDB's `SET STATEMENT a = b FOR statement`.
    Statement {
        items: Vec<SetItem>,
        statement: Box<super::Statement>,
    },
    /// MariaDB's `SET SESSION AUTHORIZATION account`.
    SessionAuthorization(AccountName),
}
