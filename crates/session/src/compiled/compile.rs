//! Compiles syntax trees to operations.

use super::{CompiledProgram, Operation, RowSlots, Slot, Variable};
use crate::signalled::{SignalItem, state_of};
use datafusion::catalog::TableProvider;
use squall_catalog::name::eq_ignore_case;
use squall_catalog::{Invoker, NameKey, TableDef};
use squall_definitions::data_type::{TypeRules, resolve_type};
use squall_functions::expr::{BoundExpr, ColumnRef, Depth};
use squall_parser::ast::{
    BinaryOp, Block, ColumnName, ConditionValue, DataType, Declaration, Expr, Ident, ProgramStatement, Set, SetItem,
    Signal, SignalCondition, Statement, Step, SystemVariable,
};
use squall_planner::bind::RowTable;
use squall_planner::{Binder, TableRequest, TableResolver};
use squall_registry::{ExprType, ScalarFunction, Volatility};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::cell::RefCell;
use std::sync::Arc;

/// The variable that holds the operand of CASE; no variable that is declared has that name.
pub(crate) const CASE_OPERAND: &str = "\0case";

/// The row that is to come, as a trigger names it.
pub(crate) const NEW_ALIAS: &str = "NEW";
/// The row as it was.
pub(crate) const OLD_ALIAS: &str = "OLD";

/// Whether a statement is of the kinds that can be compiled. Its expressions are looked at when it is.
pub(crate) fn may_be_compiled(statement: &Statement) -> bool {
    let all = |steps: &[Step]| steps.iter().all(|step| may_be_compiled(&step.statement));
    match statement {
        Statement::Set(Set::Items(items)) => items.iter().all(|item| match item {
            SetItem::System { variable, value } => {
                variable.scope.is_none() && variable.prefix.is_none() && !matches!(value, Expr::Default)
            }
            SetItem::NewColumn { value, .. } => !matches!(value, Expr::Default),
            SetItem::User { .. } => true,
            SetItem::Names { .. } | SetItem::CharacterSet(_) => false,
        }),
        Statement::Signal(signal) => !signal.resignal,
        Statement::Program(program) => match &**program {
            ProgramStatement::Block(block) => {
                let is_plain = |declaration: &Declaration| {
                    matches!(declaration, Declaration::Variables { .. } | Declaration::Condition { .. })
                };
                block.declarations.iter().all(is_plain) && all(&block.steps)
            }
            ProgramStatement::If { branches, otherwise } | ProgramStatement::Case { branches, otherwise, .. } => {
                branches.iter().all(|(_, steps)| all(steps)) && otherwise.as_deref().is_none_or(all)
            }
            ProgramStatement::Loop { body, .. }
            | ProgramStatement::While { body, .. }
            | ProgramStatement::Repeat { body, .. } => all(body),
            ProgramStatement::Leave(_) | ProgramStatement::Iterate(_) | ProgramStatement::Return(_) => true,
            ProgramStatement::Open { .. } | ProgramStatement::Fetch { .. } | ProgramStatement::Close { .. } => false,
        },
        _ => false,
    }
}

/// A name that can be seen, and its place.
struct Named {
    name: Box<str>,
    slot: Slot,
    ty: ExprType,
}

/// A loop or block that LEAVE and ITERATE name.
struct Labelled<'a> {
    label: Option<&'a Ident>,
    /// Where ITERATE goes; a block has no such place.
    begin: Option<usize>,
    /// Jumps that go behind it.
    leaves: Vec<usize>,
}

