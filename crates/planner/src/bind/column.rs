//! Numbers all columns of a statement's plan.
//!
//! The number is in [`ColumnRef::ordinal`]. A column belongs to a query block. A reference inside the block reads the column; a
//! reference in a subquery reads a placeholder.

use super::output::ColumnOrigin;
use datafusion::common::{Column, TableReference};
use squall_functions::expr::{BoundExpr, ColumnRef, Depth};
use squall_registry::ExprType;
use squall_types::SqlType;
use std::sync::Arc;

/// Number of a column within a statement.
pub(crate) type ColumnId = usize;

/// Number of a query block within a statement. 0 is no block.
pub(crate) type BlockId = u32;

/// A column that a condition makes equal to something.
#[derive(Clone, Copy, Debug)]
pub struct Equality {
    /// The column.
    pub column: ColumnId,
    /// The other column; none for a constant.
    pub other: Option<ColumnId>,
    /// Whether that other tells the column's value exactly, in each row that is grouped.
    pub is_exact: bool,
}

/// The properties of a column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnInfo {
    /// How expressions refer to it.
    pub reference: Arc<ColumnRef>,
    /// The block whose rows have it.
    pub block: BlockId,
    /// The table's column behind it.
    pub origin: Option<Arc<ColumnOrigin>>,
    /// The type that clients are told instead of the reference's.
    pub announced: Option<SqlType>,
    /// Whether an outer join may have put NULL in its place.
    pub may_be_missing: bool,
}

/// All columns of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    infos: Vec<ColumnInfo>,
}

impl Columns {
    /// Adds a column that the plan knows by `relation.name`.
    pub fn add(
        &mut self,
        block: BlockId,
        relation: Option<TableReference>,
        name: &str,
        display: &str,
        ty: ExprType,
        origin: Option<Arc<ColumnOrigin>>,
    ) -> ColumnId {
        let ordinal = self.infos.len();
        let (name, display) = (name.into(), display.into());
        let reference = ColumnRef { ordinal, relation, name, display, ty, depth: Depth::default() };
        self.infos.push(ColumnInfo {
            reference: Arc::new(reference),
            block,
            origin,
            announced: None,
            may_be_missing: false,
        });
        ordinal
    }

    /// Adds a column that an operator of the plan makes; it gets a name that no table's column can have.
    pub fn add_computed(&mut self, block: BlockId, display: &str, ty: ExprType) -> ColumnId {
        let name = computed_name(display, self.infos.len());
        self.add(block, None, &name, display, ty, None)
    }

    /// What is known of a column.
    pub fn get(&self, id: ColumnId) -> &ColumnInfo {
        &self.infos[id]
    }

    /// Sets where a column comes from.
    pub fn set_origin(&mut self, id: ColumnId, origin: Option<Arc<ColumnOrigin>>) {
        self.infos[id].origin = origin;
    }

    /// Sets the type that clients are told of it.
    pub fn set_announced(&mut self, id: ColumnId, announced: Option<SqlType>) {
        self.infos[id].announced = announced;
    }

    /// Sets how error messages show it.
    pub fn set_display(&mut self, id: ColumnId, display: &Arc<str>) {
        Arc::make_mut(&mut self.infos[id].reference).display = Arc::clone(display);
    }

    /// Sets how deep the expression is that makes it.
    pub fn set_depth(&mut self, id: ColumnId, depth: Depth) {
        Arc::make_mut(&mut self.infos[id].reference).depth = depth;
    }

    /// A reference to it.
    pub fn expr(&self, id: ColumnId) -> BoundExpr {
        BoundExpr::Column(Arc::clone(&self.get(id).reference))
    }

    /// How DataFusion refers to it.
    pub fn datafusion(&self, id: ColumnId) -> Column {
        let reference = &self.get(id).reference;
        Column::new(reference.relation.clone(), reference.name.to_string())
    }

    /// The name DataFusion knows it by.
    pub fn name(&self, id: ColumnId) -> &str {
        &self.get(id).reference.name
    }

    /// An outer join may put NULL in its place.
    pub fn make_nullable(&mut self, id: ColumnId) {
        let info = &mut self.infos[id];
        info.may_be_missing = true;
        if !info.reference.ty.nullable {
            Arc::make_mut(&mut info.reference).ty.nullable = true;
        }
    }
}

/// The separator between the readable part of a computed column's name and its number: no identifier has it.
pub(crate) const NUMBER_MARK: char = '\0';

/// Most bytes of the readable part, which DataFusion compares and copies a lot.
const READABLE_BYTES_MAX: usize = 80;

/// The name of a computed column: what EXPLAIN shows of it, and its number.
fn computed_name(display: &str, number: ColumnId) -> String {
    let mut name = String::with_capacity(display.len().min(READABLE_BYTES_MAX) + 4);
    let mut parts = display.split('`').enumerate().peekable();
    while let Some((at, part)) = parts.next() {
        // Columns as those of tables are shown: without quotes, and without the names before the last.
        let qualifies = at % 2 == 1 && parts.next_if(|(_, next)| *next == ".").is_some();
        if !qualifies {
            name.extend(part.chars().filter(|character| !character.is_control()));
        }
        if name.len() > READABLE_BYTES_MAX {
            name.truncate(name.floor_char_boundary(READABLE_BYTES_MAX));
            break;
        }
    }
    format!("{name}{NUMBER_MARK}{number}")
}

#[cfg(test)]
mod tests {
    use super::computed_name;

    #[test]
    fn names_are_readable_and_different() {
        assert_eq!(computed_name("`d`.`t`.`a`", 3), "a\u{0}3");
        assert_eq!(computed_name("sum((`d`.`t`.`a` + `t`.`b`))", 4), "sum((a + b))\u{0}4");
        assert_eq!(computed_name("c4", 4), "c4\u{0}4");
        assert_eq!(computed_name(&"ü".repeat(100), 5), format!("{}\u{0}5", "ü".repeat(40)));
    }
}
