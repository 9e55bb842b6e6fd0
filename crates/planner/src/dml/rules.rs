//! The rules of a table's definition for every row, with their SQL texts bound: defaults, generated columns, checks.

use crate::bind::OwnExprs;
use parking_lot::Mutex;
use squall_catalog::{ColumnDefault, TableDef, TableId};
use squall_functions::expr::BoundExpr;
use squall_registry::Registry;
use squall_types::{SqlResult, Value};
use std::collections::HashMap;
use std::sync::Arc;

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

/// The bound rules of one version of a table.
#[derive(Clone, Debug)]
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
    /// Whether more happens around a row than that it is written: foreign keys look at rows of other tables, triggers run, partitions are chosen. Such rows are
    /// written one by one, inside of a transaction, on the query pool: no way that is faster may be taken.
    pub row_by_row: bool,
}

impl TableRules {
    /// Binds the rules.
    pub fn bind(registry: &Registry, database: &str, def: &Arc<TableDef>) -> SqlResult<TableRules> {
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
        let ordinals = |wanted: &dyn Fn(&squall_catalog::ColumnDef) -> bool| {
            def.columns.iter().enumerate().filter(|(_, column)| wanted(column)).map(|(at, _)| at).collect::<Vec<_>>()
        };
        Ok(TableRules {
            defaults,
            // MySQL allows a generated column to read only those declared before it, and base columns.
            generated,
            checks,
            on_update_now: ordinals(&|column| column.on_update_now),
            auto_increment: def.auto_increment_ordinal(),
            timestamps: ordinals(&|column| matches!(column.sql_type, squall_types::SqlType::Timestamp { .. })),
            row_by_row: !def.foreign_keys.is_empty() || !def.triggers.is_empty() || def.partitioning.is_some(),
        })
    }
}

/// A definition and its rules.
type KnownRules = (Arc<TableDef>, Arc<TableRules>);

/// Rules of the tables that have been written to, by version.
#[derive(Debug, Default)]
pub struct RulesCache {
    rules: Mutex<HashMap<TableId, KnownRules>>,
}

impl RulesCache {
    /// The rules of a table.
    pub fn get(&self, registry: &Registry, database: &str, def: &Arc<TableDef>) -> SqlResult<Arc<TableRules>> {
        if let Some((known, rules)) = self.rules.lock().get(&def.id)
            && (Arc::ptr_eq(known, def) || known == def)
        {
            return Ok(rules.clone());
        }
        let rules = Arc::new(TableRules::bind(registry, database, def)?);
        self.rules.lock().insert(def.id, (def.clone(), rules.clone()));
        Ok(rules)
    }

    /// Forgets a table that was dropped.
    pub fn forget(&self, table: TableId) {
        self.rules.lock().remove(&table);
    }
}
