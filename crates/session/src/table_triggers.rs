//! Triggers around the changes of rows.
//!
//! A trigger whose body only computes (SET of NEW's columns, of local and `@variables`, IF, CASE, loops, SIGNAL) is compiled, and runs
//! on the thread that changes the row, without a session. The interpreter runs any other body, as a [part of the
//! statement](crate::statement_programs).

use crate::compiled::{Compiler, Machine, NEW_ALIAS, NotCompiled, OLD_ALIAS, may_be_compiled};
use crate::plans::trigger_cache::{CompiledTrigger, ParsedBody, ParsedTriggers};
use crate::session::parse_error;
use crate::statement_programs::{StatementPrograms, no_place};
use crate::stored_functions::StoredFunctions;
use crate::trigger_rows::TriggerRows;
use parking_lot::Mutex;
use squall_catalog::{
    Invoker, NameKey, Need, Object, Privileges, RoutineKind, TableDef, TriggerDef, TriggerEvent, TriggerTime,
};
use squall_definitions::data_type::TypeRules;
use squall_parser::ast::{Call, Span, Statement};
use squall_parser::{ParseOptions, parse_body};
use squall_planner::bind::{RowTable, RowTriggers};
use squall_planner::{Binder, KeptParameters, TableResolver};
use squall_statement_context::{BindSettings, StatementContext, UserVariables};
use squall_types::{CollationId, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Tells the binder that `@variables` change while the text is run, whether it says so or not.
const ASSIGNS_VARIABLES: &[u8] = b":=";

/// The resolver of names in bodies.
pub(crate) type BodyTables = Box<dyn TableResolver + Send + Sync>;

/// The triggers of a table, for one statement.
pub(crate) struct BoundTriggers {
    database: Arc<str>,
    parsed: Arc<ParsedTriggers>,
    tables: BodyTables,
    functions: StoredFunctions,
    /// Of each trigger, once it has run, how it is run.
    ready: Vec<Mutex<Option<Arc<ReadyTrigger>>>>,
}

/// A trigger that has been found to be one that may run.
#[derive(Debug)]
enum ReadyTrigger {
    Compiled {
        compiled: Arc<CompiledTrigger>,
        /// The settings that its creator had.
        settings: Arc<BindSettings>,
        /// Its definer.
        current_user: Arc<str>,
    },
    /// Statement by statement.
    Interpreted {
        /// The columns of NEW that it sets.
        sets: Vec<usize>,
    },
}

impl ReadyTrigger {
    /// Whether it can run with the `@variables` that there are now.
    fn holds(&self, variables: &UserVariables) -> bool {
        match self {
            ReadyTrigger::Compiled { compiled, .. } => holds(compiled, variables),
            ReadyTrigger::Interpreted { .. } => true,
        }
    }

    /// Whether it runs statements, or what it calls does.
    fn runs_statements(&self) -> bool {
        match self {
            ReadyTrigger::Compiled { compiled, .. } => compiled.program.runs_statements,
            ReadyTrigger::Interpreted { .. } => true,
        }
    }

    /// Whether it may give `@variables` values.
    fn assigns_variables(&self) -> bool {
        match self {
            ReadyTrigger::Compiled { compiled, .. } => compiled.program.assigns_variables,
            ReadyTrigger::Interpreted { .. } => true,
        }
    }

    /// Whether it sets a column of NEW.
    fn sets(&self, column: usize) -> bool {
        match self {
            ReadyTrigger::Compiled { compiled, .. } => {
                let rows = &compiled.program.rows;
                rows.new_at.is_some_and(|begin| rows.sets.contains(&(begin + column)))
            }
            ReadyTrigger::Interpreted { sets } => sets.contains(&column),
        }
    }
}

impl BoundTriggers {
    /// Those of a table; functions are called, and `@variables` read, as the statement does.
    ///
    /// # Errors
    /// When a body cannot be parsed any more.
    pub fn new(
        database: &str,
        table: &Arc<TableDef>,
        tables: BodyTables,
        functions: StoredFunctions,
    ) -> SqlResult<BoundTriggers> {
        let memory_max = functions.context().settings.parser_memory_max;
        let parsed = functions.shared().triggers.get(table, |trigger| parse(trigger, memory_max))?;
        let ready = parsed.bodies.iter().map(|_| Mutex::default()).collect();
        let triggers = BoundTriggers { database: database.into(), parsed, tables, functions, ready };
        triggers.note_statements();
        Ok(triggers)
    }

    /// Says to the statement whether a trigger runs others as parts of it. What is wrong with one is said when it runs.
    fn note_statements(&self) {
        let context = self.functions.context();
        for (at, trigger) in self.parsed.table.triggers.iter().enumerate() {
            let Ok(ready) = self.ready(at, trigger, context) else { continue };
            if ready.runs_statements() {
                context.programs.note_call();
            } else if ready.assigns_variables() {
                context.programs.note_assignments();
            }
        }
    }

    /// The triggers for a time and an event, with their places.
    fn of(&self, time: TriggerTime, event: TriggerEvent) -> impl Iterator<Item = (usize, &TriggerDef)> {
        self.parsed.table.triggers.iter().enumerate().filter(move |(_, trigger)| trigger.is_for(time, event))
    }

    /// How a trigger is run, with the types that `@variables` have now.
    fn ready(&self, at: usize, trigger: &TriggerDef, context: &StatementContext) -> SqlResult<Arc<ReadyTrigger>> {
        let mut ready = self.ready[at].lock();
        if let Some(known) = ready.as_ref().filter(|known| known.holds(&context.user_variables)) {
            return Ok(known.clone());
        }
        let made = Arc::new(self.make_ready(at, trigger, context)?);
        *ready = Some(made.clone());
        Ok(made)
    }

    fn make_ready(&self, at: usize, trigger: &TriggerDef, context: &StatementContext) -> SqlResult<ReadyTrigger> {
        let parsed = &self.parsed.bodies[at];
        let settings = self.settings_of(trigger)?;
        let wanted = self.functions.compiled_for(&settings, Invoker::Definer(trigger.definer.clone()));
        let current_user = format!("{}@{}", trigger.definer.user, trigger.definer.host).into();
        if let Some(compiled) = parsed.compiled(&wanted).filter(|kept| holds(kept, &context.user_variables)) {
            return Ok(ReadyTrigger::Compiled { compiled, settings, current_user });
        }
        let table = Object::Table(self.database.clone(), self.table_name());
        self.check_definer(trigger, table, Privileges::TRIGGER, "TRIGGER")?;
        let compiled = match self.compile(trigger, parsed, &settings) {
            Ok(compiled) => Arc::new(compiled),
            Err(NotCompiled::Other) => return self.interpreted(trigger, parsed),
            Err(NotCompiled::Failed(error)) => return Err(error),
        };
        let rows = &compiled.program.rows;
        // OLD and NEW are one behind the other.
        let columns = self.parsed.table.columns.len();
        for (slots, needed, word) in
            [(&rows.reads, Privileges::SELECT, "SELECT"), (&rows.sets, Privileges::UPDATE, "UPDATE")]
        {
            self.check_columns(trigger, slots.iter().map(|slot| *slot % columns), needed, word)?;
        }
        // System variables have been taken for the values that they have.
        if !trigger.body.contains("@@") {
            parsed.keep_compiled(wanted, compiled.clone());
        }
        Ok(ReadyTrigger::Compiled { compiled, settings, current_user })
    }

    /// A body that is run statement by statement. Which columns of OLD and NEW it reads its text tells; if it does not, it may be all.
    fn interpreted(&self, trigger: &TriggerDef, parsed: &ParsedBody) -> SqlResult<ReadyTrigger> {
        let (time, event) = (trigger.time, trigger.event);
        let catalog = self.functions.shared().catalog.load();
        let procedure = |call: &Call| {
            let database = call.procedure.schema.as_ref().map_or(&*self.database, |schema| schema.as_str());
            catalog.routine(database, RoutineKind::Procedure, call.procedure.name.as_str()).cloned()
        };
        let sets = TriggerRows { table: &self.parsed.table, time, event }.columns_set(&parsed.body, &procedure);
        let options = squall_planner::bind::parse_options(SqlMode(trigger.sql_mode));
        match squall_parser::qualified_by(&trigger.body, &options, &["OLD", "NEW"]) {
            Some(names) => {
                // What is named more often than it is set is read.
                let mut uses = vec![0_i64; self.parsed.table.columns.len()];
                let named = names.iter().filter_map(|name| self.parsed.table.column(name));
                named.for_each(|(ordinal, _)| uses[ordinal] += 1);
                sets.iter().filter(|set| !set.is_read).for_each(|set| uses[set.ordinal] -= 1);
                let reads = uses.iter().enumerate().filter(|(_, uses)| **uses > 0).map(|(ordinal, _)| ordinal);
                self.check_columns(trigger, reads, Privileges::SELECT, "SELECT")?;
            }
            None => {
                let table = Object::Table(self.database.clone(), self.table_name());
                self.check_definer(trigger, table, Privileges::SELECT, "SELECT")?;
            }
        }
        let sets: Vec<usize> = sets.iter().map(|set| set.ordinal).collect();
        self.check_columns(trigger, sets.iter().copied(), Privileges::UPDATE, "UPDATE")?;
        Ok(ReadyTrigger::Interpreted { sets })
    }

    fn table_name(&self) -> Arc<str> {
        self.parsed.table.name.as_str().into()
    }

    /// The privileges that a definer needs for the trigger to run.
    fn check_definer(
        &self,
        trigger: &TriggerDef,
        object: Object,
        needed: Privileges,
        word: &'static str,
    ) -> SqlResult<()> {
        let invoker = Invoker::Definer(trigger.definer.clone());
        self.functions.check_needs(&[Need { invoker, ..Need::new(object, needed, word) }])
    }

    /// A privilege on columns of the table, by their ordinals.
    fn check_columns(
        &self,
        trigger: &TriggerDef,
        ordinals: impl Iterator<Item = usize>,
        needed: Privileges,
        word: &'static str,
    ) -> SqlResult<()> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for ordinal in ordinals {
            let name = &self.parsed.table.columns[ordinal].name;
            if !names.iter().any(|known| **known == **name) {
                names.push(name.as_str().into());
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let object = Object::KnownColumns(self.database.clone(), self.table_name(), names);
        self.check_definer(trigger, object, needed, word)
    }

    /// The settings of a body: those of the statement, but for what its creator had.
    fn settings_of(&self, trigger: &TriggerDef) -> SqlResult<Arc<BindSettings>> {
        let collation = CollationId::named(&trigger.connection_collation)?;
        Ok(self.functions.context().settings.of_program(&self.database, SqlMode(trigger.sql_mode), collation))
    }

    fn compile(
        &self,
        trigger: &TriggerDef,
        parsed: &ParsedBody,
        settings: &Arc<BindSettings>,
    ) -> Result<CompiledTrigger, NotCompiled> {
        let (time, event) = (trigger.time, trigger.event);
        TriggerRows { table: &self.parsed.table, time, event }.check(&parsed.body)?;
        if !may_be_compiled(&parsed.body) {
            return Err(NotCompiled::Other);
        }
        let shared = self.functions.shared();
        let outer = self.functions.context();
        // Assignments are followed in a copy: the program begins with what is there now.
        let before: Vec<(NameKey, SqlType)> =
            outer.user_variables.lock().iter().map(|(name, (_, ty))| (name.clone(), ty.clone())).collect();
        let types: HashMap<_, _> = before.iter().map(|(name, ty)| (name.clone(), (Value::Null, ty.clone()))).collect();
        let user_variables = Arc::new(UserVariables::from(types));
        let context = Arc::new(StatementContext { settings: settings.clone(), user_variables, ..outer.fork() });
        let catalog = shared.catalog.load();
        let binder = Binder {
            catalog: &catalog,
            default_database: Some(&self.database),
            registry: &shared.registry,
            context: &context,
            tables: &*self.tables,
            params: &[],
            text: ASSIGNS_VARIABLES,
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let rules =
            TypeRules { collation: CollationId::named(&trigger.database_collation)?, sql_mode: settings.sql_mode };
        let mut compiler = Compiler::new(&binder, rules, Invoker::Definer(trigger.definer.clone()));
        let old = trigger.event.has_old().then_some(OLD_ALIAS);
        let new = trigger.event.has_new().then_some(NEW_ALIAS);
        compiler.rows(old.into_iter().chain(new).map(|alias| row_table(alias, &self.parsed.table)).collect());
        let program = compiler.compile(&parsed.body)?;
        let type_of = |name: &NameKey| before.iter().find(|(known, _)| known == name).map(|(_, ty)| ty.clone());
        let user_variables = program.user_variables.iter().map(|name| (name.clone(), type_of(name))).collect();
        Ok(CompiledTrigger { program, user_variables })
    }

    /// Runs a trigger; gives NEW what it sets.
    fn run(
        &self,
        (at, trigger): (usize, &TriggerDef),
        old: &[Value],
        new: NewRow<'_>,
        context: &StatementContext,
    ) -> SqlResult<()> {
        match &*self.ready(at, trigger, context)? {
            ReadyTrigger::Compiled { compiled, settings, current_user } => {
                // Its warnings end with it; so does what it makes of LAST_INSERT_ID().
                let mut inner = StatementContext {
                    settings: settings.clone(),
                    strict_write: settings.sql_mode.is_strict(),
                    current_user: current_user.clone(),
                    is_in_trigger: true,
                    ..context.fork()
                };
                // What asks for privileges asks those of the definer.
                if compiled.program.may_wait
                    && let Some(outer) = &inner.nested
                {
                    inner.nested = outer.as_account(&trigger.definer);
                }
                let ran = run_compiled(compiled, old, new, &inner);
                context.random_state.store(inner.random_state.load(Ordering::Relaxed), Ordering::Relaxed);
                ran
            }
            ReadyTrigger::Interpreted { sets } => {
                let left = self.run_inside(at, old, new.values(), context)?;
                if let NewRow::Before(new) = new {
                    for (column, value) in left.into_iter().enumerate().filter(|(column, _)| sets.contains(column)) {
                        new[column] = value;
                    }
                }
                Ok(())
            }
        }
    }

    /// Runs a body statement by statement; gives NEW as it is then. Its warnings, and its values of functions about the last
    /// statement, end with it.
    fn run_inside(&self, at: usize, old: &[Value], new: &[Value], context: &StatementContext) -> SqlResult<Vec<Value>> {
        let programs = StatementPrograms::of(context).ok_or_else(no_place)?;
        let rows = (old.to_vec(), new.to_vec());
        let trigger = (&*self.parsed, at);
        programs.call(&context.fork(), async |session| session.run_trigger(&self.database, trigger, rows).await)
    }
}

/// The row that is to come.
enum NewRow<'r> {
    /// It may be set.
    Before(&'r mut [Value]),
    /// It is there.
    After(&'r [Value]),
}

impl NewRow<'_> {
    fn values(&self) -> &[Value] {
        match self {
            NewRow::Before(values) => values,
            NewRow::After(values) => values,
        }
    }
}

fn run_compiled(
    compiled: &CompiledTrigger,
    old: &[Value],
    new: NewRow<'_>,
    context: &StatementContext,
) -> SqlResult<()> {
    let program = &compiled.program;
    let rows = &program.rows;
    let mut variables = vec![Value::Null; program.variable_count()];
    for slot in rows.reads.iter().chain(&rows.sets) {
        let value = match rows.new_at {
            Some(begin) if *slot >= begin => new.values().get(*slot - begin),
            _ => old.get(*slot),
        };
        variables[*slot] = value.cloned().unwrap_or_default();
    }
    let ended = Machine::default().run(program, &mut variables, None, usize::MAX, context)?;
    ended.map_err(|_| SqlError::internal("a trigger that has not come to its end"))?;
    if let (NewRow::Before(new), Some(begin)) = (new, rows.new_at) {
        for slot in &rows.sets {
            if let (Some(column), Some(value)) = (new.get_mut(slot - begin), variables.get_mut(*slot)) {
                *column = std::mem::take(value);
            }
        }
    }
    Ok(())
}

impl Debug for BoundTriggers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundTriggers").field("parsed", &self.parsed).finish_non_exhaustive()
    }
}

/// The tree of a body.
fn parse(trigger: &TriggerDef, memory_max: u64) -> SqlResult<(Statement, Span)> {
    let options = squall_planner::bind::parse_options(SqlMode(trigger.sql_mode));
    parse_body(&trigger.body, &ParseOptions { memory_max, ..options }).map_err(parse_error)
}

impl RowTriggers for BoundTriggers {
    fn runs_before(&self, event: TriggerEvent) -> bool {
        self.of(TriggerTime::Before, event).next().is_some()
    }

    fn runs_after(&self, event: TriggerEvent) -> bool {
        self.of(TriggerTime::After, event).next().is_some()
    }

    fn sets(&self, event: TriggerEvent, column: usize) -> bool {
        self.of(TriggerTime::Before, event)
            .any(|(at, _)| self.ready[at].lock().as_ref().is_some_and(|ready| ready.sets(column)))
    }

    fn before(
        &self,
        event: TriggerEvent,
        old: &[Value],
        new: &mut [Value],
        context: &StatementContext,
    ) -> SqlResult<()> {
        for trigger in self.of(TriggerTime::Before, event) {
            self.run(trigger, old, NewRow::Before(&mut *new), context)?;
        }
        Ok(())
    }

    fn after(&self, event: TriggerEvent, old: &[Value], new: &[Value], context: &StatementContext) -> SqlResult<()> {
        for trigger in self.of(TriggerTime::After, event) {
            self.run(trigger, old, NewRow::After(new), context)?;
        }
        Ok(())
    }
}

/// Whether the `@variables` that a body reads have the types that it was compiled for.
fn holds(compiled: &CompiledTrigger, variables: &UserVariables) -> bool {
    if compiled.user_variables.is_empty() {
        return true;
    }
    let variables = variables.lock();
    compiled.user_variables.iter().all(|(name, ty)| variables.get(name).map(|(_, now)| now) == ty.as_ref())
}

/// OLD or NEW. Any column of these may be NULL: a row is looked at behind the triggers before it is stored.
fn row_table<'t>(alias: &'t str, table: &'t Arc<TableDef>) -> RowTable<'t> {
    let mut row = RowTable { database: None, qualified_only: true, any_case: true, ..RowTable::of("", alias, table) };
    row.columns.iter_mut().for_each(|column| column.expr_type.nullable = true);
    row
}
