//! SET: system variables, user variables, character sets, transactions, passwords and roles.

mod explain;
mod for_statement;
mod globals;
mod related;

use crate::result::Outcome;
use crate::result::writer::SessionChange;
use crate::session::{Session, SessionState, StatementRun};
use squall_catalog::{AccountKey, NameKey};
use squall_parser::ast::{Expr, Ident, Set, SetItem, SystemVariable, VariableScope};
use squall_server_state::accounts::AccountStore;
use squall_server_state::check::{self, check, merge_switches};
use squall_server_state::key_caches::{DEFAULT_CACHE, is_of_key_cache};
use squall_server_state::log_settings;
use squall_server_state::variables::{Values, alias, ids};
use squall_statement_context::{StatementContext, held_by_variable};
use squall_system_variables::{DefaultValue, Effect, Kind, Scope, VariableDef, VariableId, VariableRegistry};
use squall_types::{Charset, CollationId, ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::sync::atomic::Ordering;

/// An assignment whose value has been checked, to be carried out together with the others.
enum Assignment {
    User {
        name: NameKey,
        value: Value,
        sql_type: SqlType,
    },
    Session {
        id: VariableId,
        value: Value,
    },
    Global {
        id: VariableId,
        value: Value,
        persist: Persist,
    },
    /// A variable of a key cache with a name.
    KeyCache {
        cache: String,
        variable: &'static str,
        value: u64,
    },
}

/// Variables for which SET … = DEFAULT has no value (1230).
const NO_DEFAULT: &[&str] = &["gtid_purged", "identity", "insert_id", "last_insert_id", "rand_seed1", "rand_seed2"];

/// What the binary log would have of a transaction: a session sets it between transactions.
const BETWEEN_TRANSACTIONS: &[&str] = &[
    "binlog_direct_non_transactional_updates",
    "binlog_format",
    "binlog_row_value_options",
    "binlog_rows_query_log_events",
    "binlog_transaction_compression",
    "binlog_transaction_compression_level_zstd",
    "gtid_next",
    "sql_log_bin",
];

/// Global values that hold from now on.
type RunningValues = Vec<(VariableId, Value)>;

/// Names and values that are kept for the next start; `None` is kept no longer.
type KeptValues = Vec<(String, Option<Value>)>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Persist {
    No,
    Also,
    Only,
}

impl Session {
    /// SET in all its forms.
    pub(crate) async fn run_set(&mut self, set: &Set, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        match set {
            Set::Items(items) => self.set_items(items, run).await,
            Set::Transaction { scope, characteristics } => {
                self.set_transaction(*scope, *characteristics, run.request.sql).await
            }
            Set::Password(password) => Box::pin(self.set_password(password)).await,
            Set::Role(roles) => self.set_role(roles),
            Set::DefaultRole(default) => Box::pin(self.set_default_role(default)).await,
            Set::ResourceGroup { .. } => Err(SqlError::unsupported("SET RESOURCE GROUP")),
            // It has an answer of its own.
            Set::Statement { .. } => Err(SqlError::unsupported("SET STATEMENT inside of a SET")),
            Set::SessionAuthorization(_) => Err(SqlError::unsupported("SET SESSION AUTHORIZATION")),
        }
    }

    async fn set_items(&mut self, items: &[SetItem], run: &StatementRun<'_>) -> SqlResult<Outcome> {
        let mut assignments = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SetItem::User { name, value } => assignments.push(self.user_assignment(name, value, run).await?),
                SetItem::System { variable, value } if self.is_local(variable) => {
                    let (value, sql_type) =
                        self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?;
                    // In the order written: the next may use it.
                    self.set_local(&variable.name.value, (value, &sql_type), &run.context)?;
                }
                SetItem::System { variable, value } => {
                    self.check_item(variable, value, run, &mut assignments).await?;
                }
                SetItem::NewColumn { column, value } => {
                    let (value, sql_type) =
                        self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?;
                    if !self.set_new_column(&column.column, (value, &sql_type), &run.context)? {
                        return Err(SqlError::new(ErrorCode::UnknownSystemVariable, &[&"NEW"]));
                    }
                }
                SetItem::Names { charset, collation } => {
                    set_names(charset.as_deref(), collation.as_deref(), &mut assignments)?;
                }
                SetItem::CharacterSet(charset) => self.set_character_set(charset.as_deref(), &mut assignments)?,
            }
        }
        let sets_id = assignments.iter().any(|assignment| {
            matches!(assignment, Assignment::Session { id: ids::LAST_INSERT_ID | ids::IDENTITY, .. })
        });
        self.apply(assignments, run.request.sql).await?;
        if sets_id {
            // The statement leaves it, and so does an EXECUTE around it.
            run.context.last_insert_id.store(self.previous.last_insert_id, Ordering::Relaxed);
        }
        Ok(Outcome::done())
    }

    async fn user_assignment(&mut self, name: &str, value: &Expr, run: &StatementRun<'_>) -> SqlResult<Assignment> {
        let (value, sql_type) = self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?;
        Ok(Assignment::User { name: NameKey::new(name), value, sql_type })
    }

    async fn check_item(
        &mut self,
        variable: &SystemVariable,
        value: &Expr,
        run: &StatementRun<'_>,
        assignments: &mut Vec<Assignment>,
    ) -> SqlResult<()> {
        if let Some(cache) = &variable.prefix
            && is_of_key_cache(&variable.name)
        {
            let of_default = SystemVariable { prefix: None, ..variable.clone() };
            return match cache.is(DEFAULT_CACHE) {
                true => Box::pin(self.check_item(&of_default, value, run, assignments)).await,
                false => self.check_key_cache(cache, &of_default, value, run, assignments).await,
            };
        }
        let (id, definition, item) = find_variable_or_item(&self.shared.registry.variables, variable)?;
        let scope = variable.scope;
        check_scope(&definition, scope)?;
        self.check_set_privilege(&definition, scope)?;
        if let Some(warning) = definition.deprecation() {
            run.context.diagnostics.warn(warning);
        }
        let is_global = !matches!(scope, None | Some(VariableScope::Session));
        if matches!(value, Expr::Default) && item.is_none() {
            self.check_value(id, &definition, scope)?;
            let default = self.default_of(id, &definition, is_global)?;
            return push_assignment(id, &definition, scope, default, assignments);
        }
        // A bare word is a text: `SET sql_mode = ANSI`.
        let given = match value {
            Expr::Column(name) if name.table.is_none() && !self.has_local(&name.column) => {
                Value::String(name.column.to_string())
            }
            Expr::Default => Value::from("default"),
            other => self.evaluate(other, run.request.sql, run.request.parameters, &run.context).await?.0,
        };
        let given = match item {
            Some(item) => {
                let before = self.value_before(id, is_global, assignments);
                list_with_item(&definition, &before, &item, &given)?
            }
            None => given,
        };
        let given = match (&definition.kind, given) {
            (Kind::Switches(names), Value::String(change)) => {
                check(&definition, &Value::String(change.clone()), self.shared.store.engines(), true)?;
                let before = match self.value_before(id, is_global, assignments) {
                    Value::String(before) => before,
                    _ => String::new(),
                };
                let default = match definition.default {
                    DefaultValue::Text(text) => text,
                    _ => "",
                };
                Value::String(merge_switches(names, definition.foreign_switches, default, &before, &change))
            }
            // Strings set with a binary literal are texts all the same.
            (_, Value::Bytes(bytes)) => Value::String(String::from_utf8_lossy(&bytes).into_owned()),
            (_, given) => given,
        };
        self.check_given((id, &definition), &given)?;
        let strict = self.settings.bind.sql_mode.contains(SqlMode::STRICT_ALL_TABLES);
        let checked = check(&definition, &given, self.shared.store.engines(), strict)?;
        if let Some(warning) = checked.warning {
            run.context.diagnostics.warn(warning);
        }
        if let (ids::SESSION_TRACK_SYSTEM_VARIABLES, Value::String(list)) = (id, &checked.value) {
            warn_of_unknown(&self.shared.registry.variables, list, &run.context);
        }
        self.check_value(id, &definition, scope)?;
        check_account_variables(&self.shared.accounts, id, &checked.value)?;
        log_settings::check_value(&self.shared.directory, id, definition.name, &checked.value)?;
        let value = self.beside_others((id, &definition), checked.value, is_global, assignments, &run.context)?;
        push_assignment(id, &definition, scope, value, assignments)
    }

    /// A variable of a key cache with a name: global, and only kept.
    async fn check_key_cache(
        &mut self,
        cache: &Ident,
        variable: &SystemVariable,
        value: &Expr,
        run: &StatementRun<'_>,
        assignments: &mut Vec<Assignment>,
    ) -> SqlResult<()> {
        let (_, definition) = find_variable(&self.shared.registry.variables, variable)?;
        check_scope(&definition, variable.scope)?;
        self.check_set_privilege(&definition, variable.scope)?;
        if variable.scope != Some(VariableScope::Global) {
            return Err(SqlError::unsupported("SET PERSIST of a key cache with a name"));
        }
        if matches!(value, Expr::Default) {
            return Err(SqlError::new(ErrorCode::NoDefault, &[&definition.name]));
        }
        let given = self.evaluate(value, run.request.sql, run.request.parameters, &run.context).await?.0;
        let strict = self.settings.bind.sql_mode.contains(SqlMode::STRICT_ALL_TABLES);
        let checked = check(&definition, &given, self.shared.store.engines(), strict)?;
        if let Some(warning) = checked.warning {
            run.context.diagnostics.warn(warning);
        }
        let value = match checked.value {
            Value::UInt(value) => value,
            Value::Int(value) => value.max(0).unsigned_abs(),
            _ => 0,
        };
        assignments.push(Assignment::KeyCache { cache: cache.to_string(), variable: definition.name, value });
        Ok(())
    }

    /// The value of a variable when an assignment is made: an earlier one of the same SET may have changed it.
    fn value_before(&self, id: VariableId, is_global: bool, assignments: &[Assignment]) -> Value {
        let earlier = assignments.iter().rev().find_map(|assignment| match assignment {
            Assignment::Session { id: other, value } if *other == id && !is_global => Some(value.clone()),
            Assignment::Global { id: other, value, .. } if *other == id && is_global => Some(value.clone()),
            _ => None,
        });
        earlier.unwrap_or_else(|| self.current_value(id, is_global))
    }

    fn current_value(&self, id: VariableId, global: bool) -> Value {
        let values = if global { self.shared.globals.load_values() } else { self.variables.session.clone() };
        values.get(id).clone()
    }

    /// The value of SET x = DEFAULT: the global value for a session's, the compiled one for a global.
    fn default_of(&self, id: VariableId, definition: &VariableDef, is_global: bool) -> SqlResult<Value> {
        if !is_global && definition.scope == Scope::Both {
            return Ok(self.current_value(id, true));
        }
        if NO_DEFAULT.contains(&definition.name) {
            return Err(SqlError::new(ErrorCode::NoDefault, &[&definition.name]));
        }
        let values = self.shared.globals.load_values();
        Ok(log_settings::default_file(Values(&values), id).unwrap_or_else(|| definition.default.to_value()))
    }

    /// SET CHARACTER SET: the connection's is the default database's.
    fn set_character_set(&self, name: Option<&str>, assignments: &mut Vec<Assignment>) -> SqlResult<()> {
        let charset = Charset::named(name.unwrap_or("utf8mb4"))?;
        for variable in [ids::CHARACTER_SET_CLIENT, ids::CHARACTER_SET_RESULTS] {
            assignments.push(Assignment::Session { id: variable, value: Value::from(charset.name()) });
        }
        for (to, from) in [
            (ids::CHARACTER_SET_CONNECTION, ids::CHARACTER_SET_DATABASE),
            (ids::COLLATION_CONNECTION, ids::COLLATION_DATABASE),
        ] {
            assignments.push(Assignment::Session { id: to, value: self.current_value(from, false) });
        }
        Ok(())
    }

    /// Global values that hold, values that are kept, and what is left.
    fn divided(&self, assignments: Vec<Assignment>) -> (RunningValues, KeptValues, Vec<Assignment>) {
        let (mut globals, mut persisted, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for assignment in assignments {
            match assignment {
                Assignment::Global { id, value, persist } => {
                    if persist != Persist::No {
                        let name = self.shared.registry.variables.definition(id).name.to_owned();
                        persisted.push((name, Some(value.clone())));
                    }
                    if persist != Persist::Only {
                        globals.push((id, value));
                    }
                }
                other => others.push(other),
            }
        }
        (globals, persisted, others)
    }

    async fn apply(&mut self, assignments: Vec<Assignment>, sql: &[u8]) -> SqlResult<()> {
        let sets_autocommit =
            |assignment: &Assignment| matches!(assignment, Assignment::Session { id: ids::AUTOCOMMIT, .. });
        if self.nesting.inside.is_some() && assignments.iter().any(sets_autocommit) {
            return Err(SqlError::new(ErrorCode::SpCantSetAutocommit, &[]));
        }
        let turns_on = |assignment: &Assignment| match assignment {
            Assignment::Session { id: ids::AUTOCOMMIT, value } => {
                !matches!(value, Value::Int(0) | Value::UInt(0)) && *value != Value::from("OFF")
            }
            _ => false,
        };
        if !self.settings.autocommit && assignments.iter().any(turns_on) {
            // It would commit.
            self.check_no_branch()?;
        }
        let autocommit_before = self.settings.autocommit;
        let (globals, persisted, others) = self.divided(assignments);
        // If these fail, the session's keep their values, too.
        self.apply_globals(&globals, persisted, sql).await?;
        let mut session_changed = false;
        for assignment in others {
            match assignment {
                Assignment::User { name, value, sql_type } => {
                    let (value, sql_type) = held_by_variable(value, sql_type);
                    self.user_variables.assign(name, value, sql_type)?;
                    self.track_state_change();
                }
                Assignment::Session { id, value } => {
                    session_changed = true;
                    self.apply_session(id, value);
                }
                Assignment::KeyCache { cache, variable, value } => {
                    session_changed = true;
                    if !self.shared.globals.key_caches.set(&cache, variable, value) {
                        return Err(SqlError::unsupported("more than 1024 key caches"));
                    }
                }
                Assignment::Global { .. } => {}
            }
        }
        if session_changed {
            self.settings_changed();
        }
        self.autocommit_changed(autocommit_before).await
    }

    fn apply_session(&mut self, id: VariableId, value: Value) {
        if (id == ids::LAST_INSERT_ID || id == ids::IDENTITY)
            && let Value::UInt(number) = value
        {
            self.previous.last_insert_id = number;
        }
        // What was said of the next transaction alone is said again.
        if !self.transaction.is_open() {
            match id {
                ids::TRANSACTION_ISOLATION | ids::TX_ISOLATION => self.transaction.next.isolation = None,
                ids::TRANSACTION_READ_ONLY | ids::TX_READ_ONLY => self.transaction.next.access = None,
                _ => {}
            }
        }
        self.track_variable(id, &value);
        self.set_session_value(id, value);
    }

    /// Tells the client about a variable that it has asked to be told about.
    fn track_variable(&mut self, id: VariableId, value: &Value) {
        let definition = *self.shared.registry.variables.definition(id);
        let tracked = &self.settings.tracked_variables;
        if tracked.iter().any(|name| name == "*" || name == definition.name) {
            self.command
                .changes
                .push(SessionChange::SystemVariable(definition.name.to_string(), definition.show(value)));
        }
        self.track_state_change();
    }

    /// Sets variables by name, as SET TRANSACTION does.
    pub(crate) async fn set_variables(
        &mut self,
        scope: VariableScope,
        items: &[(&str, Value)],
        sql: &[u8],
    ) -> SqlResult<()> {
        let mut assignments = Vec::new();
        for (name, value) in items {
            let Some(id) = self.shared.registry.variables.find(name) else { continue };
            let definition = *self.shared.registry.variables.definition(id);
            self.check_set_privilege(&definition, Some(scope))?;
            push_assignment(id, &definition, Some(scope), value.clone(), &mut assignments)?;
        }
        self.apply(assignments, sql).await
    }
}

