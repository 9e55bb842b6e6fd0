//! JSON_VALUE and MATCH.

use super::cast::CastTarget;
use super::{BuildResult, ExprBuilder};
use crate::expr::{BoundExpr, Call};
use crate::fulltext::{MatchKernel, Mode, Parser};
use crate::json::scalar::{column_value, type_word};
use crate::json::{JsonValueKernel, ValueResponse};
use squall_registry::{Coercibility, ExprType, Volatility};
use squall_statement_context::FulltextKey;
use squall_types::json::{Json, JsonPath};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Characters of a result whose type says nothing.
const TEXT_LENGTH: u32 = 512;

impl ExprBuilder<'_> {
    /// `JSON_VALUE(document, path RETURNING target … ON EMPTY … ON ERROR)`; the defaults are still of their own types.
    pub fn json_value(
        &self,
        document: BoundExpr,
        path: JsonPath,
        target: Option<&CastTarget>,
        on_empty: ValueResponse,
        on_error: ValueResponse,
    ) -> BuildResult {
        let from = document.sql_type();
        if !matches!(from, SqlType::Json | SqlType::String { .. } | SqlType::Null) {
            return Err(SqlError::new(ErrorCode::InvalidTypeForJson, &[&1, &"json_value"]));
        }
        let returning = match target {
            None => SqlType::varchar(TEXT_LENGTH, CollationId::UTF8MB4_BIN),
            Some(CastTarget::Char { length: None, collation }) => SqlType::longtext(*collation),
            Some(CastTarget::Char { length: Some(length), collation }) => SqlType::varchar(*length, *collation),
            Some(CastTarget::Binary { length: None }) => SqlType::longtext(CollationId::BINARY),
            Some(CastTarget::Binary { length: Some(length) }) => SqlType::varchar(*length, CollationId::BINARY),
            Some(target) => self.cast(self.null(), target)?.sql_type(),
        };
        let on_empty = self.returned(on_empty, &returning)?;
        let on_error = self.returned(on_error, &returning)?;
        let ty = ExprType::of_column(returning.clone(), true);
        let kernel = JsonValueKernel { from, path, returning, on_empty, on_error };
        let name = format!("JSON_VALUE {} {}", kernel.path, crate::arrow_map::encode_type(&kernel.returning));
        Ok(self.immutable(&name, Arc::new(kernel), vec![document], ty))
    }

    /// `MATCH (columns) AGAINST (against)`.
    pub fn match_against(
        &self,
        mut columns: Vec<BoundExpr>,
        against: BoundExpr,
        key: FulltextKey,
        parser: Parser,
        mode: Mode,
    ) -> BuildResult {
        let collation = match parser {
            Parser::Words(collation) | Parser::Ngrams(collation) => collation,
            Parser::Json => CollationId::UTF8MB4_BIN,
        };
        let text = ExprType {
            sql_type: SqlType::longtext(collation),
            nullable: against.nullable(),
            coercibility: Coercibility::Literal,
        };
        let against = self.convert(against, &text)?;
        if let BoundExpr::Literal(Value::String(text), _) = &against {
            // What is wrong with it is told whether there are rows or not.
            mode.search(parser, text)?;
        }
        columns.push(against);
        let ty = ExprType::numeric(SqlType::DOUBLE, false);
        let kernel = MatchKernel::new(key, parser, mode);
        Ok(BoundExpr::call(Call::new("MATCH", Arc::new(kernel), columns, ty, Volatility::Immutable)))
    }

    fn null(&self) -> BoundExpr {
        let ty = ExprType { sql_type: SqlType::Null, nullable: true, coercibility: Coercibility::Ignorable };
        BoundExpr::Literal(Value::Null, ty)
    }

    /// A default as a value of the type that is returned.
    fn returned(&self, response: ValueResponse, returning: &SqlType) -> SqlResult<ValueResponse> {
        let ValueResponse::Default(value) = response else { return Ok(response) };
        let value = match (&value, returning) {
            (Value::Null, _) => Value::Null,
            (Value::String(text), SqlType::Json) => {
                Json::parse(text).map_err(|error| error.for_argument(1, "json_value"))?.to_value()
            }
            (value, SqlType::Json) => Json::from_value(value).to_value(),
            (value, _) => column_value(&Json::from_value(value), returning, "json_value", self.context())
                .map_err(|_| wrong_default(value, returning))?,
        };
        Ok(ValueResponse::Default(value))
    }
}

/// MySQL's error for a default that is not a value of the type.
fn wrong_default(value: &Value, returning: &SqlType) -> SqlError {
    let text = Json::from_value(value).unquoted();
    let kind = match returning {
        SqlType::Date | SqlType::DateTime { .. } => {
            let message = format!("Incorrect datetime value: '{text}'");
            return SqlError::with_message(ErrorCode::IncorrectWrongValue, message);
        }
        SqlType::String { .. } => {
            return SqlError::new(ErrorCode::DataOutOfRangeExpr, &[&"CHAR DEFAULT", &"json_value"]);
        }
        SqlType::Int { unsigned: false, .. } => "INTEGER SIGNED",
        SqlType::Int { .. } => "INTEGER UNSIGNED",
        SqlType::Time { .. } => "time",
        other => type_word(other),
    };
    SqlError::new(ErrorCode::TruncatedWrongValue, &[&kind, &text])
}
