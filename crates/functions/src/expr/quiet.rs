//! Whether an expression may fail, or warn, on some row.

use super::{BoundExpr, Call};
use crate::typing::has_date;
use squall_registry::Volatility;

impl BoundExpr {
    /// Whether it may be evaluated on rows that nobody asks for: it does nothing else, and has neither errors nor warnings but where a
    /// number leaves its type's range.
    pub fn is_quiet(&self) -> bool {
        let mut is_quiet = true;
        self.visit(&mut |node| match node {
            BoundExpr::Call(call) => is_quiet &= is_quiet_call(call),
            BoundExpr::Opaque { .. } => is_quiet = false,
            _ => {}
        });
        is_quiet
    }
}

fn is_quiet_call(call: &Call) -> bool {
    if call.volatility == Volatility::Volatile || call.kernel.waits() || call.kernel.is_external() {
        return false;
    }
    let types = || call.args.iter().map(BoundExpr::sql_type);
    let name = call.name.as_ref() as &str;
    match name {
        "+" | "-" | "*" | "ABS" => types().all(|sql_type| sql_type.is_numeric()),
        "convert to sort key" | "LENGTH" | "CHAR_LENGTH" | "LOWER" | "UPPER" => true,
        "YEAR" | "MONTH" | "DAYOFMONTH" | "QUARTER" | "TO_DAYS" | "DATEDIFF" => {
            types().all(|sql_type| has_date(&sql_type))
        }
        _ if name.starts_with("convert to ") => types().all(|from| {
            let to = call.ty.sql_type.clone();
            from.is_numeric() && to.is_numeric() || has_date(&from) && has_date(&to)
        }),
        _ => false,
    }
}