impl SessionState {
    fn is_local(&self, variable: &SystemVariable) -> bool {
        variable.scope.is_none() && variable.prefix.is_none() && self.has_local(&variable.name.value)
    }

    /// Checks that depend on more than the value itself.
    fn check_value(&self, id: VariableId, definition: &VariableDef, scope: Option<VariableScope>) -> SqlResult<()> {
        let of_session = matches!(scope, None | Some(VariableScope::Session));
        if definition.fixed_in_session && of_session {
            return Err(read_only_session(definition.name));
        }
        if of_session && BETWEEN_TRANSACTIONS.contains(&definition.name) {
            if self.nesting.inside.is_some() {
                return Err(SqlError::new(ErrorCode::VariableNotSettableInFunction, &[&definition.name]));
            }
            if self.transaction.is_open() {
                return Err(SqlError::new(ErrorCode::VariableNotSettableInTransaction, &[&definition.name]));
            }
        }
        let transaction_wide =
            [ids::TRANSACTION_ISOLATION, ids::TX_ISOLATION, ids::TRANSACTION_READ_ONLY, ids::TX_READ_ONLY];
        if transaction_wide.contains(&id) && scope.is_none() && self.transaction.is_open() {
            return Err(SqlError::new(ErrorCode::CantChangeTxCharacteristics, &[]));
        }
        Ok(())
    }

