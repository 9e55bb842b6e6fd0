//! The rules of a table's definition for every row, with their SQL texts bound: defaults, generated columns, checks.

use super::references::{Child, are_same, references_to};
use crate::bind::OwnExprs;
use parking_lot::Mutex;
use squall_catalog::{Catalog, ColumnDef, ColumnDefault, ForeignKey, TableDef, TableId, TriggerEvent, TriggerTime};
use squall_functions::expr::BoundExpr;
use squall_registry::Registry;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The value of a column when none is given.
#[derive(Clone, Debug)]
pub enum DefaultRule {
    /// Nothing is declared.
    None,
    /// A constant of the column's type.
    Value(Value),
    /// CURRENT_TIMESTAMP.
    Now,
    /// An expression over the row's other columns.
    Expr(BoundExpr),
}

/// A key no two rows may have the same values in.
#[derive(Clone, Debug)]
pub struct UniqueKey {
    /// Whether rows are stored by it.
    pub primary: bool,
    /// Ordinals of its columns.
    pub columns: Vec<usize>,
}

/// A foreign key of the table.
#[derive(Clone, Debug)]
pub struct Referencing {
    /// The key.
    pub key: ForeignKey,
    /// Ordinals of its columns.
    pub columns: Vec<usize>,
}

/// The bound rules of one version of a table, and what the catalog's other tables ask of its rows.
#[derive(Debug, Default)]
pub struct TableRules {
    /// By column.
    pub defaults: Vec<DefaultRule>,
    /// Generated columns with their expressions, each after those that it reads.
    pub generated: Vec<(usize, BoundExpr)>,
    /// Enforced CHECK constraints by name.
    pub checks: Vec<(Arc<str>, BoundExpr)>,
    /// Columns with ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: Vec<usize>,
    /// The AUTO_INCREMENT column.
    pub auto_increment: Option<usize>,
    /// Columns of type TIMESTAMP, which are stored in UTC.
    pub timestamps: Vec<usize>,
    /// Unique keys.
    pub unique: Vec<UniqueKey>,
    /// Foreign keys of the table.
    pub referencing: Vec<Referencing>,
    /// Foreign keys of all tables that refer to this one.
    pub referenced_by: Arc<[Child]>,
    /// When triggers run.
    pub triggers: Vec<(TriggerTime, TriggerEvent)>,
    /// Whether more happens around each new row than that it is written: foreign keys look at rows of other tables, a partition is chosen, a default
    /// takes a value from a sequence.
    pub row_by_row: bool,
    /// Whether it is a TEMPORARY table.
    pub temporary: bool,
    /// The latest version of the catalog that is known to have the same `referenced_by`.
    pub(super) catalog_version: AtomicU64,
}

impl TableRules {
    /// Binds the rules.
    fn bind(registry: &Registry, catalog: &Catalog, database: &str, def: &Arc<TableDef>) -> SqlResult<TableRules> {
        let own = OwnExprs::new(registry, database, def);
        let bind = |text: &str| own.bind(text);
        let mut defaults = Vec::with_capacity(def.columns.len());
        let mut generated = Vec::new();
        for (ordinal, column) in def.columns.iter().enumerate() {
            defaults.push(match &column.default {
                ColumnDefault::None => DefaultRule::None,
                ColumnDefault::Literal(value) => DefaultRule::Value(value.clone()),
                ColumnDefault::Now => DefaultRule::Now,
                ColumnDefault::Expression(text) => DefaultRule::Expr(bind(text)?),
            });
            if let Some(generation) = &column.generated {
                generated.push((ordinal, OwnExprs::new(registry, database, def).bind_generated(generation)?));
            }
        }
        let checks = def
            .checks
            .iter()
            .filter(|check| check.enforced)
            .map(|check| Ok((check.name.as_str().into(), own.bind_condition(&check.expression)?)))
            .collect::<SqlResult<Vec<_>>>()?;
        let referencing = def
            .foreign_keys
            .iter()
            .filter_map(|key| Some(Referencing { key: key.clone(), columns: key.ordinals(def)? }));
        let unique = def.indexes.iter().filter(|index| index.unique);
        let unique = unique.map(|index| UniqueKey { primary: index.primary, columns: def.index_ordinals(index) });
        let ordinals = |wanted: &dyn Fn(&ColumnDef) -> bool| {
            def.columns.iter().enumerate().filter(|(_, column)| wanted(column)).map(|(at, _)| at).collect::<Vec<_>>()
        };
        Ok(TableRules {
            // MySQL allows a generated column to read only those declared before it, and base columns.
            generated,
            checks,
            on_update_now: ordinals(&|column| column.on_update_now),
            auto_increment: def.auto_increment_ordinal(),
            timestamps: ordinals(&|column| matches!(column.sql_type, squall_types::SqlType::Timestamp { .. })),
            unique: unique.collect(),
            referencing: referencing.collect(),
            referenced_by: references_to(catalog, database, def),
            triggers: def.triggers.iter().map(|trigger| (trigger.time, trigger.event)).collect(),
            row_by_row: !def.foreign_keys.is_empty() || def.partitioning.is_some() || !are_brief(&defaults),
            temporary: def.temporary,
            defaults,
            catalog_version: AtomicU64::new(catalog.version),
        })
    }

