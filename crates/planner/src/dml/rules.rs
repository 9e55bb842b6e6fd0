//! What a table's definition demands of every row, with its SQL texts bound: defaults, generated columns, checks.

use squall_catalog::{ColumnDefault, TableDef};
use squall_functions::expr::BoundExpr;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// What a column gets when no value is given.
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
}

impl TableRules {
    /// Binds the rules; `bind` binds an expression's text over the table's columns.
    pub fn bind(def: &TableDef, bind: &mut dyn FnMut(&str) -> SqlResult<BoundExpr>) -> SqlResult<TableRules> {
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
                generated.push((ordinal, bind(&generation.expression)?));
            }
        }
        let checks = def
            .checks
            .iter()
            .filter(|check| check.enforced)
            .map(|check| Ok((check.name.as_str().into(), bind(&check.expression)?)))
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
        })
    }
}
