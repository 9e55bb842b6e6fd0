//! MATCH … AGAINST.

use super::block::OrderKey;
use super::context::{Context, display_name};
use super::plans::conjuncts_of;
use super::scope::{Clause, Found};
use squall_catalog::TableDef;
use squall_executor::access::terms::fulltext_index;
use squall_functions::expr::BoundExpr;
use squall_functions::fulltext::{MatchKernel, Mode, Parser};
use squall_parser::ast;
use squall_statement_context::FulltextKey;
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
        let mode = match mode {
            ast::MatchMode::Boolean => Mode::Boolean,
            ast::MatchMode::NaturalLanguage => Mode::Natural,
            ast::MatchMode::QueryExpansion | ast::MatchMode::NaturalLanguageWithQueryExpansion => Mode::Expanded,
        };
        let mut bound = Vec::with_capacity(columns.len());
        let mut ordinals = Vec::with_capacity(columns.len());
        // The table, and what the statement calls it.
        let mut of: Option<(Arc<TableDef>, Arc<str>)> = None;
        for name in columns {
            let found = self.resolve(name)?;
            let Some(column @ BoundExpr::Column(_)) = found else {
                return Err(match found {
                    None => SqlError::new(ErrorCode::BadField, &[&display_name(name), &self.clause_of_names()]),
                    Some(_) => SqlError::new(ErrorCode::WrongArguments, &[&"MATCH"]),
                });
            };
            let BoundExpr::Column(reference) = &column else { continue };
            let origin = self.columns.get(reference.ordinal).origin.as_ref();
            let base = origin.and_then(|origin| {
                Some((origin.base.as_ref().or(origin.behind.as_ref()).cloned()?, Arc::clone(&origin.table)))
            });
            let Some(((table, ordinal), alias)) = base else {
                return Err(SqlError::new(ErrorCode::WrongArguments, &[&"MATCH"]));
            };
            if of.as_ref().is_some_and(|(of, name)| of.id != table.id || *name != alias) {
                return Err(SqlError::new(ErrorCode::WrongArguments, &[&"MATCH"]));
            }
            ordinals.push(ordinal);
            of = Some((table, alias));
            bound.push(column);
        }
        let position = of.as_ref().and_then(|(table, _)| fulltext_index(table, &ordinals, None));
        let Some(((table, _), position)) = of.zip(position) else {
            return Err(SqlError::new(ErrorCode::FtMatchingKeyNotFound, &[]));
        };
        let index = &table.indexes[position];
        let parser = if index.is_json() {
            if mode == Mode::Expanded {
                return Err(SqlError::unsupported("WITH QUERY EXPANSION of documents"));
            }
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
        self.binder.builder().match_against(bound, against, FulltextKey { table, position }, parser, mode)
    }

    /// The keys of an order by relevance; none if rows do not come in it.
    pub fn relevance_keys(&mut self, written: &ast::Expr) -> SqlResult<Vec<OrderKey>> {
        let expr = self.bind_expr(written)?;
        let Some(ties) = relevance_ties(&expr, written) else { return Ok(Vec::new()) };
        let mut keys = vec![OrderKey { expr, descending: true }];
        for name in ties {
            let scope = &self.frame()?.scope;
            // The statement has not asked for the column, so it needs no right to see it. A view may not show it at all.
            let Found::One(id) = scope.find(name.schema.as_deref(), name.table.as_deref(), &name.column) else { break };
            keys.push(OrderKey { expr: self.columns.expr(id), descending: false });
        }
        Ok(keys)
    }

    fn clause_of_names(&self) -> Clause {
        self.clause()
    }
}

/// The order of a block without ORDER BY: InnoDB gives the rows that a FULLTEXT key finds by their relevance. That is so for one table with
/// MATCH among the conditions of WHERE, and not where rows are gathered in groups.
pub(crate) fn relevance_order<'s>(select: &'s ast::Select, order_by: &[ast::OrderItem]) -> Option<&'s ast::Expr> {
    let is_plain = order_by.is_empty()
        && select.group_by.is_none()
        && !select.options.distinct
        && matches!(select.from.as_slice(), [ast::TableReference::Table(_)]);
    let condition = select.selection.as_ref().filter(|_| is_plain)?;
    conjuncts_of(condition).into_iter().find(|part| matches!(part, ast::Expr::Match { .. }))
}

/// The names of what such an order goes on by, so that rows of equal relevance have one, too: the columns of the primary key.
/// `None` if rows are not put in order by this MATCH.
pub(crate) fn relevance_ties(bound: &BoundExpr, written: &ast::Expr) -> Option<Vec<ast::ColumnName>> {
    let (BoundExpr::Call(call), ast::Expr::Match { columns, .. }) = (bound, written) else { return None };
    let kernel = call.kernel_as::<MatchKernel>().filter(|kernel| kernel.orders_rows())?;
    let table = &kernel.key.table;
    let first = columns.first()?;
    let primary = table.indexes.iter().find(|index| index.primary);
    let ordinals = primary.map(|index| table.index_ordinals(index)).unwrap_or_default();
    let visible = ordinals.into_iter().filter(|ordinal| !table.columns[*ordinal].invisible);
    let name = |ordinal: usize| {
        let column = ast::Ident { value: table.columns[ordinal].name.as_str().into(), ..first.column.clone() };
        ast::ColumnName { column, ..first.clone() }
    };
    Some(visible.map(name).collect())
}
