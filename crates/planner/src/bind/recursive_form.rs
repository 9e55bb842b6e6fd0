//! Which forms a recursive common table may have. MySQL forbids those whose rows could not be made round by round.

use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// The parts of a recursive common table.
pub(super) struct RecursiveForm<'q> {
    /// The part that does not refer to the table.
    pub seed: &'q ast::QueryBody,
    /// Those that do.
    pub parts: Vec<&'q ast::QueryBody>,
    /// Whether no row is twice in the result.
    pub is_distinct: bool,
}

/// Takes a recursive common table apart.
///
/// # Errors
/// 3573 to 3577, and 1235 for ORDER BY, DISTINCT and LIMIT.
pub(super) fn recursive_form(table: &ast::CommonTable) -> SqlResult<RecursiveForm<'_>> {
    let name = table.name.as_str();
    let error = |code| Err(SqlError::new(code, &[&name]));
    let mut seed = &table.query.body;
    let mut parts = Vec::new();
    let (mut is_distinct, mut all_follows, mut is_mixed) = (false, false, false);
    while let ast::QueryBody::SetOperation(operation) = seed
        && operation.kind == ast::SetOperationKind::Union
        && references_in(&operation.right, name) > 0
    {
        is_distinct |= !operation.all;
        is_mixed |= !operation.all && all_follows;
        all_follows |= operation.all;
        parts.push(&operation.right);
        seed = &operation.left;
    }
    parts.reverse();
    let in_order = table.query.order_by.iter().any(|item| references_in_expr(&item.expr, name) > 0);
    match seed {
        ast::QueryBody::SetOperation(operation)
            if parts.is_empty() && operation.kind == ast::SetOperationKind::Union && !in_order =>
        {
            return error(ErrorCode::CteRecursiveRequiresNonRecursiveFirst);
        }
        _ if parts.is_empty() && !in_order => return error(ErrorCode::CteRecursiveRequiresUnion),
        _ if references_in(seed, name) > 0 => return error(ErrorCode::CteRecursiveRequiresNonRecursiveFirst),
        _ => {}
    }
    if in_order {
        return error(ErrorCode::CteRecursiveRequiresSingleReference);
    }
    parts.iter().try_for_each(|part| check_part(part, name))?;
    if is_mixed {
        let what = "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression";
        return Err(SqlError::unsupported(what));
    }
    if !table.query.order_by.is_empty() {
        return Err(SqlError::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
    }
    Ok(RecursiveForm { seed, parts, is_distinct })
}

/// How often a query refers to a table of that name, its subqueries too.
pub(super) fn references(query: &ast::Query, name: &str) -> usize {
    let mut count = 0;
    // The walk of names is one that may change them.
    query.clone().for_each_table_mut(&mut |table| {
        count += usize::from(table.schema.is_none() && *table.name.value == *name);
    });
    count
}

fn references_in(body: &ast::QueryBody, name: &str) -> usize {
    references(&ast::Query::new(body.clone()), name)
}

/// As far as subqueries of an expression are concerned.
fn references_in_expr(expr: &ast::Expr, name: &str) -> usize {
    let mut query = ast::Query::new(ast::QueryBody::Values(Vec::new()));
    query.order_by.push(ast::OrderItem { expr: expr.clone(), descending: false });
    references(&query, name)
}

/// Looks at a part that refers to the table.
fn check_part(part: &ast::QueryBody, name: &str) -> SqlResult<()> {
    match part {
        ast::QueryBody::Select(select) => check_block(part, select, name),
        ast::QueryBody::Nested(query) => {
            ast::with_stack(|| check_part(&query.body, name))?;
            check_order(!query.order_by.is_empty() || query.limit.is_some())
        }
        ast::QueryBody::SetOperation(operation) => {
            for side in [&operation.left, &operation.right] {
                ast::with_stack(|| check_part(side, name))?;
            }
            Ok(())
        }
        ast::QueryBody::Table(_) | ast::QueryBody::Values(_) => Ok(()),
    }
}

fn check_order(is_ordered: bool) -> SqlResult<()> {
    match is_ordered {
        true => Err(SqlError::unsupported(
            "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
        )),
        false => Ok(()),
    }
}

fn check_block(block: &ast::QueryBody, select: &ast::Select, name: &str) -> SqlResult<()> {
    let error = |code| Err(SqlError::new(code, &[&name]));
    let references = references_in(block, name);
    if references == 0 {
        return Ok(());
    }
    if is_grouped(select) {
        return error(ErrorCode::CteRecursiveForbidsAggregation);
    }
    check_order(select.options.distinct)?;
    let mut leaves = Vec::new();
    select.from.iter().for_each(|reference| push_leaves(reference, false, &mut leaves));
    let mut own = leaves.iter().enumerate().filter(|(_, leaf)| {
        matches!(leaf.reference, ast::TableReference::Table(factor)
            if factor.name.schema.is_none() && *factor.name.name.value == *name)
    });
    let Some((place, leaf)) = own.next().filter(|_| references == 1) else {
        return error(ErrorCode::CteRecursiveRequiresSingleReference);
    };
    if leaf.is_held_back || select.options.straight_join && place > 0 {
        return error(ErrorCode::CteRecursiveForbidsJoinOrder);
    }
    Ok(())
}

/// A table of FROM.
struct Leaf<'q> {
    reference: &'q ast::TableReference,
    /// Whether it cannot be the first that is read.
    is_held_back: bool,
}

fn push_leaves<'q>(reference: &'q ast::TableReference, is_held_back: bool, leaves: &mut Vec<Leaf<'q>>) {
    let ast::TableReference::Join(join) = reference else {
        leaves.push(Leaf { reference, is_held_back });
        return;
    };
    let (left, right) = match join.kind {
        ast::JoinKind::Inner => (false, false),
        ast::JoinKind::Left | ast::JoinKind::Straight => (false, true),
        ast::JoinKind::Right => (true, false),
    };
    ast::with_stack(|| push_leaves(&join.left, is_held_back || left, leaves));
    ast::with_stack(|| push_leaves(&join.right, is_held_back || right, leaves));
}

/// Whether a block has aggregates or windows, which would have to see all rows at once.
fn is_grouped(select: &ast::Select) -> bool {
    let mut is_grouped = select.group_by.is_some();
    let items = select.items.iter().filter_map(|item| match item {
        ast::SelectItem::Expr(item) => Some(&item.expr),
        _ => None,
    });
    for expr in items.chain(&select.having) {
        expr.visit(&mut |expr| is_grouped |= matches!(expr, ast::Expr::Aggregate(_) | ast::Expr::Window(_)));
    }
    is_grouped
}
