//! Recursive common table expressions. The first round gives the rows of the seed. Each next round runs the recursive part on the rows
//! of the round before, until a round gives no row.

use crate::operator::without_order;
use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use squall_statement_context::StatementContext;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The logical operator.
#[derive(Clone, Debug)]
pub struct RecursiveUnion {
    /// Name of the table expression.
    pub name: String,
    /// Number that the table's references in `recursive` carry.
    pub work_table: u32,
    /// The part that does not refer to the table.
    pub seed: LogicalPlan,
    /// The part that does; its columns have the types of the seed's.
    pub recursive: LogicalPlan,
    /// For UNION DISTINCT: what makes two rows the same, over the output.
    pub distinct_keys: Option<Vec<Expr>>,
    /// For `cte_max_recursion_depth` and KILL.
    pub context: Arc<StatementContext>,
    /// Columns of the result.
    pub schema: DFSchemaRef,
}

impl RecursiveUnion {
    /// As a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }
}

impl PartialEq for RecursiveUnion {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.work_table == other.work_table
            && self.distinct_keys == other.distinct_keys
            && self.seed == other.seed
            && self.recursive == other.recursive
    }
}

impl Eq for RecursiveUnion {}

impl Hash for RecursiveUnion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.work_table.hash(state);
        self.distinct_keys.hash(state);
        self.seed.hash(state);
        self.recursive.hash(state);
    }
}

without_order!(RecursiveUnion);

impl UserDefinedLogicalNodeCore for RecursiveUnion {
    fn name(&self) -> &str {
        "RecursiveUnion"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.seed, &self.recursive]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        // The keys are over the output, which no rewrite of inputs changes: they are not offered for rewriting.
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "RecursiveUnion: name={}, distinct={}", self.name, self.distinct_keys.is_some())
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (Some(recursive), Some(seed)) = (inputs.pop(), inputs.pop()) else {
            return datafusion::common::internal_err!("RecursiveUnion has two inputs");
        };
        Ok(Self { seed, recursive, ..self.clone() })
    }

    fn necessary_children_exprs(&self, _output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        Some(vec![all.clone(), all])
    }
}
