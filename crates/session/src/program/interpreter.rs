//! Runs a stored program.

use super::handlers;
use super::scope::{Cursor, CursorRows, Scope};
use crate::collector::Collector;
use crate::compiled::{CASE_OPERAND, Variable, stored};
use crate::program_errors as errors;
use crate::result::pass_on::PassOn;
use crate::result::writer::{LocalFuture, ResultWriter};
use crate::session::{Request, Session};
use crate::stack::{OnGrowingStack, check_stack};
use crate::state::locals::{Locals, SharedLocals};
use crate::statement_kind::refused_for_its_rows;
use parking_lot::Mutex;
use squall_functions::expr::truth_of;
use squall_parser::ast::{
    BinaryOp, Block, CaseBranch, ColumnName, ConditionValue, Declaration, Expr, HandlerAction, Ident, Literal,
    ProgramStatement, SignalCondition, Span, Statement, Step,
};
use squall_types::{Level, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Memory that the rows of a cursor may take, bytes: they are there from OPEN to CLOSE.
const CURSOR_BYTES_MAX: usize = 256 << 20;

/// Where a program goes on.
pub(super) enum Flow<'a> {
    Next,
    Leave(&'a Ident),
    Iterate(&'a Ident),
    /// Behind the block of that place.
    Exit(usize),
    /// Out of a function, whose value is there.
    Return,
}

/// Why a program does not go on.
pub(super) enum Stop {
    /// A condition that was raised now, and may have a handler.
    Raised(SqlError),
    /// One without a handler.
    Failed(SqlError),
    /// The client is gone.
    Client(std::io::Error),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Stop::Raised(error)
    }
}

type Ran<'a> = Result<Flow<'a>, Stop>;

/// The purpose of an expression of a program.
#[derive(Clone, Copy)]
enum Purpose {
    /// A condition, or the operand of CASE.
    Condition,
    /// The value of a variable.
    Assignment,
}

pub(super) struct Interpreter<'r, 'a> {
    pub(super) session: &'r mut Session,
    /// The text that spans refer to.
    pub(super) source: &'r [u8],
    writer: &'r mut dyn ResultWriter,
    pub(super) locals: SharedLocals,
    scopes: Vec<Scope<'a>>,
    /// The name of a function's result, and its value once it exists.
    pub(super) returns: Option<&'r Variable>,
    returned: Option<Value>,
}

/// The result of a program.
pub(crate) struct Left {
    /// The values of its parameters.
    pub locals: Locals,
    /// The value that a function has returned.
    pub returned: Option<Value>,
}

impl Session {
    /// Runs the body of a stored program, whose text is `source`, with the parameters that it has. Result sets go to the writer; the error is
    /// returned, and what is left in the parameters.
    ///
    /// # Errors
    /// When the client is gone.
    pub(crate) async fn run_program(
        &mut self,
        body: &Statement,
        span: Span,
        source: &[u8],
        parameters: Locals,
        returns: Option<&Variable>,
        writer: &mut dyn ResultWriter,
    ) -> std::io::Result<(SqlResult<()>, Left)> {
        let scopes = (0..parameters.depth()).map(|_| Scope::new(&[])).collect();
        let locals: SharedLocals = Arc::new(Mutex::new(parameters));
        let outer = self.locals.replace(locals.clone());
        let locals_of_program = locals.clone();
        if self.nesting.programs == 0 {
            self.nesting.slice.end();
        }
        self.nesting.programs += 1;
        let mut interpreter =
            Interpreter { session: self, source, writer, locals: locals_of_program, scopes, returns, returned: None };
        let ran = interpreter.step(body, span).await;
        let returned = interpreter.returned.take();
        self.locals = outer;
        self.nesting.programs -= 1;
        let left = Left { locals: std::mem::take(&mut *locals.lock()), returned };
        match ran {
            Ok(_) => Ok((Ok(()), left)),
            Err(Stop::Raised(error) | Stop::Failed(error)) => Ok((Err(error), left)),
            Err(Stop::Client(error)) => Err(error),
        }
    }
}

impl<'a> Interpreter<'_, 'a> {
    /// Runs statements one after the other. Their conditions are handled here: a handler that continues goes on with
    /// the next statement.
    async fn steps(&mut self, steps: &'a [Step]) -> Ran<'a> {
        for step in steps {
            // Nothing that it does may ever wait, and then it would have the event loop to itself.
            let slice = &self.session.nesting.slice;
            if slice.is_over() {
                slice.give_way().await;
            }
            let ran = match self.session.process.kill.check() {
                Ok(()) => self.step(&step.statement, step.span).await,
                Err(killed) => Err(Stop::Failed(killed)),
            };
            let flow = match ran {
                Err(Stop::Raised(error)) => self.handle(Level::Error, error).await?,
                ran => ran?,
            };
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Boxed, and on a stack that grows: programs are nested as deep as the parser allows.
    fn step<'s>(&'s mut self, statement: &'a Statement, span: Span) -> OnGrowingStack<dyn Future<Output = Ran<'a>> + 's>
    where
        'a: 's,
    {
        if let Err(error) = check_stack() {
            return OnGrowingStack(Box::pin(std::future::ready(Err(Stop::Failed(error)))));
        }
        match statement {
            Statement::Program(program) => OnGrowingStack(Box::pin(self.program(program, statement))),
            _ => OnGrowingStack(Box::pin(self.statement(statement, span))),
        }
    }

    async fn program(&mut self, program: &'a ProgramStatement, statement: &'a Statement) -> Ran<'a> {
        match program {
            ProgramStatement::Block(block) => self.block(block).await,
            ProgramStatement::If { branches, otherwise } => {
                for (condition, steps) in branches {
                    if self.is_true(condition).await? {
                        return self.steps(steps).await;
                    }
                }
                self.steps(otherwise.as_deref().unwrap_or_default()).await
            }
            ProgramStatement::Case { operand, branches, otherwise } => {
                match self.branch(operand.as_ref(), branches).await? {
                    Some(steps) => self.steps(steps).await,
                    None => match otherwise {
                        Some(steps) => self.steps(steps).await,
                        None => Err(errors::case_not_found().into()),
                    },
                }
            }
            ProgramStatement::Loop { .. } | ProgramStatement::While { .. } | ProgramStatement::Repeat { .. } => {
                match self.run_compiled(statement).await? {
                    Some(flow) => Ok(flow),
                    None => self.repeat(program).await,
                }
            }
            ProgramStatement::Leave(label) => Ok(Flow::Leave(label)),
            ProgramStatement::Iterate(label) => Ok(Flow::Iterate(label)),
            ProgramStatement::Return(value) => self.give(value).await,
            ProgramStatement::Open { cursor } => self.open(cursor).await,
            ProgramStatement::Fetch { cursor, into } => self.fetch(cursor, into),
            ProgramStatement::Close { cursor } => match self.cursor(cursor)?.rows.take() {
                Some(_) => Ok(Flow::Next),
                None => Err(errors::cursor_not_open().into()),
            },
        }
    }

    /// RETURN.
    async fn give(&mut self, value: &'a Expr) -> Ran<'a> {
        let Some(returns) = self.returns else { return Err(errors::return_outside_function().into()) };
        let (value, from) = self.evaluate(value, Purpose::Assignment).await?;
        let context = self.session.change_context();
        let value = stored(value, &from, returns, &context)?;
        Ok(self.return_value(value))
    }

    /// Ends a function with a value.
    pub(super) fn return_value(&mut self, value: Value) -> Flow<'a> {
        self.returned = Some(value);
        Flow::Return
    }

    async fn block(&mut self, block: &'a Block) -> Ran<'a> {
        let depth = self.scopes.len();
        self.scopes.push(Scope::new(&block.declarations));
        self.locals.lock().begin_block();
        let ran = match self.declare(block).await {
            Ok(()) => self.steps(&block.steps).await,
            Err(stop) => Err(stop),
        };
        self.scopes.truncate(depth);
        drop(self.locals.lock().split_off(depth));
        match ran? {
            Flow::Exit(at) if at == depth => Ok(Flow::Next),
            Flow::Leave(label) if is_labelled(block.label.as_ref(), label) => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    /// Gives the variables of a block their first values.
    async fn declare(&mut self, block: &'a Block) -> Result<(), Stop> {
        for declaration in &block.declarations {
            let Declaration::Variables { names, data_type, default } = declaration else { continue };
            let (value, from) = match default {
                Some(default) => self.evaluate(default, Purpose::Assignment).await?,
                None => (Value::Null, SqlType::Null),
            };
            for name in names {
                let context = Arc::new(self.session.change_context());
                let sql_type = self.session.local_type(data_type, name.as_str())?;
                self.locals.lock().declare(name.as_str(), sql_type, Value::Null);
                self.session.set_local(name.as_str(), (value.clone(), &from), &context)?;
            }
        }
        Ok(())
    }

    /// The statements of the first branch of CASE whose condition holds.
    async fn branch(
        &mut self,
        operand: Option<&'a Expr>,
        branches: &'a [(Expr, Vec<Step>)],
    ) -> Result<Option<&'a [Step]>, Stop> {
        let Some(operand) = operand else {
            for (condition, steps) in branches {
                if self.is_true(condition).await? {
                    return Ok(Some(steps));
                }
            }
            return Ok(None);
        };
        let (value, sql_type) = self.evaluate(operand, Purpose::Condition).await?;
        let operand = Expr::Column(Box::new(ColumnName::new(CASE_OPERAND)));
        for (when, steps) in branches {
            let equal =
                Expr::Binary { left: Box::new(operand.clone()), op: BinaryOp::Equal, right: Box::new(when.clone()) };
            // Only while it is compared: the statements of a branch may have a CASE of their own.
            let depth = self.locals.lock().depth();
            self.locals.lock().begin_block();
            self.locals.lock().declare(CASE_OPERAND, sql_type.clone(), value.clone());
            let is_equal = self.is_true(&equal).await;
            drop(self.locals.lock().split_off(depth));
            if is_equal? {
                return Ok(Some(steps));
            }
        }
        Ok(None)
    }

    async fn repeat(&mut self, program: &'a ProgramStatement) -> Ran<'a> {
        let (label, condition, body, until) = match program {
            ProgramStatement::While { label, condition, body } => (label, Some(condition), body, None),
            ProgramStatement::Repeat { label, body, until } => (label, None, body, Some(until)),
            ProgramStatement::Loop { label, body } => (label, None, body, None),
            _ => return Ok(Flow::Next),
        };
        let label = label.as_ref();
        loop {
            // A body may have nothing that looks.
            self.session.process.kill.check().map_err(Stop::Failed)?;
            if let Some(condition) = condition
                && !self.is_true(condition).await?
            {
                return Ok(Flow::Next);
            }
            match self.steps(body).await? {
                Flow::Next => {}
                Flow::Leave(left) if is_labelled(label, left) => return Ok(Flow::Next),
                Flow::Iterate(again) if is_labelled(label, again) => continue,
                flow => return Ok(flow),
            }
            if let Some(until) = until
                && self.is_true(until).await?
            {
                return Ok(Flow::Next);
            }
        }
    }

    fn cursor(&mut self, name: &Ident) -> SqlResult<&mut Cursor<'a>> {
        let mut cursors = self.scopes.iter_mut().rev().flat_map(|scope| &mut scope.cursors);
        cursors.find(|cursor| cursor.name.is(name.as_str())).ok_or_else(|| errors::undefined_cursor(name))
    }

    async fn open(&mut self, name: &'a Ident) -> Ran<'a> {
        let cursor = self.cursor(name)?;
        if cursor.rows.is_some() {
            return Err(errors::cursor_already_open().into());
        }
        let statement = cursor.statement;
        let mut collector = Collector::bounded(CURSOR_BYTES_MAX, &self.session.process.memory);
        let request = Request::without_parameters(statement, self.source);
        let ran = self.session.run(request, true, &mut collector).await;
        if collector.is_full() {
            return Err(errors::cursor_too_large(CURSOR_BYTES_MAX).into());
        }
        collector.refused()?;
        ran.map_err(Stop::Client)?;
        let (mut results, charge) = collector.into_charged_results()?;
        let result = results.pop().unwrap_or_default();
        let types = result.columns.iter().map(|column| column.sql_type.clone()).collect();
        self.cursor(name)?.rows = Some(CursorRows::new(result.rows, types, charge));
        Ok(Flow::Next)
    }

    fn fetch(&mut self, name: &Ident, into: &[Ident]) -> Ran<'a> {
        let Some(rows) = &mut self.cursor(name)?.rows else { return Err(errors::cursor_not_open().into()) };
        if rows.types.len() != into.len() {
            return Err(errors::wrong_number_of_fetch_variables().into());
        }
        let row = rows.left.next().ok_or_else(errors::no_data)?;
        let types = rows.types.clone();
        let context = Arc::new(self.session.change_context());
        for ((name, value), from) in into.iter().zip(row).zip(&*types) {
            if !self.session.set_local(name.as_str(), (value, from), &context)? {
                return Err(errors::undeclared_variable(name.as_str()).into());
            }
        }
        Ok(Flow::Next)
    }

    /// A statement that may stand anywhere.
    async fn statement(&mut self, statement: &'a Statement, span: Span) -> Ran<'a> {
        if let Some(inside) = &self.session.nesting.inside {
            refused_for_its_rows(statement, inside.word)?;
        }
        let signal = self.signal_of_state(statement)?;
        let statement = signal.as_ref().unwrap_or(statement);
        let mut passed = PassOn::new(&mut *self.writer);
        let request = Request { own_text: Some(span), ..Request::without_parameters(statement, self.source) };
        self.session.run(request, true, &mut passed).await.map_err(Stop::Client)?;
        if let Some(error) = passed.error {
            return Err(error.into());
        }
        let mut warnings = self.session.warnings().iter().filter(|warning| warning.level == Level::Warning);
        let warning = warnings.find(|warning| handlers::find(&self.scopes, warning.level, &warning.error).is_some());
        match warning.map(|warning| warning.error.clone()) {
            Some(warning) => self.handle(Level::Warning, warning).await,
            None => Ok(Flow::Next),
        }
    }

    /// A SIGNAL that names a condition, with the condition's state in place of the name.
    fn signal_of_state(&self, statement: &Statement) -> SqlResult<Option<Statement>> {
        let Statement::Signal(signal) = statement else { return Ok(None) };
        let Some(SignalCondition::Name(name)) = &signal.condition else { return Ok(None) };
        let Some(ConditionValue::SqlState(state)) = handlers::condition_named(&self.scopes, name) else {
            return Err(errors::signal_without_state());
        };
        let mut signal = signal.clone();
        signal.condition = Some(SignalCondition::SqlState(state.clone()));
        Ok(Some(Statement::Signal(signal)))
    }

    /// Runs the handler of a condition; without one the program ends.
    fn handle<'s>(&'s mut self, level: Level, error: SqlError) -> LocalFuture<'s, Ran<'a>>
    where
        'a: 's,
    {
        Box::pin(async move {
            // KILL and max_execution_time have no handlers.
            let found = match self.session.process.kill.check() {
                Ok(()) if self.session.has_lost_statement() => None,
                Ok(()) => handlers::find(&self.scopes, level, &error),
                Err(_) => None,
            };
            let Some(found) = found else { return Err(Stop::Failed(error)) };
            // The program's own errors are those of no statement.
            if level == Level::Error && !self.session.warnings().iter().any(|warning| warning.error == error) {
                self.session.finish_with_error(&error, None);
            }
            // It sees what its block does.
            let inner = self.scopes.split_off(found.block + 1);
            let hidden = self.locals.lock().split_off(found.block + 1);
            self.scopes[found.block].is_handling = true;
            self.locals.lock().begin_handling(error);
            let ran = self.steps(std::slice::from_ref(found.step)).await;
            self.locals.lock().end_handling();
            self.scopes[found.block].is_handling = false;
            self.scopes.extend(inner);
            self.locals.lock().append(hidden);
            match (ran?, found.action) {
                (Flow::Next, HandlerAction::Continue) => Ok(Flow::Next),
                (Flow::Next, HandlerAction::Exit | HandlerAction::Undo) => Ok(Flow::Exit(found.block)),
                (flow, _) => Ok(flow),
            }
        })
    }

    async fn is_true(&mut self, condition: &Expr) -> Result<bool, Stop> {
        // The binder knows what is true of each type.
        let branches = vec![CaseBranch { when: condition.clone(), then: Expr::Literal(Literal::Boolean(true)) }];
        let is_true = Expr::Case { operand: None, branches, otherwise: None };
        let (value, _) = self.evaluate(&is_true, Purpose::Condition).await?;
        Ok(truth_of(&value)?.unwrap_or(false))
    }

    /// Evaluates an expression as a statement of its own.
    async fn evaluate(&mut self, expr: &Expr, purpose: Purpose) -> Result<(Value, SqlType), Stop> {
        let context = Arc::new(match purpose {
            Purpose::Condition => self.session.query_context(),
            Purpose::Assignment => self.session.change_context(),
        });
        let ended = match self.session.evaluate(expr, self.source, &[], &context).await {
            Ok(value) => self.session.commit_statement().await.map(|()| value),
            Err(error) => {
                self.session.statement_failed().await;
                Err(error)
            }
        };
        Ok(ended.inspect_err(|error| self.session.finish_with_error(error, Some(&context)))?)
    }
}

fn is_labelled(own: Option<&Ident>, label: &Ident) -> bool {
    own.is_some_and(|own| own.is(label.as_str()))
}