    /// Whether `referenced_by` is as a catalog has it, as far as is known.
    pub(super) fn are_of(&self, catalog: &Catalog) -> bool {
        self.catalog_version.load(Ordering::Acquire) == catalog.version
    }
}

/// Whether no default waits for anything.
pub(super) fn are_brief(defaults: &[DefaultRule]) -> bool {
    defaults.iter().all(|default| !matches!(default, DefaultRule::Expr(expr) if !expr.is_brief()))
}

/// A definition and its rules.
#[derive(Debug)]
struct KnownRules {
    /// Gone with the table: the catalog has it.
    def: Weak<TableDef>,
    rules: Arc<TableRules>,
}

/// Rules of the tables that have been written to, by version.
#[derive(Debug, Default)]
pub struct RulesCache {
    rules: Mutex<HashMap<TableId, KnownRules>>,
}

/// This many tables may have gone before their rules are forgotten.
const FORGET_FROM: usize = 256;

impl RulesCache {
    /// The rules of a table, as of a catalog. They are bound once for each version of the table, and compared with references of other
    /// tables once for each version of the catalog.
    ///
    /// # Errors
    /// Those of binding the expressions in its definition.
    pub fn get(
        &self,
        registry: &Registry,
        catalog: &Catalog,
        database: &str,
        def: &Arc<TableDef>,
    ) -> SqlResult<Arc<TableRules>> {
        let known = self.rules.lock().get(&def.id).and_then(|known| known.of(def));
        if let Some(rules) = known {
            if rules.are_of(catalog) {
                return Ok(rules);
            }
            if are_same(&rules.referenced_by, &references_to(catalog, database, def)) {
                rules.catalog_version.store(catalog.version, Ordering::Release);
                return Ok(rules);
            }
        }
        let rules = Arc::new(TableRules::bind(registry, catalog, database, def)?);
        let mut all = self.rules.lock();
        if all.len() >= FORGET_FROM && all.len() == all.capacity() {
            // The rules of a table that refers to itself have its definition.
            all.retain(|id, known| {
                known.def.strong_count() > 0 && (known.rules.temporary || catalog.table_by_id(*id).is_some())
            });
        }
        all.insert(def.id, KnownRules { def: Arc::downgrade(def), rules: rules.clone() });
        Ok(rules)
    }
}

impl KnownRules {
    /// The rules, if they are those of a definition.
    fn of(&self, def: &Arc<TableDef>) -> Option<Arc<TableRules>> {
        let is_same =
            std::ptr::eq(self.def.as_ptr(), Arc::as_ptr(def)) || self.def.upgrade().is_some_and(|known| known == *def);
        is_same.then(|| self.rules.clone())
    }
}

/// Rules that a statement has asked for while it ran.
#[derive(Debug, Default)]
pub struct StatementRules(Vec<(TableId, Arc<TableRules>)>);

impl StatementRules {
    /// Those of a table, which are found once.
    pub(super) fn get(
        &mut self,
        table: TableId,
        find: impl FnOnce() -> SqlResult<Arc<TableRules>>,
    ) -> SqlResult<&Arc<TableRules>> {
        // They are few: the tables of the statement, and the tables of foreign keys' actions.
        let at = match self.0.iter().position(|(known, _)| *known == table) {
            Some(at) => at,
            None => {
                self.0.push((table, find()?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[at].1)
    }
}