/// Compiles one program.
pub(crate) struct Compiler<'b, 'a> {
    binder: &'b Binder<'b>,
    tables: ProgramTables<'b>,
    rules: TypeRules,
    operations: Vec<Operation>,
    variables: Vec<Variable>,
    labels: Vec<Labelled<'a>>,
    /// Conditions that are declared, with their states.
    conditions: Vec<(&'a Ident, [u8; 5])>,
    /// The rows of a trigger.
    rows: Vec<RowTable<'b>>,
    row_slots: RowSlots,
    user_variables: UserVariableTypes,
    /// How many branches and loops are around.
    branch_depth: usize,
    loop_depth: usize,
    may_wait: bool,
    runs_statements: bool,
    assigns_variables: bool,
    volatility: Volatility,
}

/// The types of `@variables` in a trigger, which assigns them as it runs.
#[derive(Default)]
struct UserVariableTypes {
    /// Those that the program names.
    named: Vec<NameKey>,
    /// Those that may have one of two types.
    uncertain: Vec<NameKey>,
}

/// Why a program is not compiled.
#[derive(Debug)]
pub(crate) enum NotCompiled {
    /// It does something else than to compute its variables.
    Other,
    /// It has an error.
    Failed(SqlError),
}

impl From<SqlError> for NotCompiled {
    fn from(error: SqlError) -> Self {
        match error.is(ErrorCode::NotSupportedYet) {
            true => NotCompiled::Other,
            false => NotCompiled::Failed(error),
        }
    }
}

type Compiled<T> = Result<T, NotCompiled>;

impl<'b, 'a> Compiler<'b, 'a> {
    /// Compiles with names as a binder finds them, but for variables of the program. Functions are called as `invoker`.
    pub fn new(binder: &'b Binder<'b>, rules: TypeRules, invoker: Invoker) -> Self {
        Compiler {
            binder,
            tables: ProgramTables { outer: binder.tables, names: RefCell::default(), invoker },
            rules,
            operations: Vec::new(),
            variables: Vec::new(),
            labels: Vec::new(),
            conditions: Vec::new(),
            rows: Vec::new(),
            row_slots: RowSlots::default(),
            user_variables: UserVariableTypes::default(),
            branch_depth: 0,
            loop_depth: 0,
            may_wait: false,
            runs_statements: false,
            assigns_variables: false,
            volatility: Volatility::Immutable,
        }
    }

    /// The rows that the body of a trigger names OLD and NEW, which come before all other variables. `@variables` may be set too;
    /// the program's own binder context has their types.
    pub fn rows(&mut self, rows: Vec<RowTable<'b>>) {
        for row in &rows {
            if row.alias == NEW_ALIAS {
                self.row_slots.new_at = Some(self.variables.len());
            }
            self.variables.extend(
                row.columns
                    .iter()
                    .map(|column| Variable { name: column.name.into(), sql_type: column.expr_type.sql_type.clone() }),
            );
        }
        self.row_slots.count = self.variables.len();
        self.rows = rows;
    }

    /// A variable that is there when the program begins: a parameter.
    pub fn parameter(&mut self, name: &str, sql_type: SqlType) -> Slot {
        self.declare(name, sql_type)
    }

    /// Compiles a statement to the end of the program.
    pub fn compile(mut self, statement: &'a Statement) -> Compiled<CompiledProgram> {
        self.statement(statement)?;
        Ok(CompiledProgram {
            operations: self.operations,
            variables: self.variables,
            rows: self.row_slots,
            user_variables: self.user_variables.named,
            may_wait: self.may_wait,
            runs_statements: self.runs_statements,
            assigns_variables: self.assigns_variables,
            is_immutable: self.volatility == Volatility::Immutable,
            is_stable: self.volatility != Volatility::Volatile,
        })
    }

    fn declare(&mut self, name: &str, sql_type: SqlType) -> Slot {
        let slot = self.variables.len();
        let ty = ExprType::of_column(sql_type.clone(), true);
        self.tables.names.borrow_mut().push(Named { name: name.into(), slot, ty });
        self.variables.push(Variable { name: name.into(), sql_type });
        slot
    }

    fn steps(&mut self, steps: &'a [Step]) -> Compiled<()> {
        steps.iter().try_for_each(|step| self.statement(&step.statement))
    }

