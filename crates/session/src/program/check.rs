//! Checks a stored program for errors that do not depend on its tables; CREATE reports them.

use crate::program_errors as errors;
use crate::statement_kind::{DYNAMIC_SQL, refused_for_its_rows, refused_in_function};
use squall_parser::ast::{
    Block, ConditionValue, Declaration, DiagnosticsItems, HandlerAction, Ident, MaintenanceKind, Parameter,
    ProgramStatement, Query, SelectInto, Set, SetItem, Signal, SignalCondition, Statement, Step, VariableScope,
    VariableTarget,
};
use squall_registry::Registry;
use squall_system_variables::VariableRegistry;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The kind of object whose body a program is.
#[derive(Clone, Copy)]
pub(crate) enum ProgramKind<'a> {
    /// Nothing: BEGIN NOT ATOMIC.
    Block,
    Event,
    /// With its parameters.
    Procedure(&'a [Parameter]),
    /// With its name and parameters.
    Function(&'a Ident, &'a [Parameter]),
    Trigger,
}

/// The names that are visible to a statement; the innermost last.
struct Names<'a> {
    kind: ProgramKind<'a>,
    system_variables: &'a VariableRegistry,
    variables: Vec<&'a Ident>,
    conditions: Vec<&'a Ident>,
    /// What they stand for.
    values: Vec<&'a ConditionValue>,
    cursors: Vec<&'a Ident>,
    /// And whether it is that of a loop.
    labels: Vec<(&'a Ident, bool)>,
    /// Whether there was a RETURN.
    returns: bool,
}

/// Looks at a program.
///
/// # Errors
/// 1193, 1308, 1309, 1319, 1324, 1327, 1330 to 1333, 1413 for missing or duplicate names; 1337 and 1338 for their order; 1453 and 1525; 1313 for RETURN outside a function, 1320
/// for a function without RETURN; 1303, 1336, 1314, 1357, 1415, 1422, 1445, 1576 for statements that are not allowed there; 1235 for
/// unsupported ones.
pub(crate) fn check_program<'a>(
    body: &'a Statement,
    kind: ProgramKind<'a>,
    variables: &'a VariableRegistry,
) -> SqlResult<()> {
    let parameters = match kind {
        ProgramKind::Procedure(parameters) | ProgramKind::Function(_, parameters) => parameters,
        ProgramKind::Block | ProgramKind::Event | ProgramKind::Trigger => &[],
    };
    let mut names = Names {
        kind,
        system_variables: variables,
        variables: Vec::new(),
        conditions: Vec::new(),
        values: Vec::new(),
        cursors: Vec::new(),
        labels: Vec::new(),
        returns: false,
    };
    for parameter in parameters {
        if is_among(&names.variables, &parameter.name) {
            return Err(SqlError::new(ErrorCode::SpDuplicateParameter, &[&parameter.name.as_str()]));
        }
        names.variables.push(&parameter.name);
    }
    names.statement(body)?;
    match kind {
        ProgramKind::Function(name, ..) if !names.returns => {
            Err(SqlError::new(ErrorCode::SpNoReturn, &[&name.as_str()]))
        }
        _ => Ok(()),
    }
}

/// Refuses a function or a trigger whose body calls a function that runs texts (1336). A view that calls one is seen when it is read.
pub(crate) fn check_called(called: &[Box<str>], registry: &Registry) -> SqlResult<()> {
    let runs_texts = |name: &str| registry.declared_scalar(name).is_some_and(|function| function.runs_texts());
    match called.iter().any(|name| runs_texts(name)) {
        true => Err(SqlError::new(ErrorCode::NotAllowedInFunctionOrTrigger, &[&DYNAMIC_SQL])),
        false => Ok(()),
    }
}

/// The kind of routine that a statement is about, and whether it makes one.
fn names_routine(statement: &Statement) -> Option<(&'static str, bool)> {
    Some(match statement {
        Statement::CreateProcedure(_) => ("PROCEDURE", true),
        Statement::CreateFunction(_) => ("FUNCTION", true),
        Statement::CreateTrigger(_) => ("TRIGGER", true),
        Statement::AlterProcedure(_) | Statement::DropProcedure(_) => ("PROCEDURE", false),
        Statement::AlterFunction(_) | Statement::DropFunction(_) => ("FUNCTION", false),
        _ => return None,
    })
}

