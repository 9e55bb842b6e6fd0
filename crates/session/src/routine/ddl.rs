//! CREATE, ALTER and DROP of stored procedures and functions.

use crate::authorization::SecurityContext;
use crate::authorization::definition::note_missing_definer;
use crate::authorization::programs::{names_loadable_function, own_procedure_is_there};
use crate::program::{ProgramKind, check_called, check_program};
use crate::result::Outcome;
use crate::routine_language::ExternalBody;
use crate::session::{Session, StatementRun};
use squall_catalog::{RoutineDef, RoutineKind, RoutineParameter, RoutineParameterMode, SqlDataAccess};
use squall_definitions::data_type::{TypeRules, resolve_type};
use squall_definitions::names::{check_database_name, check_routine_name};
use squall_definitions::routine::{IfThere, OF_CREATOR, alter_routine, create_routine, drop_routine, no_such_routine};
use squall_parser::ast::{
    AlterRoutine, Characteristics, CreateRoutine, DataAccess, DropObject, ParameterMode, RoutineBody, Security,
    Statement,
};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, Level, SqlError, SqlResult, SqlType};
use std::sync::Arc;

impl Session {
    /// CREATE, ALTER and DROP.
    pub(crate) async fn run_routine_definition(&mut self, run: &StatementRun<'_>) -> SqlResult<Outcome> {
        self.check_writable()?;
        if self.held_locks.tables.is_some() {
            return Err(SqlError::new(ErrorCode::LockOrActiveTransaction, &[]));
        }
        match run.request.statement {
            Statement::CreateProcedure(create) => self.create_routine(create, RoutineKind::Procedure, run).await,
            Statement::CreateFunction(create) => self.create_routine(create, RoutineKind::Function, run).await,
            Statement::AlterProcedure(alter) => self.alter_routine(alter, RoutineKind::Procedure).await,
            Statement::AlterFunction(alter) => self.alter_routine(alter, RoutineKind::Function).await,
            Statement::DropProcedure(drop) => self.drop_routines(drop, RoutineKind::Procedure, &run.context).await,
            Statement::DropFunction(drop) => self.drop_routines(drop, RoutineKind::Function, &run.context).await,
            _ => Ok(Outcome::done()),
        }
    }

    async fn create_routine(
        &mut self,
        create: &CreateRoutine,
        kind: RoutineKind,
        run: &StatementRun<'_>,
    ) -> SqlResult<Outcome> {
        let context = &run.context;
        if let Some(error) = own_procedure_is_there(&self.security(), &create.name, kind)? {
            return match create.if_not_exists {
                true => Ok(noted(error, context)),
                false => Err(error),
            };
        }
        let external = ExternalBody::of(create, kind, &self.shared.registry)?.map(Arc::new);
        let (database, routine) = self.routine_of(create, kind, external.as_deref(), run)?;
        if let Some(external) = external.clone() {
            let context = context.clone();
            self.blocking(move |_| external.check(&context)).await?;
        }
        note_missing_definer(&self.security(), create.definer.as_ref(), context)?;
        let registry = &self.shared.registry;
        let native = registry.declared_scalar(&routine.name).is_some() || registry.aggregate(&routine.name).is_some();
        if kind.is_function() && native {
            let error = SqlError::new(ErrorCode::NativeFunctionNameCollision, &[&routine.name]);
            context.diagnostics.push(Level::Note, error);
        }
        let if_there = match (create.or_replace, create.if_not_exists) {
            (true, _) => IfThere::Replace,
            (false, true) => IfThere::Keep,
            (false, false) => IfThere::Fail,
        };
        let granted = self.identity.access.on_routine(&database, kind.is_function(), &routine.name);
        let grants = Values(&self.variables.global).on(ids::AUTOMATIC_SP_PRIVILEGES) && !granted.contains(OF_CREATOR);
        let creator = grants.then(|| self.identity.account.clone());
        let existing = SqlError::new(ErrorCode::SpAlreadyExists, &[&kind.word(), &routine.name]);
        let accounts = self.shared.accounts.begin_change().await;
        let make = move |shared: &crate::database::Shared| {
            create_routine(&shared.state, &database, routine, if_there, creator.as_ref(), accounts)
        };
        match self.waiting(make).await? {
            true => Ok(Outcome::done()),
            false => Ok(noted(existing, context)),
        }
    }

