//! Tables without storage, as queries read them.

use super::filter::equal_texts;
use super::scan::make_batch;
use crate::exec::env::StatementEnv;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use squall_functions::arrow_map::{ValueArrayBuilder, field_for};
use squall_functions::expr::datafusion_error;
use squall_registry::{Coercibility, ExprType, VirtualScan, VirtualTable};
use squall_types::SqlResult;
use std::sync::Arc;

/// Gives a virtual table's rows, made when the query is planned.
#[derive(Debug)]
pub struct VirtualTableProvider {
    table: Arc<dyn VirtualTable>,
    schema: SchemaRef,
}

impl VirtualTableProvider {
    /// A provider of a table's rows.
    pub fn new(table: Arc<dyn VirtualTable>) -> Self {
        let fields: Vec<_> = table
            .columns()
            .iter()
            .map(|column| {
                let coercibility = match column.sql_type.collation() {
                    Some(_) => Coercibility::Implicit,
                    None => Coercibility::Numeric,
                };
                let sql_type = column.sql_type.clone();
                field_for(&column.name, &ExprType { sql_type, nullable: column.nullable, coercibility })
            })
            .collect();
        VirtualTableProvider { table, schema: Arc::new(Schema::new(fields)) }
    }

    fn batch(&self, env: &StatementEnv, filters: &[Expr]) -> SqlResult<arrow::record_batch::RecordBatch> {
        let columns = self.table.columns();
        let equals = equal_texts(&self.schema, filters);
        let rows = self.table.rows(&VirtualScan { context: &env.context, equals: &equals })?;
        let mut builders: Vec<_> =
            columns.iter().map(|column| ValueArrayBuilder::new(&column.sql_type, rows.len())).collect();
        for row in &rows {
            for (builder, value) in builders.iter_mut().zip(row) {
                builder.append(value)?;
            }
        }
        let arrays = builders.iter_mut().map(ValueArrayBuilder::finish).collect();
        make_batch(self.schema.clone(), arrays, rows.len())
    }
}

#[async_trait]
impl TableProvider for VirtualTableProvider {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let env = state
            .config()
            .get_extension::<StatementEnv>()
            .ok_or_else(|| internal_datafusion_err!("a scan outside of a statement"))?;
        let batch = self.batch(&env, filters).map_err(datafusion_error)?;
        let exec = MemorySourceConfig::try_new_exec(&[vec![batch]], self.schema.clone(), projection.cloned())?;
        Ok(exec)
    }
}
