//! EXTRACTVALUE and UPDATEXML.

use super::support::{Args, Def, result};
use crate::xml::{Document, Evaluation, Found, Query};
use squall_accounting::GrowingCharge;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};

/// The family. A query may name variables, so none of them is the same in every statement.
pub const FUNCTIONS: &[Def] = &[
    Def::new("EXTRACTVALUE", (2, 2), result::long_like_first, |args| {
        evaluated(args, |_, evaluation, found| Ok(evaluation.text(&found)?.map(|text| args.string(text))))
    })
    .stable(),
    Def::new("UPDATEXML", (3, 3), result::long_like_first, |args| {
        evaluated(args, |document, _, found| {
            let Found::Nodes(items) = found else { return Ok(None) };
            // One node is replaced; of several, none is.
            let [item] = items.as_slice() else { return Ok(Some(args.string(document.text.to_string()))) };
            let place = document.nodes[item.node].whole.clone();
            let mut text = document.text.to_string();
            text.replace_range(place, &args.text(2));
            Ok(Some(args.string(text)))
        })
    })
    .stable(),
];

/// The result for the nodes of the first argument that the second finds; NULL with a warning if that is no XML.
fn evaluated(
    args: &Args<'_>,
    make: impl FnOnce(&Document<'_>, &Evaluation<'_>, Found) -> SqlResult<Option<Value>>,
) -> SqlResult<Value> {
    let query = Query::parse(&args.text(1))?;
    let text = args.text(0);
    let mut charge = GrowingCharge::new(&args.context.memory);
    let document = match Document::parse(&text, &mut charge)? {
        Ok(document) => document,
        Err(malformed) => {
            args.warn(SqlError::new(ErrorCode::WrongValue, &[&"XML", &malformed.0]))?;
            return Ok(Value::Null);
        }
    };
    let evaluation = Evaluation::new(&document, collation_of(args), args.context);
    let found = evaluation.find(&query)?;
    Ok(make(&document, &evaluation, found)?.unwrap_or(Value::Null))
}

/// The collation that texts are compared by: that of the argument which decides.
fn collation_of(args: &Args<'_>) -> CollationId {
    let rank = |at: usize| args.coercibilities.get(at).map_or(u8::MAX, |coercibility| *coercibility as u8);
    let decides = usize::from(rank(1) < rank(0));
    args.ty(decides).collation().unwrap_or(args.context.settings.collation)
}
