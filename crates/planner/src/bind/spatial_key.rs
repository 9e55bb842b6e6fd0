//! Spatial keys. A condition on the position of a geometry gets a second condition: the cells of the key in which the first can be
//! true.

use super::context::Context;
use squall_catalog::FunctionalPart;
use squall_functions::expr::{BoundExpr, Call, CompareOp};
use squall_registry::{Coercibility, ExprType};
use squall_types::{CollationId, SqlResult, SqlType, Value};

/// Functions that are true only of geometries whose rectangles have something in common.
const RELATIONS: &[&str] = &[
    "MBRContains",
    "MBRCoveredBy",
    "MBRCovers",
    "MBREquals",
    "MBRIntersects",
    "MBROverlaps",
    "MBRTouches",
    "MBRWithin",
    "ST_Contains",
    "ST_Crosses",
    "ST_Equals",
    "ST_Intersects",
    "ST_Overlaps",
    "ST_Touches",
    "ST_Within",
];

impl Context<'_> {
    /// A condition that rows have to meet, with what spatial keys can be asked for it.
    pub fn with_spatial_keys(&mut self, condition: BoundExpr) -> SqlResult<BoundExpr> {
        let conjuncts = match &condition {
            BoundExpr::And(conjuncts) => conjuncts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut conditions = Vec::new();
        for conjunct in conjuncts {
            if let Some(call) = relation(conjunct) {
                conditions.extend(self.cells_condition(call)?);
            }
        }
        if conditions.is_empty() {
            return Ok(condition);
        }
        conditions.insert(0, condition);
        Ok(self.binder.builder().and(conditions))
    }

    /// That a row is filed under a cell in which the relation can hold.
    fn cells_condition(&mut self, call: &Call) -> SqlResult<Option<BoundExpr>> {
        let [first, second] = call.args.as_slice() else { return Ok(None) };
        for (column, other, is_first) in [(first, second, true), (second, first, false)] {
            let srid = column.sql_type().geometry_type().and_then(|geometry| geometry.srid);
            let (BoundExpr::Column(_), Some(srid)) = (column, srid) else { continue };
            if reads_rows(other) {
                continue;
            }
            let is_cells = |part: &FunctionalPart| matches!(part, FunctionalPart::Cells(_));
            let is_of_column =
                |key: &BoundExpr| matches!(key, BoundExpr::Call(key) if key.args.first() == Some(column));
            let Some((id, _)) = self.matching(is_cells, is_of_column) else { continue };
            let builder = self.binder.builder();
            let search = vec![other.clone(), text(&call.name), number(i64::from(srid)), number(i64::from(is_first))];
            let cells = builder.call("SPATIAL_KEY_SEARCH", search)?;
            return builder.call("JSON_OVERLAPS", vec![self.columns.expr(id), cells]).map(Some);
        }
        Ok(None)
    }
}

/// A call of one of the functions, also as `… = 1` and, as conditions are, `… <> 0`.
fn relation(condition: &BoundExpr) -> Option<&Call> {
    match condition {
        BoundExpr::Call(call) => RELATIONS.iter().any(|name| name.eq_ignore_ascii_case(&call.name)).then_some(&**call),
        BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } => match (&**left, &**right) {
            (call, BoundExpr::Literal(Value::Int(1), _)) | (BoundExpr::Literal(Value::Int(1), _), call) => {
                relation(call)
            }
            _ => None,
        },
        BoundExpr::Compare { op: CompareOp::NotEqual, left, right, .. } => match (&**left, &**right) {
            (call, BoundExpr::Literal(Value::Int(0), _)) => relation(call),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a value differs from row to row.
fn reads_rows(expr: &BoundExpr) -> bool {
    let mut reads = false;
    expr.visit(&mut |node| reads |= matches!(node, BoundExpr::Column(_) | BoundExpr::Opaque { .. }));
    reads
}

pub(super) fn text(text: &str) -> BoundExpr {
    let sql_type = SqlType::varchar(64, CollationId::UTF8MB4_0900_AI_CI);
    let ty = ExprType { sql_type, nullable: false, coercibility: Coercibility::Literal };
    BoundExpr::Literal(Value::String(text.to_string()), ty)
}

fn number(number: i64) -> BoundExpr {
    let ty = ExprType::numeric(SqlType::BIGINT, false);
    BoundExpr::Literal(Value::Int(number), ty)
}
