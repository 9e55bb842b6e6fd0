//! Conditions that column tables evaluate exactly, without a filter above the scan.
//!
//! Other conditions stay in the filter above the scan. A comparison with NULL, or its negation, is never true, so it selects no row.

use super::filter::Reader;
use super::predicate::{CompareOp, Predicate};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use squall_catalog::{IndexDef, TableDef};
use squall_column_store::Datum;
use squall_column_store::index::element_key;
use squall_column_store::predicate::{Predicate as ColumnPredicate, StringTest, Test};
use squall_column_tables::coded_column;
use squall_types::collation::{compare, sort_key};
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, SqlType, Value};
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// The condition of a filter on a column table's columns, by their ordinals; `None` if segments cannot answer all of
/// it. Without a time zone nothing is said of TIMESTAMP columns, which are compared in it.
pub fn column_predicate(def: &TableDef, filter: &Expr, zone: Option<&TimeZone>) -> Option<ColumnPredicate> {
    let utc = TimeZone::utc();
    let reader = Reader { def, zone: zone.unwrap_or(&utc) };
    Translation { def, reader, with_timestamps: zone.is_some() }.condition(filter, false)
}

/// The part of a larger filter that asks for elements of arrays, with its other conditions: true of every row that the filter
/// is true of, and perhaps of others. `None` if it says nothing of elements, or `usable` knows no key of them.
pub fn element_predicate(
    def: &TableDef,
    filter: &Expr,
    zone: Option<&TimeZone>,
    usable: &dyn Fn(&IndexDef) -> bool,
) -> Option<ColumnPredicate> {
    let utc = TimeZone::utc();
    let reader = Reader { def, zone: zone.unwrap_or(&utc) };
    let predicate = reader.condition(filter);
    let translation = Translation { def, reader, with_timestamps: zone.is_some() };
    says_elements(&predicate).then(|| translation.weaker(predicate, usable)).flatten()
}

fn says_elements(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().any(says_elements),
        Predicate::Elements { .. } => true,
        _ => false,
    }
}

struct Translation<'a> {
    def: &'a TableDef,
    reader: Reader<'a>,
    with_timestamps: bool,
}

