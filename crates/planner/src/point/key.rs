//! Key look-ups: recognizes them in a condition, and fills in a statement's values.

use squall_catalog::{IndexId, TableDef};
use squall_executor::access::path::is_usable;
use squall_executor::access::predicate::{CompareOp, Predicate};
use squall_parser::ast;
use squall_row_store::{KeyRange, Table, ValueRange};
use squall_types::{SqlResult, SqlType, Value};
use std::ops::Bound;

/// Widest range of integer keys that runs as a point plan.
const RANGE_MAX: i128 = 1000;

/// A constant of a point plan.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A literal.
    Value(Value),
    /// A parameter of the statement.
    Parameter(u32),
}

/// Which rows are read.
#[derive(Clone, Debug)]
pub enum PointAccess {
    /// The row with this key.
    Row {
        /// Position of the index: the primary key or a unique one.
        index: usize,
        /// The key's values, in the order of its parts.
        operands: Vec<Operand>,
    },
    /// The rows with these values in the first columns of an index.
    Prefix {
        /// Position of the index.
        index: usize,
        /// The values, in the order of its parts.
        operands: Vec<Operand>,
    },
    /// The rows from one integer key to another.
    Range {
        /// From.
        low: Operand,
        /// To.
        high: Operand,
    },
}

impl PointAccess {
    /// The index that it looks into.
    pub fn index(&self, def: &TableDef) -> Option<IndexId> {
        let index = match self {
            PointAccess::Row { index, .. } | PointAccess::Prefix { index, .. } => def.indexes.get(*index),
            PointAccess::Range { .. } => def.primary_key(),
        };
        index.map(|index| index.id)
    }
}

/// The range of a point plan with its parameters in place.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// Nothing: no row can have the key.
    Nothing,
    /// The row at a storage key.
    Row(Vec<u8>),
    /// The rows of a range of storage keys, of the table itself or of an index.
    Range(KeyRange),
}

/// A table as a statement names it.
#[derive(Clone, Copy, Debug)]
pub struct NamedTable<'a> {
    /// Its definition.
    pub def: &'a TableDef,
    /// Its database.
    pub database: &'a str,
    /// Its alias in the statement.
    pub alias: &'a str,
}

impl NamedTable<'_> {
    /// The ordinal of the column that an expression is.
    pub fn ordinal(&self, expr: &ast::Expr) -> Option<usize> {
        let ast::Expr::Column(name) = expr else { return None };
        if name.table.as_ref().is_some_and(|table| **table != *self.alias)
            || name.schema.as_ref().is_some_and(|schema| **schema != *self.database)
        {
            return None;
        }
        self.def.column(&name.column).map(|(ordinal, _)| ordinal)
    }

    /// The look-up that is all that a condition asks for.
    pub fn access(&self, condition: &ast::Expr) -> Option<PointAccess> {
        if let ast::Expr::Between { operand, low, high, negated: false } = condition {
            return self.range(operand, low, high);
        }
        let conditions: &[ast::Expr] = match condition {
            ast::Expr::And(parts) => parts,
            one => std::slice::from_ref(one),
        };
        let mut equal: Vec<(usize, Operand)> = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let ast::Expr::Binary { op: ast::BinaryOp::Equal, left, right } = condition else { return None };
            let (ordinal, operand) = match self.ordinal(left) {
                Some(ordinal) => (ordinal, operand_of(right)?),
                None => (self.ordinal(right)?, operand_of(left)?),
            };
            if !is_lookup_type(&self.def.columns[ordinal].sql_type) || equal.iter().any(|(known, _)| *known == ordinal)
            {
                return None;
            }
            equal.push((ordinal, operand));
        }
        // A whole unique key, or else the first index that begins with just these columns.
        let mut prefix = None;
        for (position, index) in self.def.indexes.iter().enumerate().filter(|(_, index)| is_usable(index)) {
            let columns = self.def.index_ordinals(index);
            let first = columns.get(..equal.len()).unwrap_or_default();
            let covers = first.len() == equal.len()
                && index.parts.iter().take(equal.len()).all(|part| part.prefix.is_none())
                && first.iter().all(|column| equal.iter().any(|(known, _)| known == column));
            if !covers {
                continue;
            }
            let operands = || {
                let operand =
                    |column| equal.iter().find(|(known, _)| known == column).map(|(_, operand)| operand.clone());
                first.iter().filter_map(operand).collect()
            };
            if columns.len() == equal.len() && (index.primary || index.unique) {
                return Some(PointAccess::Row { index: position, operands: operands() });
            }
            prefix.get_or_insert_with(|| PointAccess::Prefix { index: position, operands: operands() });
        }
        prefix
    }

    /// The primary key that a condition gives a value, and nothing else.
    pub fn primary_key(&self, condition: &ast::Expr) -> Option<PointAccess> {
        match self.access(condition)? {
            PointAccess::Row { index, operands } if self.def.indexes[index].primary => {
                Some(PointAccess::Row { index, operands })
            }
            _ => None,
        }
    }

    /// A range of the primary key, if that is one integer.
    fn range(&self, operand: &ast::Expr, low: &ast::Expr, high: &ast::Expr) -> Option<PointAccess> {
        let key = self.def.primary_key()?;
        let [part] = key.parts.as_slice() else { return None };
        let column = self.def.ordinal(part.column)?;
        let integer = matches!(self.def.columns[column].sql_type, SqlType::Int { .. });
        if self.ordinal(operand)? != column || !integer || part.descending {
            return None;
        }
        Some(PointAccess::Range { low: operand_of(low)?, high: operand_of(high)? })
    }
}

