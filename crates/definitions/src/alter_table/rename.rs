//! RENAME COLUMN, CHANGE COLUMN and RENAME INDEX: names change at once.

use super::Builder;
use crate::constant;
use crate::names::{check_column_name, check_index_name};
use crate::partition::refuse_partition_column;
use squall_catalog::name::eq_ignore_case;
use squall_parser::ast::AlterAction;
use squall_types::{ErrorCode, SqlError, SqlResult};

impl Builder<'_> {
    /// Where the column is that had a name before the statement, so that names can be exchanged.
    pub(super) fn place_before(&self, name: &str) -> Option<usize> {
        let (_, column) = self.old.column(name)?;
        self.table.columns.iter().position(|other| other.id == column.id)
    }

    /// All columns that get other names get them at once, so that names can be exchanged; then each name stands once (1060).
    pub(super) fn rename_columns(&mut self, actions: &[AlterAction]) -> SqlResult<()> {
        let mut renamed = Vec::new();
        for action in actions {
            let (old, new) = match action {
                AlterAction::RenameColumn { old, new } => (old, new),
                AlterAction::ChangeColumn { old, column, .. } => (old, &column.name),
                _ => continue,
            };
            let Some(at) = self.place_before(old) else { continue };
            if !eq_ignore_case(old, new) {
                check_column_name(new)?;
                self.rename_in_expressions(old)?;
            }
            renamed.push((at, new));
        }
        for (at, new) in &renamed {
            self.table.columns[*at].name = new.to_string();
        }
        let same = |name: &str| self.table.columns.iter().filter(|column| eq_ignore_case(&column.name, name)).count();
        match renamed.iter().find(|(_, new)| same(new) > 1) {
            Some((_, new)) => Err(SqlError::new(ErrorCode::DuplicateFieldName, &[&new.as_str()])),
            None => Ok(()),
        }
    }

    /// Generated columns and CHECKs name columns in their text: MySQL refuses to rename those.
    fn rename_in_expressions(&self, old: &str) -> SqlResult<()> {
        self.refuse_generated_dependency(old)?;
        refuse_partition_column(&self.table, old)?;
        for check in &self.table.checks {
            let mut columns = Vec::new();
            constant::columns_of_text(&check.expression, &mut columns);
            if columns.iter().any(|column| eq_ignore_case(column, old)) {
                return Err(SqlError::new(ErrorCode::DependentByCheckConstraint, &[&check.name, &old]));
            }
        }
        Ok(())
    }

    /// All keys that get other names get them at once, so that names can be exchanged; then each name stands once (1061).
    pub(super) fn rename_indexes(&mut self, actions: &[AlterAction]) -> SqlResult<()> {
        let mut renamed = Vec::new();
        for action in actions {
            let AlterAction::RenameIndex { old, new } = action else { continue };
            check_index_name(new)?;
            if old.is("PRIMARY") {
                return Err(SqlError::new(ErrorCode::WrongNameForIndex, &[&old.as_str()]));
            }
            // The old name is that before the statement: another RENAME INDEX of it gives none.
            let before = self.old.indexes.iter().find(|index| eq_ignore_case(&index.name, old));
            let place = |id| self.table.indexes.iter().position(|index| index.id == id);
            let at = before.and_then(|index| place(index.id)).filter(|at| renamed.iter().all(|(other, _)| other != at));
            let Some(at) = at else {
                return Err(SqlError::new(ErrorCode::KeyDoesNotExist, &[&old.as_str(), &self.table.name]));
            };
            renamed.push((at, new));
        }
        for (at, new) in &renamed {
            self.table.indexes[*at].name = new.to_string();
        }
        let same = |name: &str| self.table.indexes.iter().filter(|index| eq_ignore_case(&index.name, name)).count();
        match renamed.iter().find(|(_, new)| same(new) > 1) {
            Some((_, new)) => Err(SqlError::new(ErrorCode::DuplicateKeyName, &[&new.as_str()])),
            None => Ok(()),
        }
    }
}
