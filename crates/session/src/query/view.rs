//! Views and tables made from queries: their columns and texts.

use crate::query::found_columns::FoundColumns;
use crate::query::resolver::SessionTables;
use crate::query::select_all::select_all;
use crate::session::{Session, StatementRun, parse_error};
use squall_catalog::{ColumnDef, ColumnDefault, ColumnId};
use squall_definitions::column::holds_blob;
use squall_definitions::names::check_column_name;
use squall_definitions::view::ResolvedView;
use squall_parser::ast::{
    self, CreateView, Expr, Ident, NameMut, ObjectName, Query, QueryBody, SelectItem, with_stack,
};
use squall_planner::OutputColumn;
use squall_planner::bind::parse_options;
use squall_planner::dml::target::zero_value;
use squall_statement_context::StatementContext;
use squall_system_tables as information_schema;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, StringKind, Value};
use std::sync::Arc;

/// The column that CREATE TABLE … SELECT makes of a result's.
pub(crate) fn column_of_output(output: &OutputColumn) -> ColumnDef {
    let base = output.origin.as_ref().and_then(|origin| origin.base.as_ref().or(origin.behind.as_ref()));
    let source = base.and_then(|(table, ordinal)| table.columns.get(*ordinal));
    let sql_type = match &output.expr_type.sql_type {
        SqlType::Null => SqlType::String { kind: StringKind::Char, length: 0, collation: CollationId::BINARY },
        // An expression may be longer than any VARCHAR.
        SqlType::String { kind: StringKind::Char | StringKind::Varchar, length, collation }
            if source.is_none()
                && u64::from(*length) * u64::from(collation.charset().bytes_per_character_max()) > 65_535 =>
        {
            SqlType::longtext(*collation)
        }
        SqlType::String { kind: StringKind::Char, length, collation } if *length > 255 => {
            SqlType::varchar(*length, *collation)
        }
        // Conditions are numbers like others.
        ty if *ty == SqlType::BOOL && source.is_none() => SqlType::INT,
        other => other.clone(),
    };
    let nullable = output.expr_type.nullable;
    let default = match source {
        Some(column) if !column.auto_increment => column.default.clone(),
        Some(_) => ColumnDefault::Literal(Value::Int(0)),
        None if nullable || holds_blob(&sql_type) => ColumnDefault::None,
        // As MySQL has it, in whichever sql_mode.
        None => ColumnDefault::Literal(zero_value(&sql_type)),
    };
    ColumnDef {
        id: ColumnId(0),
        name: output.name.to_string(),
        sql_type,
        nullable,
        default,
        on_update_now: source.is_some_and(|column| column.on_update_now),
        auto_increment: false,
        generated: None,
        invisible: false,
        comment: source.map(|column| column.comment.clone()).unwrap_or_default(),
        value_for_older_rows: Value::Null,
    }
}

impl Session {
    /// Binds a view's query and makes its text independent of the default database.
    pub(crate) async fn resolve_view(
        &mut self,
        statement: &CreateView,
        run: &StatementRun<'_>,
    ) -> SqlResult<ResolvedView> {
        if run.request.placeholders > 0 || assigns(&statement.query) {
            return Err(SqlError::new(ErrorCode::ViewSelectVariable, &[]));
        }
        if statement.query.into.is_some() {
            return Err(SqlError::new(ErrorCode::ViewSelectClause, &[]));
        }
        let catalog = self.shared.catalog.load();
        let bound = self.bind_query(&statement.query, run.request.sql, &[], &catalog, &run.context, None)?;
        let bound = self.security().authorize(bound)?;
        let own = self.security().qualify(&statement.name)?;
        for table in &bound.tables {
            if table.view.is_some() && (&*table.database, &*table.name) == (own.0.as_str(), own.1.as_str()) {
                return Err(SqlError::new(ErrorCode::NoSuchTable, &[&own.0, &own.1]));
            }
            if let Some(definition) = table.definition.as_ref().filter(|definition| definition.temporary) {
                return Err(SqlError::new(ErrorCode::ViewSelectTmpTable, &[&definition.name]));
            }
        }
        let mut query = (*statement.query).clone();
        let with = query.with.clone();
        expand_body(&mut query.body, with.as_ref(), &|block| {
            Ok(self.bind_query(block, run.request.sql, &[], &catalog, &run.context, None)?.columns)
        })?;
        name_unnamable_items(&mut query.body, run.request.sql);
        query.name_items(run.request.sql);
        if let Some(database) = self.default_database() {
            qualify_query(&mut query, database);
        }
        let found = FoundColumns::default();
        let tables = SessionTables::new(self, &run.context, None).telling(&found);
        let named = self.binder(run.request.sql, &[], &catalog, &run.context, &tables).bind_query(&query)?;
        found.qualify(&mut query);
        let text = query.to_string();
        // It has more parentheses than the statement, which may have been as deep as any.
        squall_parser::parse(&text, &parse_options(run.context.settings.sql_mode)).map_err(parse_error)?;
        Ok(ResolvedView { query: text, columns: named.columns.iter().map(|column| column.name.to_string()).collect() })
    }

