//! The column Extra for the condition on a table that is read by an index.

use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::IsNullExpr;
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};
use squall_catalog::{IndexDef, TableDef};
use squall_executor::access::RowScanExec;
use squall_executor::access::path::AccessPath;
use std::sync::Arc;

const USING_WHERE: &str = "Using where";
const USING_INDEX_CONDITION: &str = "Using index condition";

/// MySQL's words: a comparison that the look-up itself makes true is no condition any more; one that a secondary index can
/// tell by itself is an index condition, unless only the index is read.
pub(super) fn condition_notes(scan: &RowScanExec, condition: &Arc<dyn PhysicalExpr>) -> Vec<&'static str> {
    let (def, path) = (&*scan.source.def, &scan.path);
    let (Some(index), Some(ranges)) = (path.index_def(def), &path.ranges) else { return vec![USING_WHERE] };
    // An index of words or of elements finds rows that may have to be looked at once more.
    if !is_plain(path, index) {
        return vec![USING_WHERE];
    }
    if path.unique {
        return Vec::new();
    }
    let by_equality = ranges.parts_constant == ranges.parts_used;
    let compared = columns_of(def, index, ranges.parts_used);
    let held = columns_of(def, index, index.parts.len());
    let (mut elsewhere, mut in_index) = (false, false);
    for part in split_conjunction(condition) {
        let is_null = part.is::<IsNullExpr>();
        if by_equality && reads_only(part, &compared) && !is_null {
            continue;
        }
        if !index.primary && !path.covering && reads_only(part, &held) {
            in_index = true;
        } else {
            elsewhere = true;
        }
    }
    [(in_index, USING_INDEX_CONDITION), (elsewhere, USING_WHERE)]
        .into_iter()
        .filter_map(|(is_there, note)| is_there.then_some(note))
        .collect()
}

/// Whether entries hold whole values of columns.
fn is_plain(path: &AccessPath, index: &IndexDef) -> bool {
    !index.files_by_terms() && !index.is_json() && !path.repeats()
}

/// The columns of an index's first parts, up to one that holds the beginnings of values only.
fn columns_of<'d>(def: &'d TableDef, index: &IndexDef, parts: usize) -> Vec<&'d str> {
    let whole = index.parts.iter().take(parts).take_while(|part| part.prefix.is_none());
    whole.filter_map(|part| def.ordinal(part.column)).map(|at| def.columns[at].name.as_str()).collect()
}

fn reads_only(part: &Arc<dyn PhysicalExpr>, columns: &[&str]) -> bool {
    let read = collect_columns(part);
    !read.is_empty() && read.iter().all(|column| columns.contains(&column.name()))
}