impl Translation<'_> {
    /// A condition, or its negation.
    fn condition(&self, filter: &Expr, negated: bool) -> Option<ColumnPredicate> {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let parts = vec![self.condition(left, negated)?, self.condition(right, negated)?];
                let all = (*op == Operator::And) != negated;
                Some(if all { ColumnPredicate::And(parts) } else { ColumnPredicate::Or(parts) })
            }
            Expr::Not(inner) => self.condition(inner, !negated),
            Expr::Literal(ScalarValue::Boolean(Some(truth)), _) => Some(ColumnPredicate::Constant(*truth != negated)),
            Expr::InList(list) if list.negated => {
                let list = Expr::InList(datafusion::logical_expr::expr::InList { negated: false, ..list.clone() });
                self.test(&list, !negated)
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, right }) => {
                if let Some(like) = self.reader.like_condition(filter) {
                    let matches =
                        move |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| like.pattern.matches(text));
                    let test = ColumnPredicate::test(like.column, Test::Matches(Arc::new(matches)));
                    return Some(negate(test, like.negated != negated));
                }
                let equal = BinaryExpr { left: left.clone(), op: Operator::Eq, right: right.clone() };
                self.test(&Expr::BinaryExpr(equal), !negated)
            }
            Expr::ScalarFunction(_) => match self.reader.unequal_text(filter) {
                Predicate::Unknown => self.test(filter, negated),
                equal => self.predicate(filter, equal, !negated),
            },
            _ => self.test(filter, negated),
        }
    }

    /// A test of one column.
    fn test(&self, filter: &Expr, negated: bool) -> Option<ColumnPredicate> {
        self.predicate(filter, self.reader.condition(filter), negated)
    }

    fn predicate(&self, filter: &Expr, predicate: Predicate, negated: bool) -> Option<ColumnPredicate> {
        let test = match predicate {
            Predicate::Never if !negated => return Some(ColumnPredicate::Constant(false)),
            Predicate::Compare { op: CompareOp::NullSafeEqual, .. } if negated => return None,
            Predicate::Compare { column, op, value } => ColumnPredicate::test(column, self.compare(column, op, value)?),
            Predicate::In { .. } if negated && lists_null(filter) => return None,
            Predicate::In { column, values } => ColumnPredicate::test(column, self.any_of(column, &values)?),
            Predicate::IsNull(column) => ColumnPredicate::test(column, Test::IsNull),
            // A comparison with what is beyond the type's values is unknown for NULL, and so is its negation.
            Predicate::IsNotNull(_) if negated && !matches!(filter, Expr::IsNotNull(_)) => return None,
            Predicate::IsNotNull(column) => return Some(negate(ColumnPredicate::test(column, Test::IsNull), !negated)),
            _ => return None,
        };
        Some(negate(test, negated))
    }

    /// The part of a predicate that segments can answer; it is true of too many rows rather than of too few.
    fn weaker(&self, predicate: Predicate, usable: &dyn Fn(&IndexDef) -> bool) -> Option<ColumnPredicate> {
        match predicate {
            Predicate::And(parts) => {
                let parts: Vec<_> = parts.into_iter().filter_map(|part| self.weaker(part, usable)).collect();
                (!parts.is_empty()).then_some(ColumnPredicate::And(parts))
            }
            Predicate::Or(parts) => {
                let parts = parts.into_iter().map(|part| self.weaker(part, usable)).collect::<Option<_>>()?;
                Some(ColumnPredicate::Or(parts))
            }
            Predicate::Elements { column, values } => {
                let definition = self.def.columns.get(column)?;
                self.def.key_of_hidden(definition).filter(|index| index.is_bitmap() && usable(index))?;
                let of_type = definition.element_type()?;
                let keys = values.iter().map(|value| element_key(of_type, value)).collect::<Option<_>>()?;
                Some(ColumnPredicate::test(column, Test::Elements(keys)))
            }
            Predicate::Compare { column, op, value } => {
                Some(ColumnPredicate::test(column, self.compare(column, op, value)?))
            }
            Predicate::In { column, values } => Some(ColumnPredicate::test(column, self.any_of(column, &values)?)),
            Predicate::IsNull(column) => Some(ColumnPredicate::test(column, Test::IsNull)),
            Predicate::IsNotNull(column) => Some(!ColumnPredicate::test(column, Test::IsNull)),
            Predicate::Never => Some(ColumnPredicate::Constant(false)),
            Predicate::SortKeys { .. } | Predicate::Terms { .. } | Predicate::Unknown => None,
        }
    }

    fn compare(&self, column: usize, op: CompareOp, value: Value) -> Option<Test> {
        if let Some(collation) = self.collation(column) {
            let Value::String(value) = value else { return None };
            let matches = move |text: &str| {
                let order = compare(collation, text, &value);
                match op {
                    CompareOp::Equal | CompareOp::NullSafeEqual => order.is_eq(),
                    CompareOp::Less => order.is_lt(),
                    CompareOp::LessOrEqual => order.is_le(),
                    CompareOp::Greater => order.is_gt(),
                    CompareOp::GreaterOrEqual => order.is_ge(),
                }
            };
            return Some(Test::Matches(text_test(matches)));
        }
        let value = self.datum(column, &value)?;
        let (low, high) = match op {
            CompareOp::Equal | CompareOp::NullSafeEqual => return Some(Test::equal(value)),
            CompareOp::Less => (Bound::Unbounded, Bound::Excluded(value)),
            CompareOp::LessOrEqual => (Bound::Unbounded, Bound::Included(value)),
            CompareOp::Greater => (Bound::Excluded(value), Bound::Unbounded),
            CompareOp::GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
        };
        Some(Test::Range { low, high })
    }

    fn any_of(&self, column: usize, values: &[Value]) -> Option<Test> {
        if let Some(collation) = self.collation(column) {
            let key_of = move |text: &str| {
                let mut key = Vec::new();
                sort_key(collation, text, &mut key);
                key
            };
            let key = |value: &Value| match value {
                Value::String(text) => Some(key_of(text)),
                _ => None,
            };
            let keys: HashSet<Vec<u8>> = values.iter().map(key).collect::<Option<_>>()?;
            return Some(Test::Matches(text_test(move |text| keys.contains(&key_of(text)))));
        }
        values.iter().map(|value| self.datum(column, value)).collect::<Option<_>>().map(Test::AnyOf)
    }

    /// The collation of a column whose texts do not compare as their bytes do.
    fn collation(&self, column: usize) -> Option<CollationId> {
        match &self.def.columns[column].sql_type {
            own @ SqlType::String { collation, .. } if !own.is_binary_string() => {
                (!super::filter::compares_as_bytes(*collation)).then_some(*collation)
            }
            _ => None,
        }
    }

    /// A value as segments have it.
    fn datum(&self, column: usize, value: &Value) -> Option<Datum> {
        let sql_type = &self.def.columns[column].sql_type;
        if matches!(sql_type, SqlType::Timestamp { .. }) && !self.with_timestamps {
            return None;
        }
        coded_column(sql_type, std::iter::once(value)).ok()?.datum(0)
    }
}

fn negate(predicate: ColumnPredicate, negated: bool) -> ColumnPredicate {
    if negated { !predicate } else { predicate }
}

fn text_test(matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Arc<StringTest> {
    Arc::new(move |bytes| std::str::from_utf8(bytes).is_ok_and(&matches))
}

/// Whether IN's list has a NULL, or what is not known to be none.
fn lists_null(filter: &Expr) -> bool {
    match filter {
        Expr::InList(list) => list.list.iter().any(|item| match item {
            Expr::Literal(scalar, _) => scalar.is_null() || scalar.data_type() == DataType::Null,
            _ => true,
        }),
        _ => true,
    }
}
