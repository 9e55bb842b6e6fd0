//! Stored aggregate functions. Their bodies are in another language than SQL.

use crate::converted::{converted, converted_from_script};
use crate::plans::routine_cache::ParsedRoutine;
use crate::stored_functions::{StoredFunctions, stored_routine};
use parking_lot::Mutex;
use squall_catalog::{Invoker, RoutineKind};
use squall_registry::{AggregateFunction, AggregateKernel, Argument, BoundAggregate, ExprType, ValueAccumulator};
use squall_statement_context::{BindSettings, StatementContext};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::fmt;
use std::sync::Arc;

impl StoredFunctions {
    /// An aggregate function, if that is what is there.
    ///
    /// # Errors
    /// 1370 if `invoker` may not run it.
    pub fn find_aggregate(
        &self,
        database: &str,
        name: &str,
        invoker: &Invoker,
    ) -> SqlResult<Option<Arc<dyn AggregateFunction>>> {
        let settings = &self.context().settings;
        let routine = stored_routine(self.shared(), settings, database, RoutineKind::Function, name)?;
        let Some(routine) = routine.filter(|routine| routine.def.aggregate) else { return Ok(None) };
        self.check(&routine, invoker)?;
        let name = format!("{}.{}", routine.database, routine.def.name);
        let runs_as = routine.runs_as(invoker);
        Ok(Some(Arc::new(StoredAggregate { name, settings: self.settings_of(&routine)?, routine, runs_as })))
    }
}

/// A stored aggregate function as the binder calls it.
#[derive(Debug)]
struct StoredAggregate {
    /// With its database.
    name: String,
    routine: Arc<ParsedRoutine>,
    settings: Arc<BindSettings>,
    runs_as: Invoker,
}

impl AggregateFunction for StoredAggregate {
    fn name(&self) -> &str {
        &self.name
    }

    fn bind(
        &self,
        arguments: &[Argument<'_>],
        _distinct: bool,
        _context: &StatementContext,
    ) -> SqlResult<BoundAggregate> {
        let def = &self.routine.def;
        let (expected, got) = (def.parameters.len(), arguments.len());
        if expected != got {
            return Err(SqlError::new(ErrorCode::SpWrongArgumentCount, &[&"FUNCTION", &self.name, &expected, &got]));
        }
        let external = self.routine.external.as_ref();
        let external = external.ok_or_else(|| SqlError::unsupported("AGGREGATE functions in SQL"))?;
        let types = def.parameters.iter().map(|parameter| parameter.sql_type.clone()).collect();
        let sql_type = def.returns.clone().unwrap_or(SqlType::Null);
        let shared = SharedByGroups {
            routine: self.routine.clone(),
            settings: self.settings.clone(),
            runs_as: self.runs_as.clone(),
            argument_types: arguments.iter().map(|argument| argument.expr_type.sql_type.clone()).collect(),
            body: external.language.aggregate(external.source.clone(), types),
            contexts: Mutex::default(),
        };
        let result = ExprType::of_column(sql_type, true);
        Ok(BoundAggregate { result, kernel: Arc::new(StoredKernel(Arc::new(shared))) })
    }
}

/// A statement's context, and the body's in it.
type Contexts = (Arc<StatementContext>, Arc<StatementContext>);

/// What the groups of a call share.
struct SharedByGroups {
    routine: Arc<ParsedRoutine>,
    settings: Arc<BindSettings>,
    runs_as: Invoker,
    argument_types: Vec<SqlType>,
    body: Arc<dyn AggregateKernel>,
    /// Those of the statement that runs.
    contexts: Mutex<Option<Contexts>>,
}

impl SharedByGroups {
    /// The body's context: its settings, as its definer or invoker.
    fn context(&self, statement: &Arc<StatementContext>) -> Arc<StatementContext> {
        let mut contexts = self.contexts.lock();
        if let Some((of, context)) = &*contexts
            && Arc::ptr_eq(of, statement)
        {
            return context.clone();
        }
        let mut context = StatementContext {
            settings: self.settings.clone(),
            strict_write: self.settings.sql_mode.is_strict(),
            ..statement.fork()
        };
        if let Invoker::Definer(account) = &self.runs_as {
            context.current_user = format!("{}@{}", account.user, account.host).into();
            context.nested = statement.nested.as_ref().and_then(|nested| nested.as_account(account));
        }
        let context = Arc::new(context);
        *contexts = Some((statement.clone(), context.clone()));
        context
    }
}

/// A call. Calls that are shown alike are taken for one: the definition's time is among it.
struct StoredKernel(Arc<SharedByGroups>);

impl fmt::Debug for StoredKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (routine, def) = (&self.0.routine, &self.0.routine.def);
        write!(f, "{}.{} {} {:?}", routine.database, def.name, def.altered_micros, self.0.argument_types)
    }
}

impl AggregateKernel for StoredKernel {
    fn accumulator(&self, context: Arc<StatementContext>) -> Box<dyn ValueAccumulator> {
        let inner = self.0.context(&context);
        let body = self.0.body.accumulator(inner.clone());
        Box::new(StoredGroup { shared: self.0.clone(), statement: context, inner, body, row: Vec::new() })
    }

    /// It was bound for an account that may run it.
    fn is_of_statement(&self) -> bool {
        true
    }
}

struct StoredGroup {
    shared: Arc<SharedByGroups>,
    statement: Arc<StatementContext>,
    inner: Arc<StatementContext>,
    body: Box<dyn ValueAccumulator>,
    /// The arguments of a row as the parameters' types have them.
    row: Vec<Value>,
}

impl fmt::Debug for StoredGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredGroup").field("body", &self.body).finish_non_exhaustive()
    }
}

impl StoredGroup {
    /// What the body has said is the statement's.
    fn told<T>(&self, result: SqlResult<T>) -> SqlResult<T> {
        self.statement.diagnostics.absorb(&self.inner.diagnostics);
        result
    }

    fn convert_row(&mut self, arguments: &[Value]) -> SqlResult<()> {
        self.row.clear();
        let (parameters, types) = (&self.shared.routine.def.parameters, &self.shared.argument_types);
        for ((value, from), parameter) in arguments.iter().zip(types).zip(parameters) {
            let (to, name) = (&parameter.sql_type, &parameter.name);
            self.row.push(converted(value.clone(), from, to, name, &self.inner)?);
        }
        Ok(())
    }

    fn result(&mut self) -> SqlResult<Value> {
        let value = self.body.evaluate()?;
        let def = &self.shared.routine.def;
        let from = match &value {
            Value::Null => SqlType::Null,
            Value::Bytes(_) => SqlType::longtext(CollationId::BINARY),
            _ => SqlType::longtext(CollationId::UTF8MB4_0900_AI_CI),
        };
        converted_from_script(value, &from, def.returns.as_ref().unwrap_or(&SqlType::Null), &def.name, &self.inner)
    }
}

impl ValueAccumulator for StoredGroup {
    fn update(&mut self, arguments: &[Value]) -> SqlResult<()> {
        let added = self.convert_row(arguments).and_then(|()| self.body.update(&self.row));
        self.told(added)
    }

    fn evaluate(&mut self) -> SqlResult<Value> {
        let result = self.result();
        self.told(result)
    }

    fn state(&mut self) -> SqlResult<Vec<u8>> {
        let state = self.body.state();
        self.told(state)
    }

    fn merge(&mut self, state: &[u8]) -> SqlResult<()> {
        let merged = self.body.merge(state);
        self.told(merged)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.body.size()
    }
}