fn is_among(names: &[&Ident], name: &Ident) -> bool {
    names.iter().any(|known| known.is(name.as_str()))
}

/// Refuses the number 0 as a condition: it is no error (1525).
fn check_condition(value: &ConditionValue) -> SqlResult<()> {
    match value {
        ConditionValue::ErrorCode(0) => Err(SqlError::new(ErrorCode::WrongValue, &[&"CONDITION", &0])),
        _ => Ok(()),
    }
}

/// Statements that no stored program may run, as the error names them (1314).
fn refused_in_program(statement: &Statement) -> Option<&'static str> {
    Some(match statement {
        Statement::Handler(_) => "HANDLER",
        Statement::Help(_) => "HELP",
        Statement::TableMaintenance(maintenance) if maintenance.kind == MaintenanceKind::Check => "CHECK",
        Statement::CreateView(view) if view.alter => "ALTER VIEW",
        // What a program says is kept and shown as it is, secrets too.
        Statement::CreateHttpEndpoint { .. } | Statement::AlterHttpEndpoint(_) => "HTTP ENDPOINT",
        // Its answer has a secret.
        Statement::CreateApiToken(_) => "API TOKEN",
        _ => return None,
    })
}

impl<'a> Names<'a> {
    fn steps(&mut self, steps: &'a [Step]) -> SqlResult<()> {
        steps.iter().try_for_each(|step| self.statement(&step.statement))
    }

    fn statement(&mut self, statement: &'a Statement) -> SqlResult<()> {
        let of = match self.kind {
            ProgramKind::Function(..) => Some("function"),
            ProgramKind::Trigger => Some("trigger"),
            ProgramKind::Block | ProgramKind::Event | ProgramKind::Procedure(_) => None,
        };
        if let Some(what) = refused_in_program(statement) {
            return Err(SqlError::new(ErrorCode::SpBadStatement, &[&what]));
        }
        if self.is_routine()
            && let Some((word, is_new)) = names_routine(statement)
        {
            let code = if is_new { ErrorCode::SpNoRecursiveCreate } else { ErrorCode::SpNoDrop };
            return Err(SqlError::new(code, &[&word]));
        }
        // A program may drop and reschedule events, also the one that runs, but gives none a body.
        if matches!(statement, Statement::CreateEvent(event) if event.body.is_some()) {
            return Err(SqlError::new(ErrorCode::EventRecursionForbidden, &[]));
        }
        if let Some(of) = of {
            refused_for_its_rows(statement, of)?;
            refused_in_function(statement)?;
        }
        match statement {
            Statement::Program(program) => self.program(program),
            Statement::Set(Set::Password(_)) if self.variable("password").is_ok() => {
                Err(SqlError::new(ErrorCode::SpBadVariableShadow, &[&"password"]))
            }
            Statement::Set(Set::Items(items)) => items.iter().try_for_each(|item| self.assigned(item)),
            Statement::Set(Set::Statement { items, statement }) => {
                items.iter().try_for_each(|item| self.assigned(item))?;
                self.statement(statement)
            }
            Statement::Signal(signal) => self.signal(signal),
            Statement::GetDiagnostics(get) => match &get.what {
                DiagnosticsItems::Statement(items) | DiagnosticsItems::Condition { items, .. } => {
                    items.iter().try_for_each(|item| self.target(&item.target))
                }
            },
            Statement::Query(query) => self.query(query),
            _ => Ok(()),
        }
    }

    fn is_routine(&self) -> bool {
        matches!(self.kind, ProgramKind::Procedure(_) | ProgramKind::Function(..) | ProgramKind::Trigger)
    }

