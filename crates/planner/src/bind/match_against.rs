//! MATCH … AGAINST.

use super::context::{Context, display_name};
use super::scope::Clause;
use squall_catalog::TableDef;
use squall_executor::access::terms::fulltext_index;
use squall_functions::expr::BoundExpr;
use squall_functions::fulltext::Parser;
use squall_parser::ast;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

impl Context<'_> {
    /// Binds `MATCH (columns) AGAINST (against mode)`: the columns are those of one FULLTEXT index, which also says how
    /// texts are taken apart.
    pub fn bind_match(
        &mut self,
        columns: &[ast::ColumnName],
        against: &ast::Expr,
        mode: ast::MatchMode,
    ) -> SqlResult<BoundExpr> {
        let boolean = match mode {
            ast::MatchMode::Boolean => true,
            ast::MatchMode::NaturalLanguage => false,
            ast::MatchMode::QueryExpansion | ast::MatchMode::NaturalLanguageWithQueryExpansion => {
                return Err(SqlError::unsupported("WITH QUERY EXPANSION"));
            }
        };
        let mut bound = Vec::with_capacity(columns.len());
        let mut ordinals = Vec::with_capacity(columns.len());
        let mut of: Option<Arc<TableDef>> = None;
        for name in columns {
            let found = self.resolve(name)?;
            let Some(column @ BoundExpr::Column(_)) = found else {
                return Err(match found {
                    None => SqlError::new(ErrorCode::BadField, &[&display_name(name), &self.clause_of_names()]),
                    Some(_) => SqlError::new(ErrorCode::WrongArguments, &[&"MATCH"]),
                });
            };
            let BoundExpr::Column(reference) = &column else { continue };
            let base = self.columns.get(reference.ordinal).origin.as_ref().and_then(|origin| origin.base.clone());
            let Some((table, ordinal)) = base else {
                return Err(SqlError::new(ErrorCode::WrongArguments, &[&"MATCH"]));
            };
            if of.as_ref().is_some_and(|of| of.id != table.id) {
                return Err(SqlError::new(ErrorCode::WrongArguments, &[&"MATCH"]));
            }
            ordinals.push(ordinal);
            of = Some(table);
            bound.push(column);
        }
        let index = of.as_ref().and_then(|table| table.indexes.get(fulltext_index(table, &ordinals, None)?));
        let Some((table, index)) = of.as_ref().zip(index) else {
            return Err(SqlError::new(ErrorCode::FtMatchingKeyNotFound, &[]));
        };
        let parser = if index.is_json() {
            Parser::Json
        } else {
            let collation = ordinals.first().and_then(|ordinal| table.columns[*ordinal].sql_type.collation());
            let collation = collation.unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
            if index.is_ngram() { Parser::Ngrams(collation) } else { Parser::Words(collation) }
        };
        let against = self.bind_expr(against)?;
        if !against.is_constant() {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&"AGAINST"]));
        }
        self.binder.builder().match_against(bound, against, parser, boolean)
    }

    fn clause_of_names(&self) -> Clause {
        self.clause()
    }
}