    pub(crate) fn track_state_change(&mut self) {
        if self.settings.track_state && !self.command.changes.contains(&SessionChange::StateChange) {
            self.command.changes.push(SessionChange::StateChange);
        }
    }

    fn check_set_privilege(&self, definition: &VariableDef, scope: Option<VariableScope>) -> SqlResult<()> {
        let need = |any: bool, names: &str| {
            if any { Ok(()) } else { Err(SqlError::new(ErrorCode::SpecificAccessDenied, &[&names])) }
        };
        match scope {
            None | Some(VariableScope::Session) if definition.restricted => need(
                self.identity.access.has_dynamic("SESSION_VARIABLES_ADMIN")
                    || self.identity.access.has_dynamic("SYSTEM_VARIABLES_ADMIN"),
                match definition.name.starts_with("innodb_") {
                    true => "SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
                    false => "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN",
                },
            ),
            None | Some(VariableScope::Session) => Ok(()),
            Some(_) => {
                need(self.identity.access.has_dynamic("SYSTEM_VARIABLES_ADMIN"), "SUPER or SYSTEM_VARIABLES_ADMIN")?;
                // It grants a role to all accounts, which SUPER alone does not. It ends the connections of all
                // others.
                need(
                    definition.name != "offline_mode" || self.identity.access.has_dynamic("CONNECTION_ADMIN"),
                    "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the CONNECTION_ADMIN",
                )?;
                need(
                    definition.name != "mandatory_roles" || self.identity.access.dynamic.contains("ROLE_ADMIN"),
                    "SYSTEM_VARIABLES_ADMIN or SUPER privileges, as well as the ROLE_ADMIN",
                )
            }
        }
    }
}

