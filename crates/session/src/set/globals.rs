//! Global values: SET GLOBAL, SET PERSIST and RESET PERSIST carry them out here.

use super::{KeptValues, RunningValues};
use crate::database::{Module, Shared};
use crate::result::Outcome;
use crate::session::Session;
use squall_logs::error_log::{Severity, error_log};
use squall_parser::ast::VariableScope;
use squall_server_state::check::check_kept;
use squall_server_state::globals::GlobalChange;
use squall_server_state::log_settings;
use squall_server_state::variable_origin::VariableOrigin;
use squall_server_state::variables::{Values, ids};
use squall_system_variables::{Action, Effect, VariableId};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::time::Instant;

/// What the global variables of a change make the server do.
struct Actions<'a> {
    shared: &'a Shared,
    /// The variables that change.
    changed: Vec<VariableId>,
}

impl Actions<'_> {
    fn have(&self, action: Action) -> bool {
        let variables = &self.shared.registry.variables;
        self.changed.iter().any(|id| variables.definition(*id).action == action)
    }

    /// Makes the server follow its global values, those of the store and of logs where they may have changed.
    fn follow(&self) -> SqlResult<()> {
        let shared = self.shared;
        shared.globals.follow(|| {
            let resized = self.timed(Action::Resize, || shared.resize());
            shared.apply_statistics_variables();
            shared.apply_account_variables();
            let logged = self.timed(Action::ReconfigureLogs, || shared.apply_log_variables());
            let values = shared.globals.load_values();
            shared.events.set_on(Values(&values).text(ids::EVENT_SCHEDULER) == "ON");
            let told = shared.tell_modules(|module| self.timed_of_module(module));
            resized.and(logged).and(told)
        })
    }

    /// Does what an action is if a variable has it, and notes how long it takes.
    fn timed(&self, action: Action, work: impl FnOnce() -> SqlResult<()>) -> SqlResult<()> {
        if !self.have(action) {
            return Ok(());
        }
        let began = Instant::now();
        work().inspect(|()| self.shared.globals.action_times.note(action, began.elapsed()))
    }

    /// Tells a module. What it cannot follow matters if the change is of its own variables.
    fn timed_of_module(&self, module: &dyn Module) -> SqlResult<()> {
        let variables = &self.shared.registry.variables;
        let is_own = |id: &VariableId| variables.module_of(*id) == Some(module.name());
        if !self.changed.iter().any(is_own) {
            let _told = module.variables_changed();
            return Ok(());
        }
        let began = Instant::now();
        module.variables_changed()?;
        if self.have(Action::MoveListener) {
            self.shared.globals.action_times.note(Action::MoveListener, began.elapsed());
        }
        Ok(())
    }
}

impl Shared {
    /// Calls all modules; the first error of them.
    fn tell_modules(&self, tell: impl Fn(&dyn Module) -> SqlResult<()>) -> SqlResult<()> {
        self.modules.iter().map(|module| tell(&**module)).fold(Ok(()), Result::and)
    }

    /// Gives caches and pools their sizes.
    fn resize(&self) -> SqlResult<()> {
        let before = self.cached_bytes();
        let began = Instant::now();
        let resized = self.apply_store_variables();
        self.plans.resize(Values(&self.globals.load_values()).number(ids::PLAN_CACHE_SIZE));
        let freed = before.saturating_sub(self.cached_bytes());
        if freed > 0 {
            self.globals.action_times.evict.note(freed, began.elapsed());
        }
        resized
    }

    fn cached_bytes(&self) -> u64 {
        [ids::ROW_CACHE_SIZE, ids::COLUMN_CACHE_SIZE, ids::PLAN_CACHE_SIZE]
            .iter()
            .filter_map(|id| self.bytes_in_cache(*id))
            .sum()
    }

    /// As much of the memory that a cache holds as it gives back when it gets another size, bytes.
    pub(super) fn freed_by(&self, id: VariableId, held: u64, size: u64) -> u64 {
        match id {
            // Rows lie in a table whose places change.
            ids::ROW_CACHE_SIZE if size != Values(&self.globals.load_values()).number(id) => held,
            _ => held.saturating_sub(size),
        }
    }

    /// The memory that a cache takes now, by the variable of its size; `None` for other variables.
    pub(super) fn bytes_in_cache(&self, id: VariableId) -> Option<u64> {
        match id {
            ids::ROW_CACHE_SIZE => Some(self.store.row_cache_status().bytes),
            ids::COLUMN_CACHE_SIZE => Some(self.column_cache.status().bytes as u64),
            ids::PLAN_CACHE_SIZE => Some(self.plans.size().bytes),
            _ => None,
        }
    }
}

