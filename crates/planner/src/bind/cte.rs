//! Common table expressions, recursive ones too.

use super::block::{BlockOutput, BoundBlock, FromItem};
use super::column::BlockId;
use super::common_tables::{CommonTableScope, WorkReference};
use super::context::Context;
use super::scope::{Relation, RelationColumn};
use super::set_operation::union;
use arrow::datatypes::{Field, Schema};
use datafusion::catalog::default_table_source::provider_as_source;
use datafusion::common::TableReference;
use datafusion::logical_expr::{LogicalPlan, TableScanBuilder};
use squall_catalog::name::eq_ignore_case;
use squall_executor::operators::{RecursiveUnion, WorkTable};
use squall_functions::arrow_map::field_for;
use squall_parser::ast;
use squall_registry::ExprType;
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
            if recursive && mentions(&table.query.body, name) {
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

    fn bind_recursive(&mut self, table: &ast::CommonTable, depth: usize, number: usize) -> SqlResult<BoundBlock> {
        let name = table.name.as_str();
        let mut operands: Vec<(bool, &ast::QueryBody)> = Vec::new();
        flatten(&table.query.body, true, &mut operands)
            .filter(|()| operands.len() > 1)
            .ok_or_else(|| SqlError::new(ErrorCode::CteRecursiveRequiresUnion, &[&name]))?;
        let first_recursive = operands.iter().position(|(_, operand)| mentions(operand, name)).unwrap_or(0);
        let wrong_order = operands[first_recursive..].iter().any(|(_, operand)| !mentions(operand, name));
        if first_recursive == 0 || wrong_order {
            return Err(SqlError::new(ErrorCode::CteRecursiveRequiresNonRecursiveFirst, &[&name]));
        }
        let (seeds, parts) = operands.split_at(first_recursive);
        let distinct = operands.iter().skip(1).any(|(all, _)| !all);
        if parts.iter().any(|(_, part)| aggregates(part)) {
            return Err(SqlError::new(ErrorCode::CteRecursiveForbidsAggregation, &[&name]));
        }

        let mut bound_seeds = Vec::with_capacity(seeds.len());
        for (_, seed) in seeds {
            bound_seeds.push(self.nested(|context| context.bind_operand(seed))?);
        }
        let block = self.new_block();
        let outputs = self.recursive_outputs(table, &bound_seeds, block)?;
        let plans =
            bound_seeds.into_iter().map(|seed| self.converted(seed, &outputs)).collect::<SqlResult<Vec<_>>>()?;
        let seed = union(plans)?;

        let work_table = self.new_work_table();
        let columns: Vec<(Arc<str>, ExprType)> = outputs
            .iter()
            .map(|output| (Arc::clone(&output.name), self.columns.get(output.id).reference.ty.clone()))
            .collect();
        let fields: Vec<Field> =
            columns.iter().enumerate().map(|(ordinal, (_, ty))| field_for(&format!("w{ordinal}"), ty)).collect();
        let work = Arc::new(WorkTable { id: work_table, schema: Arc::new(Schema::new(fields)) });
        let reference = WorkReference { table: work, columns };
        let outer_work = self.common_tables[depth].work.replace((number, reference));
        let bound_parts = parts
            .iter()
            .map(|(_, part)| {
                let bound = self.nested(|context| context.bind_operand(part))?;
                if bound.outputs.len() != outputs.len() {
                    return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
                }
                self.converted(bound, &outputs)
            })
            .collect::<SqlResult<Vec<_>>>();
        self.common_tables[depth].work = outer_work;
        let recursive = union(bound_parts?)?;

        let distinct_keys = match distinct {
            false => None,
            true => Some(
                outputs
                    .iter()
                    .map(|output| {
                        super::context::plan_result(self.sort_key(self.local(output.id)).to_value(&self.slot))
                    })
                    .collect::<SqlResult<Vec<_>>>()?,
            ),
        };
        let schema = Arc::new(super::plans::nullable(seed.schema())?);
        let plan = RecursiveUnion {
            name: name.to_string(),
            work_table,
            seed,
            recursive,
            distinct_keys,
            context: Arc::clone(self.binder.context),
            schema,
        };
        let bound = BoundBlock { plan: plan.into_plan(), outputs, simple: None };
        self.order_and_limit(bound, &table.query.order_by, table.query.limit.as_ref())
    }

    /// Columns of a recursive table: named by it or its first block, typed by the seeds alone, and all may be NULL.
    fn recursive_outputs(
        &mut self,
        table: &ast::CommonTable,
        seeds: &[BoundBlock],
        block: BlockId,
    ) -> SqlResult<Vec<BlockOutput>> {
        let Some(first) = seeds.first() else { return Err(SqlError::internal("a recursion without seed")) };
        if seeds.iter().any(|seed| seed.outputs.len() != first.outputs.len()) {
            return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
        }
        if !table.columns.is_empty() && table.columns.len() != first.outputs.len() {
            return Err(SqlError::new(ErrorCode::ViewWrongList, &[]));
        }
        let types = self.unify_outputs(seeds)?;
        let names = first.outputs.iter().enumerate().map(|(ordinal, output)| match table.columns.get(ordinal) {
            Some(column) => column.value.as_ref().into(),
            None => Arc::clone(&output.name),
        });
        let names: Vec<Arc<str>> = names.collect();
        Ok(names
            .into_iter()
            .zip(types)
            .map(|(name, ty)| {
                let ty = ExprType { nullable: true, ..ty };
                BlockOutput { id: self.columns.add_computed(block, &name, ty), name }
            })
            .collect())
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

/// The operands of a chain of UNIONs with whether each follows ALL; `None` if the body is no such chain.
fn flatten<'b>(body: &'b ast::QueryBody, all: bool, operands: &mut Vec<(bool, &'b ast::QueryBody)>) -> Option<()> {
    match body {
        ast::QueryBody::SetOperation(operation) if operation.kind == ast::SetOperationKind::Union => {
            ast::with_stack(|| flatten(&operation.left, all, operands))?;
            operands.push((operation.all, &operation.right));
            Some(())
        }
        ast::QueryBody::SetOperation(_) => None,
        other => {
            operands.push((all, other));
            Some(())
        }
    }
}

/// Whether a query reads a table of that name in one of its FROM clauses.
fn mentions(body: &ast::QueryBody, name: &str) -> bool {
    match body {
        ast::QueryBody::Select(select) => select.from.iter().any(|reference| reference_mentions(reference, name)),
        ast::QueryBody::Table(table) => table.schema.is_none() && *table.name.value == *name,
        ast::QueryBody::SetOperation(operation) => {
            ast::with_stack(|| mentions(&operation.left, name)) || mentions(&operation.right, name)
        }
        ast::QueryBody::Nested(query) => ast::with_stack(|| mentions(&query.body, name)),
        ast::QueryBody::Values(_) => false,
    }
}

fn reference_mentions(reference: &ast::TableReference, name: &str) -> bool {
    match reference {
        ast::TableReference::Table(factor) => factor.name.schema.is_none() && *factor.name.name.value == *name,
        ast::TableReference::Derived(derived) => ast::with_stack(|| mentions(&derived.query.body, name)),
        ast::TableReference::JsonTable(_) | ast::TableReference::Function(_) => false,
        ast::TableReference::Join(join) => {
            reference_mentions(&join.left, name) || reference_mentions(&join.right, name)
        }
    }
}

/// Whether a recursive part groups, which would have to see all rows at once.
fn aggregates(body: &ast::QueryBody) -> bool {
    match body {
        ast::QueryBody::Select(select) => {
            select.group_by.is_some()
                || select.items.iter().any(|item| match item {
                    ast::SelectItem::Expr(item) => {
                        matches!(item.expr, ast::Expr::Aggregate(_) | ast::Expr::Window(_))
                    }
                    _ => false,
                })
        }
        ast::QueryBody::Nested(query) => aggregates(&query.body),
        _ => false,
    }
}
