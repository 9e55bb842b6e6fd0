//! Decides which expressions may run on an event loop, and which must run on the query pool.

use super::{BoundExpr, Call};
use squall_registry::Volatility;
use squall_types::{SqlType, Value};

/// Work on strings of up to this many bytes is no work to speak of.
const BYTES_MAX: usize = 64 << 10;

impl BoundExpr {
    /// Whether it is evaluated in no time on a row of short values: nothing in it waits, and nothing makes long strings
    /// of short ones.
    pub fn is_brief(&self) -> bool {
        let mut brief = true;
        self.visit(&mut |node| match node {
            BoundExpr::Literal(value, _) => brief &= !is_long(value),
            BoundExpr::Call(call) => brief &= is_brief(call),
            _ => {}
        });
        brief
    }

    /// Whether it may have another value when it is computed again.
    pub fn is_volatile(&self) -> bool {
        let mut is_volatile = false;
        self.visit(&mut |node| {
            if let BoundExpr::Call(call) = node {
                is_volatile |= call.volatility == Volatility::Volatile;
            }
        });
        is_volatile
    }
}

/// Whether a value is so long that work on it belongs to the query pool, not to the thread that binds.
pub(crate) fn is_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > BYTES_MAX,
        Value::Json(document) => document.stored().len() > BYTES_MAX,
        Value::Bytes(bytes) => bytes.len() > BYTES_MAX,
        _ => false,
    }
}

/// Whether a call does not wait, and makes no long string out of nothing (`REPEAT`, `SPACE`, `LPAD`). A string as long as
/// its arguments together is their doing.
pub(crate) fn is_brief(call: &Call) -> bool {
    if call.kernel.waits() {
        return false;
    }
    let SqlType::String { length, .. } = call.ty.sql_type else { return true };
    if call.kernel.is_proportional() {
        return true;
    }
    if length as usize <= BYTES_MAX || call.args.is_empty() {
        return true;
    }
    let given = call.args.iter().fold(0_u64, |sum, arg| match arg.ty().sql_type {
        SqlType::String { length, .. } => sum.saturating_add(u64::from(length)),
        SqlType::Json => sum.saturating_add(u64::from(u32::MAX)),
        _ => sum,
    });
    u64::from(length) <= given
}
