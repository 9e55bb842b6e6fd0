//! The values of an index as a table.

use super::sample::Sample;
use crate::access::RowTable;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::logical_expr::Expr;
use squall_functions::arrow_map::field_for;
use squall_registry::ExprType;
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
    pub(super) given: Given,
    /// Its properties.
    pub sample: Sample,
    pub(super) schema: SchemaRef,
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
                let number = ExprType::numeric(sql_type, true);
                Arc::new(Schema::new(vec![field_for("number", &number)]))
            }
        };
        ValuesTable { table, index, document, reader, given, sample, schema }
    }
}