    fn statement(&mut self, statement: &'a Statement) -> Compiled<()> {
        match statement {
            Statement::Set(Set::Items(items)) => items.iter().try_for_each(|item| match item {
                SetItem::System { variable, value } if variable.scope.is_none() && variable.prefix.is_none() => {
                    let slot = self.tables.find(&variable.name.value).ok_or(NotCompiled::Other)?;
                    self.set(slot, value)
                }
                SetItem::NewColumn { column, value } => self.set_column(&column.column, value),
                SetItem::User { name, value } => self.set_user_variable(name, value),
                _ => Err(NotCompiled::Other),
            }),
            Statement::Signal(signal) => self.signal(signal),
            Statement::Program(program) => self.program(program),
            _ => Err(NotCompiled::Other),
        }
    }

    fn program(&mut self, program: &'a ProgramStatement) -> Compiled<()> {
        match program {
            ProgramStatement::Block(block) => self.block(block),
            ProgramStatement::If { branches, otherwise } => {
                let conditions = branches.iter().map(|(condition, steps)| (condition.clone(), &**steps)).collect();
                self.branches(conditions, otherwise.as_deref().unwrap_or_default(), false)
            }
            ProgramStatement::Case { operand, branches, otherwise } => {
                self.case(operand.as_ref(), branches, otherwise.as_deref())
            }
            ProgramStatement::Loop { label, body } => self.repeat(label.as_ref(), None, body, None),
            ProgramStatement::While { label, condition, body } => {
                self.repeat(label.as_ref(), Some(condition), body, None)
            }
            ProgramStatement::Repeat { label, body, until } => self.repeat(label.as_ref(), None, body, Some(until)),
            ProgramStatement::Leave(label) => {
                let jump = self.operations.len();
                let labelled = self.labels.iter_mut().rev().find(|known| is_label(known.label, label));
                let labelled = labelled.ok_or(NotCompiled::Other)?;
                labelled.leaves.push(jump);
                self.operations.push(Operation::Jump(usize::MAX));
                Ok(())
            }
            ProgramStatement::Iterate(label) => {
                let labelled = self.labels.iter().rev().find(|known| is_label(known.label, label));
                let begin = labelled.and_then(|labelled| labelled.begin).ok_or(NotCompiled::Other)?;
                self.operations.push(Operation::Jump(begin));
                Ok(())
            }
            ProgramStatement::Return(expr) => {
                let (expr, from) = self.value(expr)?;
                self.operations.push(Operation::Return { expr, from });
                Ok(())
            }
            ProgramStatement::Open { .. } | ProgramStatement::Fetch { .. } | ProgramStatement::Close { .. } => {
                Err(NotCompiled::Other)
            }
        }
    }

    /// `SET NEW.column = value`.
    fn set_column(&mut self, name: &Ident, value: &Expr) -> Compiled<()> {
        let new = self.rows.iter().find(|row| row.alias == NEW_ALIAS);
        let ordinal = new.and_then(|row| row.columns.iter().position(|column| eq_ignore_case(column.name, name)));
        let (Some(begin), Some(ordinal)) = (self.row_slots.new_at, ordinal) else {
            return match new {
                Some(_) => Err(SqlError::new(ErrorCode::BadField, &[&name.as_str(), &NEW_ALIAS]).into()),
                None => Err(NotCompiled::Other),
            };
        };
        self.row_slots.sets.insert(begin + ordinal);
        self.set(begin + ordinal, value)
    }