impl Session {
    /// Global values: all of them hold and are kept, or none. The history gets what the statement has changed.
    pub(super) async fn apply_globals(
        &self,
        globals: &[(VariableId, Value)],
        persisted: KeptValues,
        sql: &[u8],
    ) -> SqlResult<()> {
        if globals.is_empty() && persisted.is_empty() {
            // Sessions that set only their own variables wait for no other.
            return Ok(());
        }
        let shared = &self.shared;
        let origin = VariableOrigin::dynamic(&self.identity.user);
        let old = |id| (id, self.current_value(id, true), shared.globals.origin(id));
        let before: Vec<_> = globals.iter().map(|(id, _)| old(*id)).collect();
        let name = |id| shared.registry.variables.definition(id).name.to_owned();
        let running = globals.iter().zip(&before);
        let mut change = GlobalChange {
            statement: String::from_utf8_lossy(&self.shown(sql)).into_owned(),
            running: running.map(|((id, value), (_, before, _))| (name(*id), before.clone(), value.clone())).collect(),
            persisted,
            error: None,
        };
        if !globals.is_empty() {
            shared.globals.set_by(globals, &origin);
        }
        let actions = Actions { shared, changed: globals.iter().map(|(id, _)| *id).collect() };
        let mut result = if globals.is_empty() { Ok(()) } else { actions.follow() };
        if result.is_ok() {
            result = self.commit_globals(&change, &origin).await;
        }
        if let Err(error) = &result
            && !before.is_empty()
        {
            shared.globals.set_back(&before);
            // What held before could be opened then; if it cannot be any more, the entries of logs are counted as lost.
            let _ = actions.follow();
            change.error = Some(error.message.clone());
            let _noted = self.commit_globals(&change, &origin).await;
        }
        if result.is_ok() && Values(&shared.globals.load_values()).on(ids::OFFLINE_MODE) {
            let began = Instant::now();
            if actions.have(Action::EndConnections) {
                shared.end_connections_of_users();
                shared.globals.action_times.note(Action::EndConnections, began.elapsed());
            }
        }
        result
    }

    /// Keeps what a change keeps, with its entries of the history. Values that only hold do so without an entry, too: a full disk must not
    /// stop the statement that makes room.
    async fn commit_globals(&self, change: &GlobalChange, origin: &VariableOrigin) -> SqlResult<()> {
        let keeps_nothing = change.persisted.is_empty() || change.error.is_some();
        let (change, origin) = (change.clone(), origin.clone());
        let committed = self.blocking(move |shared| shared.globals.commit(&*shared.store, &change, &origin)).await;
        match keeps_nothing {
            true => {
                note_failure(committed);
                Ok(())
            }
            false => committed,
        }
    }

    /// RESET PERSIST: one value is kept no longer, or all.
    pub(crate) async fn reset_persisted(
        &self,
        name: Option<String>,
        if_exists: bool,
        sql: &[u8],
    ) -> SqlResult<Outcome> {
        let persisted = self.kept_by_names(name, if_exists)?;
        self.apply_globals(&[], persisted, sql).await?;
        Ok(Outcome::done())
    }

    /// What RESET PERSIST forgets.
    pub(super) fn kept_by_names(&self, name: Option<String>, if_exists: bool) -> SqlResult<KeptValues> {
        let kept = self.shared.globals.persisted().into_iter().map(|(kept, _)| kept);
        let names: Vec<String> = kept.filter(|kept| name.as_ref().is_none_or(|name| name == kept)).collect();
        match name {
            Some(name) if names.is_empty() && !if_exists => {
                Err(SqlError::new(ErrorCode::PersistedVariableDoesNotExist, &[&name]))
            }
            _ => Ok(names.into_iter().map(|name| (name, None)).collect()),
        }
    }

    /// RESET PERSIST TO VERSION: global values hold and are kept as they did after a change of the history. It is a change itself.
    pub(crate) async fn reset_to_version(&self, version: u64, sql: &[u8]) -> SqlResult<Outcome> {
        let (globals, persisted) = self.values_of_version(version).await?;
        self.apply_globals(&globals, persisted, sql).await?;
        Ok(Outcome::done())
    }

    /// The values that held and were kept after a change of the history, which the session may set.
    pub(super) async fn values_of_version(&self, version: u64) -> SqlResult<(RunningValues, KeptValues)> {
        let values = self.blocking(move |shared| shared.globals.values_at(&*shared.store, version)).await?;
        let registry = &self.shared.registry.variables;
        let engines = self.shared.store.engines();
        for id in values.persisted.iter().filter_map(|(name, _)| registry.find(name)) {
            self.check_set_privilege(registry.definition(id), Some(VariableScope::Persist))?;
        }
        let mut globals = Vec::new();
        for (name, value) in values.running {
            // The module of a variable may be gone.
            let Some(id) = registry.find(&name) else { continue };
            let definition = registry.definition(id);
            self.check_set_privilege(definition, Some(VariableScope::Global))?;
            if matches!(definition.effect, Effect::ReadOnly | Effect::AtStart) {
                continue;
            }
            let value = check_kept(definition, &value, engines, true)?.value;
            log_settings::check_value(&self.shared.directory, id, definition.name, &value)?;
            globals.push((id, value));
        }
        Ok((globals, values.persisted))
    }
}

/// An entry of the history that cannot be written is noted in the error log.
fn note_failure(result: SqlResult<()>) {
    if let Err(error) = result {
        let message = format!("the history of variables cannot be written: {}", error.message);
        error_log().write(Severity::Warning, &message);
    }
}
