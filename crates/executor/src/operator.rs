//! The properties of our operators, and DataFusion's trait made from them.

use arrow::datatypes::Schema;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::statistics::ChildStats;
use datafusion::physical_plan::{Distribution, ExecutionPlan, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// An operator of a plan. The macro `execution_plan!` makes DataFusion's [`ExecutionPlan`] of it. The defaults are those of a leaf
/// without expressions.
pub trait Operator: ExecutionPlan + Sized + 'static {
    /// A plan's topmost operator, if it is this one.
    fn of(plan: &dyn ExecutionPlan) -> Option<&Self> {
        plan.downcast_ref()
    }

    /// Its name in plans.
    fn label(&self) -> &str;

    /// The properties of its rows: columns, order, partitions, bounds.
    fn output(&self) -> &Arc<PlanProperties>;

    /// The text behind its name in EXPLAIN.
    fn describe(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Operators whose rows it takes.
    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    /// Whether its rows come in the order of its inputs' rows.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Whether it may run on several partitions of its inputs at the same time.
    fn takes_partitions(&self) -> bool {
        true
    }

    /// Whether DataFusion should cut its inputs into partitions for it.
    fn wants_partitions(&self) -> bool {
        self.takes_partitions()
    }

    /// Whether [`Operator::estimate`] is told what is known of its inputs' rows.
    fn asks_inputs(&self) -> bool {
        false
    }

    /// Expressions that it evaluates with rows of its inputs.
    fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        std::iter::empty()
    }

    /// The same operator, as if it had never run, over other inputs with the same columns.
    ///
    /// # Errors
    /// When there are too few of them.
    fn over(self: Arc<Self>, _inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(self)
    }

    /// The rows of a partition.
    ///
    /// # Errors
    /// When it cannot begin.
    fn stream(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream>;

    /// Its metrics.
    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        None
    }

    /// How many rows it is taken to give, all of them or those of one partition.
    ///
    /// # Errors
    /// When it is asked for a partition that it does not have.
    fn estimate(&self, _inputs: &[Arc<Statistics>], _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }

    /// At most how many rows it gives.
    fn limit(&self) -> Option<usize> {
        None
    }

    /// The same operator with another limit, if it can have one.
    fn with_limit(&self, _: Option<usize>) -> Option<Self> {
        None
    }

    /// The same rows in this order, if it can give them so without sorting.
    ///
    /// # Errors
    /// When DataFusion cannot compare orders.
    fn in_order(&self, _: &[PhysicalSortExpr]) -> Result<Option<Self>> {
        Ok(None)
    }
}

/// The argument of [`Operator::over`] for an operator with one input.
///
/// # Errors
/// When there is none.
pub(crate) fn only_input(mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match inputs.pop() {
        Some(input) if inputs.is_empty() => Ok(input),
        _ => internal_err!("an operator with one input has another number of them"),
    }
}

/// The distribution and order that DataFusion should give the rows of each input.
pub(crate) fn distribution<T: Operator>(operator: &T) -> Vec<Distribution> {
    let one =
        if operator.takes_partitions() { Distribution::UnspecifiedDistribution } else { Distribution::SinglePartition };
    vec![one; operator.inputs().len()]
}

/// The statistics of each input for [`Operator::estimate`].
pub(crate) fn asked_of_inputs<T: Operator>(operator: &T, partition: Option<usize>) -> Vec<ChildStats> {
    let asked = || if operator.asks_inputs() { ChildStats::At(partition) } else { ChildStats::Skip };
    operator.inputs().iter().map(|_| asked()).collect()
}

