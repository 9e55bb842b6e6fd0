//! The logical operator of a star query.

use super::spec::StarSpec;
use crate::operator::without_order;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A star query beside the aggregation that it stands for.
#[derive(Clone, Debug)]
pub struct StarAggregate {
    /// What it does.
    pub spec: Arc<StarSpec>,
    /// The aggregation, which is planned if the kernel cannot run the query.
    pub beside: Arc<LogicalPlan>,
    /// The dimensions' plans in the order of the joins.
    pub dimensions: Vec<LogicalPlan>,
}

impl StarAggregate {
    /// As a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl PartialEq for StarAggregate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.spec, &other.spec) && self.dimensions == other.dimensions
    }
}

impl Eq for StarAggregate {}

impl Hash for StarAggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.beside.hash(state);
    }
}

without_order!(StarAggregate);

impl UserDefinedLogicalNodeCore for StarAggregate {
    fn name(&self) -> &str {
        "StarAggregate"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.dimensions.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        self.beside.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "StarAggregate: {}", self.spec.fact.alias)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, dimensions: Vec<LogicalPlan>) -> Result<Self> {
        if dimensions.len() != self.dimensions.len() {
            return internal_err!("a star query has one plan for each table");
        }
        Ok(StarAggregate { dimensions, ..self.clone() })
    }
}
