//! Stored functions in expressions.
//!
//! A function whose body only computes its own variables is compiled and runs like any kernel, without a session. The interpreter runs
//! any other body, as a [part of the calling statement](crate::statement_programs).

use crate::compiled::{CompiledProgram, Compiler, Ended, Machine, NotCompiled, Variable, may_be_compiled, stored};
use crate::database::Shared;
use crate::plans::routine_cache::{CompiledFor, ParsedBody, ParsedRoutine};
use crate::routine_language::external_body;
use crate::session::{Session, parse_error};
use crate::statement_programs::{StatementPrograms, no_place};
use parking_lot::Mutex;
use squall_catalog::{AccessMap, AccountKey, Invoker, Need, Object, Privileges, RoutineKind};
use squall_definitions::data_type::TypeRules;
use squall_parser::{ParseOptions, parse_body};
use squall_planner::{Binder, KeptParameters, TableResolver};
use squall_registry::{Argument, BoundCall, ExprType, KernelMemory, ScalarFunction, ScalarKernel, Volatility};
use squall_statement_context::{BindSettings, StatementContext};
use squall_system_tables::{Who, with_subject};
use squall_types::{CollationId, ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
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
        match external_body(def, &shared.registry, &options)? {
            Some(external) => Ok(external),
            None => parse_body(&def.body, &options).map(ParsedBody::of_sql).map_err(parse_error),
        }
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
    /// Routines whose statements are around this one.
    running: Vec<Arc<ParsedRoutine>>,
    /// Those whose bodies are being compiled, each inside of the one before.
    compiling: Mutex<Vec<Arc<ParsedRoutine>>>,
}

impl StoredFunctions {
    /// Those of a session's statement.
    pub fn of(session: &Session, context: &Arc<StatementContext>) -> StoredFunctions {
        StoredFunctions {
            shared: session.shared.clone(),
            account: session.identity.account.clone(),
            client_host: session.security().client_host().into(),
            access: session.identity.access.clone(),
            context: context.clone(),
            running: session.nesting.calls.clone(),
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
            running: self.running.clone(),
            compiling: Mutex::default(),
        }
    }

    /// The state that all sessions share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The statement.
    pub fn context(&self) -> &Arc<StatementContext> {
        &self.context
    }

    /// The key of a compiled body that runs as `invoker` with these settings.
    pub fn compiled_for(&self, settings: &Arc<BindSettings>, invoker: Invoker) -> CompiledFor {
        CompiledFor {
            settings: settings.clone(),
            schema: self.shared.schema_versions(),
            accounts: self.shared.accounts.load_now().version,
            account: self.account.clone(),
            active_grants: self.context.active_grants.clone(),
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

    /// The account that asks.
    pub fn who(&self) -> Who<'_> {
        Who { account: &self.account, client_host: &self.client_host, access: &self.access, locked: None }
    }

    /// A function, if it is there.
    ///
    /// # Errors
    /// 1370 if `invoker` may not run it, 1424 if it calls itself, and those of binding the body.
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
        if routine.def.aggregate {
            return Err(SqlError::new(ErrorCode::InvalidGroupFuncUse, &[]));
        }
        let is_same = |other: &Arc<ParsedRoutine>| Arc::ptr_eq(&other.def, &routine.def);
        {
            let compiling = self.compiling.lock();
            let mut around = self.running.iter().chain(compiling.iter());
            if compiling.len() >= DEPTH_MAX || around.any(is_same) {
                return Err(SqlError::new(ErrorCode::SpNoRecursion, &[]));
            }
        }
        let settings = self.settings_of(&routine)?;
        let name = format!("{}.{}", routine.database, routine.def.name);
        let runs_as = routine.runs_as(invoker);
        let body = match self.compiled(&routine, &runs_as, &settings, tables)? {
            Some(program) => Body::Compiled { program, settings },
            None => Body::Interpreted { runs_as },
        };
        if body.runs_statements() {
            self.context.programs.note_call();
        }
        Ok(Some(Arc::new(StoredFunction { name, routine, body })))
    }

    /// The invoker has to be allowed to run it, and so has its definer if it runs as that.
    pub(crate) fn check(&self, routine: &ParsedRoutine, invoker: &Invoker) -> SqlResult<()> {
        let name = routine.def.name.as_str().into();
        let object = Object::Routine { database: routine.database.clone(), is_function: true, name };
        let own = Need { invoker: invoker.clone(), ..Need::new(object, Privileges::EXECUTE, "execute") };
        let definer = Invoker::Definer(routine.def.definer.clone());
        let as_definer = (!routine.def.security_invoker).then(|| Need { invoker: definer, ..own.clone() });
        with_subject(&self.shared.state, self.who(), |subject| subject.check(std::iter::once(&own).chain(&as_definer)))
    }

