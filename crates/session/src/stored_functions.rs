//! Stored functions in expressions.
//!
//! A function whose body computes its own variables alone is compiled and runs as any kernel does, without a session. Other bodies are not
//! supported yet.

use crate::compiled::{CompiledProgram, Compiler, Ended, Machine, NotCompiled, Variable, may_be_compiled, stored};
use crate::database::Shared;
use crate::plans::routine_cache::{CompiledFor, ParsedRoutine};
use crate::session::{Session, parse_error};
use parking_lot::Mutex;
use squall_catalog::{AccessMap, AccountKey, Invoker, Need, Object, Privileges, RoutineDef, RoutineKind};
use squall_definitions::data_type::TypeRules;
use squall_parser::{ParseOptions, parse_body};
use squall_planner::{Binder, TableResolver};
use squall_registry::{
    Argument, BindSettings, BoundCall, Coercibility, ExprType, ScalarFunction, ScalarKernel, StatementContext,
    Volatility,
};
use squall_server_state::charset::collation;
use squall_system_tables::{Who, with_subject};
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Functions that call each other go this deep at most.
const DEPTH_MAX: usize = 64;
/// Stack that one call takes at most, without optimizations.
const STACK_RESERVE_BYTES: usize = 512 << 10;
/// Stack that is taken at once where that is not left.
const STACK_SEGMENT_BYTES: usize = 4 << 20;

/// The stored routine of a name, with its body parsed; `None` if there is none.
///
/// # Errors
/// When its body cannot be parsed any more.
pub(crate) fn stored_routine(
    shared: &Shared,
    settings: &BindSettings,
    database: &str,
    kind: RoutineKind,
    name: &str,
) -> SqlResult<Option<Arc<ParsedRoutine>>> {
    let catalog = shared.catalog.load();
    let Some(def) = catalog.routine(database, kind, name) else { return Ok(None) };
    let parse = || {
        let options = squall_planner::bind::parse_options(SqlMode(def.sql_mode));
        let options = ParseOptions { memory_max: settings.parser_memory_max, ..options };
        parse_body(&def.body, &options).map_err(parse_error)
    };
    shared.routines.get(database, def, parse).map(Some)
}

/// The stored functions that a statement may call.
#[derive(Debug)]
pub(crate) struct StoredFunctions {
    shared: Arc<Shared>,
    account: AccountKey,
    client_host: Box<str>,
    access: Arc<AccessMap>,
    context: Arc<StatementContext>,
    /// Those whose bodies are being compiled, each inside of the one before.
    compiling: Mutex<Vec<Arc<ParsedRoutine>>>,
}

impl StoredFunctions {
    /// Those of a session's statement.
    pub fn of(session: &Session, context: &Arc<StatementContext>) -> StoredFunctions {
        StoredFunctions {
            shared: session.shared.clone(),
            account: session.account.clone(),
            client_host: session.client_host().into(),
            access: session.access.clone(),
            context: context.clone(),
            compiling: Mutex::default(),
        }
    }

    /// The same once more, for what outlives the statement's binding.
    pub fn fork(&self) -> StoredFunctions {
        StoredFunctions {
            shared: self.shared.clone(),
            account: self.account.clone(),
            client_host: self.client_host.clone(),
            access: self.access.clone(),
            context: self.context.clone(),
            compiling: Mutex::default(),
        }
    }

    /// What all sessions share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The statement.
    pub fn context(&self) -> &Arc<StatementContext> {
        &self.context
    }

    /// What a body is compiled for that is run as `invoker` with these settings.
    pub fn compiled_for(&self, settings: &Arc<BindSettings>, invoker: Invoker) -> CompiledFor {
        CompiledFor {
            settings: settings.clone(),
            schema: self.shared.schema_versions(),
            accounts: self.shared.accounts.load_now().version,
            account: self.account.clone(),
            invoker,
        }
    }

    /// Whether all needs are met.
    ///
    /// # Errors
    /// Those of [`squall_catalog::Subject::check`].
    pub fn check_needs(&self, needs: &[Need]) -> SqlResult<()> {
        with_subject(&self.shared.state, self.who(), |subject| subject.check(needs))
    }