    /// SHOW COLUMNS of a view.
    pub(crate) fn view_columns(
        &mut self,
        name: &(String, String),
        full: bool,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Vec<Vec<Value>>> {
        let object = ObjectName { schema: Some(Ident::new(name.0.as_str())), name: Ident::new(name.1.as_str()) };
        let catalog = self.shared.catalog.load();
        let bound = self.bind_query(&select_all(object), b"", &[], &catalog, context, None)?;
        let s = |text: &str| Value::String(text.to_string());
        let mut rows = Vec::with_capacity(bound.columns.len());
        let is_seen = |output: &&OutputColumn| self.identity.access.sees_column(&name.0, &name.1, &output.name);
        for output in bound.columns.iter().filter(is_seen) {
            let column = column_of_output(output);
            let mut row = vec![s(&column.name), s(&squall_system_tables::type_text::type_text(&column.sql_type))];
            if full {
                let collation = column
                    .sql_type
                    .collation()
                    .filter(|_| squall_system_tables::type_text::has_charset(&column.sql_type));
                row.push(collation.map_or(Value::Null, |id| s(id.name())));
            }
            row.extend([s(if column.nullable { "YES" } else { "NO" }), s("")]);
            row.push(information_schema::column_default(&column).map_or(Value::Null, Value::String));
            row.push(s(""));
            if full {
                let own = self.identity.access.on_table(&name.0, &name.1);
                row.extend([s(&information_schema::column_privileges(own)), s("")]);
            }
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Whether a query's outermost items use variables.
fn assigns(query: &Query) -> bool {
    let Some(select) = query.as_select() else { return false };
    let mut found = false;
    for item in &select.items {
        if let SelectItem::Expr(item) = item {
            item.expr.visit(&mut |expr| {
                found |= matches!(expr, Expr::UserVariable(_) | Expr::Assign { .. } | Expr::SystemVariable(_));
            });
        }
    }
    found
}

/// Puts the columns in the place of `*` in each block of a set operation.
fn expand_body(
    body: &mut QueryBody,
    with: Option<&ast::With>,
    bind: &dyn Fn(&Query) -> SqlResult<Vec<OutputColumn>>,
) -> SqlResult<()> {
    match body {
        QueryBody::Select(select) if select.items.iter().any(|item| !matches!(item, SelectItem::Expr(_))) => {
            let block = Query { with: with.cloned(), ..Query::new(QueryBody::Select(select.clone())) };
            expand_wildcards(select, &bind(&block)?);
        }
        QueryBody::SetOperation(operation) => {
            ast::with_stack(|| expand_body(&mut operation.left, with, bind))?;
            expand_body(&mut operation.right, with, bind)?;
        }
        QueryBody::Nested(query) if query.with.is_none() => expand_body(&mut query.body, with, bind)?,
        _ => {}
    }
    Ok(())
}

/// Puts the columns in the place of `*`: a view keeps those it was made with.
fn expand_wildcards(select: &mut ast::Select, outputs: &[OutputColumn]) {
    let plain = select.items.iter().filter(|item| matches!(item, SelectItem::Expr(_))).count();
    let wildcards = select.items.len() - plain;
    let mut outputs = outputs.iter().peekable();
    let mut expanded = Vec::with_capacity(outputs.len());
    let total = outputs.len();
    for item in std::mem::take(&mut select.items) {
        match item {
            SelectItem::Expr(item) => {
                outputs.next();
                expanded.push(SelectItem::Expr(item));
            }
            // One wildcard stands for whatever the other items leave.
            SelectItem::Wildcard | SelectItem::QualifiedWildcard(_) if wildcards == 1 => {
                expanded.extend(outputs.by_ref().take(total - plain).map(column_item));
            }
            SelectItem::QualifiedWildcard(name) => {
                let of_table = |output: &&OutputColumn| {
                    output.origin.as_ref().is_some_and(|origin| *origin.table == *name.name.as_str())
                };
                while let Some(output) = outputs.next_if(of_table) {
                    expanded.push(column_item(output));
                }
            }
            SelectItem::Wildcard => expanded.push(SelectItem::Wildcard),
        }
    }
    select.items = expanded;
}

fn column_item(output: &OutputColumn) -> SelectItem {
    let (table, column) = match &output.origin {
        Some(origin) if !origin.org_name.is_empty() => {
            (Some(Ident::new(&*origin.table)), Ident::new(&*origin.org_name))
        }
        _ => (None, Ident::new(&*output.name)),
    };
    let name = ast::ColumnName { schema: None, table: table.filter(|table| !table.is_empty()), column };
    SelectItem::Expr(Box::new(ast::SelectExpr {
        expr: Expr::Column(Box::new(name)),
        alias: Some(Ident::new(&*output.name)),
        span: Default::default(),
    }))
}

/// Puts the database in front of every table and sequence that has none; names of WITH stay.
/// Gives expressions whose text can be no column's name, being too long for one, MySQL's names for them: `Name_exp_` and their place.
fn name_unnamable_items(body: &mut QueryBody, sql: &[u8]) {
    match body {
        QueryBody::Select(select) => {
            for (item, place) in select.items.iter_mut().zip(1..) {
                if let SelectItem::Expr(item) = item
                    && item.alias.is_none()
                    && check_column_name(&item.column_name(sql)).is_err()
                {
                    item.alias = Some(Ident::new(format!("Name_exp_{place}")));
                }
            }
        }
        QueryBody::SetOperation(operation) => {
            with_stack(|| name_unnamable_items(&mut operation.left, sql));
            with_stack(|| name_unnamable_items(&mut operation.right, sql));
        }
        QueryBody::Nested(query) => with_stack(|| name_unnamable_items(&mut query.body, sql)),
        QueryBody::Table(_) | QueryBody::Values(_) => {}
    }
}

fn qualify_query(query: &mut Query, database: &str) {
    query.for_each_name_mut(&mut |name| {
        if let NameMut::Table(name) | NameMut::Sequence(name) = name
            && name.schema.is_none()
            && !name.name.is("dual")
        {
            name.schema = Some(Ident::new(database));
        }
    });
}
