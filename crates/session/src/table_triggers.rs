//! Triggers around the changes of rows.
//!
//! A trigger whose body computes (SET of NEW's columns, of local and `@variables`, IF, CASE, loops, SIGNAL) is compiled, and runs where a row is
//! changed, without a session. [`BoundTriggers::compile`] is the one place where bodies with other statements will be run in another way.

use crate::compiled::{Compiler, Machine, NEW_ALIAS, NotCompiled, OLD_ALIAS, RowSlots, may_be_compiled};
use crate::plans::trigger_cache::{CompiledTrigger, ParsedBody, ParsedTriggers};
use crate::session::parse_error;
use crate::stored_functions::StoredFunctions;
use crate::trigger_rows::TriggerRows;
use parking_lot::Mutex;
use squall_catalog::{Invoker, NameKey, Need, Object, Privileges, TableDef, TriggerDef, TriggerEvent, TriggerTime};
use squall_definitions::data_type::TypeRules;
use squall_parser::ast::Statement;
use squall_parser::{ParseOptions, parse_body};
use squall_planner::bind::{RowTable, RowTriggers};
use squall_planner::{Binder, TableResolver};
use squall_registry::{BindSettings, StatementContext, UserVariables};
use squall_server_state::charset::collation;
use squall_types::{SqlError, SqlMode, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Tells the binder that `@variables` change while the text is run, whether it says so or not.
const ASSIGNS_VARIABLES: &[u8] = b":=";

/// What bodies find names by.
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
struct ReadyTrigger {
    compiled: Arc<CompiledTrigger>,
    /// The settings that its creator had.
    settings: Arc<BindSettings>,
    /// Its definer.
    current_user: Arc<str>,
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
        Ok(BoundTriggers::of_parsed(database, parsed, tables, functions))
    }

    /// Those of a table that the catalog does not have.
    ///
    /// # Errors
    /// See [`BoundTriggers::new`].
    pub fn uncached(
        database: &str,
        table: &Arc<TableDef>,
        tables: BodyTables,
        functions: StoredFunctions,
    ) -> SqlResult<BoundTriggers> {
        let memory_max = functions.context().settings.parser_memory_max;
        let parsed = Arc::new(ParsedTriggers::new(table, |trigger| parse(trigger, memory_max))?);
        Ok(BoundTriggers::of_parsed(database, parsed, tables, functions))
    }

    fn of_parsed(
        database: &str,
        parsed: Arc<ParsedTriggers>,
        tables: BodyTables,
        functions: StoredFunctions,
    ) -> BoundTriggers {
        let ready = parsed.bodies.iter().map(|_| Mutex::default()).collect();
        BoundTriggers { database: database.into(), parsed, tables, functions, ready }
    }

    /// Compiles a trigger that is about to be created.
    ///
    /// # Errors
    /// 1235 for a body that is not supported. Errors that it may have when it runs, depending on what is there then, are none.
    pub fn check(&self, trigger: &TriggerDef) -> SqlResult<()> {
        let Some(at) = self.parsed.table.triggers.iter().position(|known| known.name == trigger.name) else {
            return Err(SqlError::internal("a trigger that its table lacks"));
        };
        let settings = self.settings_of(trigger)?;
        match self.compile(trigger, &self.parsed.bodies[at], &settings) {
            Err(NotCompiled::Other) => Err(not_supported(trigger)),
            _ => Ok(()),
        }
    }

    /// The triggers for a time and an event, with their places.
    fn of(&self, time: TriggerTime, event: TriggerEvent) -> impl Iterator<Item = (usize, &TriggerDef)> {
        self.parsed.table.triggers.iter().enumerate().filter(move |(_, trigger)| trigger.is_for(time, event))
    }

    /// How a trigger is run, with the types that `@variables` have now.
    fn ready(&self, at: usize, trigger: &TriggerDef, context: &StatementContext) -> SqlResult<Arc<ReadyTrigger>> {
        let mut ready = self.ready[at].lock();
        if let Some(known) = ready.as_ref().filter(|known| holds(&known.compiled, &context.user_variables)) {
            return Ok(known.clone());
        }
        let parsed = &self.parsed.bodies[at];
        let settings = self.settings_of(trigger)?;
        let wanted = self.functions.compiled_for(&settings, Invoker::Definer(trigger.definer.clone()));
        let kept = parsed.compiled(&wanted).filter(|kept| holds(kept, &context.user_variables));
        let compiled = match kept {
            Some(compiled) => compiled,
            None => {
                let table = Object::Table(self.database.clone(), self.table_name());
                self.check_definer(trigger, table, Privileges::TRIGGER, "TRIGGER")?;
                let compiled = self.compile(trigger, parsed, &settings).map_err(|not| match not {
                    NotCompiled::Other => not_supported(trigger),
                    NotCompiled::Failed(error) => error,
                })?;
                self.check_columns(trigger, &compiled.program.rows)?;
                let compiled = Arc::new(compiled);
                // System variables have been taken for the values that they have.
                if !trigger.body.contains("@@") {
                    parsed.keep_compiled(wanted, compiled.clone());
                }
                compiled
            }
        };
        let current_user = format!("{}@{}", trigger.definer.user, trigger.definer.host).into();
        let made = Arc::new(ReadyTrigger { compiled, settings, current_user });
        *ready = Some(made.clone());
        Ok(made)
    }

    fn table_name(&self) -> Arc<str> {
        self.parsed.table.name.as_str().into()
    }

    /// What a definer needs to have the trigger run.
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

    /// SELECT on the columns that a trigger reads, UPDATE on those that it sets.
    fn check_columns(&self, trigger: &TriggerDef, rows: &RowSlots) -> SqlResult<()> {
        let columns = &self.parsed.table.columns;
        for (slots, needed, word) in
            [(&rows.reads, Privileges::SELECT, "SELECT"), (&rows.sets, Privileges::UPDATE, "UPDATE")]
        {
            let mut names: Vec<Arc<str>> = Vec::new();
            for slot in slots {
                let name = &columns[*slot % columns.len()].name;
                if !names.iter().any(|known| **known == **name) {
                    names.push(name.as_str().into());
                }
            }
            if !names.is_empty() {
                let object = Object::KnownColumns(self.database.clone(), self.table_name(), names);
                self.check_definer(trigger, object, needed, word)?;
            }
        }
        Ok(())
    }

    /// The settings of a body: those of the statement, but for what its creator had.
    fn settings_of(&self, trigger: &TriggerDef) -> SqlResult<Arc<BindSettings>> {
        let own = &self.functions.context().settings;
        let settings = BindSettings {
            database: Some(self.database.clone()),
            sql_mode: SqlMode(trigger.sql_mode),
            collation: collation(&trigger.connection_collation)?,
            ..(**own).clone()
        };
        // Mostly they are the statement's.
        Ok(if settings == **own { own.clone() } else { Arc::new(settings) })
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
            keeps_parameters: false,
            insert_values: None,
            row_keys_of_views: false,
            change_locks: Default::default(),
        };
        let rules = TypeRules { collation: collation(&trigger.database_collation)?, sql_mode: settings.sql_mode };
        let mut compiler = Compiler::new(&binder, rules, Invoker::Definer(trigger.definer.clone()));
        let old = trigger.event.has_old().then_some(OLD_ALIAS);
        let new = trigger.event.has_new().then_some(NEW_ALIAS);
        compiler.rows(old.into_iter().chain(new).map(|alias| row_table(alias, &self.parsed.table)).collect());
        let program = compiler.compile(&parsed.body)?;
        let type_of = |name: &NameKey| before.iter().find(|(known, _)| known == name).map(|(_, ty)| ty.clone());
        let user_variables = program.user_variables.iter().map(|name| (name.clone(), type_of(name))).collect();
        Ok(CompiledTrigger { program, user_variables })
    }

    fn run(
        &self,
        (at, trigger): (usize, &TriggerDef),
        (old, new): (&[Value], &[Value]),
        context: &StatementContext,
    ) -> SqlResult<Finished> {
        let ready = self.ready(at, trigger, context)?;
        let program = &ready.compiled.program;
        let rows = &program.rows;
        let mut variables = vec![Value::Null; program.variable_count()];
        for slot in rows.reads.iter().chain(&rows.sets) {
            let value = match rows.new_at {
                Some(begin) if *slot >= begin => new.get(*slot - begin),
                _ => old.get(*slot),
            };
            variables[*slot] = value.cloned().unwrap_or_default();
        }
        // Its warnings end with it; so does what it makes of LAST_INSERT_ID().
        let inner = StatementContext {
            settings: ready.settings.clone(),
            strict_write: ready.settings.sql_mode.is_strict(),
            current_user: ready.current_user.clone(),
            ..context.fork()
        };
        let ended = Machine::default().run(program, &mut variables, None, usize::MAX, &inner);
        context.random_state.store(inner.random_state.load(Ordering::Relaxed), Ordering::Relaxed);
        ended?.map_err(|_| SqlError::internal("a trigger that has not come to its end"))?;
        Ok(Finished { ready, variables })
    }
}