    /// The settings of a body: those of the statement, but for what its creator had.
    pub(crate) fn settings_of(&self, routine: &ParsedRoutine) -> SqlResult<Arc<BindSettings>> {
        let collation = CollationId::named(&routine.def.connection_collation)?;
        Ok(self.context.settings.of_program(&routine.database, SqlMode(routine.def.sql_mode), collation))
    }

    /// The compiled body; `None` if it is none that can be compiled.
    fn compiled(
        &self,
        routine: &Arc<ParsedRoutine>,
        runs_as: &Invoker,
        settings: &Arc<BindSettings>,
        tables: &dyn TableResolver,
    ) -> SqlResult<Option<Arc<CompiledProgram>>> {
        if !may_be_compiled(&routine.body) {
            return Ok(None);
        }
        let wanted = self.compiled_for(settings, runs_as.clone());
        if let Some(program) = routine.compiled(&wanted) {
            return Ok(Some(program));
        }
        self.compiling.lock().push(routine.clone());
        let program = self.compile(routine, settings, runs_as.clone(), tables);
        self.compiling.lock().pop();
        let Some(program) = program?.map(Arc::new) else { return Ok(None) };
        // User variables are bound with the types that they have now.
        if !routine.def.body.contains('@') {
            routine.keep_compiled(wanted, program.clone());
        }
        Ok(Some(program))
    }

    fn compile(
        &self,
        routine: &ParsedRoutine,
        settings: &Arc<BindSettings>,
        invoker: Invoker,
        tables: &dyn TableResolver,
    ) -> SqlResult<Option<CompiledProgram>> {
        let def = &routine.def;
        let catalog = self.shared.catalog.load();
        let (settings_of_body, is_external_body) = (settings.clone(), routine.external.is_some());
        let context = StatementContext { settings: settings_of_body, is_external_body, ..self.context.fork() };
        let context = Arc::new(context);
        let binder = Binder {
            catalog: &catalog,
            default_database: Some(&routine.database),
            registry: &self.shared.registry,
            context: &context,
            tables,
            params: &[],
            text: def.body.as_bytes(),
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let rules = TypeRules { collation: CollationId::named(&def.database_collation)?, sql_mode: settings.sql_mode };
        let mut compiler = Compiler::new(&binder, rules, invoker);
        for parameter in &def.parameters {
            compiler.parameter(&parameter.name, parameter.sql_type.clone());
        }
        match compiler.compile(&routine.body) {
            Ok(program) => Ok(Some(program)),
            Err(NotCompiled::Other) => Ok(None),
            Err(NotCompiled::Failed(error)) => Err(error),
        }
    }
}

/// How a body runs.
#[derive(Clone, Debug)]
enum Body {
    Compiled {
        program: Arc<CompiledProgram>,
        settings: Arc<BindSettings>,
    },
    /// Statement by statement.
    Interpreted {
        runs_as: Invoker,
    },
}

impl Body {
    /// Whether it runs statements, or what it calls does.
    fn runs_statements(&self) -> bool {
        match self {
            Body::Compiled { program, .. } => program.runs_statements,
            Body::Interpreted { .. } => true,
        }
    }
}

/// A stored function as the binder calls it.
#[derive(Debug)]
struct StoredFunction {
    /// With its database.
    name: String,
    routine: Arc<ParsedRoutine>,
    body: Body,
}

impl ScalarFunction for StoredFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn arity(&self) -> (usize, usize) {
        let count = self.routine.def.parameters.len();
        (count, count)
    }

