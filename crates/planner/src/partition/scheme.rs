//! The bound partitioning expression or columns.

use super::key_hash::KeyHash;
use super::own_exprs;
use squall_catalog::{PartitionBound, PartitionDef, PartitionScheme, PartitionSet, PartitionValues, TableDef};
use squall_functions::expr::BoundExpr;
use squall_statement_context::{BindSettings, StatementContext};
use squall_types::convert::compare_values;
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// Integers that an interval is gone through one by one for.
const WALK_MAX: i128 = 32;

/// PARTITION BY or SUBPARTITION BY.
pub enum BoundScheme {
    /// HASH.
    Hash {
        /// The hashed number.
        expr: PartitionExpr,
        /// LINEAR.
        linear: bool,
        /// How many there are.
        count: u64,
    },
    /// KEY.
    Key {
        /// What is hashed.
        columns: Vec<PartitionColumn>,
        /// LINEAR.
        linear: bool,
        /// How many there are.
        count: u64,
    },
    /// RANGE.
    Range {
        /// What is compared.
        expr: PartitionExpr,
        /// The upper bounds, `None` for MAXVALUE.
        bounds: Vec<Option<i128>>,
    },
    /// LIST.
    List {
        /// What is looked up.
        expr: PartitionExpr,
        /// The values of each partition, `None` for NULL.
        lists: Vec<Vec<Option<i128>>>,
    },
    /// RANGE COLUMNS.
    RangeColumns {
        /// What is compared.
        columns: Vec<PartitionColumn>,
        /// The upper bounds.
        bounds: Vec<Vec<PartitionBound>>,
    },
    /// LIST COLUMNS.
    ListColumns {
        /// What is looked up.
        columns: Vec<PartitionColumn>,
        /// The rows of values of each partition.
        lists: Vec<Vec<Vec<Value>>>,
    },
}

/// A column of KEY, RANGE COLUMNS or LIST COLUMNS.
pub struct PartitionColumn {
    ordinal: usize,
    sql_type: SqlType,
    collation: CollationId,
}

/// The expression of HASH, RANGE or LIST.
pub struct PartitionExpr {
    bound: BoundExpr,
    columns: Vec<usize>,
    /// Greater values of the one column give no smaller values of the expression.
    is_monotonic: bool,
    context: StatementContext,
}

/// The integer that a value of a partitioning function is; `None` for NULL.
///
/// # Errors
/// When it is no integer.
pub fn integer_of(value: &Value) -> SqlResult<Option<i128>> {
    match value {
        Value::Null => Ok(None),
        Value::Int(number) => Ok(Some(i128::from(*number))),
        Value::UInt(number) => Ok(Some(i128::from(*number))),
        _ => Err(SqlError::internal("a partitioning function whose value is no integer")),
    }
}

