//! The logical operator.

use super::spec::StarSpec;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A star query beside the aggregation that it stands for.
#[derive(Clone, Debug)]
pub struct StarAggregate {
    /// What it does.
    pub spec: Arc<StarSpec>,
    /// The aggregation, and the dimensions' plans in the order of the joins.
    pub inputs: Vec<LogicalPlan>,
    /// Columns of the result: those of the aggregation.
    pub schema: DFSchemaRef,
}

impl StarAggregate {
    /// As a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl PartialEq for StarAggregate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.spec, &other.spec) && self.inputs == other.inputs
    }
}

impl Eq for StarAggregate {}

impl Hash for StarAggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inputs.hash(state);
    }
}

impl PartialOrd for StarAggregate {
    /// Plans have no order; the trait asks for one.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for StarAggregate {
    fn name(&self) -> &str {
        "StarAggregate"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        self.inputs.iter().collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "StarAggregate: {}", self.spec.fact.alias)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        if inputs.len() != self.inputs.len() {
            return internal_err!("a star query has one plan for each table");
        }
        Ok(StarAggregate { inputs, ..self.clone() })
    }
}
