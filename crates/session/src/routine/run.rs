//! Runs the body of a stored procedure in the session that calls it.

use crate::collector::Collector;
use crate::compiled::Variable;
use crate::converted::converted;
use crate::plans::routine_cache::ParsedRoutine;
use crate::result::Failure;
use crate::result::writer::{OkInfo, ResultWriter};
use crate::session::{Authenticated, Session};
use crate::state::locals::Locals;
use squall_catalog::{AccessMap, AccountKey, ActiveGrants, Invoker, Need, Object, Privileges};
use squall_server_state::variables::{Values, ids};
use squall_statement_context::NestedStatements;
use squall_system_variables::VariableId;
use squall_types::{CollationId, ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Variables that have their creator's values in a body; the body's own settings end with it.
const OF_BODY: [VariableId; 6] = [
    ids::SQL_MODE,
    ids::CHARACTER_SET_CLIENT,
    ids::CHARACTER_SET_CONNECTION,
    ids::COLLATION_CONNECTION,
    ids::CHARACTER_SET_DATABASE,
    ids::COLLATION_DATABASE,
];

/// The saved state of a session that differs while the body of a stored program runs.
pub(crate) struct Outer {
    values: [Value; OF_BODY.len()],
    database: Option<Arc<str>>,
    identity: Option<Identity>,
    /// The version of the settings before, and in the body.
    versions: (u64, u64),
}

/// The settings of a stored program's body.
pub(crate) struct BodyOf<'b> {
    pub database: &'b Arc<str>,
    pub sql_mode: u64,
    pub client_charset: &'b str,
    pub connection_collation: &'b str,
    pub database_collation: &'b str,
    /// The privileges that its definer needs.
    pub needed: Need,
}