/// Makes an [`ExecutionPlan`] of an [`Operator`]. Rust does not let a crate say of all types with a trait of its own that they have a
/// foreign one.
macro_rules! execution_plan {
    ($operator:ty) => {
        impl datafusion::physical_plan::DisplayAs for $operator {
            fn fmt_as(
                &self,
                _: datafusion::physical_plan::DisplayFormatType,
                f: &mut std::fmt::Formatter<'_>,
            ) -> std::fmt::Result {
                f.write_str($crate::operator::Operator::label(self))?;
                $crate::operator::Operator::describe(self, f)
            }
        }

        impl datafusion::physical_plan::ExecutionPlan for $operator {
            fn name(&self) -> &str {
                $crate::operator::Operator::label(self)
            }

            fn properties(&self) -> &std::sync::Arc<datafusion::physical_plan::PlanProperties> {
                $crate::operator::Operator::output(self)
            }

            fn input_distribution_requirements(&self) -> datafusion::physical_plan::InputDistributionRequirements {
                datafusion::physical_plan::InputDistributionRequirements::new($crate::operator::distribution(self))
            }

            fn maintains_input_order(&self) -> Vec<bool> {
                vec![$crate::operator::Operator::keeps_order(self); self.children().len()]
            }

            fn benefits_from_input_partitioning(&self) -> Vec<bool> {
                vec![$crate::operator::Operator::wants_partitions(self); self.children().len()]
            }

            fn children(&self) -> Vec<&std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
                $crate::operator::Operator::inputs(self)
            }

            fn apply_expressions(
                &self,
                visit: &mut dyn FnMut(
                    &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
                )
                    -> datafusion::common::Result<datafusion::common::tree_node::TreeNodeRecursion>,
            ) -> datafusion::common::Result<datafusion::common::tree_node::TreeNodeRecursion> {
                use datafusion::common::tree_node::TreeNodeRecursion;
                for expression in $crate::operator::Operator::expressions(self) {
                    if visit(expression)? == TreeNodeRecursion::Stop {
                        return Ok(TreeNodeRecursion::Stop);
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            }

            fn replace_children(
                self: std::sync::Arc<Self>,
                inputs: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
                _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
            ) -> datafusion::common::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
                Ok($crate::operator::Operator::over(self, inputs)?)
            }

            fn with_new_children(
                self: std::sync::Arc<Self>,
                inputs: Vec<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>>,
            ) -> datafusion::common::Result<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
                Ok($crate::operator::Operator::over(self, inputs)?)
            }

            fn execute(
                &self,
                partition: usize,
                task: std::sync::Arc<datafusion::execution::TaskContext>,
            ) -> datafusion::common::Result<datafusion::execution::SendableRecordBatchStream> {
                $crate::operator::Operator::stream(self, partition, task)
            }

            fn metrics(&self) -> Option<datafusion::physical_plan::metrics::MetricsSet> {
                $crate::operator::Operator::counters(self).map(|counters| counters.clone_inner())
            }

            fn child_stats_requests(
                &self,
                partition: Option<usize>,
            ) -> Vec<datafusion::physical_plan::statistics::ChildStats> {
                $crate::operator::asked_of_inputs(self, partition)
            }

            fn statistics_from_inputs(
                &self,
                inputs: &[std::sync::Arc<datafusion::common::Statistics>],
                args: &datafusion::physical_plan::statistics::StatisticsArgs,
            ) -> datafusion::common::Result<std::sync::Arc<datafusion::common::Statistics>> {
                $crate::operator::Operator::estimate(self, inputs, args.partition())
            }

            fn fetch(&self) -> Option<usize> {
                $crate::operator::Operator::limit(self)
            }

            fn with_fetch(
                &self,
                limit: Option<usize>,
            ) -> Option<std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
                let limited = $crate::operator::Operator::with_limit(self, limit)?;
                Some(std::sync::Arc::new(limited))
            }

            fn try_pushdown_sort(
                &self,
                order: &[datafusion::physical_expr::PhysicalSortExpr],
            ) -> datafusion::common::Result<
                datafusion::physical_plan::SortOrderPushdownResult<
                    std::sync::Arc<dyn datafusion::physical_plan::ExecutionPlan>,
                >,
            > {
                use datafusion::physical_plan::SortOrderPushdownResult;
                Ok(match $crate::operator::Operator::in_order(self, order)? {
                    Some(ordered) => SortOrderPushdownResult::Exact { inner: std::sync::Arc::new(ordered) },
                    None => SortOrderPushdownResult::Unsupported,
                })
            }
        }
    };
}

/// Plans have no order, but DataFusion's trait of logical operators asks for one.
macro_rules! without_order {
    ($node:ident) => {
        impl PartialOrd for $node {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                (self == other).then_some(std::cmp::Ordering::Equal)
            }
        }
    };
}

pub(crate) use execution_plan;
pub(crate) use without_order;

/// What is known of this many rows, of about this many bytes each.
pub(crate) fn estimated(schema: &Schema, rows: f64, row_bytes: Option<f64>) -> Arc<Statistics> {
    Arc::new(Statistics {
        num_rows: Precision::Inexact(rows.ceil() as usize),
        total_byte_size: row_bytes.map_or(Precision::Absent, |bytes| Precision::Inexact((rows * bytes) as usize)),
        column_statistics: schema.fields().iter().map(|_| ColumnStatistics::new_unknown()).collect(),
    })
}
