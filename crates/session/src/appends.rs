//! Inserts the rows that functions of a statement add to tables. They wait until the statement has succeeded. Then those of each table
//! are inserted at once, in the statement's transaction.

use crate::query::{ChangeEnv, Filling, RowsTable, SessionTables};
use crate::session::Session;
use datafusion::catalog::TableProvider;
use squall_catalog::Catalog;
use squall_definitions::edit::newer_catalog;
use squall_parser::ast::{Ident, LoadDuplicates, ObjectName};
use squall_planner::dml::plan::InsertRows;
use squall_planner::dml::{DmlContext, DmlOptions, DmlPlan, execute};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::sync::Arc;

impl Session {
    /// Inserts the rows that the functions of a statement have left, those of each table at once.
    pub(crate) async fn insert_appended(&mut self, context: &Arc<StatementContext>) -> SqlResult<()> {
        let tables = self.appends.take();
        // Only a single INSERT may be its own transaction.
        let alone = tables.len() == 1;
        for rows in tables {
            self.check_writable()?;
            let name =
                ObjectName { schema: Some(Ident::new(rows.database.as_str())), name: Ident::new(rows.table.as_str()) };
            let columns: Vec<Ident> = rows.columns.iter().map(|column| Ident::new(column.name.as_str())).collect();
            let (rows, _memory) = rows.into_table()?;
            let filling = Filling {
                table: &name,
                partitions: &[],
                columns: &columns,
                duplicates: LoadDuplicates::Default,
                ignore: false,
            };
            let mut catalog = self.shared.catalog.load();
            loop {
                let inserted = self.insert_rows_of(&filling, rows.clone(), alone, &catalog, context).await;
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

    /// Inserts rows that are a table.
    async fn insert_rows_of(
        &mut self,
        filling: &Filling<'_>,
        rows: Arc<dyn TableProvider>,
        alone: bool,
        catalog: &Arc<Catalog>,
        context: &Arc<StatementContext>,
    ) -> SqlResult<()> {
        let tables = SessionTables::new(self, context, Some(rows));
        let plan = {
            let binder = self.binder(b"", &[], catalog, context, &tables);
            let rows = binder.bind_query(&RowsTable::select_all(None))?;
            let plan = self.bind_filling(filling, InsertRows::Query(Box::new(rows)), &binder)?;
            self.security().authorize(DmlPlan::Insert(Box::new(plan)))?
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