impl PointAccess {
    /// Puts the parameters in; `None` if they are of types that need the full planner.
    pub fn lookup(&self, table: &Table, parameters: &[Value]) -> SqlResult<Option<Lookup>> {
        let def = table.def();
        match self {
            PointAccess::Row { index, operands } | PointAccess::Prefix { index, operands } => {
                let index = &def.indexes[*index];
                let columns = index.parts.iter().filter_map(|part| def.ordinal(part.column));
                let mut values = Vec::with_capacity(operands.len());
                for (operand, column) in operands.iter().zip(columns) {
                    let Some(value) = operand.value(parameters) else { return Ok(None) };
                    let sql_type = &def.columns[column].sql_type;
                    match Predicate::compare(column, sql_type, CompareOp::Equal, value) {
                        Predicate::Compare { value, .. } => values.push(value),
                        Predicate::Never => return Ok(Some(Lookup::Nothing)),
                        _ => return Ok(None),
                    }
                }
                // A value that no key can hold, such as 300 for a TINYINT, is left to the full planner.
                if index.primary && operands.len() == index.parts.len() {
                    return Ok(table.row_key(&values).ok().map(Lookup::Row));
                }
                Ok(table.range(index.id, ValueRange::prefix(&values)).ok().map(Lookup::Range))
            }
            PointAccess::Range { low, high } => {
                let (Some(low), Some(high)) = (low.integer(parameters), high.integer(parameters)) else {
                    return Ok(None);
                };
                if high < low {
                    return Ok(Some(Lookup::Nothing));
                }
                if high - low > RANGE_MAX {
                    return Ok(None);
                }
                let bound = |number: i128| {
                    i64::try_from(number).map(Value::Int).or_else(|_| u64::try_from(number).map(Value::UInt))
                };
                let (Ok(low), Ok(high)) = (bound(low), bound(high)) else { return Ok(None) };
                let bounds = ValueRange {
                    start: Bound::Included(std::slice::from_ref(&low)),
                    end: Bound::Included(std::slice::from_ref(&high)),
                };
                Ok(table.range(squall_catalog::IndexId(0), bounds).ok().map(Lookup::Range))
            }
        }
    }
}

impl Operand {
    fn value<'a>(&'a self, parameters: &'a [Value]) -> Option<&'a Value> {
        match self {
            Operand::Value(value) => Some(value),
            Operand::Parameter(number) => parameters.get(*number as usize),
        }
    }

    /// The value as an integer, if it is one.
    pub fn integer(&self, parameters: &[Value]) -> Option<i128> {
        match self.value(parameters)? {
            Value::Int(number) => Some(i128::from(*number)),
            Value::UInt(number) => Some(i128::from(*number)),
            _ => None,
        }
    }
}

/// Types whose equality with a constant is a key's equality.
fn is_lookup_type(sql_type: &SqlType) -> bool {
    use SqlType::{Date, DateTime, Hex, Int, String, Uuid};
    matches!(sql_type, Int { .. } | String { .. } | Date | DateTime { .. } | Hex { .. } | Uuid)
}

/// The constant that an expression is.
pub fn operand_of(expr: &ast::Expr) -> Option<Operand> {
    match expr {
        ast::Expr::Placeholder(number) => Some(Operand::Parameter(*number)),
        ast::Expr::Literal(ast::Literal::Integer(digits)) => Some(Operand::Value(Value::Int(digits.parse().ok()?))),
        ast::Expr::Literal(ast::Literal::String(text)) if text.introducer.is_none() => {
            Some(Operand::Value(Value::String(text.value.as_str()?.to_string())))
        }
        ast::Expr::Unary { op: ast::UnaryOp::Minus, operand } => match operand.as_ref() {
            ast::Expr::Literal(ast::Literal::Integer(digits)) => {
                Some(Operand::Value(Value::Int(digits.parse::<i64>().ok()?.checked_neg()?)))
            }
            _ => None,
        },
        _ => None,
    }
}
