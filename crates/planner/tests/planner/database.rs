//! A database in memory, with as much of CREATE TABLE, CREATE VIEW and INSERT as the tests need.

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::physical_plan::collect;
use squall_catalog::{
    Catalog, ColumnDef, ColumnDefault, ColumnId, Database, DatabaseId, IndexDef, IndexId, IndexPart, TableDef,
    TableEntry, TableId, ViewDef,
};
use squall_executor::StatementEnv;
use squall_executor::engine::{EngineOptions, physical_plan, session_state, task_context};
use squall_functions::arrow_map::{ValueArrayBuilder, field_for, value_at};
use squall_functions::build::ExprBuilder;
use squall_functions::expr::EmptyRow;
use squall_parser::ast;
use squall_parser::{ParseOptions, parse};
use squall_planner::bind::{Binder, KeptParameters, TableRequest, TableResolver};
use squall_registry::{Coercibility, ExprType, Registry};
use squall_row_store::{RowStore, StoreOptions};
use squall_statement_context::StatementContext;
use squall_test_support::privileges::authorized;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, StringKind, TextSize, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The database.
pub struct TestDatabase {
    catalog: Catalog,
    registry: Registry,
    rows: HashMap<TableId, Vec<Vec<Value>>>,
    context: Arc<StatementContext>,
    runtime: tokio::runtime::Runtime,
    /// Statements have one, which nothing is in here.
    store: Arc<RowStore>,
    _directory: tempfile::TempDir,
}

impl TableResolver for TestDatabase {
    fn base_table(&self, _request: &TableRequest<'_>, definition: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        let schema = schema_of(definition);
        let rows = self.rows.get(&definition.id).map(Vec::as_slice).unwrap_or_default();
        let columns = definition
            .columns
            .iter()
            .enumerate()
            .map(|(ordinal, column)| {
                let mut builder = ValueArrayBuilder::new(&column.sql_type, rows.len());
                for row in rows {
                    builder.append(&row[ordinal])?;
                }
                Ok(builder.finish())
            })
            .collect::<SqlResult<Vec<_>>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(SqlError::internal)?;
        Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]]).map_err(SqlError::internal)?))
    }

    fn system_variable(&self, variable: &ast::SystemVariable) -> SqlResult<(Value, SqlType)> {
        match variable.name.as_str() {
            "answer" => Ok((Value::Int(42), SqlType::BIGINT)),
            name => Err(SqlError::new(ErrorCode::UnknownSystemVariable, &[&name])),
        }
    }
}

