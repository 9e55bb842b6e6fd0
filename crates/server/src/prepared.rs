//! Parameters of prepared statements: keeps their types between packets, and decodes their values.

use std::collections::HashMap;

use rustc_hash::FxHashMap;
use squall_session::api::PreparedInfo;
use squall_types::{Charset, Date, DateTime, Decimal, ErrorCode, SqlError, Time, Value};
use squall_wire::command::StmtExecute;
use squall_wire::constants::ColumnType;
use squall_wire::parameters::{BinaryValue, Parameter, ParameterType, StatementParameters};

use crate::charset::{charset_of, decode};

/// The types and long data that the client has sent for one statement so far.
#[derive(Debug, Default)]
struct Statement {
    parameter_count: usize,
    /// Types of the last execution; clients may leave them out while they stay the same.
    types: Vec<ParameterType>,
    long_data: HashMap<usize, LongData>,
}

#[derive(Debug)]
enum LongData {
    Bytes(Vec<u8>),
    /// More than a packet may hold: executing will fail, since sending has no answer.
    TooLong,
}

impl StatementParameters for Statement {
    fn count(&self) -> usize {
        self.parameter_count
    }

    fn declared(&self, ordinal: usize) -> Option<ParameterType> {
        self.types.get(ordinal).copied()
    }

    fn has_long_data(&self, ordinal: usize) -> bool {
        self.long_data.contains_key(&ordinal)
    }
}

/// The statements of one connection.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    statements: FxHashMap<u32, Statement>,
}

impl PreparedStatements {
    /// A statement was prepared.
    pub(crate) fn insert(&mut self, info: &PreparedInfo) {
        let statement = Statement { parameter_count: usize::from(info.parameters), ..Statement::default() };
        self.statements.insert(info.id, statement);
    }

    /// A statement was closed.
    pub(crate) fn remove(&mut self, id: u32) {
        self.statements.remove(&id);
    }

    /// All statements were closed.
    pub(crate) fn clear(&mut self) {
        self.statements.clear();
    }

    /// Forgets long data.
    pub(crate) fn reset(&mut self, id: u32) {
        if let Some(statement) = self.statements.get_mut(&id) {
            statement.long_data.clear();
        }
    }

    /// Appends to a parameter. There is no answer, so the next execution reports the error.
    pub(crate) fn append_long_data(&mut self, id: u32, ordinal: u16, data: &[u8], bytes_max: usize) {
        let ordinal = usize::from(ordinal);
        let Some(statement) = self.statements.get_mut(&id).filter(|it| ordinal < it.parameter_count) else {
            return;
        };
        let long_data = statement.long_data.entry(ordinal).or_insert_with(|| LongData::Bytes(Vec::new()));
        match long_data {
            LongData::Bytes(bytes) if bytes.len() + data.len() <= bytes_max => bytes.extend_from_slice(data),
            _ => *long_data = LongData::TooLong,
        }
    }

    /// The parameters of an execution, as values. Long data is used up by it.
    pub(crate) fn values(&mut self, execute: &StmtExecute<'_>, client_collation: u16) -> Result<Vec<Value>, SqlError> {
        let unknown =
            || SqlError::new(ErrorCode::UnknownStatementHandler, &[&execute.statement_id, &"mysqld_stmt_execute"]);
        let statement = self.statements.get_mut(&execute.statement_id).ok_or_else(unknown)?;
        let decoded =
            execute.parameters.decode(statement).map_err(|_| SqlError::new(ErrorCode::MalformedPacket, &[]))?;
        // What stands behind the statement's own parameters are query attributes.
        let own = &decoded[..statement.parameter_count.min(decoded.len())];
        statement.types.clear();
        statement.types.extend(own.iter().map(|parameter| parameter.declared));
        let mut long_data = std::mem::take(&mut statement.long_data);
        let charset = charset_of(client_collation);
        own.iter()
            .enumerate()
            .map(|(ordinal, parameter)| match long_data.remove(&ordinal) {
                Some(LongData::Bytes(bytes)) => {
                    value(&Parameter { value: BinaryValue::Bytes(&bytes), ..*parameter }, charset)
                }
                Some(LongData::TooLong) => Err(SqlError::with_message(
                    ErrorCode::UnknownError,
                    "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                     'max_allowed_packet' bytes",
                )),
                None => value(parameter, charset),
            })
            .collect()
    }
}

fn value(parameter: &Parameter<'_>, charset: Charset) -> Result<Value, SqlError> {
    Ok(match parameter.value {
        BinaryValue::Null => Value::Null,
        BinaryValue::Int(value) => Value::Int(value),
        BinaryValue::UInt(value) => Value::UInt(value),
        BinaryValue::Float(value) => Value::Double(f64::from(value)),
        BinaryValue::Double(value) => Value::Double(value),
        BinaryValue::Bytes(bytes) => string_value(parameter.declared.column_type, bytes, charset),
        BinaryValue::DateTime { year, month, day, hour, minute, second, micros } => {
            let date = Date::from_parts(year, month, day).ok_or_else(wrong_arguments)?;
            if matches!(parameter.declared.column_type, ColumnType::Date | ColumnType::NewDate) {
                Value::Date(date)
            } else {
                Value::DateTime(DateTime::from_parts(date, hour, minute, second, micros).ok_or_else(wrong_arguments)?)
            }
        }
        BinaryValue::Time { negative, hours, minute, second, micros } => {
            if minute > 59 || second > 59 || micros > 999_999 {
                return Err(wrong_arguments());
            }
            let seconds = i64::from(hours) * 3600 + i64::from(minute) * 60 + i64::from(second);
            let magnitude = (seconds * 1_000_000 + i64::from(micros)).min(Time::MAX_MICROS);
            let time = Time::from_micros(if negative { -magnitude } else { magnitude });
            Value::Time(time.ok_or_else(wrong_arguments)?)
        }
    })
}

fn wrong_arguments() -> SqlError {
    SqlError::new(ErrorCode::WrongArguments, &[&"EXECUTE"])
}

fn string_value(column_type: ColumnType, bytes: &[u8], charset: Charset) -> Value {
    let is_bytes = matches!(
        column_type,
        ColumnType::TinyBlob
            | ColumnType::MediumBlob
            | ColumnType::LongBlob
            | ColumnType::Blob
            | ColumnType::Bit
            | ColumnType::Geometry
            | ColumnType::Vector
    );
    if is_bytes || charset == Charset::Binary {
        return Value::Bytes(bytes.to_vec());
    }
    // Several drivers send byte strings with a text type: what is not text can only be those.
    let Some(text) = decode(charset, bytes) else {
        return Value::Bytes(bytes.to_vec());
    };
    if matches!(column_type, ColumnType::Decimal | ColumnType::NewDecimal) {
        let parsed = Decimal::parse(&text);
        if !(parsed.no_number || parsed.truncated || parsed.overflow) {
            return Value::Decimal(parsed.value);
        }
    }
    Value::String(text.into_owned())
}
