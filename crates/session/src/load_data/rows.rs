//! The values of rows from the fields of a file.

use super::convert::plain_integer;
use super::reader::Row;
use super::{FieldKind, Load, Target, text_type};
use squall_functions::expr::ParameterisedRow;
use squall_statement_context::StatementContext;
use squall_types::collation::Charset;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{Date, ErrorCode, SqlError, SqlResult, SqlType, Value};

/// The values of a row's columns with their types, in the order of the plan's columns, and of what SET assigns; variables
/// get theirs. `number` counts rows from 1.
pub(super) fn row_values<'l>(
    context: &StatementContext,
    load: &'l Load,
    row: Row<'_>,
    number: u64,
) -> SqlResult<Vec<Option<(Value, &'l SqlType)>>> {
    check_field_count(context, load, row.count_for(load.targets.len()), number)?;
    let definition = load.plan.target.def();
    let (text, bytes) = (&load.text, &load.bytes);
    let mut values: Vec<Option<(Value, &SqlType)>> = vec![None; load.plan.columns.len()];
    let mut fields = row.fields();
    for target in &load.targets {
        let field = fields.next();
        match target {
            Target::Column { position, kind } => {
                let Some(field) = field else { continue };
                let integer = || (*kind == FieldKind::Integer).then(|| field.and_then(plain_integer)).flatten();
                values[*position] = Some(match (field, kind, integer()) {
                    (None, ..) => (Value::Null, &SqlType::Null),
                    (_, _, Some(number)) => (Value::Int(number), &SqlType::BIGINT),
                    (Some(field), FieldKind::Binary | FieldKind::Bits, _) => (Value::Bytes(field.to_vec()), bytes),
                    (Some(field), ..) => (Value::String(decode(load.charset, field)), text),
                });
            }
            Target::Variable(name) => {
                let value = match field.flatten() {
                    Some(field) => Value::String(decode(load.charset, field)),
                    None => Value::Null,
                };
                context.user_variables.assign(name.clone(), value, text_type())?;
            }
        }
    }
    if load.assignments.is_empty() {
        return Ok(values);
    }
    let mut so_far = vec![Value::Null; definition.columns.len()];
    for (position, value) in values.iter().enumerate() {
        if let Some((value, from)) = value {
            let ordinal = load.plan.columns[position];
            let column = &definition.columns[ordinal];
            let conversion = ConversionContext {
                mode: context.settings.sql_mode,
                time_zone: &context.settings.time_zone,
                current_date: Date::ZERO,
                table: "",
                column: &column.name,
                row: number,
            };
            // What is wrong with a value is said when it is stored.
            so_far[ordinal] = store_value(value.clone(), from, &column.sql_type, &conversion).value;
        }
    }
    for (position, assigned) in &load.assignments {
        let Some((expr, sql_type)) = assigned else { continue };
        let source = ParameterisedRow { row: so_far.as_slice(), parameters: &[] };
        values[*position] = Some((expr.eval(&source, context)?, sql_type));
    }
    Ok(values)
}

fn check_field_count(context: &StatementContext, load: &Load, fields: usize, number: u64) -> SqlResult<()> {
    let code = match fields.cmp(&load.targets.len()) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => ErrorCode::WarnTooFewRecords,
        std::cmp::Ordering::Greater => ErrorCode::WarnTooManyRecords,
    };
    let error = SqlError::new(code, &[&number]);
    if load.strict {
        return Err(error);
    }
    context.diagnostics.warn(error);
    Ok(())
}

fn decode(charset: Charset, bytes: &[u8]) -> String {
    if matches!(charset, Charset::Utf8mb4 | Charset::Utf8mb3) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    charset.decode(bytes).text.into_owned()
}