impl TestDatabase {
    /// An empty one.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        squall_functions::aggregate::register(&mut registry);
        let database = Database::new(DatabaseId(1), "test", CollationId::UTF8MB4_0900_AI_CI);
        let mut catalog = Catalog::default();
        catalog.put_database(database);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let directory = tempfile::tempdir().expect("a directory");
        let store = RowStore::open(directory.path().join("rows"), StoreOptions::default()).expect("a store");
        let (rows, context) = (HashMap::new(), Arc::default());
        Self { catalog, registry, rows, context, runtime, store: Arc::new(store), _directory: directory }
    }

    /// Runs a statement; rows as lines of text under a line of names.
    pub fn run(&mut self, sql: &str) -> SqlResult<String> {
        let sql = sql.trim().trim_end_matches(';');
        let statement = parse(sql, &ParseOptions::default())
            .map_err(|error| SqlError::new(ErrorCode::Parse, &[&format!("{error:?}"), &1]))?
            .statement;
        match statement {
            ast::Statement::Query(query) => self.query(sql, &query),
            ast::Statement::CreateTable(create) => self.create_table(&create).map(|()| String::new()),
            ast::Statement::CreateView(create) => {
                let text = &sql[sql.to_ascii_uppercase().find(" AS ").map_or(0, |at| at + 4)..];
                let view = ViewDef {
                    name: create.name.name.value.to_string(),
                    query: text.to_string(),
                    columns: create.columns.iter().map(|column| column.value.to_string()).collect(),
                    algorithm: "UNDEFINED".to_string(),
                    definer: "root@localhost".to_string(),
                    security_invoker: false,
                    check_option: "NONE".to_string(),
                    sql_mode: 0,
                };
                self.add(TableEntry::View(Arc::new(view)));
                Ok(String::new())
            }
            ast::Statement::Insert(insert) => self.insert(&insert).map(|()| String::new()),
            ast::Statement::Set(_) => {
                let mut context = StatementContext::default();
                if let Some((_, mode)) = sql.split_once("sql_mode = ") {
                    Arc::make_mut(&mut context.settings).sql_mode =
                        squall_types::SqlMode::parse(mode.trim_matches('\'')).unwrap_or_default();
                }
                self.context = Arc::new(context);
                Ok(String::new())
            }
            _ => Err(SqlError::unsupported("this statement in tests")),
        }
    }

    fn binder<'a>(&'a self, text: &'a [u8]) -> Binder<'a> {
        Binder {
            catalog: &self.catalog,
            default_database: Some("test"),
            registry: &self.registry,
            context: &self.context,
            tables: self,
            params: &[],
            text,
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        }
    }

    /// Binds a query without running it.
    pub fn bind(&self, sql: &str) -> SqlResult<()> {
        let parsed = parse(sql, &ParseOptions::default())
            .map_err(|error| SqlError::new(ErrorCode::Parse, &[&format!("{error:?}"), &1]))?;
        let ast::Statement::Query(query) = parsed.statement else { return Err(SqlError::internal("not a query")) };
        self.binder(sql.as_bytes()).bind_query(&query).map(|_| ())
    }

    fn query(&self, sql: &str, query: &ast::Query) -> SqlResult<String> {
        let bound = authorized(self.binder(sql.as_bytes()).bind_query(query)?);
        let mut state = session_state(&EngineOptions::default());
        let catalog = Arc::new(self.catalog.clone());
        let env = StatementEnv::new(self.context.clone(), catalog, self.store.clone(), None);
        state.config_mut().set_extension(Arc::new(env.with_slot(bound.slot.clone())));
        let batches = self.runtime.block_on(async {
            let plan = physical_plan(bound.as_ref().part(|bound| &bound.plan), &state).await?;
            collect(plan, task_context(&state)).await.map_err(squall_functions::expr::sql_error_from)
        })?;
        let names: Vec<&str> = bound.columns.iter().map(|column| &*column.name).collect();
        let mut text = names.join("|") + "\n";
        for batch in &batches {
            assert_eq!(batch.num_columns(), bound.columns.len(), "columns of {sql}");
            for row in 0..batch.num_rows() {
                let mut values = Vec::with_capacity(bound.columns.len());
                for (column, array) in bound.columns.iter().zip(batch.columns()) {
                    let value = value_at(array, row, &column.expr_type.sql_type)?;
                    values.push(match value {
                        Value::Null => "NULL".to_string(),
                        value => squall_types::convert::to_text(&value, &column.expr_type.sql_type),
                    });
                }
                text.push_str(&values.join("|"));
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn add(&mut self, entry: TableEntry) {
        assert!(self.catalog.put_entry("test", entry), "the database is there");
    }

    fn create_table(&mut self, create: &ast::CreateTable) -> SqlResult<()> {
        let mut columns = Vec::new();
        let mut indexes = Vec::new();
        for (number, column) in create.columns.iter().enumerate() {
            let id = ColumnId(number as u32);
            if column.primary_key {
                indexes.push(primary_key(vec![id]));
            }
            columns.push(ColumnDef {
                id,
                name: column.name.value.to_string(),
                sql_type: sql_type(&column.data_type)?,
                nullable: !column.primary_key && column.nullable.unwrap_or(true),
                default: ColumnDefault::None,
                on_update_now: false,
                auto_increment: false,
                generated: None,
                invisible: column.visible == Some(false),
                comment: String::new(),
                value_for_older_rows: Value::Null,
            });
        }
        let table = TableDef {
            id: TableId(self.catalog.databases()["test"].tables.len() as u32 + 1),
            name: create.name.name.value.to_string(),
            version: 1,
            columns,
            indexes,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
            collation: CollationId::UTF8MB4_0900_AI_CI,
            comment: String::new(),
            engine: squall_catalog::EngineName::ROWS,
            auto_increment_start: 1,
            options: Vec::new(),
            next_column_id: 100,
            next_index_id: 1,
            created_micros: 0,
            temporary: false,
        };
        self.add(TableEntry::Table(Arc::new(table)));
        Ok(())
    }

    fn insert(&mut self, insert: &ast::Insert) -> SqlResult<()> {
        let table = Arc::clone(self.catalog.table("test", &insert.table.name).expect("the table"));
        let ast::InsertSource::Values(source) = &insert.source else {
            return Err(SqlError::unsupported("this INSERT"));
        };
        let mut added = Vec::new();
        for row in &source.trees {
            let bound = self.binder(b"").bind_exprs(row, &[])?;
            let values = bound
                .into_iter()
                .zip(&table.columns)
                .map(|(expr, column)| {
                    let target = ExprType {
                        sql_type: column.sql_type.clone(),
                        nullable: true,
                        coercibility: Coercibility::Implicit,
                    };
                    let converted = ExprBuilder::new(&self.registry, &self.context).convert(expr, &target)?;
                    converted.eval(&EmptyRow, &self.context)
                })
                .collect::<SqlResult<Vec<_>>>()?;
            added.push(values);
        }
        self.rows.entry(table.id).or_default().extend(added);
        Ok(())
    }
}

fn primary_key(columns: Vec<ColumnId>) -> IndexDef {
    IndexDef::primary(IndexId(0), columns.into_iter().map(IndexPart::of).collect())
}

fn schema_of(definition: &TableDef) -> SchemaRef {
    let fields: Vec<_> = definition
        .columns
        .iter()
        .map(|column| {
            let ty = ExprType {
                sql_type: column.sql_type.clone(),
                nullable: column.nullable,
                coercibility: Coercibility::Implicit,
            };
            field_for(&column.name, &ty)
        })
        .collect();
    Arc::new(Schema::new(fields))
}

fn sql_type(data_type: &ast::DataType) -> SqlResult<SqlType> {
    let collation = |characters: &ast::CharacterAttributes| match &characters.collation {
        Some(name) => CollationId::from_name(name).expect("a collation"),
        None => CollationId::UTF8MB4_0900_AI_CI,
    };
    Ok(match data_type {
        ast::DataType::Integer { kind: ast::IntegerKind::Int, sign, .. } if !sign.unsigned => SqlType::INT,
        ast::DataType::Integer { sign, .. } if sign.unsigned => SqlType::BIGINT_UNSIGNED,
        ast::DataType::Integer { .. } => SqlType::BIGINT,
        ast::DataType::Decimal { precision, scale, .. } => {
            SqlType::decimal(precision.unwrap_or(10) as u8, scale.unwrap_or(0) as u8)
        }
        ast::DataType::Double { .. } => SqlType::DOUBLE,
        ast::DataType::Varchar { length, characters } => SqlType::varchar(*length as u32, collation(characters)),
        ast::DataType::Text { characters, .. } => SqlType::String {
            kind: StringKind::Text(TextSize::Normal),
            length: 65_535,
            collation: collation(characters),
        },
        ast::DataType::Date => SqlType::Date,
        ast::DataType::DateTime { .. } => SqlType::DateTime { fsp: 0 },
        other => return Err(SqlError::unsupported(format!("{other:?} in tests"))),
    })
}