    /// Who asks.
    pub fn who(&self) -> Who<'_> {
        Who { account: &self.account, client_host: &self.client_host, access: &self.access, locked: None }
    }

    /// A function, if it is there.
    ///
    /// # Errors
    /// 1370 if `invoker` may not run it, 1424 if it calls itself, 1235 for a body that is not supported, and those of binding the body.
    pub fn find(
        &self,
        database: &str,
        name: &str,
        invoker: &Invoker,
        tables: &dyn TableResolver,
    ) -> SqlResult<Option<Arc<dyn ScalarFunction>>> {
        let routine = stored_routine(&self.shared, &self.context.settings, database, RoutineKind::Function, name)?;
        let Some(routine) = routine else { return Ok(None) };
        self.check(&routine, invoker)?;
        let is_same = |other: &Arc<ParsedRoutine>| Arc::ptr_eq(&other.def, &routine.def);
        {
            let compiling = self.compiling.lock();
            if compiling.len() >= DEPTH_MAX || compiling.iter().any(is_same) {
                return Err(SqlError::new(ErrorCode::SpNoRecursion, &[]));
            }
        }
        let settings = self.settings_of(&routine)?;
        let program = self.compiled(&routine, invoker, &settings, tables)?;
        let name = format!("{}.{}", routine.database, routine.def.name);
        Ok(Some(Arc::new(StoredFunction { name, routine, program, settings })))
    }

    /// The invoker has to be allowed to run it, and so has its definer if it runs as that.
    fn check(&self, routine: &ParsedRoutine, invoker: &Invoker) -> SqlResult<()> {
        let name = routine.def.name.as_str().into();
        let object = Object::Routine { database: routine.database.clone(), is_function: true, name };
        let own = Need { invoker: invoker.clone(), ..Need::new(object, Privileges::EXECUTE, "execute") };
        let definer = Invoker::Definer(routine.def.definer.clone());
        let as_definer = (!routine.def.security_invoker).then(|| Need { invoker: definer, ..own.clone() });
        with_subject(&self.shared.state, self.who(), |subject| subject.check(std::iter::once(&own).chain(&as_definer)))
    }

    /// The settings of a body: those of the statement, but for what its creator had.
    fn settings_of(&self, routine: &ParsedRoutine) -> SqlResult<Arc<BindSettings>> {
        let settings = BindSettings {
            database: Some(routine.database.clone()),
            sql_mode: SqlMode(routine.def.sql_mode),
            collation: collation(&routine.def.connection_collation)?,
            ..(*self.context.settings).clone()
        };
        // Mostly they are the statement's.
        Ok(if settings == *self.context.settings { self.context.settings.clone() } else { Arc::new(settings) })
    }

    fn compiled(
        &self,
        routine: &Arc<ParsedRoutine>,
        invoker: &Invoker,
        settings: &Arc<BindSettings>,
        tables: &dyn TableResolver,
    ) -> SqlResult<Arc<CompiledProgram>> {
        let def = &routine.def;
        let inner = match def.security_invoker {
            true => invoker.clone(),
            false => Invoker::Definer(def.definer.clone()),
        };
        let wanted = self.compiled_for(settings, inner.clone());
        if let Some(program) = routine.compiled(&wanted) {
            return Ok(program);
        }
        if !may_be_compiled(&routine.body) {
            return Err(not_supported(def));
        }
        self.compiling.lock().push(routine.clone());
        let program = self.compile(routine, settings, inner, tables);
        self.compiling.lock().pop();
        let program = Arc::new(program?);
        // User variables are bound with the types that they have now.
        if !def.body.contains('@') {
            routine.keep_compiled(wanted, program.clone());
        }
        Ok(program)
    }

    fn compile(
        &self,
        routine: &ParsedRoutine,
        settings: &Arc<BindSettings>,
        invoker: Invoker,
        tables: &dyn TableResolver,
    ) -> SqlResult<CompiledProgram> {
        let def = &routine.def;
        let catalog = self.shared.catalog.load();
        let context = Arc::new(StatementContext { settings: settings.clone(), ..self.context.fork() });
        let binder = Binder {
            catalog: &catalog,
            default_database: Some(&routine.database),
            registry: &self.shared.registry,
            context: &context,
            tables,
            params: &[],
            text: def.body.as_bytes(),
            keeps_parameters: false,
            insert_values: None,
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let rules = TypeRules { collation: collation(&def.database_collation)?, sql_mode: settings.sql_mode };
        let mut compiler = Compiler::new(&binder, rules, invoker);
        for parameter in &def.parameters {
            compiler.parameter(&parameter.name, parameter.sql_type.clone());
        }
        compiler.compile(&routine.body).map_err(|not| match not {
            NotCompiled::Other => not_supported(def),
            NotCompiled::Failed(error) => error,
        })
    }
}