    fn signal(&self, signal: &Signal) -> SqlResult<()> {
        match &signal.condition {
            Some(SignalCondition::Name(name)) => {
                let declared = self.conditions.iter().rposition(|known| known.is(name.as_str()));
                match declared.and_then(|at| self.values.get(at)) {
                    None => Err(errors::undefined_condition(name)),
                    // It cannot raise a number.
                    Some(ConditionValue::ErrorCode(_)) => Err(errors::signal_without_state()),
                    Some(_) => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// A bare name is a local or a system variable (1193).
    fn assigned(&self, item: &SetItem) -> SqlResult<()> {
        let SetItem::System { variable, .. } = item else { return Ok(()) };
        let name = &*variable.name.value;
        let is_bare = variable.scope.is_none() && variable.prefix.is_none();
        let is_local = is_bare && self.variable(name).is_ok();
        let of_session = matches!(variable.scope, None | Some(VariableScope::Session));
        if matches!(self.kind, ProgramKind::Function(..) | ProgramKind::Trigger)
            && name.eq_ignore_ascii_case("autocommit")
            && of_session
            && !is_local
        {
            return Err(SqlError::new(ErrorCode::SpCantSetAutocommit, &[]));
        }
        if is_bare && !is_local && self.system_variables.find(name).is_none() {
            return Err(SqlError::new(ErrorCode::UnknownSystemVariable, &[&name]));
        }
        Ok(())
    }

    fn query(&self, query: &Query) -> SqlResult<()> {
        let Some(SelectInto::Variables(targets)) = &query.into else { return Ok(()) };
        targets.iter().try_for_each(|target| self.target(target))
    }

    fn target(&self, target: &VariableTarget) -> SqlResult<()> {
        match target {
            // Whether the column is there is known with the table.
            VariableTarget::Local(name) if matches!(self.kind, ProgramKind::Trigger) && name.table.is_some() => Ok(()),
            VariableTarget::Local(name) => self.variable(name.column.as_str()),
            VariableTarget::User(_) => Ok(()),
        }
    }

    fn variable(&self, name: &str) -> SqlResult<()> {
        match self.variables.iter().any(|known| known.is(name)) {
            true => Ok(()),
            false => Err(errors::undeclared_variable(name)),
        }
    }

    fn program(&mut self, program: &'a ProgramStatement) -> SqlResult<()> {
        match program {
            ProgramStatement::Block(block) => self.labelled(block.label.as_ref(), false, |names| names.block(block)),
            ProgramStatement::If { branches, otherwise } | ProgramStatement::Case { branches, otherwise, .. } => {
                branches.iter().try_for_each(|(_, steps)| self.steps(steps))?;
                otherwise.iter().try_for_each(|steps| self.steps(steps))
            }
            ProgramStatement::Loop { label, body }
            | ProgramStatement::While { label, body, .. }
            | ProgramStatement::Repeat { label, body, .. } => {
                self.labelled(label.as_ref(), true, |names| names.steps(body))
            }
            ProgramStatement::Leave(label) => match self.labels.iter().any(|(known, _)| known.is(label.as_str())) {
                true => Ok(()),
                false => Err(errors::no_label("LEAVE", label)),
            },
            ProgramStatement::Iterate(label) => {
                match self.labels.iter().any(|(known, is_loop)| *is_loop && known.is(label.as_str())) {
                    true => Ok(()),
                    false => Err(errors::no_label("ITERATE", label)),
                }
            }
            ProgramStatement::Return(_) => match self.kind {
                ProgramKind::Function(..) => {
                    self.returns = true;
                    Ok(())
                }
                _ => Err(errors::return_outside_function()),
            },
            ProgramStatement::Open { cursor } | ProgramStatement::Close { cursor } => self.cursor(cursor),
            ProgramStatement::Fetch { cursor, into } => {
                self.cursor(cursor)?;
                into.iter().try_for_each(|name| self.variable(name.as_str()))
            }
        }
    }

    fn cursor(&self, name: &Ident) -> SqlResult<()> {
        if is_among(&self.cursors, name) { Ok(()) } else { Err(errors::undefined_cursor(name)) }
    }

    fn labelled(
        &mut self,
        label: Option<&'a Ident>,
        is_loop: bool,
        check: impl FnOnce(&mut Self) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let Some(label) = label else { return check(self) };
        if self.labels.iter().any(|(known, _)| known.is(label.as_str())) {
            return Err(errors::label_redefined(label));
        }
        self.labels.push((label, is_loop));
        let result = check(self);
        self.labels.pop();
        result
    }

    fn block(&mut self, block: &'a Block) -> SqlResult<()> {
        let known = (self.variables.len(), self.conditions.len(), self.cursors.len());
        let mut handled: Vec<&ConditionValue> = Vec::new();
        let result = check_order(&block.declarations)
            .and_then(|()| {
                let mut declarations = block.declarations.iter();
                declarations.try_for_each(|declaration| self.declaration(declaration, known, &mut handled))
            })
            .and_then(|()| self.steps(&block.steps));
        self.variables.truncate(known.0);
        self.conditions.truncate(known.1);
        self.values.truncate(known.1);
        self.cursors.truncate(known.2);
        result
    }

    /// What a condition is, if it is a name.
    fn resolved(&self, condition: &'a ConditionValue) -> &'a ConditionValue {
        let ConditionValue::Name(name) = condition else { return condition };
        let declared = self.conditions.iter().rposition(|known| known.is(name.as_str()));
        declared.and_then(|at| self.values.get(at).copied()).unwrap_or(condition)
    }

    /// `known` says how many names there were before the block.
    fn declaration(
        &mut self,
        declaration: &'a Declaration,
        known: (usize, usize, usize),
        handled: &mut Vec<&'a ConditionValue>,
    ) -> SqlResult<()> {
        match declaration {
            Declaration::Variables { names, .. } => names.iter().try_for_each(|name| {
                if is_among(&self.variables[known.0..], name) {
                    return Err(errors::duplicate(ErrorCode::DuplicateVariable, name));
                }
                self.variables.push(name);
                Ok(())
            }),
            Declaration::Condition { name, value } => {
                check_condition(value)?;
                if is_among(&self.conditions[known.1..], name) {
                    return Err(errors::duplicate(ErrorCode::DuplicateCondition, name));
                }
                self.conditions.push(name);
                self.values.push(value);
                Ok(())
            }
            Declaration::Cursor { name, .. } => {
                if is_among(&self.cursors[known.2..], name) {
                    return Err(errors::duplicate(ErrorCode::DuplicateCursor, name));
                }
                self.cursors.push(name);
                Ok(())
            }
            Declaration::Handler { action: HandlerAction::Undo, .. } => Err(SqlError::unsupported("UNDO handlers")),
            Declaration::Handler { conditions, step, .. } => {
                for condition in conditions {
                    if let ConditionValue::Name(name) = condition
                        && !is_among(&self.conditions, name)
                    {
                        return Err(errors::undefined_condition(name));
                    }
                    check_condition(condition)?;
                    let condition = self.resolved(condition);
                    if handled.contains(&condition) {
                        return Err(errors::duplicate_handler());
                    }
                    handled.push(condition);
                }
                // It cannot jump out.
                let labels = std::mem::take(&mut self.labels);
                let checked = self.statement(&step.statement);
                self.labels = labels;
                checked
            }
        }
    }
}

/// Variables and conditions come first, then cursors, then handlers (1337, 1338).
fn check_order(declarations: &[Declaration]) -> SqlResult<()> {
    let (mut cursors, mut handlers) = (false, false);
    for declaration in declarations {
        match declaration {
            Declaration::Variables { .. } | Declaration::Condition { .. } if cursors || handlers => {
                return Err(SqlError::new(ErrorCode::SpVariableAfterCursor, &[]));
            }
            Declaration::Cursor { .. } if handlers => return Err(SqlError::new(ErrorCode::SpCursorAfterHandler, &[])),
            Declaration::Cursor { .. } => cursors = true,
            Declaration::Handler { .. } => handlers = true,
            Declaration::Variables { .. } | Declaration::Condition { .. } => {}
        }
    }
    Ok(())
}
