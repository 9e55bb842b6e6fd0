//! OLD and NEW in the bodies of triggers.

use crate::program_errors::undeclared_variable;
use squall_catalog::{RoutineDef, RoutineParameterMode, TableDef, TriggerEvent, TriggerTime};
use squall_parser::ast::{
    Call, ColumnName, Declaration, DiagnosticsItem, DiagnosticsItems, Expr, ProgramStatement, SelectInto, Set, SetItem,
    Statement, Step, VariableTarget,
};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The table, time and event that a trigger's body is for.
#[derive(Clone, Copy)]
pub(crate) struct TriggerRows<'a> {
    pub table: &'a TableDef,
    pub time: TriggerTime,
    pub event: TriggerEvent,
}

/// A place of a body that sets a column of NEW.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSet {
    pub ordinal: usize,
    /// Whether it reads the column too, as an INOUT argument.
    pub is_read: bool,
}

impl TriggerRows<'_> {
    /// Whether what a body says of OLD and NEW is there (1054, 1363), and may be set (1362, 3105).
    pub fn check(&self, body: &Statement) -> SqlResult<()> {
        let mut pending = vec![body];
        while let Some(statement) = pending.pop() {
            self.check_own(statement)?;
            if let Statement::Program(program) = statement {
                push_steps(program, &mut pending);
            }
        }
        Ok(())
    }

    /// The columns of NEW that a body sets, once for each place; `procedure` finds what it calls.
    pub fn columns_set(
        &self,
        body: &Statement,
        procedure: &dyn Fn(&Call) -> Option<Arc<RoutineDef>>,
    ) -> Vec<ColumnSet> {
        let mut sets = Vec::new();
        let mut pending = vec![body];
        let ordinal_of = |name: &ColumnName| self.table.column(&name.column).map(|(ordinal, _)| ordinal);
        let set_only = |ordinal| ColumnSet { ordinal, is_read: false };
        while let Some(statement) = pending.pop() {
            match statement {
                Statement::Set(Set::Items(items)) => sets.extend(items.iter().filter_map(|item| match item {
                    SetItem::NewColumn { column, .. } => ordinal_of(column).map(set_only),
                    _ => None,
                })),
                Statement::Program(program) => push_steps(program, &mut pending),
                Statement::Call(call) => {
                    let Some(routine) = procedure(call) else { continue };
                    let arguments = routine.parameters.iter().zip(&call.arguments);
                    sets.extend(arguments.filter_map(|(parameter, argument)| {
                        let Expr::Column(name) = argument else { return None };
                        name.table.as_ref().filter(|table| table.is("NEW") && name.schema.is_none())?;
                        let is_read = match parameter.mode {
                            RoutineParameterMode::In => return None,
                            RoutineParameterMode::Out => false,
                            RoutineParameterMode::InOut => true,
                        };
                        ordinal_of(name).map(|ordinal| ColumnSet { ordinal, is_read })
                    }));
                }
                other => sets.extend(targets(other).filter_map(|name| {
                    name.table.as_ref()?;
                    ordinal_of(name).map(set_only)
                })),
            }
        }
        sets
    }

    /// The expressions of a statement itself, without those of the statements inside of it.
    fn check_own(&self, statement: &Statement) -> SqlResult<()> {
        let mut found = Ok(());
        let mut check = |expr: &Expr| {
            expr.visit(&mut |expr| {
                if let (Expr::Column(name), true) = (expr, found.is_ok()) {
                    found = self.check_read(name);
                }
            });
        };
        own_exprs(statement, &mut check);
        found?;
        for target in targets(statement).filter(|target| target.table.is_some()) {
            if self.row_of(target).is_none() {
                return Err(undeclared_variable(&target.column));
            }
            self.check_set(target)?;
        }
        let Statement::Set(Set::Items(items)) = statement else { return Ok(()) };
        items.iter().try_for_each(|item| match item {
            SetItem::NewColumn { column, .. } => self.check_set(column),
            _ => Ok(()),
        })
    }

    /// OLD or NEW, if a name says one of them.
    fn row_of(&self, name: &ColumnName) -> Option<(&'static str, bool)> {
        let table = name.table.as_ref().filter(|_| name.schema.is_none())?;
        if table.is("OLD") {
            return Some(("OLD", self.event.has_old()));
        }
        table.is("NEW").then(|| ("NEW", self.event.has_new()))
    }

    fn check_read(&self, name: &ColumnName) -> SqlResult<()> {
        let Some((row, is_there)) = self.row_of(name) else { return Ok(()) };
        if !is_there {
            return Err(SqlError::new(ErrorCode::TriggerHasNoSuchRow, &[&row, &self.event.word()]));
        }
        match self.table.column(&name.column) {
            Some(_) => Ok(()),
            None => Err(SqlError::new(ErrorCode::BadField, &[&name.column.as_str(), &row])),
        }
    }

    fn check_set(&self, name: &ColumnName) -> SqlResult<()> {
        self.check_read(name)?;
        let cannot = |row: &str, when: &str| Err(SqlError::new(ErrorCode::TriggerCannotChangeRow, &[&row, &when]));
        match (self.row_of(name), self.time) {
            (Some(("OLD", _)), _) => return cannot("OLD", ""),
            (_, TriggerTime::After) => return cannot("NEW", "after "),
            _ => {}
        }
        match self.table.column(&name.column) {
            Some((_, column)) if column.generated.is_some() => {
                Err(SqlError::new(ErrorCode::BadValueForGeneratedColumn, &[&column.name, &self.table.name]))
            }
            _ => Ok(()),
        }
    }
}

