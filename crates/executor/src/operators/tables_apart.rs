//! Whether columns come from tables that no condition connects.
//!
//! A subquery that is correlated through several of its tables, `a.x = o.x AND b.y = o.y`, has few rows for one outer row. For all outer
//! rows at once the tables would have to be multiplied with each other.

use datafusion::common::{Column, DFSchemaRef};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Whether expressions over a plan read tables of it that neither its own conditions nor these connect.
pub fn are_tables_apart(plan: &LogicalPlan, conditions: &[&Expr], exprs: &[&Expr]) -> bool {
    let mut tables = Vec::new();
    let mut connected: Vec<Vec<Column>> = conditions.iter().map(|condition| columns_of(condition)).collect();
    collect(plan, &mut tables, &mut connected);
    // Which of the tables that are connected stands for all of them.
    let mut leads: Vec<usize> = (0..tables.len()).collect();
    for columns in &connected {
        let mut found = tables_of(&tables, columns);
        let Some(first) = found.next() else { continue };
        for other in found.collect::<Vec<_>>() {
            let (keeps, gives) = (leads[first], leads[other]);
            leads.iter_mut().filter(|lead| **lead == gives).for_each(|lead| *lead = keeps);
        }
    }
    let columns: Vec<Column> = exprs.iter().flat_map(|expr| columns_of(expr)).collect();
    let mut read = tables_of(&tables, &columns).map(|table| leads[table]);
    let first = read.next();
    read.any(|lead| Some(lead) != first)
}

fn columns_of(expr: &Expr) -> Vec<Column> {
    expr.column_refs().into_iter().cloned().collect()
}

/// The tables that have some of the columns.
fn tables_of<'t>(tables: &'t [&DFSchemaRef], columns: &'t [Column]) -> impl Iterator<Item = usize> + 't {
    let has = |table: &DFSchemaRef| columns.iter().any(|column| table.has_column(column));
    tables.iter().enumerate().filter(move |(_, table)| has(table)).map(|(at, _)| at)
}

fn collect<'p>(plan: &'p LogicalPlan, tables: &mut Vec<&'p DFSchemaRef>, connected: &mut Vec<Vec<Column>>) {
    match plan {
        LogicalPlan::Filter(filter) => {
            connected.extend(split_conjunction(&filter.predicate).into_iter().map(columns_of));
            collect(&filter.input, tables, connected);
        }
        LogicalPlan::Join(join) => {
            connected.extend(join.on.iter().map(|(left, right)| [columns_of(left), columns_of(right)].concat()));
            connected.extend(join.filter.iter().flat_map(split_conjunction).map(columns_of));
            collect(&join.left, tables, connected);
            collect(&join.right, tables, connected);
        }
        other => tables.push(other.schema()),
    }
}