impl PartitionExpr {
    fn bind(def: &Arc<TableDef>, text: &str) -> SqlResult<PartitionExpr> {
        let bound = own_exprs(def).bind(text)?;
        let mut columns = Vec::new();
        bound.visit(&mut |part| {
            if let BoundExpr::Column(column) = part {
                columns.push(column.ordinal);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        let is_monotonic = columns.len() == 1 && is_monotonic(&bound);
        // Rows have their timestamps in UTC, and lie at the same place wherever the server is.
        let settings = BindSettings { time_zone: Arc::new(TimeZone::utc()), ..BindSettings::default() };
        let context = StatementContext { settings: Arc::new(settings), ..StatementContext::default() };
        Ok(PartitionExpr { bound, columns, is_monotonic, context })
    }

    /// Its type.
    pub fn sql_type(&self) -> SqlType {
        self.bound.sql_type()
    }

    fn value(&self, values: &[Value]) -> SqlResult<Option<i128>> {
        integer_of(&self.bound.eval(values, &self.context)?)
    }

    fn is_column(&self) -> bool {
        matches!(self.bound, BoundExpr::Column(_))
    }

    /// The value where the only column has this one.
    fn value_for(&self, column: usize, value: &Value) -> Option<Option<i128>> {
        let mut values = vec![Value::Null; column + 1];
        values[column] = value.clone();
        self.value(&values).ok()
    }
}

/// Whether a function of one column grows with it: the column itself, and what dates are counted by.
fn is_monotonic(expr: &BoundExpr) -> bool {
    match expr {
        BoundExpr::Column(_) => true,
        BoundExpr::Call(call) => {
            let grows = ["YEAR", "TO_DAYS", "TO_SECONDS", "UNIX_TIMESTAMP"];
            call.args.len() == 1
                && matches!(call.args[0], BoundExpr::Column(_))
                && grows.iter().any(|name| call.name.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}

impl PartitionColumn {
    fn of(def: &TableDef, id: squall_catalog::ColumnId) -> SqlResult<PartitionColumn> {
        let ordinal = def.ordinal(id).ok_or_else(|| SqlError::internal("a partition column that is gone"))?;
        let sql_type = def.columns[ordinal].sql_type.clone();
        let collation = match &sql_type {
            SqlType::String { collation, .. } => *collation,
            _ => CollationId::BINARY,
        };
        Ok(PartitionColumn { ordinal, sql_type, collation })
    }

    /// NULL comes first.
    fn compare(&self, left: &Value, right: &Value) -> Ordering {
        match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => compare_values(left, right, self.collation).unwrap_or(Ordering::Equal),
        }
    }

    fn is_within(&self, value: &Value, low: Bound<&Value>, high: Bound<&Value>) -> bool {
        let is_above = match low {
            Bound::Unbounded => true,
            Bound::Included(low) => self.compare(value, low).is_ge(),
            Bound::Excluded(low) => self.compare(value, low).is_gt(),
        };
        is_above
            && match high {
                Bound::Unbounded => true,
                Bound::Included(high) => self.compare(value, high).is_le(),
                Bound::Excluded(high) => self.compare(value, high).is_lt(),
            }
    }
}

/// Compares values of columns with an upper bound of them.
pub fn compare_with_bound(columns: &[PartitionColumn], values: &[&Value], bound: &[PartitionBound]) -> Ordering {
    for ((column, value), bound) in columns.iter().zip(values).zip(bound) {
        let order = match bound {
            PartitionBound::MaxValue => Ordering::Less,
            PartitionBound::Value(bound) => column.compare(value, bound),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

impl BoundScheme {
    /// Binds it; `count` is how many there are of what it divides into.
    ///
    /// # Errors
    /// Those of binding its expression.
    pub fn bind(
        def: &Arc<TableDef>,
        scheme: &PartitionScheme,
        partitions: &[PartitionDef],
        count: usize,
    ) -> SqlResult<BoundScheme> {
        let columns = || scheme.columns().iter().map(|id| PartitionColumn::of(def, *id)).collect::<SqlResult<Vec<_>>>();
        let count = count.max(1) as u64;
        Ok(match scheme {
            PartitionScheme::Hash { linear, expression } => {
                BoundScheme::Hash { expr: PartitionExpr::bind(def, expression)?, linear: *linear, count }
            }
            PartitionScheme::Key { linear, .. } => BoundScheme::Key { columns: columns()?, linear: *linear, count },
            PartitionScheme::Range(expression) => BoundScheme::Range {
                expr: PartitionExpr::bind(def, expression)?,
                bounds: partitions
                    .iter()
                    .map(|partition| integer_bound(&partition.values))
                    .collect::<SqlResult<_>>()?,
            },
            PartitionScheme::List(expression) => BoundScheme::List {
                expr: PartitionExpr::bind(def, expression)?,
                lists: partitions
                    .iter()
                    .map(|partition| listed(&partition.values).iter().flatten().map(integer_of).collect())
                    .collect::<SqlResult<_>>()?,
            },
            PartitionScheme::RangeColumns(_) => BoundScheme::RangeColumns {
                columns: columns()?,
                bounds: partitions
                    .iter()
                    .map(|partition| match &partition.values {
                        PartitionValues::LessThan(bounds) => bounds.clone(),
                        _ => Vec::new(),
                    })
                    .collect(),
            },
            PartitionScheme::ListColumns(_) => BoundScheme::ListColumns {
                columns: columns()?,
                lists: partitions.iter().map(|partition| listed(&partition.values).to_vec()).collect(),
            },
        })
    }

    /// Ordinals of the columns that it needs.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            BoundScheme::Hash { expr, .. } | BoundScheme::Range { expr, .. } | BoundScheme::List { expr, .. } => {
                expr.columns.clone()
            }
            BoundScheme::Key { columns, .. }
            | BoundScheme::RangeColumns { columns, .. }
            | BoundScheme::ListColumns { columns, .. } => columns.iter().map(|column| column.ordinal).collect(),
        }
    }

    /// Its expression.
    pub fn expr(&self) -> Option<&PartitionExpr> {
        match self {
            BoundScheme::Hash { expr, .. } | BoundScheme::Range { expr, .. } | BoundScheme::List { expr, .. } => {
                Some(expr)
            }
            _ => None,
        }
    }

    /// Whether one upper bound is below another.
    pub fn is_less(&self, left: &[PartitionBound], right: &[PartitionBound]) -> bool {
        let compare = |at: usize, left: &Value, right: &Value| match self {
            BoundScheme::RangeColumns { columns, .. } => {
                columns.get(at).map_or(Ordering::Equal, |column| column.compare(left, right))
            }
            _ => compare_values(left, right, CollationId::BINARY).unwrap_or(Ordering::Equal),
        };
        for (at, pair) in left.iter().zip(right).enumerate() {
            match pair {
                // Whatever follows, both are behind all values.
                (PartitionBound::MaxValue, PartitionBound::MaxValue) => return false,
                (PartitionBound::MaxValue, _) => return false,
                (_, PartitionBound::MaxValue) => return true,
                (PartitionBound::Value(left), PartitionBound::Value(right)) => match compare(at, left, right) {
                    Ordering::Equal => {}
                    order => return order.is_lt(),
                },
            }
        }
        false
    }

    /// Whether a value is in the lists twice.
    pub fn has_repeated_value(&self) -> bool {
        match self {
            BoundScheme::List { lists, .. } => {
                let mut all: Vec<&Option<i128>> = lists.iter().flatten().collect();
                all.sort_unstable();
                all.windows(2).any(|pair| pair[0] == pair[1])
            }
            BoundScheme::ListColumns { columns, lists } => {
                let compare = |left: &&Vec<Value>, right: &&Vec<Value>| {
                    let orders = columns.iter().zip(left.iter().zip(right.iter()));
                    orders
                        .map(|(column, (left, right))| column.compare(left, right))
                        .find(|order| order.is_ne())
                        .unwrap_or(Ordering::Equal)
                };
                let mut all: Vec<&Vec<Value>> = lists.iter().flatten().collect();
                all.sort_by(compare);
                all.windows(2).any(|pair| compare(&pair[0], &pair[1]).is_eq())
            }
            _ => false,
        }
    }

    /// The number of the partition of a row.
    ///
    /// # Errors
    /// 1526 if there is none; those of the expression.
    pub fn number_of(&self, values: &[Value]) -> SqlResult<usize> {
        let none = |value: Option<i128>| {
            let value = value.map_or_else(|| "NULL".to_string(), |value| value.to_string());
            SqlError::new(ErrorCode::NoPartitionForValue, &[&value])
        };
        let none_of_columns = || SqlError::new(ErrorCode::NoPartitionForValue, &[&"from column_list"]);
        match self {
            BoundScheme::Hash { expr, linear, count } => {
                // As MySQL takes it: a signed number of 64 bits, NULL as 0.
                let value = expr.value(values)?.unwrap_or(0) as i64;
                Ok(number_of_hash(value, *linear, *count))
            }
            BoundScheme::Key { columns, linear, count } => {
                let mut hash = KeyHash::new();
                for column in columns {
                    hash.add(value_at(values, column.ordinal)?, &column.sql_type);
                }
                let hash = hash.finish();
                Ok(if *linear { linear_number(hash, *count) } else { hash % count } as usize)
            }
            BoundScheme::Range { expr, bounds } => {
                let value = expr.value(values)?;
                range_number(bounds, value).ok_or_else(|| none(value))
            }
            BoundScheme::List { expr, lists } => {
                let value = expr.value(values)?;
                lists.iter().position(|list| list.contains(&value)).ok_or_else(|| none(value))
            }
            BoundScheme::RangeColumns { columns, bounds } => {
                let row =
                    columns.iter().map(|column| value_at(values, column.ordinal)).collect::<SqlResult<Vec<_>>>()?;
                let number = bounds.partition_point(|bound| compare_with_bound(columns, &row, bound).is_ge());
                if number < bounds.len() { Ok(number) } else { Err(none_of_columns()) }
            }
            BoundScheme::ListColumns { columns, lists } => {
                let row =
                    columns.iter().map(|column| value_at(values, column.ordinal)).collect::<SqlResult<Vec<_>>>()?;
                let is_row = |listed: &Vec<Value>| {
                    columns
                        .iter()
                        .zip(&row)
                        .zip(listed)
                        .all(|((column, value), listed)| column.compare(value, listed).is_eq())
                };
                lists.iter().position(|list| list.iter().any(is_row)).ok_or_else(none_of_columns)
            }
        }
    }

    /// The numbers, of `count`, of what rows may belong to whose value in a column lies in an interval.
    pub fn numbers_between(
        &self,
        count: usize,
        column: usize,
        low: Bound<&Value>,
        high: Bound<&Value>,
    ) -> PartitionSet {
        self.known_between(count, column, low, high).unwrap_or_else(|| PartitionSet::all(count))
    }

    fn known_between(
        &self,
        count: usize,
        column: usize,
        low: Bound<&Value>,
        high: Bound<&Value>,
    ) -> Option<PartitionSet> {
        match self {
            BoundScheme::RangeColumns { columns, bounds } => {
                let first = columns.first().filter(|first| first.ordinal == column)?;
                Some(range_columns_between(first, columns.len(), bounds, low, high))
            }
            BoundScheme::ListColumns { columns, lists } => {
                let at = columns.iter().position(|listed| listed.ordinal == column)?;
                let mut found = PartitionSet::none(count);
                for (number, list) in lists.iter().enumerate() {
                    if list.iter().any(|row| row.get(at).is_some_and(|value| columns[at].is_within(value, low, high))) {
                        found.insert(number);
                    }
                }
                Some(found)
            }
            BoundScheme::Key { columns, .. } => {
                let [only] = &columns[..] else { return None };
                self.walked(count, column, low, high).filter(|_| only.ordinal == column)
            }
            BoundScheme::Hash { expr, .. } | BoundScheme::List { expr, .. } if expr.columns != [column] => None,
            BoundScheme::Range { expr, .. } if expr.columns != [column] => None,
            BoundScheme::Hash { .. } => self.walked(count, column, low, high),
            BoundScheme::List { expr, lists } => {
                if !expr.is_column() {
                    return self.walked(count, column, low, high);
                }
                let low = integer_bound_of(low)?;
                let high = integer_bound_of(high)?;
                let is_within = |value: &Option<i128>| is_between(*value, low, high);
                let mut found = PartitionSet::none(count);
                lists
                    .iter()
                    .enumerate()
                    .filter(|(_, list)| list.iter().any(is_within))
                    .for_each(|(at, _)| found.insert(at));
                Some(found)
            }
            BoundScheme::Range { expr, bounds } => {
                let is_point = matches!((low, high), (Bound::Included(low), Bound::Included(high)) if low == high);
                if is_point || !expr.is_monotonic {
                    return self.walked(count, column, low, high);
                }
                range_between(expr, column, bounds, low, high)
            }
        }
    }

    /// By trying each value of a short interval of integers, or the only value.
    fn walked(&self, count: usize, column: usize, low: Bound<&Value>, high: Bound<&Value>) -> Option<PartitionSet> {
        let mut found = PartitionSet::none(count);
        let mut add = |value: Value| -> Option<()> {
            let mut values = vec![Value::Null; column + 1];
            values[column] = value;
            match self.number_of(&values) {
                Ok(number) => found.insert(number),
                // No row has such a value.
                Err(error) if error.is(ErrorCode::NoPartitionForValue) => {}
                Err(_) => return None,
            }
            Some(())
        };
        match (low, high) {
            (Bound::Included(only), Bound::Included(same)) if only == same => add(only.clone())?,
            (Bound::Included(first) | Bound::Excluded(first), Bound::Included(last) | Bound::Excluded(last)) => {
                let is_excluded = |bound: Bound<&Value>| i128::from(matches!(bound, Bound::Excluded(_)));
                let low = integer_of(first).ok()?? + is_excluded(low);
                let high = integer_of(last).ok()?? - is_excluded(high);
                if high - low > WALK_MAX {
                    return None;
                }
                for number in low..=high {
                    add(i64::try_from(number)
                        .map(Value::Int)
                        .or_else(|_| u64::try_from(number).map(Value::UInt))
                        .ok()?)?;
                }
            }
            _ => return None,
        }
        Some(found)
    }
}

/// What comparisons with NULL, which is less than all values, are made by: [`i128::MIN`] stands for it.
fn integer_bound_of(bound: Bound<&Value>) -> Option<Bound<i128>> {
    let integer = |value: &Value| integer_of(value).ok().map(|value| value.unwrap_or(i128::MIN));
    Some(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(value) => Bound::Included(integer(value)?),
        Bound::Excluded(value) => Bound::Excluded(integer(value)?),
    })
}

fn is_between(value: Option<i128>, low: Bound<i128>, high: Bound<i128>) -> bool {
    use std::ops::RangeBounds;
    (low, high).contains(&value.unwrap_or(i128::MIN))
}

fn value_at(values: &[Value], ordinal: usize) -> SqlResult<&Value> {
    values.get(ordinal).ok_or_else(|| SqlError::internal("a row without a partition column"))
}

fn number_of_hash(value: i64, linear: bool, count: u64) -> usize {
    match linear {
        true => linear_number(value as u64, count) as usize,
        // The remainder of a negative number is negative.
        false => (i128::from(value) % i128::from(count)).unsigned_abs() as usize,
    }
}

/// By the lowest bits: as many as the number of partitions needs, or one less.
fn linear_number(value: u64, count: u64) -> u64 {
    let mask = count.next_power_of_two() - 1;
    match value & mask {
        number if number < count => number,
        number => number & (mask >> 1),
    }
}

fn range_number(bounds: &[Option<i128>], value: Option<i128>) -> Option<usize> {
    let Some(value) = value else { return (!bounds.is_empty()).then_some(0) };
    let number = bounds.partition_point(|bound| bound.is_some_and(|bound| bound <= value));
    (number < bounds.len()).then_some(number)
}

fn range_between(
    expr: &PartitionExpr,
    column: usize,
    bounds: &[Option<i128>],
    low: Bound<&Value>,
    high: Bound<&Value>,
) -> Option<PartitionSet> {
    let mut found = PartitionSet::none(bounds.len());
    let first = match low {
        Bound::Unbounded => 0,
        Bound::Included(value) | Bound::Excluded(value) => {
            let mut value_of_low = expr.value_for(column, value)?;
            if expr.is_column() && matches!(low, Bound::Excluded(value) if !value.is_null()) {
                value_of_low = value_of_low.map(|value| value + 1);
            }
            match range_number(bounds, value_of_low) {
                Some(first) => first,
                None => bounds.len(),
            }
        }
    };
    let last = match high {
        Bound::Unbounded => bounds.len().saturating_sub(1),
        Bound::Included(value) | Bound::Excluded(value) => {
            let mut value_of_high = expr.value_for(column, value)?;
            if expr.is_column() && matches!(high, Bound::Excluded(_)) {
                value_of_high = value_of_high.map(|value| value - 1);
            }
            range_number(bounds, value_of_high).unwrap_or(bounds.len().saturating_sub(1))
        }
    };
    (first..=last).for_each(|number| found.insert(number));
    if !expr.is_column() && !bounds.is_empty() {
        // Invalid dates give NULL, also inside other expressions.
        found.insert(0);
    }
    Some(found)
}

fn range_columns_between(
    first: &PartitionColumn,
    columns: usize,
    bounds: &[Vec<PartitionBound>],
    low: Bound<&Value>,
    high: Bound<&Value>,
) -> PartitionSet {
    let mut found = PartitionSet::none(bounds.len());
    let of_first = |bound: &[PartitionBound], value: &Value| match bound.first() {
        Some(PartitionBound::Value(bound)) => first.compare(value, bound),
        _ => Ordering::Less,
    };
    for (number, bound) in bounds.iter().enumerate() {
        // With more columns, rows whose first value is the bound's may lie below it.
        let is_below_end = match low {
            Bound::Unbounded => true,
            Bound::Included(low) | Bound::Excluded(low) if columns == 1 => of_first(bound, low).is_lt(),
            Bound::Included(low) | Bound::Excluded(low) => of_first(bound, low).is_le(),
        };
        let start = number.checked_sub(1).map(|before| &bounds[before]);
        let is_above_start = match (high, start) {
            (Bound::Unbounded, _) | (_, None) => true,
            (Bound::Included(high), Some(start)) => of_first(start, high).is_ge(),
            (Bound::Excluded(high), Some(start)) if columns == 1 => of_first(start, high).is_gt(),
            (Bound::Excluded(high), Some(start)) => of_first(start, high).is_ge(),
        };
        if is_below_end && is_above_start {
            found.insert(number);
        }
    }
    found
}

fn integer_bound(values: &PartitionValues) -> SqlResult<Option<i128>> {
    match values {
        PartitionValues::LessThan(bounds) => match bounds.first() {
            Some(PartitionBound::Value(value)) => integer_of(value),
            _ => Ok(None),
        },
        _ => Err(SqlError::internal("a partition of a range without a bound")),
    }
}

fn listed(values: &PartitionValues) -> &[Vec<Value>] {
    match values {
        PartitionValues::In(rows) => rows,
        _ => &[],
    }
}