/// What a statement gives values to by INTO, or as GET DIAGNOSTICS does, user variables left out.
fn targets(statement: &Statement) -> impl Iterator<Item = &ColumnName> {
    let (into, items): (&[VariableTarget], &[DiagnosticsItem]) = match statement {
        Statement::Query(query) => match &query.into {
            Some(SelectInto::Variables(targets)) => (&targets[..], &[]),
            _ => (&[], &[]),
        },
        Statement::GetDiagnostics(get) => match &get.what {
            DiagnosticsItems::Statement(items) | DiagnosticsItems::Condition { items, .. } => (&[], &items[..]),
        },
        _ => (&[], &[]),
    };
    let targets = into.iter().chain(items.iter().map(|item| &item.target));
    targets.filter_map(|target| match target {
        VariableTarget::Local(name) => Some(name),
        VariableTarget::User(_) => None,
    })
}

/// Calls `found` with the expressions of a statement, those of statements in it left out.
fn own_exprs(statement: &Statement, found: &mut dyn FnMut(&Expr)) {
    match statement {
        Statement::Set(Set::Items(items)) => items.iter().for_each(|item| match item {
            SetItem::User { value, .. } | SetItem::System { value, .. } | SetItem::NewColumn { value, .. } => {
                found(value);
            }
            SetItem::Names { .. } | SetItem::CharacterSet(_) => {}
        }),
        Statement::Signal(signal) => signal.items.iter().for_each(|(_, value)| found(value)),
        Statement::Do(exprs) => exprs.iter().for_each(found),
        Statement::Call(call) => call.arguments.iter().for_each(found),
        Statement::Program(program) => match &**program {
            ProgramStatement::Block(block) => block.declarations.iter().for_each(|declaration| {
                if let Declaration::Variables { default: Some(default), .. } = declaration {
                    found(default);
                }
            }),
            ProgramStatement::If { branches, .. } => conditions(branches, found),
            ProgramStatement::Case { operand, branches, .. } => {
                operand.iter().for_each(&mut *found);
                conditions(branches, found);
            }
            ProgramStatement::While { condition, .. } => found(condition),
            ProgramStatement::Repeat { until, .. } => found(until),
            ProgramStatement::Return(value) => found(value),
            ProgramStatement::Loop { .. }
            | ProgramStatement::Leave(_)
            | ProgramStatement::Iterate(_)
            | ProgramStatement::Open { .. }
            | ProgramStatement::Fetch { .. }
            | ProgramStatement::Close { .. } => {}
        },
        _ => {}
    }
}

fn conditions(branches: &[(Expr, Vec<Step>)], found: &mut dyn FnMut(&Expr)) {
    branches.iter().for_each(|(condition, _)| found(condition));
}

/// The statements inside of a statement of a program.
fn push_steps<'s>(program: &'s ProgramStatement, pending: &mut Vec<&'s Statement>) {
    let mut push = |steps: &'s [Step]| pending.extend(steps.iter().map(|step| &step.statement));
    match program {
        ProgramStatement::Block(block) => {
            push(&block.steps);
            for declaration in &block.declarations {
                if let Declaration::Handler { step, .. } = declaration {
                    push(std::slice::from_ref(&**step));
                }
            }
        }
        ProgramStatement::If { branches, otherwise } | ProgramStatement::Case { branches, otherwise, .. } => {
            branches.iter().for_each(|(_, steps)| push(steps));
            otherwise.iter().for_each(|steps| push(steps));
        }
        ProgramStatement::Loop { body, .. }
        | ProgramStatement::While { body, .. }
        | ProgramStatement::Repeat { body, .. } => push(body),
        _ => {}
    }
}