impl Debug for BoundTriggers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundTriggers").field("parsed", &self.parsed).finish_non_exhaustive()
    }
}

/// The tree of a body.
fn parse(trigger: &TriggerDef, memory_max: u64) -> SqlResult<Statement> {
    let options = squall_planner::bind::parse_options(SqlMode(trigger.sql_mode));
    let (body, _) = parse_body(&trigger.body, &ParseOptions { memory_max, ..options }).map_err(parse_error)?;
    Ok(body)
}

/// What a trigger has left.
struct Finished {
    ready: Arc<ReadyTrigger>,
    variables: Vec<Value>,
}

impl Finished {
    /// Gives the new row what was set.
    fn give(mut self, new: &mut [Value]) {
        let rows = &self.ready.compiled.program.rows;
        let Some(begin) = rows.new_at else { return };
        for slot in &rows.sets {
            if let (Some(column), Some(value)) = (new.get_mut(slot - begin), self.variables.get_mut(*slot)) {
                *column = std::mem::take(value);
            }
        }
    }
}

impl RowTriggers for BoundTriggers {
    fn runs_before(&self, event: TriggerEvent) -> bool {
        self.of(TriggerTime::Before, event).next().is_some()
    }

    fn runs_after(&self, event: TriggerEvent) -> bool {
        self.of(TriggerTime::After, event).next().is_some()
    }