fn read_only_session(name: &str) -> SqlError {
    SqlError::with_message(
        ErrorCode::IncorrectGlobalLocalVar,
        format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value"),
    )
}

/// 1238, 1229, 1228: whether a variable can be set in that scope at all.
fn check_scope(definition: &VariableDef, scope: Option<VariableScope>) -> SqlResult<()> {
    let at_start = definition.effect == Effect::AtStart && scope != Some(VariableScope::PersistOnly);
    if at_start || definition.effect == Effect::ReadOnly {
        let error = ErrorCode::IncorrectGlobalLocalVar;
        return Err(SqlError::new(error, &[&definition.name, &"read only"]));
    }
    match scope {
        None | Some(VariableScope::Session) if definition.scope == Scope::Global => {
            Err(SqlError::new(ErrorCode::GlobalVariable, &[&definition.name]))
        }
        Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly)
            if definition.scope == Scope::Session =>
        {
            Err(SqlError::new(ErrorCode::LocalVariable, &[&definition.name]))
        }
        _ => Ok(()),
    }
}

/// Whether `@@scope.name` can be read (1238).
pub(crate) fn check_read_scope(definition: &VariableDef, scope: Option<VariableScope>) -> SqlResult<()> {
    let wrong = |kind: &str| SqlError::new(ErrorCode::IncorrectGlobalLocalVar, &[&definition.name, &kind]);
    match scope {
        Some(VariableScope::Session) if definition.scope == Scope::Global => Err(wrong("GLOBAL")),
        Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly)
            if definition.scope == Scope::Session =>
        {
            Err(wrong("SESSION"))
        }
        _ => Ok(()),
    }
}

