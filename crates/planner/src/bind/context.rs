//! The state of binding one statement: blocks that are open, columns that exist, tables that were used.

use super::Binder;
use super::block::Aggregate;
use super::column::{BlockId, ColumnId, Columns, Equality};
use super::common_tables::CommonTableScope;
use super::kept_parameters::ComparedParameters;
use super::output::TableUse;
use super::pending_subquery::PendingSubquery;
use super::row_locks::RowLocks;
use super::scope::{Clause, Found, Scope};
use super::window_call::Window;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Placeholder;
use squall_catalog::Invoker;
use squall_functions::arrow_map::field_ref;
use squall_functions::expr::{BoundExpr, ExecutionSlot};
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Expressions of hidden columns, bound when they are first asked for; `None` for those that cannot be.
pub(crate) type KeyExprs = Vec<(ColumnId, Option<Arc<BoundExpr>>)>;

/// How deep query blocks may nest.
const DEPTH_MAX: usize = 1024;
/// Most query blocks of one statement. A view or a common table counts each time it is named, so that twenty of them,
/// each naming the one before twice, would be a million.
const BLOCKS_MAX: usize = 12_000;

/// A query block whose names are visible to what is being bound.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Its FROM.
    pub scope: Scope,
    /// The clause that is being bound.
    pub clause: Clause,
    /// Whether an aggregate may stand here.
    pub aggregates_allowed: bool,
    /// Whether an aggregate's arguments are being bound.
    pub in_aggregate: bool,
    /// Whether a window function may stand here.
    pub windows_allowed: bool,
    /// Aggregates found so far.
    pub aggregates: Vec<Aggregate>,
    /// Window functions found so far.
    pub windows: Vec<Window>,
    /// WINDOW clause.
    pub named_windows: Vec<ast::NamedWindow>,
    /// Subqueries that are in the expressions bound so far and are not yet part of the plan.
    pub subqueries: Vec<PendingSubquery>,
    /// The select list by name, for HAVING and ORDER BY.
    pub aliases: Vec<(Arc<str>, BoundExpr)>,
    /// Aliases of the select list that have not been bound yet, the next one last.
    pub later_aliases: Vec<Arc<str>>,
    /// GROUP BY, for HAVING.
    pub group: Vec<BoundExpr>,
    /// Calls of GROUPING: the column that stands for each, and its arguments.
    pub groupings: Vec<(ColumnId, Vec<BoundExpr>)>,
}

impl Frame {
    /// A frame for a FROM whose names are `scope`.
    pub fn new(scope: Scope, clause: Clause) -> Self {
        Self {
            scope,
            clause,
            aggregates_allowed: false,
            in_aggregate: false,
            windows_allowed: false,
            aggregates: Vec::new(),
            windows: Vec::new(),
            named_windows: Vec::new(),
            subqueries: Vec::new(),
            aliases: Vec::new(),
            later_aliases: Vec::new(),
            group: Vec::new(),
            groupings: Vec::new(),
        }
    }
}

