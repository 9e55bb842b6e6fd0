//! CREATE SEQUENCE and ALTER SEQUENCE: makes the [`SequenceRow`] of the statement's options.

use squall_catalog::SequenceRow;
use squall_parser::ast::SequenceOption;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// Values that are reserved at a time where no option says how many.
const CACHE_DEFAULT: u64 = 1000;

/// The options of a statement, each at most once.
#[derive(Default)]
struct Options {
    increment: Option<i64>,
    minimum: Option<Option<i64>>,
    maximum: Option<Option<i64>>,
    start: Option<i64>,
    cache: Option<Option<i64>>,
    cycle: Option<bool>,
    restart: Option<Option<i64>>,
}

impl Options {
    /// # Errors
    /// 1225 for an option that comes twice.
    fn of(list: &[SequenceOption]) -> SqlResult<Options> {
        let mut options = Options::default();
        for option in list {
            let (is_second, name) = match option {
                SequenceOption::Increment(by) => (options.increment.replace(*by).is_some(), "INCREMENT"),
                SequenceOption::MinValue(value) => (options.minimum.replace(*value).is_some(), "MINVALUE"),
                SequenceOption::MaxValue(value) => (options.maximum.replace(*value).is_some(), "MAXVALUE"),
                SequenceOption::Start(value) => (options.start.replace(*value).is_some(), "START"),
                SequenceOption::Cache(count) => (options.cache.replace(*count).is_some(), "CACHE"),
                SequenceOption::Cycle(on) => (options.cycle.replace(*on).is_some(), "CYCLE"),
                SequenceOption::Restart(value) => (options.restart.replace(*value).is_some(), "RESTART"),
            };
            if is_second {
                return Err(SqlError::new(ErrorCode::DuplicateArgument, &[&name]));
            }
        }
        // MariaDB takes it for auto_increment_increment, so that the values depend on who asks.
        if options.increment == Some(0) {
            return Err(SqlError::unsupported(
                "INCREMENT BY 0 of a sequence (write the number of auto_increment_increment)",
            ));
        }
        Ok(options)
    }

    /// The row with what the options say of it.
    fn apply(self, row: &SequenceRow) -> Option<SequenceRow> {
        let mut row = row.clone();
        row.increment = self.increment.unwrap_or(row.increment);
        let is_up = row.increment > 0;
        if let Some(value) = self.minimum {
            row.minimum = value.unwrap_or(if is_up { 1 } else { i64::MIN + 1 });
        }
        if let Some(value) = self.maximum {
            row.maximum = value.unwrap_or(if is_up { i64::MAX - 1 } else { -1 });
        }
        row.start = self.start.unwrap_or(row.start);
        row.cycle = self.cycle.unwrap_or(row.cycle);
        if let Some(count) = self.cache {
            row.cache = u64::try_from(count.unwrap_or(0)).ok()?;
        }
        if let Some(value) = self.restart {
            row.next_not_cached = value.unwrap_or(row.start);
            if !(row.minimum..=row.maximum).contains(&row.next_not_cached) {
                return None;
            }
        }
        row.is_valid().then_some(row)
    }
}

fn invalid(database: &str, name: &str) -> SqlError {
    SqlError::new(ErrorCode::SequenceInvalidData, &[&database, &name])
}

/// The row of a new sequence.
///
/// # Errors
/// 4085 for options that do not agree, 1225 for one that comes twice.
pub fn first_row(database: &str, name: &str, options: &[SequenceOption]) -> SqlResult<SequenceRow> {
    let mut options = Options::of(options)?;
    let increment = options.increment.unwrap_or(1);
    options.minimum.get_or_insert(None);
    options.maximum.get_or_insert(None);
    let row = SequenceRow {
        next_not_cached: 0,
        minimum: 0,
        maximum: 0,
        start: 0,
        increment,
        cache: CACHE_DEFAULT,
        cycle: false,
        cycle_count: 0,
    };
    let bound = |value: Option<Option<i64>>, otherwise| value.flatten().unwrap_or(otherwise);
    let first = match increment > 0 {
        true => bound(options.minimum, 1),
        false => bound(options.maximum, -1),
    };
    options.start.get_or_insert(first);
    options.restart = Some(None);
    options.apply(&row).ok_or_else(|| invalid(database, name))
}

/// The row of a sequence after ALTER SEQUENCE.
///
/// # Errors
/// As of [`first_row`].
pub fn altered_row(
    database: &str,
    name: &str,
    row: &SequenceRow,
    options: &[SequenceOption],
) -> SqlResult<SequenceRow> {
    Options::of(options)?.apply(row).ok_or_else(|| invalid(database, name))
}
