//! Statements on row tables of a store in a temporary directory.

mod changes;
mod foreign_keys;
mod joins;
mod limits;
mod paths;
mod points;
mod small_queries;

use crate::BoundQuery;
use crate::bind::{Binder, KeptParameters, TableRequest, TableResolver, parse_options};
use crate::dml::{DmlBinder, DmlContext, DmlOptions, DmlResult, RulesCache};
use crate::explain::explain_table;
use datafusion::catalog::TableProvider;
use datafusion::logical_expr::LogicalPlan;
use squall_catalog::{
    Authorized, Catalog, ColumnDef, ColumnDefault, ColumnId, ConstraintCheck, Database, DatabaseId, ForeignKey,
    GeneratedKind, IndexDef, IndexId, IndexPart, ReferencedColumns, TableDef, TableEntry, TableId,
};
use squall_executor::access::RowTable;
use squall_executor::env::StatementEnv;
use squall_executor::runtime::{QueryRuntime, RuntimeOptions};
use squall_parser::ast;
use squall_registry::Registry;
use squall_row_store::{RowStore, StoreOptions, TransactionOptions};
use squall_statement_context::{BindSettings, StatementContext};
use squall_test_support::privileges::authorized;
use squall_types::convert::to_text;
use squall_types::{CollationId, SqlMode, SqlResult, SqlType, Value};
use std::sync::Arc;

/// A store with tables, and what statements need to run on it.
struct TestDatabase {
    catalog: Catalog,
    store: Arc<RowStore>,
    runtime: Arc<QueryRuntime>,
    registry: Registry,
    rules: RulesCache,
    sql_mode: SqlMode,
    options: DmlOptions,
    warnings: Vec<String>,
    _directory: tempfile::TempDir,
}

/// What of a query is run.
fn plan_of(query: &Authorized<BoundQuery>) -> Authorized<&LogicalPlan> {
    query.as_ref().part(|query| &query.plan)
}

struct Resolver<'a>(&'a TestDatabase);

impl TableResolver for Resolver<'_> {
    fn base_table(&self, request: &TableRequest<'_>, def: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        let table = RowTable::new(request.database, request.alias, def.clone(), self.0.store.clone())?;
        Ok(Arc::new(table.with_hints(request.hints)))
    }

    fn system_variable(&self, _: &ast::SystemVariable) -> SqlResult<(Value, SqlType)> {
        Ok((Value::Int(1), SqlType::BIGINT))
    }
}

impl TestDatabase {
    fn new(tables: Vec<TableDef>) -> TestDatabase {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = RowStore::open(directory.path().join("rows"), StoreOptions::default()).expect("a store");
        let runtime = QueryRuntime::open(&RuntimeOptions {
            memory_bytes_max: 64 << 20,
            spill_directory: directory.path().join("spill"),
            spill_bytes_max: 1 << 30,
            threads: 2,
            waiting_threads_max: 64,
        })
        .expect("a runtime");
        let mut registry = Registry::default();
        squall_functions::register_all(&mut registry);
        let mut database = Database::new(DatabaseId(1), "test", CollationId::UTF8MB4_0900_AI_CI);
        for (number, mut def) in tables.into_iter().enumerate() {
            def.id = TableId(number as u32 + 1);
            let def = Arc::new(def);
            store.create_data(&def).expect("a table");
            database.tables.insert(def.name.clone(), TableEntry::Table(def));
        }
        let mut catalog = Catalog::default();
        catalog.put_database(database);
        TestDatabase {
            catalog,
            store: Arc::new(store),
            runtime: Arc::new(runtime),
            registry,
            rules: RulesCache::default(),
            sql_mode: SqlMode::DEFAULT,
            options: DmlOptions::default(),
            warnings: Vec::new(),
            _directory: directory,
        }
    }

    fn context(&self) -> Arc<StatementContext> {
        let time_zone = Arc::new(squall_types::temporal::TimeZone::parse("+02:00").expect("a displacement"));
        Arc::new(StatementContext {
            settings: Arc::new(BindSettings { sql_mode: self.sql_mode, time_zone, ..BindSettings::default() }),
            now_micros: 1_700_000_000_123_456,
            ..StatementContext::default()
        })
    }

