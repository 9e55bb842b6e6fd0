//! Inserts the rows that functions of a statement add to tables. They wait until the statement has succeeded. Then one INSERT for each
//! table adds them, in the statement's transaction.

use crate::query::{ChangeEnv, RowsTable, SessionTables};
use crate::session::Session;
use datafusion::catalog::TableProvider;
use squall_catalog::Catalog;
use squall_definitions::edit::newer_catalog;
use squall_parser::ast::{Ident, Insert, InsertSource, ObjectName, Statement};
use squall_planner::dml::{DmlBinder, DmlContext, DmlOptions, execute};
use squall_registry::{AppendColumn, StatementContext};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::sync::Arc;

impl Session {
    /// Inserts the rows that the functions of a statement have left, each table's by one INSERT.
    pub(crate) async fn insert_appended(&mut self, context: &Arc<StatementContext>) -> SqlResult<()> {
        let tables = self.appends.take();
        // Only a single INSERT may be its own transaction.
        let alone = tables.len() == 1;
        for rows in tables {
            self.check_writable()?;
            let statement = insert_of(&rows.database, &rows.table, &rows.columns);
            let (rows, _memory) = rows.into_table()?;
            self.check_names(&statement)?;
            let mut catalog = self.shared.catalog.load();
            loop {
                let inserted = self.insert_rows_of(&statement, rows.clone(), alone, &catalog, context).await;
                let Err(error) = inserted else { break };
                // A definition has come in between; the catalog of now knows it, if that is another one.
                let newer = match error.is(ErrorCode::DoesNotSupportSchemaChange) {
                    true => newer_catalog(&self.shared, catalog.version),
                    false => return Err(error),
                };
                if newer.version == catalog.version {
                    return Err(error);
                }
                context.kill.check()?;
                catalog = newer;
            }
        }
        Ok(())
    }

    /// Carries out an INSERT of rows that are a table.
    async fn insert_rows_of(
        &mut self,
        statement: &Statement,
        rows: Arc<dyn TableProvider>,
        alone: bool,
        catalog: &Arc<Catalog>,
        context: &Arc<StatementContext>,
    ) -> SqlResult<()> {
        let tables = SessionTables::new(self, context, Some(rows));
        let plan = {
            let binder = self.binder(b"", &[], catalog, context, &tables);
            self.security()
                .authorize(DmlBinder::new(&binder, &*self.shared.store, &self.shared.rules).bind(statement)?)?
        };
        let bulk_session = (alone && self.reads_committed_now()).then_some(self.process.id);
        self.begin_statement_transaction();
        let env = ChangeEnv {
            shared: self.shared.clone(),
            context: context.clone(),
            catalog: catalog.clone(),
            parameters: Cow::Borrowed(&[]),
            options: DmlOptions { bulk_session, ..self.dml_options(self.lock_wait()) },
        };
        let insert = move |dml: &mut DmlContext<'_>| execute(dml, plan.as_ref()).map_err(SqlError::from);
        self.change_on_pool(env, insert).await.map(|_| ())
    }
}

/// `INSERT INTO database.table (columns) SELECT * FROM rows`.
fn insert_of(database: &str, table: &str, columns: &[AppendColumn]) -> Statement {
    Statement::Insert(Box::new(Insert {
        replace: false,
        hints: None,
        priority: None,
        ignore: false,
        table: ObjectName { schema: Some(Ident::new(database)), name: Ident::new(table) },
        partitions: Vec::new(),
        columns: columns.iter().map(|column| Ident::new(column.name.as_str())).collect(),
        source: InsertSource::Query(Box::new(RowsTable::select_all(None))),
        row_alias: None,
        on_duplicate: Vec::new(),
        returning: Vec::new(),
    }))
}