/// The state.
pub(crate) struct Context<'a> {
    /// The binder, with the caller's environment.
    pub binder: &'a Binder<'a>,
    /// The text that spans point into: the statement's, or a view's.
    pub text: Cow<'a, [u8]>,
    /// All columns.
    pub columns: Columns,
    /// Open blocks, the innermost last.
    pub frames: Vec<Frame>,
    /// Tables used.
    pub tables: Vec<TableUse>,
    /// WITH clauses in force, the innermost last.
    pub common_tables: Vec<CommonTableScope>,
    /// Views being bound, the outermost first.
    pub views: Vec<(Arc<str>, Arc<str>)>,
    /// As whom tables are read here.
    pub invoker: Invoker,
    /// Columns of views: which of the tables used the view is, and which column of it.
    pub view_columns: HashMap<ColumnId, (usize, usize)>,
    /// Where functions find the statement.
    pub slot: Arc<ExecutionSlot>,
    /// How the tables of the query that is being bound are locked.
    pub locks: RowLocks,
    /// Whether a subquery of an expression is being bound.
    pub in_subquery: bool,
    /// Whether a derived table, a table expression or a view is being bound whose rows are gathered before they are used.
    pub is_gathered: bool,
    /// How conditions use parameters.
    pub compared_parameters: RefCell<ComparedParameters>,
    /// Whether user variables are assigned.
    pub row_order_matters: bool,
    /// See [`BoundQuery::is_told_by_text`](super::BoundQuery::is_told_by_text).
    pub is_told_by_text: bool,
    /// Whether a parameter without a value has been met: the statement is only prepared.
    pub lacks_values: bool,
    /// User variables assigned by the statement so far, with their types.
    pub assigned_variables: BTreeMap<String, squall_types::SqlType>,
    /// Columns that conditions make equal to others or to constants.
    pub equalities: Vec<Equality>,
    /// Whether the statement may assign user variables anywhere.
    pub assigns_variables: bool,
    /// The outermost LIMIT, with SQL_CALC_FOUND_ROWS.
    pub found_rows_limit: Option<super::output::RowLimit>,
    /// A table without end among those of the FROM that is being bound.
    pub endless_table: Option<Arc<str>>,
    /// Expressions of the hidden columns that have been looked at.
    pub key_exprs: KeyExprs,
    scan_names: HashSet<String>,
    /// How many scans have asked for a name, by alias.
    scans_of: HashMap<String, usize>,
    next_block: BlockId,
    next_work_table: u32,
    depth: usize,
    /// Query blocks begun so far.
    blocks: usize,
}

impl<'a> Context<'a> {
    /// Starts.
    pub fn new(binder: &'a Binder<'a>) -> Self {
        Self {
            binder,
            text: Cow::Borrowed(binder.text),
            columns: Columns::default(),
            frames: Vec::new(),
            tables: Vec::new(),
            common_tables: Vec::new(),
            views: Vec::new(),
            invoker: Invoker::Session,
            view_columns: HashMap::new(),
            slot: ExecutionSlot::new(Arc::clone(binder.context)),
            locks: RowLocks::default(),
            in_subquery: false,
            is_gathered: false,
            compared_parameters: RefCell::default(),
            row_order_matters: false,
            is_told_by_text: true,
            lacks_values: false,
            assigned_variables: BTreeMap::new(),
            equalities: Vec::new(),
            assigns_variables: false,
            found_rows_limit: None,
            endless_table: None,
            key_exprs: KeyExprs::new(),
            scan_names: HashSet::new(),
            scans_of: HashMap::new(),
            next_block: 0,
            next_work_table: 0,
            depth: 0,
            blocks: 0,
        }
    }

    /// A number for a new block.
    pub fn new_block(&mut self) -> BlockId {
        self.next_block += 1;
        self.next_block
    }

    /// A number for a new work table.
    pub fn new_work_table(&mut self) -> u32 {
        self.next_work_table += 1;
        self.next_work_table
    }