    fn sets(&self, event: TriggerEvent, column: usize) -> bool {
        self.of(TriggerTime::Before, event).any(|(at, _)| {
            let ready = self.ready[at].lock();
            let rows = ready.as_ref().map(|ready| &ready.compiled.program.rows);
            rows.is_some_and(|rows| rows.new_at.is_some_and(|begin| rows.sets.contains(&(begin + column))))
        })
    }

    fn before(
        &self,
        event: TriggerEvent,
        old: &[Value],
        new: &mut [Value],
        context: &StatementContext,
    ) -> SqlResult<()> {
        for trigger in self.of(TriggerTime::Before, event) {
            self.run(trigger, (old, new), context)?.give(new);
        }
        Ok(())
    }

    fn after(&self, event: TriggerEvent, old: &[Value], new: &[Value], context: &StatementContext) -> SqlResult<()> {
        for trigger in self.of(TriggerTime::After, event) {
            self.run(trigger, (old, new), context)?;
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

fn not_supported(trigger: &TriggerDef) -> SqlError {
    SqlError::unsupported(format_args!(
        "TRIGGER {}: statements in triggers other than DECLARE of variables and conditions, SET of NEW's columns and of variables, IF, CASE, loops and SIGNAL, without subqueries",
        trigger.name
    ))
}