    fn binder<'a>(&'a self, sql: &'a str, context: &'a Arc<StatementContext>, tables: &'a Resolver<'a>) -> Binder<'a> {
        Binder {
            catalog: &self.catalog,
            default_database: Some("test"),
            registry: &self.registry,
            context,
            tables,
            params: &[],
            text: sql.as_bytes(),
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        }
    }

    /// A query's rows, each as text with `|` between its values.
    fn rows(&self, sql: &str) -> Vec<String> {
        let context = self.context();
        let resolver = Resolver(self);
        let binder = self.binder(sql, &context, &resolver);
        let ast::Statement::Query(query) = parse(sql) else { panic!("not a query: {sql}") };
        let bound = authorized(binder.bind_query(&query).expect("binds"));
        let env = self.env(&context);
        let mut stream = futures::executor::block_on(self.runtime.query(&env, plan_of(&bound))).expect("plans");
        let types = crate::dml::plan::column_types(&bound);
        let mut rows = Vec::new();
        while let Some(batch) = stream.next_blocking() {
            let batch = batch.expect("runs");
            for row in 0..batch.num_rows() {
                let texts: Vec<String> = batch
                    .columns()
                    .iter()
                    .zip(&types)
                    .map(|(array, sql_type)| {
                        match squall_functions::arrow_map::value_at(array.as_ref(), row, sql_type).expect("a value") {
                            Value::Null => "NULL".to_string(),
                            value => to_text(&value, sql_type),
                        }
                    })
                    .collect();
                rows.push(texts.join("|"));
            }
        }
        rows
    }

    fn env(&self, context: &Arc<StatementContext>) -> Arc<StatementEnv> {
        let catalog = Arc::new(self.catalog.clone());
        Arc::new(StatementEnv::new(context.clone(), catalog, self.store.clone(), Some(self.store.read_view())))
    }

    /// The `type:key:Extra` of each line of EXPLAIN.
    fn explain(&self, sql: &str) -> Vec<String> {
        let context = self.context();
        let resolver = Resolver(self);
        let binder = self.binder(sql, &context, &resolver);
        let ast::Statement::Query(query) = parse(sql) else { panic!("not a query: {sql}") };
        let bound = authorized(binder.bind_query(&query).expect("binds"));
        let plan = futures::executor::block_on(self.runtime.plan_on_pool(&self.env(&context), plan_of(&bound)))
            .expect("plans");
        explain_table(&plan)
            .into_iter()
            .map(|row| {
                format!(
                    "{}:{}:{}:{}",
                    row.table.unwrap_or_default(),
                    row.access_type.unwrap_or_default(),
                    row.key.unwrap_or_default(),
                    row.extra.join("; ")
                )
            })
            .collect()
    }

    /// EXPLAIN ANALYZE.
    fn tree(&self, sql: &str) -> String {
        let context = self.context();
        let resolver = Resolver(self);
        let ast::Statement::Query(query) = parse(sql) else { panic!("not a query: {sql}") };
        let bound = authorized(self.binder(sql, &context, &resolver).bind_query(&query).expect("binds"));
        let env = self.env(&context);
        let plan = futures::executor::block_on(self.runtime.plan_on_pool(&env, plan_of(&bound))).expect("plans");
        let mut stream = self.runtime.run(&env, plan.clone());
        while let Some(batch) = stream.next_blocking() {
            batch.expect("runs");
        }
        crate::explain::explain_tree(&plan, true)
    }

    /// Carries a data change out in a transaction of its own.
    fn change(&mut self, sql: &str) -> Result<DmlResult, String> {
        let context = self.context();
        let result = self.change_in(sql, &context);
        self.warnings = context
            .diagnostics
            .take()
            .into_iter()
            .map(|warning| format!("{:?} {} {}", warning.level, warning.error.code, warning.error.message))
            .collect();
        result.map_err(|error| format!("{} {}", error.code, error.message))
    }

    fn change_in(&self, sql: &str, context: &Arc<StatementContext>) -> SqlResult<DmlResult> {
        let resolver = Resolver(self);
        let binder = self.binder(sql, context, &resolver);
        let dml = DmlBinder::new(&binder, &*self.store, &self.rules);
        let plan = authorized(dml.bind(&parse(sql))?);
        let mut transaction = self.store.begin_with(TransactionOptions::autocommit(), None);
        transaction.begin_statement(self.options.lock_wait);
        let result = crate::dml::execute(
            &mut DmlContext {
                env: &self.env(context),
                runtime: &self.runtime,
                transaction: &mut transaction,
                parameters: &[],
                options: self.options,
                rules: &self.rules,
                registry: &self.registry,
                newer_rules: crate::dml::StatementRules::default(),
            },
            plan.as_ref(),
        )?;
        transaction.commit()?;
        Ok(result)
    }

    /// A change that succeeds; its affected rows and info.
    fn ok(&mut self, sql: &str) -> (u64, String) {
        let result = self.change(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        (result.affected_rows, result.info_text(self.warnings.len() as u64))
    }

    /// A change that fails; its code.
    fn fails(&mut self, sql: &str) -> String {
        match self.change(sql) {
            Ok(result) => panic!("{sql} succeeded: {result:?}"),
            Err(error) => error,
        }
    }
}