    /// `SET @name = value`, in a trigger: types of variables are looked at before each run of it, so it knows what it reads.
    fn set_user_variable(&mut self, name: &str, value: &Expr) -> Compiled<()> {
        if self.rows.is_empty() {
            return Err(NotCompiled::Other);
        }
        let assign = Expr::Assign { variable: name.into(), value: Box::new(value.clone()) };
        let (expr, ty) = self.value(&assign)?;
        let key = NameKey::new(name);
        let variables = &self.binder.context.user_variables;
        let is_same = variables.lock().get(&key).is_some_and(|(_, known)| *known == ty);
        if !is_same && self.loop_depth > 0 {
            // What stands before it in the loop may read another type the next time.
            return Err(NotCompiled::Other);
        }
        self.user_variables.uncertain.retain(|known| *known != key);
        if !is_same && self.branch_depth > 0 {
            self.user_variables.uncertain.push(key.clone());
        }
        variables.assign(key, Value::Null, ty)?;
        self.operations.push(Operation::Evaluate(expr));
        Ok(())
    }

    /// Remembers what `@variables` an expression reads.
    fn note_user_variables(&mut self, expr: &Expr) -> Compiled<()> {
        let mut names = Vec::new();
        expr.visit(&mut |expr| {
            if let Expr::UserVariable(name) = expr {
                names.push(NameKey::new(name));
            }
        });
        for name in names {
            if self.user_variables.uncertain.contains(&name) {
                return Err(NotCompiled::Other);
            }
            if !self.user_variables.named.contains(&name) {
                self.user_variables.named.push(name);
            }
        }
        Ok(())
    }

    fn signal(&mut self, signal: &'a Signal) -> Compiled<()> {
        let sqlstate = match &signal.condition {
            Some(SignalCondition::Name(name)) => {
                let known = self.conditions.iter().rev().find(|(known, _)| known.is(name.as_str()));
                known.map(|(_, sqlstate)| *sqlstate)
            }
            Some(condition) => state_of(condition),
            None => None,
        };
        let sqlstate = sqlstate.filter(|_| !signal.resignal).ok_or(NotCompiled::Other)?;
        let mut items = Vec::with_capacity(signal.items.len());
        for (name, value) in &signal.items {
            let item = SignalItem::of(name)?;
            let (value, from) = self.value(value)?;
            items.push((item, value, from));
        }
        self.operations.push(Operation::Signal { sqlstate, items });
        Ok(())
    }

    fn block(&mut self, block: &'a Block) -> Compiled<()> {
        let visible = self.tables.names.borrow().len();
        let conditions = self.conditions.len();
        self.labels.push(Labelled { label: block.label.as_ref(), begin: None, leaves: Vec::new() });
        for declaration in &block.declarations {
            match declaration {
                Declaration::Variables { names, data_type, default } => {
                    self.variables_of(names, data_type, default.as_ref())?;
                }
                Declaration::Condition { name, value: ConditionValue::SqlState(state) } => {
                    let condition = SignalCondition::SqlState(state.clone());
                    self.conditions.push((name, state_of(&condition).ok_or(NotCompiled::Other)?));
                }
                _ => return Err(NotCompiled::Other),
            }
        }
        self.steps(&block.steps)?;
        self.conditions.truncate(conditions);
        self.tables.names.borrow_mut().truncate(visible);
        self.close_label()
    }

    /// Declares variables; the default is computed before any of them can be seen, once for each.
    fn variables_of(&mut self, names: &'a [Ident], data_type: &DataType, default: Option<&Expr>) -> Compiled<()> {
        let default = match default {
            Some(default) => Some(self.value(default)?),
            None => None,
        };
        for name in names {
            let sql_type = resolve_type(data_type, name.as_str(), self.rules)?;
            let slot = self.declare(name.as_str(), sql_type);
            self.operations.push(match &default {
                Some((expr, from)) => Operation::Set { slot, expr: expr.clone(), from: from.clone() },
                None => Operation::Clear(slot),
            });
        }
        Ok(())
    }

    fn set(&mut self, slot: Slot, value: &Expr) -> Compiled<()> {
        let (expr, from) = self.value(value)?;
        self.operations.push(Operation::Set { slot, expr, from });
        Ok(())
    }