impl<'b> BodyOf<'b> {
    fn routine(routine: &'b ParsedRoutine) -> BodyOf<'b> {
        let def = &*routine.def;
        let object = Object::Routine {
            database: routine.database.clone(),
            is_function: def.kind.is_function(),
            name: def.name.as_str().into(),
        };
        BodyOf {
            database: &routine.database,
            sql_mode: def.sql_mode,
            client_charset: &def.client_charset,
            connection_collation: &def.connection_collation,
            database_collation: &def.database_collation,
            needed: Need::new(object, Privileges::EXECUTE, "execute"),
        }
    }
}

/// As whom a session does things.
pub(crate) struct Identity {
    account: AccountKey,
    current_user: Arc<str>,
    access: Arc<AccessMap>,
    active_grants: Arc<ActiveGrants>,
    nested: Option<Arc<dyn NestedStatements>>,
    password_expired: bool,
    authenticated: Option<Arc<Authenticated>>,
}

impl Session {
    /// Runs the body of a stored procedure, with the values of its parameters. Gives their values at its end.
    ///
    /// # Errors
    /// 1456 for a procedure that calls itself deeper than `max_sp_recursion_depth`; 1449 for a definer that is gone; what its statements fail
    /// with.
    pub(crate) async fn run_stored_procedure(
        &mut self,
        routine: &Arc<ParsedRoutine>,
        arguments: Vec<Value>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(OkInfo, Vec<Value>), Failure> {
        self.check_recursion(routine)?;
        let outer = self.enter_body(&BodyOf::routine(routine), &routine.runs_as(&Invoker::Session))?;
        self.nesting.calls.push(routine.clone());
        if let Some(external) = &routine.external {
            let ran = Box::pin(self.run_external(routine, external, arguments, writer)).await;
            self.nesting.calls.pop();
            self.leave_body(outer);
            return ran;
        }
        let parameters = routine.def.parameters.iter().zip(arguments);
        let locals = Locals::of_parameters(
            parameters.map(|(parameter, value)| (&*parameter.name, parameter.sql_type.clone(), value)),
        );
        let source = routine.def.body.as_bytes();
        let ran = self.run_program(&routine.body, routine.span, source, locals, None, writer).await;
        self.nesting.calls.pop();
        self.leave_body(outer);
        let (result, left) = ran?;
        result?;
        let affected_rows = u64::try_from(self.previous.row_count).unwrap_or(0);
        Ok((OkInfo { affected_rows, ..OkInfo::default() }, left.locals.into_parameters()))
    }

    /// Runs the body of a stored function for `invoker`, inside of the statement that calls it. Gives the returned
    /// value.
    ///
    /// # Errors
    /// 1424 for a function that calls itself, 1321 for one that ends without RETURN; what its statements fail with.
    pub(crate) async fn run_stored_function(
        &mut self,
        routine: &Arc<ParsedRoutine>,
        arguments: Vec<(Value, SqlType)>,
        runs_as: &Invoker,
    ) -> SqlResult<Value> {
        let is_same =
            |other: &Arc<ParsedRoutine>| other.database == routine.database && other.def.key() == routine.def.key();
        if self.nesting.calls.iter().any(is_same) {
            return Err(SqlError::new(ErrorCode::SpNoRecursion, &[]));
        }
        let outer = self.enter_body(&BodyOf::routine(routine), runs_as)?;
        self.nesting.calls.push(routine.clone());
        let result = self.function_value(routine, arguments).await;
        self.nesting.calls.pop();
        self.leave_body(outer);
        result
    }

    async fn function_value(&mut self, routine: &ParsedRoutine, arguments: Vec<(Value, SqlType)>) -> SqlResult<Value> {
        let def = &routine.def;
        let context = self.change_context();
        let mut parameters = Vec::with_capacity(arguments.len());
        for ((value, from), parameter) in arguments.into_iter().zip(&def.parameters) {
            let to = &parameter.sql_type;
            let value = converted(value, &from, to, &parameter.name, &context)?;
            parameters.push((&*parameter.name, to.clone(), value));
        }
        let locals = Locals::of_parameters(parameters.into_iter());
        let sql_type = def.returns.clone().unwrap_or(SqlType::Null);
        let returns = Variable { name: def.name.as_str().into(), sql_type };
        // It gives no rows: there is no client to send them to.
        let mut discarded = Collector::default();
        let program =
            self.run_program(&routine.body, routine.span, def.body.as_bytes(), locals, Some(&returns), &mut discarded);
        let (result, left) = program.await.map_err(SqlError::internal)?;
        result?;
        left.returned.ok_or_else(|| SqlError::new(ErrorCode::SpNoReturnAtEnd, &[&def.name]))
    }

    fn check_recursion(&self, routine: &ParsedRoutine) -> SqlResult<()> {
        let is_same =
            |other: &&Arc<ParsedRoutine>| other.database == routine.database && other.def.key() == routine.def.key();
        let depth = self.nesting.calls.iter().filter(is_same).count() as u64;
        let depth_max = Values(&self.variables.session).number(ids::MAX_SP_RECURSION_DEPTH);
        if depth > depth_max {
            return Err(SqlError::new(ErrorCode::SpRecursionLimit, &[&depth_max, &routine.def.name]));
        }
        Ok(())
    }

    /// Gives the session the settings and the default database of a body, and the account that it runs as.
    ///
    /// # Errors
    /// 1449 for a missing account, and errors of its privileges.
    pub(crate) fn enter_body(&mut self, body: &BodyOf<'_>, runs_as: &Invoker) -> SqlResult<Outer> {
        let values = OF_BODY.map(|id| self.variables.session.get(id).clone());
        let charset = |name: &str| CollationId::named(name).map(|id| id.charset().name()).map(Value::from);
        let inner = [
            Value::String(SqlMode(body.sql_mode).to_string()),
            Value::from(body.client_charset),
            charset(body.connection_collation)?,
            Value::from(body.connection_collation),
            charset(body.database_collation)?,
            Value::from(body.database_collation),
        ];
        let database = self.default_database().cloned();
        let before = self.settings_version.get();
        let identity = self.enter_identity(&body.needed, runs_as)?;
        self.set_settings(&inner, Some(body.database));
        Ok(Outer { values, database, identity, versions: (before, self.settings_version.get()) })
    }

    /// Takes that back.
    pub(crate) fn leave_body(&mut self, outer: Outer) {
        let (before, entered) = outer.versions;
        let is_unchanged = self.settings_version.get() == entered;
        self.set_settings(&outer.values, outer.database.as_ref());
        if let Some(identity) = outer.identity {
            self.leave_identity(identity);
        }
        if is_unchanged {
            self.settings_version.return_to(before);
        }
    }

    /// Makes the session do things as who it was before.
    pub(crate) fn leave_identity(&mut self, identity: Identity) {
        self.identity.account = identity.account;
        self.identity.current_user = identity.current_user;
        self.identity.access = identity.access;
        self.identity.active_grants = identity.active_grants;
        self.nested = identity.nested;
        self.identity.password_expired = identity.password_expired;
        self.identity.authenticated = identity.authenticated;
        // The grants may have changed meanwhile.
        self.identity.accounts_seen = 0;
        self.settings_version.renew();
    }

    /// Sets what a routine has of its own. Plans of the session hold on where it is as it was.
    fn set_settings(&mut self, values: &[Value; OF_BODY.len()], database: Option<&Arc<str>>) {
        if self.default_database() != database {
            self.set_default_database(database.cloned());
        }
        let is_same = OF_BODY.iter().zip(values).all(|(id, value)| self.variables.session.get(*id) == value);
        if is_same {
            return;
        }
        for (id, value) in OF_BODY.into_iter().zip(values) {
            self.set_session_value(id, value.clone());
        }
        self.settings_changed();
    }

    /// Makes the session do things as who has logged in, inside of a routine that runs as its definer. `None` if it does so already.
    pub(crate) fn enter_authenticated(&mut self) -> Option<Identity> {
        let authenticated = self.identity.authenticated.clone()?;
        Some(self.change_identity(authenticated.account.clone(), authenticated.active_grants.clone(), None))
    }

    fn change_identity(
        &mut self,
        account: AccountKey,
        active_grants: Arc<ActiveGrants>,
        authenticated: Option<Arc<Authenticated>>,
    ) -> Identity {
        let current_user = format!("{}@{}", account.user, account.host).into();
        let identity = Identity {
            account: std::mem::replace(&mut self.identity.account, account),
            current_user: std::mem::replace(&mut self.identity.current_user, current_user),
            access: self.identity.access.clone(),
            active_grants: std::mem::replace(&mut self.identity.active_grants, active_grants),
            nested: self.nested.clone(),
            password_expired: self.identity.password_expired,
            authenticated: std::mem::replace(&mut self.identity.authenticated, authenticated),
        };
        self.rebuild_access();
        identity
    }

    /// Makes the session work with the account that a routine runs as.
    ///
    /// # Errors
    /// 1449 for a missing account, and errors of its privileges.
    fn enter_identity(&mut self, needed: &Need, runs_as: &Invoker) -> SqlResult<Option<Identity>> {
        let key = match runs_as {
            // A limit of the session does not hold for what a program of its account does.
            Invoker::Definer(key) if *key != self.identity.account || self.identity.access.is_limited() => key,
            _ => return Ok(None),
        };
        let accounts = self.shared.accounts.load_full();
        let Some(definer) = accounts.get(key) else {
            return Err(match self.identity.access.has_dynamic("SET_ANY_DEFINER") {
                true => SqlError::new(ErrorCode::NoSuchUser, &[&key.user, &key.host]),
                false => accounts.access_denied(&self.identity.account),
            });
        };
        let all_roles = Values(&self.variables.global).on(ids::ACTIVATE_ALL_ROLES_ON_LOGIN);
        let roles = Arc::new(accounts.roles_at_first(definer, all_roles).into());
        let authenticated = self.identity.authenticated();
        let identity = self.change_identity(key.clone(), roles, Some(authenticated));
        // No client logs in as the definer.
        self.identity.password_expired = false;
        match self.security().check_needs(std::slice::from_ref(needed)) {
            Ok(()) => Ok(Some(identity)),
            Err(error) => {
                self.leave_identity(identity);
                Err(error)
            }
        }
    }
}