fn parse(sql: &str) -> ast::Statement {
    squall_parser::parse(sql, &parse_options(SqlMode::DEFAULT)).expect("parses").statement
}

/// A table whose columns are `(name, type, nullable)`; the first `key` of them are its primary key.
fn table(name: &str, columns: &[(&str, SqlType, bool)], key: usize) -> TableDef {
    let columns: Vec<ColumnDef> = columns
        .iter()
        .enumerate()
        .map(|(number, (name, sql_type, nullable))| ColumnDef {
            id: ColumnId(number as u32 + 1),
            name: (*name).into(),
            sql_type: sql_type.clone(),
            nullable: *nullable,
            default: ColumnDefault::None,
            on_update_now: false,
            auto_increment: false,
            generated: None,
            invisible: false,
            comment: String::new(),
            value_for_older_rows: Value::Null,
        })
        .collect();
    let next_column_id = columns.len() as u32 + 1;
    let mut def = TableDef {
        id: TableId(0),
        name: name.into(),
        version: 1,
        columns,
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: String::new(),
        engine: squall_catalog::EngineName::ROWS,
        auto_increment_start: 1,
        options: Vec::new(),
        next_column_id,
        next_index_id: 1,
        created_micros: 0,
        temporary: false,
    };
    if key > 0 {
        let names: Vec<String> = def.columns[..key].iter().map(|column| column.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        def = with_index(def, "PRIMARY", &names, true);
    }
    def
}

fn with_index(mut def: TableDef, name: &str, columns: &[&str], unique: bool) -> TableDef {
    let parts = columns.iter().map(|column| IndexPart::of(def.column(column).expect("a column").1.id)).collect();
    let id = IndexId(def.next_index_id);
    def.next_index_id += 1;
    def.indexes.push(IndexDef { unique, primary: name == "PRIMARY", ..IndexDef::new(id, name, parts) });
    def
}

fn with_column(mut def: TableDef, name: &str, change: impl FnOnce(&mut ColumnDef)) -> TableDef {
    let at = def.column(name).expect("a column").0;
    change(&mut def.columns[at]);
    def
}

fn with_check(mut def: TableDef, name: &str, expression: &str) -> TableDef {
    def.checks.push(ConstraintCheck { name: name.into(), expression: expression.into(), enforced: true });
    def
}

fn with_foreign_key(mut def: TableDef, column: &str, parent: &str, change: impl FnOnce(&mut ForeignKey)) -> TableDef {
    let mut key = ForeignKey {
        name: format!("{}_ibfk_1", def.name),
        columns: vec![def.column(column).expect("a column").1.id],
        parent_database: "test".into(),
        parent_table: parent.into(),
        parent_columns: ReferencedColumns::Names(vec!["id".into()]),
        on_delete: squall_catalog::ReferentialAction::NoAction,
        on_update: squall_catalog::ReferentialAction::NoAction,
    };
    change(&mut key);
    def.foreign_keys.push(key);
    def
}

fn generated(expression: &str) -> Option<GeneratedKind> {
    Some(GeneratedKind { expression: expression.into(), stored: true, key_part: None })
}

fn text(length: u32) -> SqlType {
    SqlType::varchar(length, CollationId::UTF8MB4_0900_AI_CI)
}