/// The value of a list in which one item has a given state.
fn list_with_item(definition: &VariableDef, before: &Value, item: &str, state: &Value) -> SqlResult<Value> {
    let is_default = matches!(state, Value::String(word) if word.eq_ignore_ascii_case("default"));
    let is_on = match check::boolean(state) {
        Some(is_on) => is_on,
        None if is_default => {
            definition.item(&definition.default.to_value(), item).is_some_and(|default| default.is_on)
        }
        None => {
            let name = format!("{}.{item}", definition.name);
            return Err(SqlError::new(ErrorCode::WrongValueForVar, &[&name, &check::text(state)]));
        }
    };
    Ok(Value::String(definition.with_item(before, item, is_on)))
}

fn push_assignment(
    id: VariableId,
    definition: &VariableDef,
    scope: Option<VariableScope>,
    value: Value,
    assignments: &mut Vec<Assignment>,
) -> SqlResult<()> {
    let persist = match scope {
        None | Some(VariableScope::Session) => {
            push_session(id, value, assignments);
            return Ok(());
        }
        Some(VariableScope::Global) => Persist::No,
        Some(VariableScope::Persist) => Persist::Also,
        Some(VariableScope::PersistOnly) => Persist::Only,
    };
    if persist != Persist::No && !definition.persistable {
        let error = ErrorCode::IncorrectGlobalLocalVar;
        return Err(SqlError::new(error, &[&definition.name, &"non persistent"]));
    }
    assignments.push(Assignment::Global { id, value, persist });
    Ok(())
}