    /// The statements of the first branch whose condition is true.
    fn branches(
        &mut self,
        branches: Vec<(Expr, &'a [Step])>,
        otherwise: &'a [Step],
        must_be_found: bool,
    ) -> Compiled<()> {
        let mut ends = Vec::new();
        self.branch_depth += 1;
        for (condition, steps) in branches {
            let condition = self.condition(&condition)?;
            let test = self.operations.len();
            self.operations.push(Operation::JumpUnless { condition, to: usize::MAX });
            self.steps(steps)?;
            ends.push(self.operations.len());
            self.operations.push(Operation::Jump(usize::MAX));
            self.land(test);
        }
        match must_be_found {
            true => self.operations.push(Operation::CaseNotFound),
            false => self.steps(otherwise)?,
        }
        self.branch_depth -= 1;
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    fn case(
        &mut self,
        operand: Option<&'a Expr>,
        branches: &'a [(Expr, Vec<Step>)],
        otherwise: Option<&'a [Step]>,
    ) -> Compiled<()> {
        let Some(operand) = operand else {
            let branches = branches.iter().map(|(condition, steps)| (condition.clone(), &**steps)).collect();
            return self.branches(branches, otherwise.unwrap_or_default(), otherwise.is_none());
        };
        let (expr, from) = self.value(operand)?;
        let visible = self.tables.names.borrow().len();
        let slot = self.declare(CASE_OPERAND, from.clone());
        self.operations.push(Operation::Set { slot, expr, from });
        let operand = Expr::Column(Box::new(ColumnName::new(CASE_OPERAND)));
        let is_equal = |(when, steps): &'a (Expr, Vec<Step>)| {
            let (left, right) = (Box::new(operand.clone()), Box::new(when.clone()));
            (Expr::Binary { left, op: BinaryOp::Equal, right }, &**steps)
        };
        let branches = branches.iter().map(is_equal).collect();
        self.branches(branches, otherwise.unwrap_or_default(), otherwise.is_none())?;
        self.tables.names.borrow_mut().truncate(visible);
        Ok(())
    }

    fn repeat(
        &mut self,
        label: Option<&'a Ident>,
        condition: Option<&Expr>,
        body: &'a [Step],
        until: Option<&Expr>,
    ) -> Compiled<()> {
        self.may_wait = true;
        self.loop_depth += 1;
        let begin = self.operations.len();
        self.labels.push(Labelled { label, begin: Some(begin), leaves: Vec::new() });
        let test = match condition {
            Some(condition) => {
                let condition = self.condition(condition)?;
                self.operations.push(Operation::JumpUnless { condition, to: usize::MAX });
                Some(self.operations.len() - 1)
            }
            None => None,
        };
        self.steps(body)?;
        match until {
            Some(until) => {
                let condition = self.condition(until)?;
                self.operations.push(Operation::JumpUnless { condition, to: begin });
            }
            None => self.operations.push(Operation::Jump(begin)),
        }
        if let Some(test) = test {
            self.land(test);
        }
        self.loop_depth -= 1;
        self.close_label()
    }

    fn close_label(&mut self) -> Compiled<()> {
        let leaves = self.labels.pop().map(|labelled| labelled.leaves);
        leaves.into_iter().flatten().for_each(|jump| self.land(jump));
        Ok(())
    }

    /// Has a jump go to what comes next.
    fn land(&mut self, jump: usize) {
        let here = self.operations.len();
        if let Some(Operation::Jump(to) | Operation::JumpUnless { to, .. }) = self.operations.get_mut(jump) {
            *to = here;
        }
    }

    fn value(&mut self, expr: &Expr) -> Compiled<(BoundExpr, SqlType)> {
        without_queries(expr)?;
        self.note_user_variables(expr)?;
        let bound = self.bound(|binder, rows| binder.bind_assigned(expr, rows))?;
        let from = bound.sql_type();
        Ok((bound, from))
    }

    fn condition(&mut self, expr: &Expr) -> Compiled<BoundExpr> {
        without_queries(expr)?;
        self.note_user_variables(expr)?;
        self.bound(|binder, rows| binder.bind_condition(expr, rows))
    }

    /// An expression that can be evaluated without a session.
    fn bound(
        &mut self,
        bind: impl FnOnce(&Binder<'_>, &[RowTable<'_>]) -> SqlResult<BoundExpr>,
    ) -> Compiled<BoundExpr> {
        let binder = Binder { tables: &self.tables, change_locks: self.binder.change_locks.clone(), ..*self.binder };
        let noted = self.binder.context.diagnostics.count();
        let bound = bind(&binder, &self.rows);
        // What binding has to say is said when the expression is evaluated.
        self.binder.context.diagnostics.truncate(noted);
        let bound = bound?;
        let mut is_external = false;
        bound.visit(&mut |node| is_external |= matches!(node, BoundExpr::Call(call) if call.kernel.is_external()));
        // What acts outside acts as the definer, who is the account of the interpreter's session.
        if !bound.is_row_wise() || is_external {
            return Err(NotCompiled::Other);
        }
        bound.visit(&mut |node| match node {
            BoundExpr::Call(call) => {
                self.may_wait |= call.kernel.waits();
                self.runs_statements |= call.kernel.runs_statements();
                self.assigns_variables |= call.kernel.assigns_variables();
            }
            BoundExpr::Column(column) if column.ordinal < self.row_slots.count => {
                self.row_slots.reads.insert(column.ordinal);
            }
            _ => {}
        });
        self.volatility = match (self.volatility, bound.volatility()) {
            (Volatility::Volatile, _) | (_, Volatility::Volatile) => Volatility::Volatile,
            (Volatility::Stable, _) | (_, Volatility::Stable) => Volatility::Stable,
            _ => Volatility::Immutable,
        };
        Ok(bound)
    }
}

/// A query finds no variables where the compiler has them.
fn without_queries(expr: &Expr) -> Compiled<()> {
    let mut has_query = false;
    expr.visit(&mut |node| {
        has_query |=
            matches!(node, Expr::Subquery(_) | Expr::Exists(_) | Expr::InSubquery { .. } | Expr::Quantified { .. })
    });
    if has_query { Err(NotCompiled::Other) } else { Ok(()) }
}

fn is_label(own: Option<&Ident>, label: &Ident) -> bool {
    own.is_some_and(|own| own.is(label.as_str()))
}

/// Names of a program: its variables, and what a resolver has beside tables.
struct ProgramTables<'b> {
    outer: &'b dyn TableResolver,
    names: RefCell<Vec<Named>>,
    invoker: Invoker,
}