    fn bind(&self, arguments: &[Argument<'_>], context: &StatementContext) -> SqlResult<BoundCall> {
        let def = &self.routine.def;
        let sql_type = def.returns.clone().unwrap_or(SqlType::Null);
        let kernel = FunctionCall {
            routine: self.routine.clone(),
            body: self.body.clone(),
            current_user: (!def.security_invoker).then(|| format!("{}@{}", def.definer.user, def.definer.host).into()),
            argument_types: arguments.iter().map(|argument| argument.expr_type.sql_type.clone()).collect(),
            result: Variable { name: def.name.as_str().into(), sql_type: sql_type.clone() },
            value: (def.deterministic && self.routine.external.is_some())
                .then(|| arguments.iter().all(|argument| argument.literal.is_some()))
                .filter(|is_constant| *is_constant)
                .map(|_| Mutex::default()),
            assigns_variables: self.body.runs_statements() && context.programs.variables_read() > 0,
        };
        let result = ExprType::of_column(sql_type, true);
        Ok(BoundCall { result, kernel: Arc::new(kernel) })
    }

    fn volatility(&self) -> Volatility {
        match &self.body {
            Body::Compiled { program, .. } if program.is_stable => Volatility::Stable,
            _ => Volatility::Volatile,
        }
    }
}

/// A call.
struct FunctionCall {
    routine: Arc<ParsedRoutine>,
    body: Body,
    /// The definer, if it runs as that.
    current_user: Option<Arc<str>>,
    argument_types: Vec<SqlType>,
    result: Variable,
    /// The value of a call that has the same one each time, once it is known: a function in another language that is DETERMINISTIC, of literals.
    value: Option<Mutex<Option<Value>>>,
    /// Whether its statements may assign `@variables` that the statement around reads.
    assigns_variables: bool,
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
        let run = || match &self.body {
            Body::Compiled { program, settings } => self.run_compiled(program, settings, arguments, context),
            Body::Interpreted { runs_as } => self.run_inside(runs_as, arguments, context),
        };
        let Some(value) = &self.value else { return run() };
        let mut value = value.lock();
        match &*value {
            Some(value) => Ok(value.clone()),
            None => run().inspect(|computed| *value = Some(computed.clone())),
        }
    }

    fn waits(&self) -> bool {
        match &self.body {
            Body::Compiled { program, .. } => program.may_wait,
            Body::Interpreted { .. } => true,
        }
    }

    /// It was bound for an account that may run it.
    fn memory(&self) -> KernelMemory {
        KernelMemory::OfStatement
    }

    fn runs_statements(&self) -> bool {
        self.body.runs_statements()
    }

    fn assigns_variables(&self) -> bool {
        self.assigns_variables
    }
}

impl FunctionCall {
    fn run_compiled(
        &self,
        program: &CompiledProgram,
        settings: &Arc<BindSettings>,
        arguments: &[Value],
        context: &StatementContext,
    ) -> SqlResult<Value> {
        let mut inner = StatementContext {
            settings: settings.clone(),
            strict_write: settings.sql_mode.is_strict(),
            current_user: self.current_user.as_ref().unwrap_or(&context.current_user).clone(),
            ..context.fork()
        };
        // What asks for privileges asks those of the definer.
        if program.may_wait
            && self.current_user.is_some()
            && let Some(outer) = &inner.nested
        {
            inner.nested = outer.as_account(&self.routine.def.definer);
        }
        let run = || self.run_machine(program, arguments, &inner);
        let result = stacker::maybe_grow(STACK_RESERVE_BYTES, STACK_SEGMENT_BYTES, run);
        context.diagnostics.absorb(&inner.diagnostics);
        // The state that calls leave to later calls.
        for (outer, inner) in
            [(&context.random_state, &inner.random_state), (&context.last_insert_id, &inner.last_insert_id)]
        {
            outer.store(inner.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        context.insert_id_is_given.fetch_or(inner.insert_id_is_given.load(Ordering::Relaxed), Ordering::Relaxed);
        result
    }

    fn run_machine(
        &self,
        program: &CompiledProgram,
        arguments: &[Value],
        context: &StatementContext,
    ) -> SqlResult<Value> {
        let mut variables = vec![Value::Null; program.variable_count()];
        for (slot, (value, from)) in arguments.iter().zip(&self.argument_types).enumerate() {
            if let Some(variable) = program.variable(slot) {
                variables[slot] = stored(value.clone(), from, variable, context)?;
            }
        }
        let mut machine = Machine::default();
        match machine.run(program, &mut variables, Some(&self.result), usize::MAX, context)? {
            Ok(Ended::Returned(value)) => Ok(value),
            _ => Err(SqlError::new(ErrorCode::SpNoReturnAtEnd, &[&self.routine.def.name])),
        }
    }

    /// Runs the body statement by statement. What the functions about the statement before tell in it ends with it.
    fn run_inside(&self, runs_as: &Invoker, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        let programs = StatementPrograms::of(context).ok_or_else(no_place)?;
        let arguments: Vec<_> = arguments.iter().cloned().zip(self.argument_types.iter().cloned()).collect();
        programs.call(context, async |session| session.run_stored_function(&self.routine, arguments, runs_as).await)
    }
}