/// A session's value and those that follow from it.
fn push_session(id: VariableId, value: Value, assignments: &mut Vec<Assignment>) {
    let text = match &value {
        Value::String(text) => text.clone(),
        _ => String::new(),
    };
    let follow = match id {
        ids::CHARACTER_SET_CONNECTION => Charset::named(&text)
            .map(Charset::default_collation)
            .ok()
            .map(|collation| (ids::COLLATION_CONNECTION, collation.name())),
        ids::COLLATION_CONNECTION => {
            CollationId::named(&text).ok().map(|id| (ids::CHARACTER_SET_CONNECTION, id.charset().name()))
        }
        ids::CHARACTER_SET_SERVER => Charset::named(&text)
            .map(Charset::default_collation)
            .ok()
            .map(|collation| (ids::COLLATION_SERVER, collation.name())),
        ids::COLLATION_SERVER => {
            CollationId::named(&text).ok().map(|id| (ids::CHARACTER_SET_SERVER, id.charset().name()))
        }
        ids::CHARACTER_SET_DATABASE => Charset::named(&text)
            .map(Charset::default_collation)
            .ok()
            .map(|collation| (ids::COLLATION_DATABASE, collation.name())),
        ids::COLLATION_DATABASE => {
            CollationId::named(&text).ok().map(|id| (ids::CHARACTER_SET_DATABASE, id.charset().name()))
        }
        _ => None,
    };
    if let Some(other) = alias(id) {
        assignments.push(Assignment::Session { id: other, value: value.clone() });
    }
    assignments.push(Assignment::Session { id, value });
    if let Some((id, text)) = follow {
        assignments.push(Assignment::Session { id, value: Value::from(text) });
    }
}

