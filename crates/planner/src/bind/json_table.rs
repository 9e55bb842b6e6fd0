//! JSON_TABLE in FROM, and JSON_VALUE.

use super::block::FromItem;
use super::column::BlockId;
use super::context::{Context, Frame, plan_result};
use super::scope::{Clause, Relation, RelationColumn, Scope};
use datafusion::common::{DFSchema, TableReference};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use squall_catalog::name::eq_ignore_case;
use squall_executor::operators::json_table::{JsonTableNode, JsonTableSpec};
use squall_functions::arrow_map::field_ref;
use squall_functions::expr::BoundExpr;
use squall_functions::json::table::stored;
use squall_functions::json::{JsonTable, Response, TableColumn, ValueResponse};
use squall_parser::ast;
use squall_registry::ExprType;
use squall_types::json::{Json, JsonPath};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Most NESTED PATHs of a JSON_TABLE.
const NESTED_PATHS_MAX: usize = 16;

/// Columns found so far.
struct Columns<'a> {
    alias: &'a str,
    named: Vec<(Arc<str>, SqlType)>,
    nested: usize,
}

impl Context<'_> {
    /// Binds JSON_TABLE beside what stands left of it, whose columns its document may be made of.
    pub fn bind_json_table(
        &mut self,
        node: &ast::JsonTable,
        block: BlockId,
        left: Option<FromItem>,
        keep_unmatched: bool,
    ) -> SqlResult<FromItem> {
        let scope = match &left {
            Some(left) => left.scope(block),
            None => Scope { block, relations: Vec::new(), visible: Vec::new() },
        };
        let (document, frame) =
            self.with_frame(Frame::new(scope, Clause::From), |context| context.bind_expr(&node.document))?;
        let (mut plan, relations, visible) = match left {
            Some(left) => (left.plan, left.relations, left.visible),
            None => (one_row()?, Vec::new(), Vec::new()),
        };
        plan = self.attach_subqueries(plan, frame.subqueries, block)?;
        let document_block = block;
        let mut item = self.json_table_over(node, plan, &document, document_block, block, keep_unmatched)?;
        self.check_unique(&relations, &item.relations)?;
        let (own_relations, own_visible) =
            (std::mem::replace(&mut item.relations, relations), std::mem::replace(&mut item.visible, visible));
        item.relations.extend(own_relations);
        item.visible.extend(own_visible);
        Ok(item)
    }

    /// `left LEFT JOIN JSON_TABLE(…) ON condition`: the table is made again for each row, where the condition belongs.
    pub fn bind_json_table_on(
        &mut self,
        node: &ast::JsonTable,
        block: BlockId,
        left: FromItem,
        condition: &ast::Expr,
    ) -> SqlResult<FromItem> {
        let frame = Frame::new(left.scope(block), Clause::From);
        let (document, frame) = self.with_frame(frame, |context| context.bind_expr(&node.document))?;
        if !frame.subqueries.is_empty() {
            return Err(SqlError::unsupported("a subquery in the document of JSON_TABLE behind LEFT JOIN … ON"));
        }
        let inner_block = self.new_block();
        let item = self.json_table_over(node, one_row()?, &document, inner_block, block, false)?;
        self.check_unique(&left.relations, &item.relations)?;
        self.apply_lateral(left, item, block, true, Some(condition))
    }

    /// The rows of `input` beside those of the table; the names are the table's alone.
    fn json_table_over(
        &mut self,
        node: &ast::JsonTable,
        input: LogicalPlan,
        document: &BoundExpr,
        document_block: BlockId,
        block: BlockId,
        keep_unmatched: bool,
    ) -> SqlResult<FromItem> {
        let Some(alias) = &node.alias else { return Err(SqlError::new(ErrorCode::TableFunctionMustHaveAlias, &[])) };
        let alias: Arc<str> = alias.value.as_ref().into();
        let document_type = document.sql_type();
        if !matches!(document_type, SqlType::Json | SqlType::String { .. } | SqlType::Null) {
            return Err(SqlError::new(ErrorCode::InvalidTypeForJson, &[&1, &"json_table"]));
        }
        let mut columns = Columns { alias: &alias, named: Vec::new(), nested: 0 };
        let table_columns = self.json_columns(&node.columns, &mut columns)?;
        let named = columns.named;
        let table =
            JsonTable { path: JsonPath::parse(&node.path.to_str_lossy())?, columns: table_columns, width: named.len() };
        let reference = TableReference::bare(self.scan_name(&alias));
        let mut fields = Vec::with_capacity(named.len());
        let mut relation_columns = Vec::with_capacity(named.len());
        for (name, sql_type) in named {
            let ty = ExprType::of_column(sql_type, true);
            fields.push((Some(reference.clone()), field_ref(&name, &ty)));
            let display = format!("`{alias}`.`{name}`");
            let id = self.columns.add(block, Some(reference.clone()), &name, &display, ty, None);
            relation_columns.push(RelationColumn { name, id, invisible: false, hidden: false });
        }
        let outputs = plan_result(DFSchema::new_with_metadata(fields, HashMap::new()))?;
        let document = self.value(document, document_block)?;
        let spec = JsonTableSpec { alias: Arc::clone(&alias), table, document_type, keep_unmatched };
        let plan = plan_result(JsonTableNode::new(input, document, spec, &outputs))?.into_plan();
        let relation = Relation { alias, database: None, columns: relation_columns, definition: None, any_case: false };
        let visible = relation.visible();
        Ok(FromItem { plan, relations: vec![relation], visible })
    }

    fn json_columns(&self, written: &[ast::JsonColumn], columns: &mut Columns<'_>) -> SqlResult<Vec<TableColumn>> {
        written
            .iter()
            .map(|column| {
                Ok(match column {
                    ast::JsonColumn::Ordinality { name } => {
                        let unsigned = SqlType::Int {
                            width: squall_types::IntWidth::Int,
                            unsigned: true,
                            zerofill: false,
                            display_width: None,
                        };
                        TableColumn::Ordinality { slot: columns.add(name, unsigned)? }
                    }
                    ast::JsonColumn::Path { name, data_type, path, on_empty, on_error } => {
                        let sql_type = self.json_column_type(data_type, name)?;
                        let name_text = name.value.to_string();
                        let on_empty = self.json_response(on_empty.as_ref(), &name_text, &sql_type)?;
                        let on_error = self.json_response(on_error.as_ref(), &name_text, &sql_type)?;
                        let path = JsonPath::parse(&path.to_str_lossy())?;
                        let slot = columns.add(name, sql_type.clone())?;
                        TableColumn::Path { slot, name: name_text, sql_type, path, on_empty, on_error }
                    }
                    ast::JsonColumn::Exists { name, data_type, path } => {
                        let sql_type = self.json_column_type(data_type, name)?;
                        let path = JsonPath::parse(&path.to_str_lossy())?;
                        let slot = columns.add(name, sql_type.clone())?;
                        TableColumn::Exists { slot, name: name.value.to_string(), sql_type, path }
                    }
                    ast::JsonColumn::Nested { path, columns: inner } => {
                        columns.nested += 1;
                        if columns.nested > NESTED_PATHS_MAX {
                            let alias = columns.alias;
                            return Err(SqlError::new(ErrorCode::JsonTableMaxNestedPath, &[&NESTED_PATHS_MAX, &alias]));
                        }
                        let path = JsonPath::parse(&path.to_str_lossy())?;
                        TableColumn::Nested { path, columns: self.json_columns(inner, columns)? }
                    }
                })
            })
            .collect()
    }

    fn json_column_type(&self, data_type: &ast::DataType, name: &ast::Ident) -> SqlResult<SqlType> {
        Ok(match self.binder.tables.column_type(data_type, &name.value)? {
            SqlType::Timestamp { fsp } => SqlType::DateTime { fsp },
            other => other,
        })
    }

    fn json_response(
        &self,
        response: Option<&ast::JsonResponse>,
        name: &str,
        sql_type: &SqlType,
    ) -> SqlResult<Response> {
        let invalid = || SqlError::new(ErrorCode::InvalidDefault, &[&name]);
        Ok(match response {
            None | Some(ast::JsonResponse::Null) => Response::Null,
            Some(ast::JsonResponse::Error) => Response::Error,
            Some(ast::JsonResponse::Default(ast::Expr::Literal(ast::Literal::String(text)))) => {
                let document = Json::parse(&text.value.to_str_lossy()).map_err(|_| invalid())?;
                stored(&document, name, sql_type, self.binder.context).map_err(|_| invalid())?;
                Response::Default(document)
            }
            Some(ast::JsonResponse::Default(_)) => return Err(invalid()),
        })
    }

    /// Binds `JSON_VALUE(document, path …)`.
    pub fn bind_json_value(&mut self, call: &ast::JsonValue) -> SqlResult<BoundExpr> {
        let document = self.bind_expr(&call.document)?;
        let path = self.bind_expr(&call.path)?;
        let Some(Value::String(path)) = path.as_literal() else {
            return Err(SqlError::unsupported("JSON_VALUE with a path that is no literal"));
        };
        let path = JsonPath::parse(path)?;
        let connection = self.binder.context.settings.collation;
        let target = match &call.returning {
            None => None,
            Some(target) => Some(super::types::cast_target(target, connection)?),
        };
        let mut response = |response: Option<&ast::JsonResponse>| -> SqlResult<ValueResponse> {
            Ok(match response {
                None | Some(ast::JsonResponse::Null) => ValueResponse::Null,
                Some(ast::JsonResponse::Error) => ValueResponse::Error,
                Some(ast::JsonResponse::Default(expr)) => match self.bind_expr(expr)?.as_literal() {
                    Some(value) => ValueResponse::Default(value.clone()),
                    None => return Err(SqlError::new(ErrorCode::WrongArguments, &[&"json_value"])),
                },
            })
        };
        let (on_empty, on_error) = (response(call.on_empty.as_ref())?, response(call.on_error.as_ref())?);
        self.binder.builder().json_value(document, path, target.as_ref(), on_empty, on_error)
    }
}

impl Columns<'_> {
    fn add(&mut self, name: &ast::Ident, sql_type: SqlType) -> SqlResult<usize> {
        let name: Arc<str> = name.value.as_ref().into();
        if self.named.iter().any(|(other, _)| eq_ignore_case(other, &name)) {
            return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&name]));
        }
        self.named.push((name, sql_type));
        Ok(self.named.len() - 1)
    }
}

fn one_row() -> SqlResult<LogicalPlan> {
    plan_result(LogicalPlanBuilder::empty(true).build())
}
