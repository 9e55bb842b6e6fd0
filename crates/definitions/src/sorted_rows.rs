//! The rows of a table in an order, for ALTER TABLE … ORDER BY.

use crate::data_type::{TypeRules, resolve_type};
use crate::execute::DdlEnv;
use datafusion::catalog::TableProvider;
use squall_catalog::{Need, Privileges, TableDef, Touches};
use squall_executor::StatementEnv;
use squall_executor::access::RowTable;
use squall_parser::ast::{
    ColumnName, DataType, Expr, Ident, ObjectName, OrderItem, Query, QueryBody, Select, SelectExpr, SelectItem,
    SystemVariable, TableFactor, TableReference,
};
use squall_planner::dml::query::for_each_row;
use squall_planner::{Binder, BoundQuery, KeptParameters, TableRequest, TableResolver};
use squall_server_state::ServerState;
use squall_system_tables::with_subject;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Calls `take` for each row of a table, as it is stored, in an order.
///
/// # Errors
/// 1054 for unknown columns, and errors of `take`.
pub fn for_each_sorted_row(
    state: &ServerState,
    env: &DdlEnv,
    database: &str,
    table: &Arc<TableDef>,
    order: &[OrderItem],
    mut take: impl FnMut(Vec<Value>) -> SqlResult<()>,
) -> SqlResult<()> {
    let catalog = state.catalog.load();
    let tables = OneTable { state, env, database, table };
    let binder = Binder {
        catalog: &catalog,
        default_database: Some(database),
        registry: &state.registry,
        context: &env.context,
        tables: &tables,
        params: &[],
        text: b"",
        kept_parameters: KeptParameters::None,
        insert_values: None,
        source_subqueries: &[],
        row_keys_of_views: false,
        change_locks: Default::default(),
    };
    let query = binder.bind_query(&select_of(database, table, order))?;
    let rows = OrderedRows { query, database, table };
    let rows = with_subject(state, env.who(), |subject| subject.authorize(rows))?;
    let types: Vec<SqlType> = table.named_columns().iter().map(|column| column.sql_type.clone()).collect();
    let store = state.store.clone();
    let view = store.read_view();
    let statement = Arc::new(StatementEnv::new(env.context.clone(), catalog.clone(), store, Some(view)));
    let zone = &env.context.settings.time_zone;
    let each = |mut row: Vec<Value>| {
        for (value, sql_type) in row.iter_mut().zip(&types) {
            // Queries give local time, tables hold UTC.
            if let (Value::DateTime(at), SqlType::Timestamp { .. }) = (value, sql_type)
                && !at.is_zero()
            {
                *at = zone.to_utc(*at).unwrap_or(*at);
            }
        }
        // Hidden columns are computed again.
        row.resize(table.columns.len(), Value::Null);
        take(row).map_err(Into::into)
    };
    let query = rows.as_ref().part(|rows| &rows.query);
    for_each_row(&state.runtime, &statement, query, &types, each).map_err(SqlError::from)
}

/// The rows of a table that is altered, which needs no SELECT privilege.
struct OrderedRows<'a> {
    query: BoundQuery,
    database: &'a str,
    table: &'a TableDef,
}

impl Touches for OrderedRows<'_> {
    fn needs(&self) -> Vec<Need> {
        let is_other = |need: &Need| {
            (need.database_name(), need.table_name()) != (Some(self.database), Some(self.table.name.as_str()))
        };
        let mut needs: Vec<Need> = self.query.needs().into_iter().filter(is_other).collect();
        if !self.table.temporary {
            needs.push(Need::table(self.database, &self.table.name, Privileges::ALTER, ""));
        }
        needs
    }
}

/// The table whose rows are put in order, which may be a TEMPORARY one, and no other.
struct OneTable<'a> {
    state: &'a ServerState,
    env: &'a DdlEnv,
    database: &'a str,
    table: &'a Arc<TableDef>,
}

impl TableResolver for OneTable<'_> {
    fn base_table(&self, request: &TableRequest<'_>, definition: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        if definition.id != self.table.id {
            return Err(SqlError::unsupported("another table in ORDER BY of ALTER TABLE"));
        }
        Ok(Arc::new(RowTable::new(request.database, request.alias, definition.clone(), self.state.store.clone())?))
    }

    fn temporary_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        (database == self.database && name == self.table.name).then(|| self.table.clone())
    }

    fn column_type(&self, data_type: &DataType, name: &str) -> SqlResult<SqlType> {
        let settings = &self.env.context.settings;
        resolve_type(data_type, name, TypeRules { collation: settings.collation, sql_mode: settings.sql_mode })
    }

    fn system_variable(&self, _: &SystemVariable) -> SqlResult<(Value, SqlType)> {
        Err(SqlError::unsupported("a variable in ORDER BY of ALTER TABLE"))
    }
}

/// `SELECT every, named, column FROM table ORDER BY order`.
fn select_of(database: &str, table: &TableDef, order: &[OrderItem]) -> Query {
    let item = |name: &str| {
        let column = ColumnName { schema: None, table: None, column: Ident::new(name) };
        let expr = Expr::Column(Box::new(column));
        SelectItem::Expr(Box::new(SelectExpr { expr, alias: None, span: Default::default() }))
    };
    let factor = TableFactor {
        name: ObjectName { schema: Some(Ident::new(database)), name: Ident::new(table.name.as_str()) },
        partitions: Vec::new(),
        alias: None,
        hints: Vec::new(),
    };
    let select = Select {
        items: table.named_columns().iter().map(|column| item(&column.name)).collect(),
        from: vec![TableReference::Table(Box::new(factor))],
        ..Default::default()
    };
    Query { order_by: order.to_vec(), ..Query::new(QueryBody::Select(squall_parser::ast::Deep::new(select))) }
}
