//! Tests whether an index gives rows in the order that a statement asks for.

use squall_catalog::{IndexDef, TableDef};
use squall_functions::expr::BoundExpr;
use squall_functions::expr::sort_key;
use squall_row_store::Direction;

/// The direction in which an index gives a table's rows in an order of plain columns; `None` if it does in neither.
///
/// `first` is the ordinal that expressions know the table's first column by. Columns in `constant` have one value in all
/// rows that are read, so they do not matter to the order.
pub fn order_direction(
    def: &TableDef,
    index: &IndexDef,
    order: &[(&BoundExpr, bool)],
    first: usize,
    constant: &[usize],
) -> Option<Direction> {
    if index.files_by_terms() || index.has_no_order() {
        return None;
    }
    let mut parts: Vec<(usize, bool, bool)> = parts_of(def, index);
    // Rows with equal keys follow each other by the primary key, which ends every entry of a secondary index.
    if !index.primary
        && let Some(primary) = def.primary_key()
    {
        parts.extend(parts_of(def, primary));
    }
    let mut parts = parts.into_iter();
    let mut backward = None;
    for (expr, descending) in order {
        let ordinal = column_of(expr)?.checked_sub(first)?;
        if constant.contains(&ordinal) {
            continue;
        }
        let (_, part_descends, prefix) = parts
            .find(|(column, ..)| *column == ordinal || !constant.contains(column))
            .filter(|(column, ..)| *column == ordinal)?;
        let reversed = part_descends != *descending;
        if prefix || backward.is_some_and(|backward| backward != reversed) {
            return None;
        }
        backward = Some(reversed);
    }
    Some(if backward.unwrap_or(false) { Direction::Backward } else { Direction::Forward })
}

/// The columns of an index, whether each descends, and whether only a prefix of it is there.
fn parts_of(def: &TableDef, index: &IndexDef) -> Vec<(usize, bool, bool)> {
    let columns = def.index_ordinals(index).into_iter();
    columns.zip(&index.parts).map(|(column, part)| (column, part.descending, part.prefix.is_some())).collect()
}

/// The column that a sort key is of: the index of a text column orders by the same sort keys.
fn column_of(expr: &BoundExpr) -> Option<usize> {
    match expr {
        BoundExpr::Column(column) => Some(column.ordinal),
        BoundExpr::Call(call) => match call.args.as_slice() {
            [operand @ BoundExpr::Column(column)] if *expr == sort_key(operand.clone()) => Some(column.ordinal),
            _ => None,
        },
        _ => None,
    }
}
