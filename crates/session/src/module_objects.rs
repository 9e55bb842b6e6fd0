//! Statements about objects of modules.

use crate::database::ModuleObjects;
use crate::result::{Outcome, ResultSet, typed_column};
use crate::session::Session;
use squall_parser::ast::{Show, Statement};
use squall_registry::{NestedResult, StatementContext};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

impl Session {
    fn module_objects(&self) -> impl Iterator<Item = Arc<dyn ModuleObjects>> {
        self.shared.modules.iter().filter_map(|module| module.objects())
    }

    /// CREATE, ALTER or DROP of a module's object.
    ///
    /// # Errors
    /// The module's; 1235 without a module that keeps such objects.
    pub(crate) async fn define_module_object(
        &mut self,
        statement: &Statement,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        let keeper = self.module_objects().find(|objects| objects.defines(statement));
        let keeper =
            keeper.ok_or_else(|| SqlError::unsupported("a statement about objects of a module that is not there"))?;
        let (statement, context) = (statement.clone(), context.clone());
        self.blocking(move |shared| {
            let _alone = shared.ddl.lock();
            keeper.define(&statement, &context)
        })
        .await
        .map(|rows| rows.map_or_else(Outcome::done, |rows| Outcome::Rows(result_set(rows))))
    }

    /// What a module shows; `None` if none knows what is to be shown.
    pub(crate) fn show_of_module(&self, show: &Show, context: &StatementContext) -> Option<SqlResult<ResultSet>> {
        let shown = self.module_objects().find_map(|objects| objects.show(show, context))?;
        Some(shown.map(result_set))
    }
}

fn result_set(rows: NestedResult) -> ResultSet {
    let columns = rows.columns.into_iter().map(|(name, sql_type)| typed_column(&name, sql_type, false)).collect();
    ResultSet { columns, rows: rows.rows }
}
