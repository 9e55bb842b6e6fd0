//! The number of bytes up to which a query is small. It depends on the work for each row.

use super::ROWS_MAX;
use squall_functions::expr::{BoundExpr, Call};
use squall_functions::fulltext::MatchKernel;
use squall_functions::vector::DistanceKernel;
use squall_types::SqlType;

/// Work on a byte of a row, as cheap as the cheapest: it is copied and compared.
const BYTES_READ_MAX: usize = 4 << 20;
/// A function looks at it (LIKE: 11 ns).
const BYTES_LOOKED_AT_MAX: usize = 1 << 20;
/// It is taken apart into words (MATCH: 24 ns, and each word is looked for).
const BYTES_OF_WORDS_MAX: usize = 256 << 10;

/// Most bytes of rows that a query with these expressions reads before it is left to the full planner: as many as take
/// about as long as planning does there, 5 ms.
pub(super) fn bytes_max<'e>(exprs: impl Iterator<Item = &'e BoundExpr>) -> usize {
    let mut most = BYTES_READ_MAX;
    for expr in exprs {
        expr.visit(&mut |node| {
            if let BoundExpr::Call(call) = node {
                most = most.min(bytes_max_of(call));
            }
        });
    }
    most
}

/// Whether an expression asks how well a row answers a MATCH.
pub(super) fn ranks(expr: &BoundExpr) -> bool {
    let mut ranks = false;
    expr.visit(&mut |node| {
        if let BoundExpr::Call(call) = node {
            ranks |= call.kernel_as::<MatchKernel>().is_some_and(|kernel| kernel.ranked);
        }
    });
    ranks
}

/// Whether an expression measures how far vectors are apart.
pub(super) fn measures(expr: &BoundExpr) -> bool {
    let mut measures = false;
    expr.visit(&mut |node| {
        if let BoundExpr::Call(call) = node {
            measures |= call.kernel_as::<DistanceKernel>().is_some();
        }
    });
    measures
}

fn bytes_max_of(call: &Call) -> usize {
    if call.kernel_as::<MatchKernel>().is_some() {
        BYTES_OF_WORDS_MAX
    } else if call.args.iter().any(is_long_of_row) {
        BYTES_LOOKED_AT_MAX
    } else {
        BYTES_READ_MAX
    }
}

/// Whether an argument is a document or a string that comes from a row, and so long that the rows of a small query may have too
/// many bytes of it.
fn is_long_of_row(arg: &BoundExpr) -> bool {
    let may_be_long = match arg.sql_type() {
        SqlType::String { length, .. } => length as usize > BYTES_LOOKED_AT_MAX / ROWS_MAX,
        SqlType::Json => true,
        _ => false,
    };
    let mut of_row = false;
    arg.visit(&mut |node| of_row |= matches!(node, BoundExpr::Column(_)));
    may_be_long && of_row
}
