//! The properties of rows that get further columns at their end.

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionMapping;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// The order of an input's rows, and their constant or equal columns, for rows where `schema` has more columns behind the input's, too.
/// A sort that the input need not be given for it is not asked for above either.
pub(super) fn known_of_wider_rows(input: &Arc<dyn ExecutionPlan>, schema: SchemaRef) -> EquivalenceProperties {
    let own = input.schema();
    let columns = own.fields().iter().zip(schema.fields()).enumerate().map(|(at, (field, wider))| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), at));
        (column, wider.name().clone())
    });
    match ProjectionMapping::try_new(columns, &own) {
        Ok(mapping) => input.equivalence_properties().project(&mapping, schema),
        Err(_) => EquivalenceProperties::new(schema),
    }
}