    /// A name for a scan, unlike those of other scans of the statement.
    pub fn scan_name(&mut self, alias: &str) -> String {
        loop {
            let number = self.scans_of.entry(alias.to_owned()).or_insert(0);
            *number += 1;
            let name = if *number == 1 { alias.to_owned() } else { format!("{alias}#{number}") };
            // Another alias may look like a numbered one.
            if self.scan_names.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Runs `f` one level deeper.
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        if self.depth >= DEPTH_MAX || self.blocks >= BLOCKS_MAX {
            return Err(SqlError::new(ErrorCode::TooHighLevelOfNesting, &[]));
        }
        self.binder.context.kill.check()?;
        self.depth += 1;
        self.blocks += 1;
        let result = ast::with_stack(|| f(self));
        self.depth -= 1;
        result
    }

    /// How deep queries are nested here; the outermost is at 1.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The innermost block. There is always one while expressions are bound.
    pub fn frame(&mut self) -> SqlResult<&mut Frame> {
        self.frames.last_mut().ok_or_else(|| SqlError::internal("no query block"))
    }

    /// Runs `f` with a frame on top; gives the frame back.
    pub fn with_frame<T>(&mut self, frame: Frame, f: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<(T, Frame)> {
        self.frames.push(frame);
        let result = f(self);
        let frame = self.frames.pop().ok_or_else(|| SqlError::internal("no query block"))?;
        Ok((result?, frame))
    }

    /// Looks a column up in the open blocks, the innermost first.
    pub fn resolve(&mut self, name: &ast::ColumnName) -> SqlResult<Option<BoundExpr>> {
        self.resolve_within(name, self.frames.len())
    }

    /// The same in the outermost this many blocks.
    pub fn resolve_within(&mut self, name: &ast::ColumnName, depth: usize) -> SqlResult<Option<BoundExpr>> {
        let database = name.schema.as_deref();
        let table = name.table.as_deref();
        for depth in (0..depth).rev() {
            let frame = &self.frames[depth];
            match frame.scope.find(database, table, &name.column) {
                Found::One(id) => {
                    if self.binder.tables.wants_columns()
                        && let Some(relation) = frame.scope.relation_of(id)
                    {
                        self.binder.tables.found_column(name, relation.database.as_deref(), &relation.alias);
                    }
                    self.mark_used(id);
                    return Ok(Some(self.columns.expr(id)));
                }
                Found::Ambiguous => {
                    return Err(SqlError::new(ErrorCode::NonUniqueColumn, &[&display_name(name), &frame.clause]));
                }
                Found::None => {}
            }
            // An inner block may refer to the names of an outer select list, as far as that has been bound.
            let inner = depth + 1 < self.frames.len();
            let sees_aliases =
                matches!(frame.clause, Clause::FieldList | Clause::Group | Clause::Having | Clause::Order);
            if inner && table.is_none() && sees_aliases {
                let named =
                    frame.aliases.iter().find(|(alias, _)| squall_catalog::name::eq_ignore_case(alias, &name.column));
                if let Some((_, expr)) = named {
                    return Ok(Some(expr.clone()));
                }
                let later = |alias: &Arc<str>| squall_catalog::name::eq_ignore_case(alias, &name.column);
                if frame.later_aliases.iter().any(later) {
                    return Err(SqlError::new(
                        ErrorCode::IllegalReference,
                        &[&name.column.as_str(), &"forward reference in item list"],
                    ));
                }
            }
        }
        Ok(None)
    }

    /// Remembers that a table's column is read.
    pub fn mark_used(&mut self, id: ColumnId) {
        if let Some((table, ordinal)) = self.view_columns.get(&id)
            && let Some(used) = self.tables.get_mut(*table)
        {
            if !used.columns.contains(ordinal) {
                used.columns.push(*ordinal);
            }
            return;
        }
        let info = self.columns.get(id);
        let (Some(relation), Some(origin)) = (&info.reference.relation, &info.origin) else { return };
        let scan = relation.table();
        let Some(used) = self.tables.iter_mut().rev().find(|used| &*used.scan_name == scan) else { return };
        let ordinal = match (&origin.base, &used.virtual_schema) {
            (Some((_, ordinal)), _) => Some(*ordinal),
            (None, Some(schema)) => schema.index_of(&origin.org_name).ok(),
            (None, None) => None,
        };
        if let Some(ordinal) = ordinal
            && !used.columns.contains(&ordinal)
        {
            used.columns.push(ordinal);
        }
    }

    /// The clause that the innermost block is at.
    pub fn clause(&self) -> Clause {
        self.frames.last().map_or(Clause::FieldList, |frame| frame.clause)
    }

    /// The expression as DataFusion has it in `block`: a value.
    pub fn value(&self, expr: &BoundExpr, block: BlockId) -> SqlResult<Expr> {
        self.value_of(expr, &[block])
    }

    /// The same where the rows of several blocks are joined.
    pub fn value_of(&self, expr: &BoundExpr, blocks: &[BlockId]) -> SqlResult<Expr> {
        if !self.binder.kept_parameters.is_none() {
            self.compared_parameters.borrow_mut().note_value(expr);
        }
        plan_result(self.with_placeholders(expr, blocks).to_value(&self.slot))
    }

    /// The expression as DataFusion has it in `block`: a condition.
    pub fn predicate(&self, expr: &BoundExpr, block: BlockId) -> SqlResult<Expr> {
        self.predicate_of(expr, &[block])
    }

    /// The same where the rows of several blocks are joined.
    pub fn predicate_of(&self, expr: &BoundExpr, blocks: &[BlockId]) -> SqlResult<Expr> {
        if !self.binder.kept_parameters.is_none() {
            self.compared_parameters.borrow_mut().note(expr);
        }
        plan_result(self.with_placeholders(expr, blocks).to_predicate(&self.slot))
    }

    /// The form of a value for grouping, sorting and joining: its collation's key for a string.
    pub fn sort_key(&self, expr: BoundExpr) -> BoundExpr {
        squall_functions::expr::sort_key(expr)
    }

    /// Puts placeholders in place of other blocks' columns. An expression without such, which may be large, is not copied.
    pub fn with_placeholders<'e>(&self, expr: &'e BoundExpr, blocks: &[BlockId]) -> Cow<'e, BoundExpr> {
        let is_elsewhere = |id: ColumnId| !blocks.contains(&self.columns.get(id).block);
        let mut any = false;
        expr.visit(&mut |node| any |= matches!(node, BoundExpr::Column(column) if is_elsewhere(column.ordinal)));
        if !any {
            return Cow::Borrowed(expr);
        }
        Cow::Owned(expr.clone().rewrite(&mut |node| match &node {
            BoundExpr::Column(column) if is_elsewhere(column.ordinal) => {
                let id = placeholder_id(column.ordinal);
                let field = field_ref(&id, &column.ty);
                let expr = Box::new(Expr::Placeholder(Placeholder::new_with_field(id, Some(field))));
                BoundExpr::Opaque { expr, ty: column.ty.clone(), predicate: false }
            }
            _ => node,
        }))
    }

