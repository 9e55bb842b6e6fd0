//! The values of an index as a table.

use super::exec::DocumentValuesExec;
use super::sample::Sample;
use crate::access::RowTable;
use crate::access::table::unqualified;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics, internal_datafusion_err, stats::Precision};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use squall_functions::arrow_map::field_for;
use squall_registry::{Coercibility, ExprType};
use squall_types::SqlType;
use squall_types::json::terms::value::TermReader;
use std::sync::Arc;

/// The output of the index scan.
#[derive(Clone, Debug)]
pub enum Given {
    /// Documents that have the values where they are asked for.
    Documents,
    /// Numbers, as this expression makes them of documents.
    Numbers {
        /// Over the table's columns.
        expr: Expr,
    },
}

/// The values under one name in the documents of a table.
#[derive(Clone, Debug)]
pub struct ValuesTable {
    /// The table.
    pub table: RowTable,
    /// The index's position among the table's.
    pub index: usize,
    /// The ordinal of the documents' column.
    pub document: usize,
    /// The values to read.
    pub reader: TermReader,
    given: Given,
    /// Its properties.
    pub sample: Sample,
    schema: SchemaRef,
}

impl ValuesTable {
    /// The values of an index by its position; `document` is the ordinal of the column.
    pub fn new(
        table: RowTable,
        index: usize,
        document: usize,
        reader: TermReader,
        given: Given,
        sample: Sample,
    ) -> ValuesTable {
        let schema = match given {
            // So that plans over the table find the column in its place.
            Given::Documents => table.schema(),
            Given::Numbers { .. } => {
                let sql_type = SqlType::Double { unsigned: false, zerofill: false, digits: None };
                let number = ExprType { sql_type, nullable: true, coercibility: Coercibility::Numeric };
                Arc::new(Schema::new(vec![field_for("number", &number)]))
            }
        };
        ValuesTable { table, index, document, reader, given, sample, schema }
    }
}

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
