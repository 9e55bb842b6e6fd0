//! The values of generated columns, functional key parts among them. Errors name the key, because users do not know the name of the hidden column.

use super::target::RowMaker;
use squall_catalog::ColumnDef;
use squall_functions::expr::BoundExpr;
use squall_types::convert::json_elements::{ElementError, elements};
use squall_types::{ErrorCode, Level, SqlError, SqlResult, Value};

impl RowMaker<'_> {
    /// Computes the generated columns.
    pub fn generate(&self, row: &mut [Value], row_number: u64) -> SqlResult<()> {
        for (ordinal, expr) in &self.target.rules.generated {
            let column = &self.target.def().columns[*ordinal];
            if column.is_hidden() {
                row[*ordinal] = key_part_value(self, column, expr, row, row_number)?;
                continue;
            }
            let value = self.eval(expr, row)?;
            row[*ordinal] = self.convert(column, value, &expr.sql_type(), row_number)?;
        }
        Ok(())
    }
}

/// The value of a hidden column. In strict mode whatever is lost on the way to it is an error.
fn key_part_value(
    maker: &RowMaker<'_>,
    column: &ColumnDef,
    expr: &BoundExpr,
    row: &[Value],
    row_number: u64,
) -> SqlResult<Value> {
    let def = maker.target.def();
    let index = def.key_of_hidden(column).map_or("", |index| index.name.as_str());
    let diagnostics = &maker.env.context.diagnostics;
    let noted = diagnostics.count();
    let made = maker
        .eval(expr, row)
        .and_then(|value| maker.convert(column, value, &expr.sql_type(), row_number))
        .and_then(|value| check_elements(column, value, index))
        .map_err(|error| of_key(error, index, row_number))?;
    if diagnostics.count() == noted {
        return Ok(made);
    }
    let (added, warnings) = diagnostics.take_since(noted);
    let unknown = added.saturating_sub(warnings.len() as u64);
    for warning in warnings {
        let error = of_key(warning.error, index, row_number);
        if maker.strict && warning.level != Level::Note {
            return Err(error);
        }
        diagnostics.push(warning.level, error);
    }
    // More than the diagnostics area can hold.
    for _ in 0..unknown {
        let error = SqlError::new(ErrorCode::DataTruncatedFunctionalIndex, &[&index, &row_number]);
        if maker.strict {
            return Err(error);
        }
        diagnostics.warn(error);
    }
    Ok(made)
}

/// A document whose elements a multi-valued key can hold (3903, 3904, 3907, 3908), whatever the mode.
fn check_elements(column: &ColumnDef, value: Value, index: &str) -> SqlResult<Value> {
    if let (Some(element_type), Value::Json(document)) = (column.element_type(), &value) {
        let document = document.to_json().map_err(|_| ElementError::Invalid.of_index(index))?;
        elements(&document, element_type).map_err(|error| error.of_index(index))?;
    }
    Ok(value)
}

/// The error of the key instead of the column.
fn of_key(error: SqlError, index: &str, row_number: u64) -> SqlError {
    let with_row = |code| SqlError::new(code, &[&index, &row_number]);
    match error.known() {
        Some(ErrorCode::DataTruncated | ErrorCode::TruncatedWrongValue) => {
            with_row(ErrorCode::DataTruncatedFunctionalIndex)
        }
        Some(ErrorCode::DataOutOfRange) => with_row(ErrorCode::DataOutOfRangeFunctionalIndex),
        Some(ErrorCode::DataTooLong) => SqlError::new(ErrorCode::FunctionalIndexDataTooLong, &[&index]),
        Some(ErrorCode::InvalidJsonValueForCast) => {
            SqlError::new(ErrorCode::InvalidJsonValueForFunctionalIndex, &[&index])
        }
        Some(ErrorCode::NumericJsonValueOutOfRange) => {
            SqlError::new(ErrorCode::JsonValueOutOfRangeForFunctionalIndex, &[&index])
        }
        _ => error,
    }
}
