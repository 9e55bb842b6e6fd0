//! Common table expressions.

use super::block::FromItem;
use super::column::BlockId;
use super::common_tables::{CommonTableScope, WorkReference};
use super::context::Context;
use super::recursive_form::references;
use super::scope::{Relation, RelationColumn};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::TableReference;
use datafusion::logical_expr::{LogicalPlan, TableScanBuilder};
use squall_catalog::name::eq_ignore_case;
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::HashSet;
use std::sync::Arc;

impl Context<'_> {
    /// Makes the tables of a WITH clause visible.
    pub fn push_common_tables(&mut self, with: &ast::With) -> SqlResult<()> {
        let mut names = HashSet::with_capacity(with.tables.len());
        for table in &with.tables {
            if !names.insert(&table.name.value) {
                return Err(SqlError::new(ErrorCode::NonUniqueTable, &[&table.name.as_str()]));
            }
        }
        self.common_tables.push(CommonTableScope {
            tables: with.tables.clone().into(),
            recursive: with.recursive,
            visible: with.tables.len(),
            frames: self.frames.len(),
            work: None,
        });
        Ok(())
    }

    /// Binds a reference to a common table, if the name is one's.
    pub fn bind_common_table(&mut self, name: &str, alias: &Arc<str>, block: BlockId) -> SqlResult<Option<FromItem>> {
        let mut found = None;
        for (depth, scope) in self.common_tables.iter().enumerate().rev() {
            if let Some((number, work)) = &scope.work
                && *scope.tables[*number].name.value == *name
            {
                // A frame beyond those around WITH is the recursive block's: the reference is in a subquery of it.
                if self.frames.len() > scope.frames {
                    return Err(SqlError::new(ErrorCode::CteRecursiveRequiresSingleReference, &[&name]));
                }
                let work = work.clone();
                return self.bind_work_table(work, alias, block).map(Some);
            }
            let visible = &scope.tables[..scope.visible];
            if let Some(number) = visible.iter().position(|table| *table.name.value == *name) {
                found = Some((depth, number));
                break;
            }
        }
        let Some((depth, number)) = found else { return Ok(None) };
        let tables = Arc::clone(&self.common_tables[depth].tables);
        let table = &tables[number];
        // The table is bound where it was written: with the names that were visible there.
        let hidden_scopes = self.common_tables.split_off(depth + 1);
        let scope = &mut self.common_tables[depth];
        let visible = std::mem::replace(&mut scope.visible, number);
        let recursive = scope.recursive;
        let frames = scope.frames.min(self.frames.len());
        let hidden_frames = self.frames.split_off(frames);
        let bound = self.gathered(|context| {
            if recursive && references(&table.query, name) > 0 {
                context.bind_recursive(table, depth, number)
            } else {
                context.bind_query_block(&table.query)
            }
        });
        self.frames.extend(hidden_frames);
        if let Some(scope) = self.common_tables.get_mut(depth) {
            scope.visible = visible;
        }
        self.common_tables.extend(hidden_scopes);
        let columns: Vec<Arc<str>> = table.columns.iter().map(|column| column.value.as_ref().into()).collect();
        self.derived_item(bound?, alias, &columns, None, None, block).map(Some)
    }

    fn bind_work_table(&mut self, work: WorkReference, alias: &Arc<str>, block: BlockId) -> SqlResult<FromItem> {
        let scan_name = self.scan_name(alias);
        let reference = TableReference::bare(scan_name);
        let mut columns: Vec<RelationColumn> = Vec::with_capacity(work.columns.len());
        for ((name, ty), field) in work.columns.iter().zip(work.table.schema.fields()) {
            if columns.iter().any(|column| eq_ignore_case(&column.name, name)) {
                return Err(SqlError::new(ErrorCode::DuplicateFieldName, &[name]));
            }
            let display = format!("`{alias}`.`{name}`");
            let id = self.columns.add(block, Some(reference.clone()), field.name(), &display, ty.clone(), None);
            columns.push(RelationColumn { name: Arc::clone(name), id, invisible: false, hidden: false });
        }
        let source = provider_as_source(Arc::clone(&work.table) as _);
        let scan = super::context::plan_result(TableScanBuilder::new(reference, source).build())?;
        let relation =
            Relation { alias: Arc::clone(alias), database: None, columns, definition: None, any_case: false };
        let visible = relation.visible();
        Ok(FromItem { plan: LogicalPlan::TableScan(scan), relations: vec![relation], visible })
    }
}