impl ProgramTables<'_> {
    fn find(&self, name: &str) -> Option<Slot> {
        let names = self.names.borrow();
        names.iter().rev().find(|known| eq_ignore_case(&known.name, name)).map(|known| known.slot)
    }
}

impl TableResolver for ProgramTables<'_> {
    fn base_table(&self, request: &TableRequest<'_>, definition: &Arc<TableDef>) -> SqlResult<Arc<dyn TableProvider>> {
        self.outer.base_table(request, definition)
    }

    fn system_variable(&self, variable: &SystemVariable) -> SqlResult<(Value, SqlType)> {
        self.outer.system_variable(variable)
    }

    fn local_variable(&self, name: &str) -> Option<BoundExpr> {
        let names = self.names.borrow();
        let known = names.iter().rev().find(|known| eq_ignore_case(&known.name, name))?;
        Some(BoundExpr::Column(Arc::new(ColumnRef {
            ordinal: known.slot,
            relation: None,
            name: known.name.as_ref().into(),
            display: known.name.as_ref().into(),
            ty: known.ty.clone(),
            depth: Depth::default(),
        })))
    }

    fn stored_function(
        &self,
        database: &str,
        name: &str,
        _invoker: &Invoker,
    ) -> SqlResult<Option<Arc<dyn ScalarFunction>>> {
        self.outer.stored_function(database, name, &self.invoker)
    }
}