    /// Whether a column is not one of `block`'s rows.
    pub fn is_outer(&self, id: ColumnId, block: BlockId) -> bool {
        self.columns.get(id).block != block
    }

    /// Whether an expression reads a value of another block.
    pub fn has_outer(&self, expr: &BoundExpr, block: BlockId) -> bool {
        let mut outer = false;
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                outer |= self.is_outer(column.ordinal, block);
            }
        });
        outer
    }
}

/// A column's name as error messages show it: as it was written.
pub(crate) fn display_name(name: &ast::ColumnName) -> String {
    let mut text = String::new();
    for part in [&name.schema, &name.table].into_iter().flatten() {
        text.push_str(part);
        text.push('.');
    }
    text.push_str(&name.column);
    text
}

/// The id of the placeholder for an outer column.
pub(crate) fn placeholder_id(id: ColumnId) -> String {
    format!("$outer{id}")
}

/// The outer column that a placeholder stands for.
pub(crate) fn placeholder_column(id: &str) -> Option<ColumnId> {
    id.strip_prefix("$outer")?.parse().ok()
}

/// DataFusion's errors while plans are built, as MySQL errors.
pub(crate) fn plan_result<T>(result: datafusion::common::Result<T>) -> SqlResult<T> {
    result.map_err(squall_functions::expr::sql_error_from)
}

/// Error 1241 unless both sides have as many columns.
pub(crate) fn check_columns(found: usize, wanted: usize) -> SqlResult<()> {
    match found == wanted {
        true => Ok(()),
        false => Err(SqlError::new(ErrorCode::OperandColumns, &[&wanted])),
    }
}