fn not_supported(def: &RoutineDef) -> SqlError {
    SqlError::unsupported(format_args!(
        "FUNCTION {}: statements in functions other than DECLARE of variables, SET of them, IF, CASE, loops and RETURN (a procedure may have all)",
        def.name
    ))
}

/// A stored function as the binder calls it.
#[derive(Debug)]
struct StoredFunction {
    /// With its database.
    name: String,
    routine: Arc<ParsedRoutine>,
    program: Arc<CompiledProgram>,
    settings: Arc<BindSettings>,
}

impl ScalarFunction for StoredFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn arity(&self) -> (usize, usize) {
        let count = self.routine.def.parameters.len();
        (count, count)
    }

    fn bind(&self, arguments: &[Argument<'_>], _context: &StatementContext) -> SqlResult<BoundCall> {
        let def = &self.routine.def;
        let sql_type = def.returns.clone().unwrap_or(SqlType::Null);
        let coercibility = match sql_type.collation() {
            Some(_) => Coercibility::Implicit,
            None => Coercibility::Numeric,
        };
        let kernel = FunctionCall {
            routine: self.routine.clone(),
            program: self.program.clone(),
            settings: self.settings.clone(),
            current_user: (!def.security_invoker).then(|| format!("{}@{}", def.definer.user, def.definer.host).into()),
            argument_types: arguments.iter().map(|argument| argument.expr_type.sql_type.clone()).collect(),
            result: Variable { name: def.name.as_str().into(), sql_type: sql_type.clone() },
        };
        let result = ExprType { sql_type, nullable: true, coercibility };
        Ok(BoundCall { result, kernel: Arc::new(kernel) })
    }

    fn volatility(&self) -> Volatility {
        match self.program.is_stable {
            true => Volatility::Stable,
            false => Volatility::Volatile,
        }
    }
}

/// A call.
struct FunctionCall {
    routine: Arc<ParsedRoutine>,
    program: Arc<CompiledProgram>,
    settings: Arc<BindSettings>,
    /// The definer, if it runs as that.
    current_user: Option<Arc<str>>,
    argument_types: Vec<SqlType>,
    result: Variable,
}

impl Debug for FunctionCall {
    /// Calls that are shown alike are taken for one: the definition's time is among it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let def = &self.routine.def;
        write!(f, "{}.{} {} {:?}", self.routine.database, def.name, def.altered_micros, self.argument_types)
    }
}

impl ScalarKernel for FunctionCall {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let inner = StatementContext {
            settings: self.settings.clone(),
            strict_write: self.settings.sql_mode.is_strict(),
            current_user: self.current_user.as_ref().unwrap_or(&context.current_user).clone(),
            ..context.fork()
        };
        let result = stacker::maybe_grow(STACK_RESERVE_BYTES, STACK_SEGMENT_BYTES, || self.run(arguments, &inner));
        context.diagnostics.absorb(&inner.diagnostics);
        // What calls leave to those that come after.
        for (outer, inner) in
            [(&context.random_state, &inner.random_state), (&context.last_insert_id, &inner.last_insert_id)]
        {
            outer.store(inner.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        context.insert_id_is_given.fetch_or(inner.insert_id_is_given.load(Ordering::Relaxed), Ordering::Relaxed);
        result
    }

    fn waits(&self) -> bool {
        self.program.may_wait
    }

    /// It was bound for an account that may run it.
    fn has_memory(&self) -> bool {
        true
    }
}

impl FunctionCall {
    fn run(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let mut variables = vec![Value::Null; self.program.variable_count()];
        for (slot, (value, from)) in arguments.iter().zip(&self.argument_types).enumerate() {
            if let Some(variable) = self.program.variable(slot) {
                variables[slot] = stored(value.clone(), from, variable, context)?;
            }
        }
        let mut machine = Machine::default();
        match machine.run(&self.program, &mut variables, Some(&self.result), usize::MAX, context)? {
            Ok(Ended::Returned(value)) => Ok(value),
            _ => Err(SqlError::new(ErrorCode::SpNoReturnAtEnd, &[&self.routine.def.name])),
        }
    }
}
