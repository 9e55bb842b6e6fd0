//! Scopes: the names that a clause sees, and their columns.

use super::column::{BlockId, ColumnId};
use squall_catalog::TableDef;
use squall_catalog::name::eq_ignore_case;
use std::fmt;
use std::sync::Arc;

/// The clause that names are looked up for; it is in error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    /// The select list, and whatever has no clause of its own.
    FieldList,
    /// FROM, for tables.
    From,
    /// ON.
    On,
    /// WHERE.
    Where,
    /// GROUP BY.
    Group,
    /// HAVING.
    Having,
    /// ORDER BY.
    Order,
    /// WINDOW and OVER: partitions.
    WindowPartition,
    /// WINDOW and OVER: order.
    WindowOrder,
    /// VALUES.
    Values,
    /// The expression of a CHECK, a generated column or a default.
    Column,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clause::FieldList | Clause::Values | Clause::Column => "field list",
            Clause::From => "from clause",
            Clause::On => "on clause",
            Clause::Where => "where clause",
            Clause::Group => "group statement",
            Clause::Having => "having clause",
            Clause::Order => "order clause",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
        })
    }
}

/// A table, derived table or view in FROM.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// Its alias in the statement.
    pub alias: Arc<str>,
    /// Whether the name is found in any letter case: OLD and NEW.
    pub any_case: bool,
    /// Its database; `None` for derived tables, which no database name qualifies.
    pub database: Option<Arc<str>>,
    /// Its columns.
    pub columns: Vec<RelationColumn>,
    /// The definition of a base table.
    pub definition: Option<Arc<TableDef>>,
}

/// A column of a relation.
#[derive(Clone, Debug)]
pub(crate) struct RelationColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: ColumnId,
    /// Whether `*` leaves it out.
    pub invisible: bool,
    /// Whether no name finds it: a column of a functional key part.
    pub hidden: bool,
}

/// A column that unqualified names find. NATURAL and USING leave one for two.
#[derive(Clone, Debug)]
pub(crate) struct VisibleColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: ColumnId,
    /// Whether `*` leaves it out.
    pub invisible: bool,
}

/// The names of one query block's FROM.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The block whose rows these are.
    pub block: BlockId,
    /// Relations in the order of FROM.
    pub relations: Vec<Relation>,
    /// Columns in the order of `*`.
    pub visible: Vec<VisibleColumn>,
}

/// The result of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    None,
    /// One column.
    One(ColumnId),
    /// Several.
    Ambiguous,
}

impl Scope {
    /// Looks `column`, `table.column` or `database.table.column` up.
    pub fn find(&self, database: Option<&str>, table: Option<&str>, column: &str) -> Found {
        let Some(table) = table else {
            return one(self
                .visible
                .iter()
                .filter(|visible| eq_ignore_case(&visible.name, column))
                .map(|found| found.id));
        };
        let relations = self.relations.iter().filter(|relation| relation.matches(database, table));
        one(relations.flat_map(|relation| {
            let named = relation.columns.iter().filter(|found| !found.hidden && eq_ignore_case(&found.name, column));
            named.map(|found| found.id)
        }))
    }

    /// The first relation that has a column.
    pub fn relation_of(&self, column: ColumnId) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.columns.iter().any(|found| found.id == column))
    }

    /// The relation of that name.
    pub fn relation(&self, database: Option<&str>, table: &str) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.matches(database, table))
    }

    /// Adds the names of an item that stands beside the ones so far.
    pub fn extend(&mut self, relations: Vec<Relation>, visible: Vec<VisibleColumn>) {
        self.relations.extend(relations);
        self.visible.extend(visible);
    }
}

impl Relation {
    /// Whether `[database.]table` names it.
    pub fn matches(&self, database: Option<&str>, table: &str) -> bool {
        let is_alias = *self.alias == *table || (self.any_case && eq_ignore_case(&self.alias, table));
        is_alias && database.is_none_or(|database| self.database.as_deref() == Some(database))
    }

    /// Its columns as unqualified names find them.
    pub fn visible(&self) -> Vec<VisibleColumn> {
        self.columns
            .iter()
            .filter(|column| !column.hidden)
            .map(|column| VisibleColumn { name: Arc::clone(&column.name), id: column.id, invisible: column.invisible })
            .collect()
    }
}

fn one(mut found: impl Iterator<Item = ColumnId>) -> Found {
    let Some(first) = found.next() else { return Found::None };
    if found.any(|other| other != first) { Found::Ambiguous } else { Found::One(first) }
}