fn set_names(charset_name: Option<&str>, collation: Option<&str>, assignments: &mut Vec<Assignment>) -> SqlResult<()> {
    let default = squall_types::CollationId::UTF8MB4_0900_AI_CI.name();
    let id = match charset_name {
        None => CollationId::named(default)?,
        Some(_) => squall_definitions::data_type::named_collation(
            charset_name,
            collation,
            squall_types::CollationId::UTF8MB4_0900_AI_CI,
        )?,
    };
    let charset = Value::from(id.charset().name());
    for variable in [ids::CHARACTER_SET_CLIENT, ids::CHARACTER_SET_CONNECTION, ids::CHARACTER_SET_RESULTS] {
        assignments.push(Assignment::Session { id: variable, value: charset.clone() });
    }
    let collation = Value::from(id.name());
    assignments.push(Assignment::Session { id: ids::COLLATION_CONNECTION, value: collation });
    Ok(())
}

/// Names of a list of variables that none has are passed over, with a warning (1231).
fn warn_of_unknown(variables: &VariableRegistry, list: &str, context: &StatementContext) {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "*");
    for name in names.filter(|name| variables.find(name).is_none()) {
        let message = format!("{name} is not a valid system variable and will be ignored.");
        context.diagnostics.warn(SqlError::with_message(ErrorCode::WrongValueForVar, message));
    }
}

/// A variable, or an item of one that is a list: `optimizer_switch.mrr`.
fn find_variable_or_item(
    variables: &VariableRegistry,
    variable: &SystemVariable,
) -> SqlResult<(VariableId, VariableDef, Option<String>)> {
    if let Some(prefix) = &variable.prefix {
        let registry = variables;
        let list = registry.find(prefix).map(|id| (id, *registry.definition(id)));
        if let Some((id, definition)) = list
            && let Some(item) = definition.item(&definition.default.to_value(), &variable.name)
        {
            return Ok((id, definition, Some(item.name)));
        }
    }
    find_variable(variables, variable).map(|(id, definition)| (id, definition, None))
}

pub(crate) fn find_variable(
    variables: &VariableRegistry,
    variable: &SystemVariable,
) -> SqlResult<(VariableId, VariableDef)> {
    let unknown = |name: &dyn std::fmt::Display| SqlError::new(ErrorCode::UnknownSystemVariable, &[name]);
    if let Some(prefix) = &variable.prefix {
        if is_of_key_cache(&variable.name) {
            return Err(SqlError::unsupported("key caches with names here"));
        }
        return Err(unknown(&format_args!("{}.{}", prefix.as_str(), variable.name.as_str())));
    }
    let registry = variables;
    let id = registry.find(&variable.name).ok_or_else(|| unknown(&variable.name.as_str()))?;
    Ok((id, *registry.definition(id)))
}

/// Partial revokes that are there go on to hold (3896); a role that makes its holders system accounts is not given to
/// everybody (1231).
fn check_account_variables(accounts: &AccountStore, id: VariableId, value: &Value) -> SqlResult<()> {
    let off = id == ids::PARTIAL_REVOKES && check::boolean(value) == Some(false);
    if off && accounts.load_now().has_restrictions() {
        return Err(SqlError::new(ErrorCode::PartialRevokesExist, &[]));
    }
    let (ids::MANDATORY_ROLES, Value::String(list)) = (id, value) else { return Ok(()) };
    let accounts = accounts.load_now();
    let mut reached = accounts.with_their_roles(AccountKey::list(list).unwrap_or_default()).into_iter();
    match reached.any(|role| accounts.get(&role).is_some_and(|role| role.dynamic.contains_key("SYSTEM_USER"))) {
        true => Err(SqlError::new(ErrorCode::WrongValueForVar, &[&"mandatory_roles", list])),
        false => Ok(()),
    }
}
