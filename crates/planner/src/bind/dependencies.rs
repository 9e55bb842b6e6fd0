//! Functional dependencies: which columns others determine, as ONLY_FULL_GROUP_BY asks, and which expressions of GROUP BY tell no
//! groups apart that the others do not.

use super::column::{BlockId, ColumnId, Equality};
use super::context::Context;
use squall_functions::expr::{BoundExpr, CompareOp};
use squall_registry::Volatility;
use squall_types::{SqlResult, SqlType};

/// Where a condition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionOf {
    /// WHERE.
    Where,
    /// ON of an inner join, which may be on a side of an outer one.
    InnerJoin,
    /// ON of an outer join.
    OuterJoin,
}

impl Context<'_> {
    /// Remembers `column = column` and `column = constant`: GROUP BY of the one determines the other.
    pub fn note_equality(&mut self, condition: &BoundExpr, block: BlockId, of: ConditionOf) {
        let BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } = condition else { return };
        let column = |expr: &BoundExpr| match expr {
            BoundExpr::Column(column) if !self.is_outer(column.ordinal, block) => Some(column.ordinal),
            _ => None,
        };
        let constant = |expr: &BoundExpr| expr.is_constant() || self.blocks_of(expr).iter().all(|id| *id != block);
        // What is volatile reads no row either, and may differ from one to the next.
        let is_one_value = |expr: &BoundExpr| expr.is_constant() && expr.volatility() != Volatility::Volatile;
        // Other types may have several values that equal one: texts by their collation, numbers as doubles.
        let integers = [left, right].iter().all(|side| matches!(side.ty().sql_type, SqlType::Int { .. }));
        match (column(left), column(right)) {
            (Some(left), Some(right)) => {
                let is_exact = integers && of != ConditionOf::OuterJoin;
                self.equalities.push(Equality { column: left, other: Some(right), is_exact });
                self.equalities.push(Equality { column: right, other: Some(left), is_exact });
            }
            (Some(column), None) if constant(right) => {
                let is_exact = integers && of == ConditionOf::Where && is_one_value(right);
                self.equalities.push(Equality { column, other: None, is_exact });
            }
            (None, Some(column)) if constant(left) => {
                let is_exact = integers && of == ConditionOf::Where && is_one_value(left);
                self.equalities.push(Equality { column, other: None, is_exact });
            }
            _ => {}
        }
    }

    /// Columns that have one value in all rows of a group, as MySQL sees it: the columns of GROUP BY, columns that WHERE and ON make equal
    /// to these or to constants, and all columns of a table whose key is among them.
    pub fn determined_columns(&mut self, group: &[BoundExpr]) -> SqlResult<Vec<ColumnId>> {
        let known = columns_of(group);
        self.closure(known, &|_| true)
    }

    /// Positions of the expressions of GROUP BY without which the groups are the same. The last text is left out first, as texts take longest
    /// to compare.
    pub fn redundant_keys(&mut self, group: &[BoundExpr]) -> SqlResult<Vec<usize>> {
        let is_text = |position: &usize| matches!(group[*position].ty().sql_type, SqlType::String { .. });
        let mut kept: Vec<usize> = (0..group.len()).collect();
        let columns = kept.iter().copied().filter(|position| matches!(group[*position], BoundExpr::Column(_)));
        let (texts, others): (Vec<usize>, Vec<usize>) = columns.partition(is_text);
        for candidate in texts.into_iter().rev().chain(others.into_iter().rev()) {
            let rest: Vec<BoundExpr> = kept
                .iter()
                .filter(|position| **position != candidate)
                .map(|position| group[*position].clone())
                .collect();
            if rest.is_empty() {
                break;
            }
            let determined = self.closure(columns_of(&rest), &|equality| equality.is_exact)?;
            if columns_of(&group[candidate..=candidate]).iter().all(|column| determined.contains(column)) {
                kept.retain(|position| *position != candidate);
            }
        }
        Ok((0..group.len()).filter(|position| !kept.contains(position)).collect())
    }

    /// What columns determine by equalities and keys.
    fn closure(&mut self, mut known: Vec<ColumnId>, counts: &dyn Fn(&Equality) -> bool) -> SqlResult<Vec<ColumnId>> {
        let relations = self.frame()?.scope.relations.clone();
        loop {
            let before = known.len();
            for equality in self.equalities.iter().filter(|equality| counts(equality)) {
                let is_known = equality.other.is_none_or(|other| known.contains(&other));
                if is_known && !known.contains(&equality.column) {
                    known.push(equality.column);
                }
            }
            for relation in &relations {
                let Some(definition) = &relation.definition else { continue };
                let has_key = definition.indexes.iter().filter(|index| index.unique).any(|index| {
                    let ordinals = definition.index_ordinals(index);
                    ordinals.len() == index.parts.len()
                        && index.parts.iter().all(|part| part.prefix.is_none())
                        && ordinals.iter().all(|ordinal| {
                            !definition.columns[*ordinal].nullable
                                && relation.columns.get(*ordinal).is_some_and(|column| known.contains(&column.id))
                        })
                });
                if has_key {
                    let new: Vec<ColumnId> =
                        relation.columns.iter().map(|column| column.id).filter(|id| !known.contains(id)).collect();
                    known.extend(new);
                }
            }
            if known.len() == before {
                return Ok(known);
            }
        }
    }
}

fn columns_of(exprs: &[BoundExpr]) -> Vec<ColumnId> {
    let column = |expr: &BoundExpr| match expr {
        BoundExpr::Column(column) => Some(column.ordinal),
        _ => None,
    };
    exprs.iter().filter_map(column).collect()
}
