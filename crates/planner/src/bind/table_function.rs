//! Functions in FROM. The function writes a query, whose rows are the rows of the table.

use super::block::FromItem;
use super::column::BlockId;
use super::context::{Context, Frame};
use super::scope::{Clause, Scope};
use squall_functions::expr::{EmptyRow, ParameterisedRow};
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

impl Context<'_> {
    /// Binds `name(argument, …) alias` as a derived table of the function's query, which the optimizer sees as if it were written
    /// there and whose privileges are asked for as if it were.
    pub fn bind_table_function(&mut self, call: &ast::TableFunctionCall, block: BlockId) -> SqlResult<FromItem> {
        let name = call.name.name.as_str();
        let function = self.binder.registry.table_function(name).filter(|function| match &call.name.schema {
            Some(schema) => function.database().is_some_and(|own| schema.is(own)),
            None => true,
        });
        let Some(function) = function.map(Arc::clone) else {
            let name = match &call.name.schema {
                Some(schema) => format!("{}.{name}", schema.as_str()),
                None => name.to_string(),
            };
            return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&"TABLE FUNCTION", &name]));
        };
        let Some(alias) = &call.alias else { return Err(SqlError::new(ErrorCode::TableFunctionMustHaveAlias, &[])) };
        if call.arguments.len() != function.arity() {
            return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, &[&name]));
        }
        let arguments: Vec<Value> = call
            .arguments
            .iter()
            .map(|argument| self.table_argument(argument, name, block))
            .collect::<SqlResult<_>>()?;
        // Its text depends on more than the statement's, as on what is put before a path.
        self.is_told_by_text = false;
        let sql = function.query(&arguments, self.binder.context)?;
        let query = super::view::parse_query(&sql, self.binder.context.settings.sql_mode)?;
        // It sees neither the blocks nor the WITH clauses around it.
        let frames = std::mem::take(&mut self.frames);
        let common_tables = std::mem::take(&mut self.common_tables);
        let text = std::mem::replace(&mut self.text, sql.into_bytes().into());
        let bound = self.gathered(|context| context.bind_query_block(&query));
        self.text = text;
        self.common_tables = common_tables;
        self.frames = frames;
        let columns: Vec<Arc<str>> = call.columns.iter().map(|column| column.value.as_ref().into()).collect();
        self.derived_item(bound?, &alias.value.as_ref().into(), &columns, None, None, block)
    }

    /// The value of an argument, which names no column and asks no table; 1615 if that of a parameter is not known yet.
    fn table_argument(&mut self, argument: &ast::Expr, function: &str, block: BlockId) -> SqlResult<Value> {
        let scope = Scope { block, relations: Vec::new(), visible: Vec::new() };
        let frames = std::mem::take(&mut self.frames);
        let lacked = std::mem::take(&mut self.lacks_values);
        let bound = self.with_frame(Frame::new(scope, Clause::From), |context| context.bind_expr(argument));
        self.frames = frames;
        if std::mem::replace(&mut self.lacks_values, lacked) {
            return Err(SqlError::new(ErrorCode::NeedReprepare, &[]));
        }
        let (bound, frame) = bound?;
        if !frame.subqueries.is_empty() || !bound.is_constant() {
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&function]));
        }
        bound.eval(&ParameterisedRow { row: &EmptyRow, parameters: self.binder.params }, self.binder.context)
    }
}
