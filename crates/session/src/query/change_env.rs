//! The environment of a change of rows, besides its transaction, on any thread.

use crate::database::Shared;
use crate::session::{Session, StatementRun};
use squall_catalog::Catalog;
use squall_executor::StatementEnv;
use squall_planner::dml::{DmlContext, DmlOptions, StatementRules};
use squall_row_store::{ReadView, Transaction};
use squall_statement_context::StatementContext;
use squall_types::{SqlError, SqlResult, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The environment of a change beside its transaction.
pub(crate) struct ChangeEnv<'p> {
    pub shared: Arc<Shared>,
    /// The statement's.
    pub context: Arc<StatementContext>,
    /// The catalog that the change was bound with.
    pub catalog: Arc<Catalog>,
    pub parameters: Cow<'p, [Value]>,
    pub options: DmlOptions,
}

impl ChangeEnv<'_> {
    /// The context of its expressions and queries.
    pub fn statement_env(&self, view: Option<ReadView>) -> StatementEnv {
        StatementEnv::new(self.context.clone(), self.catalog.clone(), self.shared.store.clone(), view)
    }

    /// Does something in a transaction.
    pub fn run<T>(self, transaction: &mut Transaction, work: impl FnOnce(&mut DmlContext<'_>) -> T) -> T {
        let ChangeEnv { shared, context, catalog, parameters, options } = self;
        // Moved: all sessions count references to the catalog.
        let env = Arc::new(StatementEnv::new(context, catalog, shared.store.clone(), None));
        work(&mut dml_context(&shared, &env, transaction, &parameters, options))
    }

    /// The same with a [`ChangeEnv::statement_env`].
    pub fn run_with<T>(
        &self,
        env: &Arc<StatementEnv>,
        transaction: &mut Transaction,
        work: impl FnOnce(&mut DmlContext<'_>) -> T,
    ) -> T {
        work(&mut dml_context(&self.shared, env, transaction, &self.parameters, self.options))
    }
}

fn dml_context<'a>(
    shared: &'a Shared,
    env: &'a Arc<StatementEnv>,
    transaction: &'a mut Transaction,
    parameters: &'a [Value],
    options: DmlOptions,
) -> DmlContext<'a> {
    let (runtime, rules, registry) = (&shared.runtime, &shared.rules, &*shared.registry);
    DmlContext {
        env,
        runtime,
        transaction,
        parameters,
        options,
        rules,
        registry,
        newer_rules: StatementRules::default(),
    }
}

impl Session {
    /// For a change that may wait for locks, on another thread.
    pub(crate) fn change_env(&self, run: &StatementRun<'_>, catalog: Arc<Catalog>) -> ChangeEnv<'static> {
        ChangeEnv {
            shared: self.shared.clone(),
            context: run.context.clone(),
            catalog,
            parameters: run.request.parameters.to_vec().into(),
            options: self.dml_options(self.lock_wait()),
        }
    }

    /// Does something in the statement's transaction, on a thread that may block. The statement's programs have the session's state
    /// meanwhile, if they have been opened.
    pub(crate) async fn change_on_pool<T: Send + 'static>(
        &mut self,
        env: ChangeEnv<'static>,
        work: impl FnOnce(&mut DmlContext<'_>) -> SqlResult<T> + Send + 'static,
    ) -> SqlResult<T> {
        let place = self.shared.runtime.waiting_threads().take()?;
        let Some(mut transaction) = self.transaction.take() else {
            return Err(SqlError::internal("a statement without its transaction"));
        };
        let context = env.context.clone();
        self.lend_state(&context);
        let task = self.shared.runtime.spawn_waiting(place, move || {
            let result = env.run(&mut transaction, work);
            (transaction, result)
        });
        let done = task.await;
        self.take_state_back(&context).await?;
        match done {
            Ok((transaction, result)) => {
                self.transaction.put_back(transaction);
                result
            }
            // The transaction went down with the panic and is rolled back.
            Err(error) => Err(SqlError::internal(format_args!("statement failed: {error}"))),
        }
    }
}
