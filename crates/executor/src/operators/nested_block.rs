//! Separates the plans of deeply nested query blocks.
//!
//! DataFusion's rules carry conditions from block to block and ask each operator for statistics, which ask all operators below it. For
//! a thousand nested blocks that is a million questions. Every [`BLOCKS_TOGETHER`] blocks a [`NestedBlock`] stands between an outer
//! block and an inner one. Conditions stay above it, and it gives no statistics.

use crate::operator::without_order;
use crate::operators::pass_through::{PassThrough, PassThroughExec};
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// How many blocks inside of each other are optimized together. Queries written by hand have fewer.
pub const BLOCKS_TOGETHER: usize = 32;

/// The logical operator. Its rows are its input's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NestedBlock {
    input: LogicalPlan,
    /// Whether conditions, limits and the choice of columns go on to the input.
    is_open: bool,
}

impl NestedBlock {
    /// The rows of a plan that conditions on them go into, and nothing else.
    pub fn open(input: LogicalPlan) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(Self { input, is_open: true }) })
    }

    /// The rows of a block that stands `depth` blocks deep, optimized by itself if it is time.
    pub fn every(input: LogicalPlan, depth: usize) -> LogicalPlan {
        if !depth.is_multiple_of(BLOCKS_TOGETHER) {
            return input;
        }
        LogicalPlan::Extension(Extension { node: Arc::new(Self { input, is_open: false }) })
    }
}

without_order!(NestedBlock);

impl UserDefinedLogicalNodeCore for NestedBlock {
    fn name(&self) -> &str {
        "NestedBlock"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("NestedBlock")
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        if self.is_open {
            return HashSet::new();
        }
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn supports_limit_pushdown(&self) -> bool {
        self.is_open
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        self.is_open.then(|| vec![output_columns.to_vec()])
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.pop() {
            Some(input) => Ok(Self { input, is_open: self.is_open }),
            None => internal_err!("NestedBlock has one input"),
        }
    }
}

/// The physical operator.
pub fn nested_block_exec(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(PassThroughExec::new(input, RowsOfBlock))
}

#[derive(Clone, Debug)]
struct RowsOfBlock;

impl PassThrough for RowsOfBlock {
    fn label(&self) -> &str {
        "NestedBlockExec"
    }

    fn has_statistics(&self) -> bool {
        false
    }
}
