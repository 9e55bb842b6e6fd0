//! Scans of the values of an index, as DataFusion asks for them.

use super::exec::DocumentValuesExec;
use super::source::{Given, ValuesTable};
use crate::access::table::unqualified;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics, internal_datafusion_err, stats::Precision};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

#[async_trait]
impl TableProvider for ValuesTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = Precision::Inexact(self.sample.entries() as usize);
        Some(statistics)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let number = match &self.given {
            Given::Documents if projection.is_none_or(|columns| *columns != [self.document]) => {
                return Err(internal_datafusion_err!("an index of documents has nothing but their values"));
            }
            Given::Documents => None,
            Given::Numbers { expr } => {
                let document = self.table.projected_schema(&[self.document]);
                let document = DFSchema::try_from(document.as_ref().clone())?;
                Some(state.create_physical_expr(unqualified(expr.clone())?, &document)?)
            }
        };
        let partitions = state.config().target_partitions();
        Ok(Arc::new(DocumentValuesExec::new(self.clone(), number, partitions)))
    }
}
