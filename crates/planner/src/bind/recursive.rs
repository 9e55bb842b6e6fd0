//! Recursive common tables.

use super::block::{BlockOutput, BoundBlock};
use super::column::BlockId;
use super::common_tables::WorkReference;
use super::context::{Context, plan_result};
use super::recursive_form::{RecursiveForm, recursive_form};
use super::set_operation::union;
use crate::converted::converted;
use arrow::datatypes::{Field, Schema};
use datafusion::logical_expr::LogicalPlan;
use squall_executor::operators::{RecursiveUnion, WorkTable};
use squall_functions::arrow_map::field_for;
use squall_functions::expr::{BoundExpr, Call};
use squall_parser::ast;
use squall_registry::{ExprType, ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Makes of a value of a recursive part what the table's column holds of it: what does not fit is an error in strict mode, as of a column that is
/// stored.
#[derive(Debug)]
struct StoreInColumn {
    column: Arc<str>,
    from: SqlType,
    to: SqlType,
}

impl ScalarKernel for StoreInColumn {
    fn eval(&self, arguments: &[Value], context: &StatementContext) -> SqlResult<Value> {
        match arguments {
            [value] if !value.is_null() => converted(value.clone(), &self.from, &self.to, &self.column, context),
            _ => Ok(Value::Null),
        }
    }
}

impl Context<'_> {
    pub(super) fn bind_recursive(
        &mut self,
        table: &ast::CommonTable,
        depth: usize,
        number: usize,
    ) -> SqlResult<BoundBlock> {
        let RecursiveForm { seed, parts, is_distinct } = recursive_form(table)?;
        let seed = self.nested(|context| context.bind_operand(seed))?;
        let block = self.new_block();
        let outputs = self.recursive_outputs(table, &seed, block)?;
        let seed = self.converted(seed, &outputs)?;

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
            .into_iter()
            .map(|part| {
                let bound = self.nested(|context| context.bind_operand(part))?;
                if bound.outputs.len() != outputs.len() {
                    return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
                }
                self.stored(bound, &outputs)
            })
            .collect::<SqlResult<Vec<_>>>();
        self.common_tables[depth].work = outer_work;
        let recursive = union(bound_parts?)?;

        let keys = outputs.iter().map(|output| plan_result(self.sort_key(self.local(output.id)).to_value(&self.slot)));
        let distinct_keys = is_distinct.then(|| keys.collect::<SqlResult<Vec<_>>>()).transpose()?;
        let schema = Arc::new(super::plans::nullable(seed.schema())?);
        let plan = RecursiveUnion {
            name: table.name.as_str().to_string(),
            work_table,
            seed,
            recursive,
            distinct_keys,
            context: Arc::clone(self.binder.context),
            schema,
        };
        let bound = BoundBlock { plan: plan.into_plan(), outputs, simple: None };
        self.order_and_limit(bound, &[], table.query.limit.as_ref())
    }

    /// The rows of a recursive part, as the columns of the table hold them.
    fn stored(&mut self, part: BoundBlock, outputs: &[BlockOutput]) -> SqlResult<LogicalPlan> {
        self.converted_by(part, outputs, |context, value, output| {
            let to = &context.columns.get(output.id).reference.ty;
            let from = value.ty().sql_type;
            if from == to.sql_type || from == SqlType::Null {
                return context.binder.builder().convert(value, to);
            }
            let kernel = StoreInColumn { column: Arc::clone(&output.name), from, to: to.sql_type.clone() };
            let name = format!("store_in({}, {:?})", output.name, to.sql_type);
            Ok(BoundExpr::call(Call::new(name, Arc::new(kernel), vec![value], to.clone(), Volatility::Volatile)))
        })
    }

    /// Columns of a recursive table: named by it or its first block, typed by the seed alone, and all may be NULL.
    fn recursive_outputs(
        &mut self,
        table: &ast::CommonTable,
        seed: &BoundBlock,
        block: BlockId,
    ) -> SqlResult<Vec<BlockOutput>> {
        if !table.columns.is_empty() && table.columns.len() != seed.outputs.len() {
            return Err(SqlError::new(ErrorCode::ViewWrongList, &[]));
        }
        let types = self.unify_outputs(std::slice::from_ref(seed))?;
        let names = seed.outputs.iter().enumerate().map(|(ordinal, output)| match table.columns.get(ordinal) {
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
}
