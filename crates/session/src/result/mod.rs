//! Results that a command makes itself: a few columns, and rows of values.

pub(crate) mod column_meta;
pub(crate) mod description;
pub(crate) mod followed_table;
pub(crate) mod pass_on;
pub(crate) mod writer;

use crate::result::writer::{ColumnFlags, ColumnMeta, ResultWriter, StatusInfo};
use squall_types::{CollationId, RowWriter, SqlError, SqlType, Value};
use std::sync::Arc;

/// A result set in memory.
#[derive(Clone, Debug, Default)]
pub struct ResultSet {
    /// Its columns.
    pub columns: Vec<ColumnMeta>,
    /// Its rows, a value per column.
    pub rows: Vec<Vec<Value>>,
}

impl ResultSet {
    /// An empty result with these columns.
    pub fn new(columns: Vec<ColumnMeta>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// An empty result of text columns.
    pub fn of_texts(names: &[&str]) -> Self {
        Self::new(names.iter().map(|name| text_column(name, 255)).collect())
    }
}

/// A column of text.
pub fn text_column(name: &str, length: u32) -> ColumnMeta {
    typed_column(name, SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI), false)
}

/// A column of whole numbers.
pub fn number_column(name: &str) -> ColumnMeta {
    typed_column(name, SqlType::BIGINT, true)
}

/// A column of any type.
pub fn typed_column(name: &str, sql_type: SqlType, not_null: bool) -> ColumnMeta {
    let empty: Arc<str> = Arc::from("");
    ColumnMeta {
        database: empty.clone(),
        table: empty.clone(),
        org_table: empty.clone(),
        name: Arc::from(name),
        org_name: empty,
        sql_type,
        flags: ColumnFlags { not_null, ..Default::default() },
    }
}

/// Puts one value by the method that fits it. ENUM and SET values have to be given as text.
pub fn put_value(writer: &mut (impl RowWriter + ?Sized), value: &Value) {
    match value {
        Value::Null => writer.put_null(),
        Value::Int(value) => writer.put_int(*value),
        Value::UInt(value) => writer.put_uint(*value),
        Value::Double(value) => writer.put_double(*value),
        Value::Decimal(value) => writer.put_decimal(*value),
        Value::String(text) => writer.put_bytes(text.as_bytes()),
        Value::Json(document) => writer.put_bytes(document.text().as_bytes()),
        Value::Bytes(bytes) => writer.put_bytes(bytes),
        Value::Date(value) => writer.put_date(*value),
        Value::DateTime(value) => writer.put_datetime(*value),
        Value::Time(value) => writer.put_time(*value),
    }
}

/// Sends rows of a result set that has begun.
///
/// # Errors
/// The writer's, if the client is gone.
pub(crate) async fn put_rows(writer: &mut dyn ResultWriter, rows: &[Vec<Value>]) -> std::io::Result<()> {
    for row in rows {
        writer.begin_row();
        for value in row {
            put_value(writer, value);
        }
        writer.end_row();
        if writer.needs_flush() {
            writer.flush().await?;
        }
    }
    Ok(())
}

/// Sends a result set that is a part of an answer.
pub(crate) async fn send_result_set(
    writer: &mut dyn ResultWriter,
    result: &ResultSet,
    status: &StatusInfo,
) -> Result<(), Failure> {
    writer.begin_result_set(&result.columns);
    put_rows(writer, &result.rows).await?;
    writer.end_result_set(status);
    Ok(())
}

/// Why a statement stopped.
#[derive(Debug)]
pub enum Failure {
    /// An error for the client.
    Sql(SqlError),
    /// The client is gone.
    Client(std::io::Error),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        Failure::Sql(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Client(error)
    }
}

/// The outcome of a statement, before it is sent.
#[derive(Debug)]
pub enum Outcome {
    /// No rows.
    Ok(crate::result::writer::OkInfo),
    /// Rows that a command made.
    Rows(ResultSet),
    /// Everything but the final packet has been sent; the result set ends now.
    Streamed {
        /// Rows sent.
        rows: u64,
    },
}

impl Outcome {
    /// Success without anything to say.
    pub fn done() -> Outcome {
        Outcome::Ok(crate::result::writer::OkInfo::default())
    }

    /// Success that changed rows.
    pub fn affected(rows: u64) -> Outcome {
        Outcome::Ok(crate::result::writer::OkInfo { affected_rows: rows, ..Default::default() })
    }
}