    /// The definition that a statement makes, and the database that it is for.
    fn routine_of(
        &self,
        create: &CreateRoutine,
        kind: RoutineKind,
        external: Option<&ExternalBody>,
        run: &StatementRun<'_>,
    ) -> SqlResult<(String, RoutineDef)> {
        let (database, name) = self.security().qualify(&create.name)?;
        check_routine_name(&name)?;
        check_database_name(&database)?;
        let catalog = self.shared.catalog.load();
        let Some(known) = catalog.database(&database) else {
            if squall_system_tables::virtual_database(&database).is_some() {
                return Err(self.security().database_denied(&database));
            }
            return Err(SqlError::new(ErrorCode::BadDatabase, &[&database]));
        };
        if create.or_replace && create.if_not_exists {
            return Err(SqlError::new(ErrorCode::WrongUsage, &[&"OR REPLACE", &"IF NOT EXISTS"]));
        }
        if create.aggregate && external.is_none() {
            return Err(SqlError::unsupported("AGGREGATE functions in SQL"));
        }
        let program = match kind {
            RoutineKind::Procedure => ProgramKind::Procedure(&create.parameters),
            RoutineKind::Function => ProgramKind::Function(&create.name.name, &create.parameters),
        };
        let rules = TypeRules { collation: known.collation, sql_mode: self.settings.bind.sql_mode };
        let parameters = create.parameters.iter().map(|parameter| {
            Ok(RoutineParameter {
                name: parameter.name.to_string(),
                mode: match parameter.mode {
                    ParameterMode::In => RoutineParameterMode::In,
                    ParameterMode::Out => RoutineParameterMode::Out,
                    ParameterMode::InOut => RoutineParameterMode::InOut,
                },
                sql_type: resolve_type(&parameter.data_type, &parameter.name, rules)?,
            })
        });
        let parameters = parameters.collect::<SqlResult<Vec<_>>>()?;
        let returns = create.returns.as_ref().map(|returns| resolve_type(returns, "", rules)).transpose()?;
        let called = external.map(|external| external.statement(returns.as_ref().unwrap_or(&SqlType::Null)));
        let body = match (&create.body, &called) {
            (RoutineBody::Sql(body), _) => body,
            (RoutineBody::External(_), Some(called)) => called,
            (RoutineBody::External(_), None) => return Err(SqlError::internal("a body without a language")),
        };
        check_program(body, program, &self.shared.registry.variables)?;
        if kind.is_function() {
            check_called(&create.called, &self.shared.registry)?;
        }
        let text =
            |span: squall_parser::ast::Span| String::from_utf8_lossy(span.bytes(run.request.sql)).trim().to_string();
        let values = Values(&self.variables.session);
        let now = now_micros();
        let routine = RoutineDef {
            name,
            kind,
            parameters,
            parameters_text: text(create.parameters_span),
            returns,
            body: external.map(ExternalBody::prefix).unwrap_or_default() + &text(create.body_span),
            aggregate: create.aggregate,
            deterministic: false,
            data_access: SqlDataAccess::default(),
            security_invoker: false,
            comment: String::new(),
            definer: self.security().definer(create.definer.as_ref())?,
            sql_mode: self.settings.bind.sql_mode.0,
            client_charset: values.text(ids::CHARACTER_SET_CLIENT).to_string(),
            connection_collation: values.text(ids::COLLATION_CONNECTION).to_string(),
            database_collation: known.collation.name().to_string(),
            created_micros: now,
            altered_micros: now,
        };
        Ok((database, with_characteristics(routine, &create.characteristics)))
    }

    async fn alter_routine(&mut self, alter: &AlterRoutine, kind: RoutineKind) -> SqlResult<Outcome> {
        let (database, name) = self.security().qualify(&alter.name)?;
        if own_procedure_is_there(&self.security(), &alter.name, kind)?.is_some() {
            return Err(routine_denied(&self.security(), "alter routine", &database, &name));
        }
        let characteristics = alter.characteristics.clone();
        let change = move |shared: &crate::database::Shared| {
            alter_routine(&shared.state, (&database, kind, &name), |routine| {
                routine.altered_micros = now_micros();
                *routine = with_characteristics(routine.clone(), &characteristics);
            })
        };
        self.waiting(change).await?;
        Ok(Outcome::done())
    }

    async fn drop_routines(
        &mut self,
        drop: &DropObject,
        kind: RoutineKind,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        for name in &drop.names {
            if names_loadable_function(&self.security(), name, kind) {
                let error = SqlError::new(ErrorCode::SpDoesNotExist, &[&"FUNCTION (UDF)", &name.name.as_str()]);
                if !drop.if_exists {
                    return Err(error);
                }
                context.diagnostics.push(Level::Note, error);
                continue;
            }
            let is_own = own_procedure_is_there(&self.security(), name, kind)?.is_some();
            let (database, name) = self.security().qualify(name)?;
            let error = match is_own {
                // Dumps drop what they are about to make, which says IF NOT EXISTS.
                true => routine_denied(&self.security(), "alter routine", &database, &name),
                false => no_such_routine(&database, kind, &name),
            };
            let accounts = self.shared.accounts.begin_change().await;
            let remove =
                move |shared: &crate::database::Shared| drop_routine(&shared.state, (&database, kind, &name), accounts);
            if !is_own && self.waiting(remove).await? {
                continue;
            }
            if !drop.if_exists {
                return Err(error);
            }
            context.diagnostics.push(Level::Note, error);
        }
        Ok(Outcome::done())
    }
}

/// 1370.
fn routine_denied(security: &SecurityContext<'_>, command: &str, database: &str, name: &str) -> SqlError {
    let routine = format!("{database}.{name}");
    SqlError::new(ErrorCode::ProcAccessDenied, &[&command, &security.account.user, &security.client_host(), &routine])
}

fn noted(error: SqlError, context: &StatementContext) -> Outcome {
    context.diagnostics.push(Level::Note, error);
    Outcome::done()
}

fn with_characteristics(mut routine: RoutineDef, said: &Characteristics) -> RoutineDef {
    if let Some(comment) = &said.comment {
        routine.comment = comment.to_string();
    }
    routine.deterministic = said.deterministic.unwrap_or(routine.deterministic);
    routine.security_invoker = said.security.map_or(routine.security_invoker, |security| security == Security::Invoker);
    routine.data_access = match said.data_access {
        None => routine.data_access,
        Some(DataAccess::ContainsSql) => SqlDataAccess::ContainsSql,
        Some(DataAccess::NoSql) => SqlDataAccess::NoSql,
        Some(DataAccess::ReadsSqlData) => SqlDataAccess::ReadsSqlData,
        Some(DataAccess::ModifiesSqlData) => SqlDataAccess::ModifiesSqlData,
    };
    routine
}
