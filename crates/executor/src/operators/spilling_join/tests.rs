//! A join that spills gives the same rows as one in memory.

use super::{Share, SpillingHashJoinExec};
use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{DataFusionError, JoinSide, JoinType, NullEquality, Result, ScalarValue};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, lit};
use datafusion::physical_expr::{Partitioning, PhysicalExprRef};
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, collect_partitioned};
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

const TYPES: [JoinType; 10] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemi,
    JoinType::LeftAnti,
    JoinType::LeftMark,
    JoinType::RightSemi,
    JoinType::RightAnti,
    JoinType::RightMark,
];

/// Rows whose key is what `key` makes of their number, and whose value is as long as one out of line.
fn rows(name: &str, count: i64, partitions: i64, key: impl Fn(i64) -> Option<i64>) -> Arc<dyn ExecutionPlan> {
    let schema = Arc::new(Schema::new(vec![
        Field::new(format!("{name}_key"), DataType::Int64, true),
        Field::new(format!("{name}_value"), DataType::Utf8View, true),
    ]));
    let batch_of = |numbers: Vec<i64>| {
        let keys: Int64Array = numbers.iter().map(|number| key(*number)).collect();
        let values: StringViewArray =
            numbers.iter().map(|number| Some(format!("the value of row {number:06} of {name}"))).collect();
        RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(keys) as ArrayRef, Arc::new(values)]).expect("a batch")
    };
    let parts: Vec<Vec<RecordBatch>> = (0..partitions)
        .map(|partition| {
            let numbers: Vec<i64> = (0..count).filter(|number| number % partitions == partition).collect();
            numbers.chunks(64).map(|numbers| batch_of(numbers.to_vec())).collect()
        })
        .collect();
    MemorySourceConfig::try_new_exec(&parts, Arc::clone(&schema), None).expect("a source")
}

/// Pairs with all rows of the left side but one.
fn condition(left: &Arc<dyn ExecutionPlan>, right: &Arc<dyn ExecutionPlan>) -> JoinFilter {
    let fields = [left.schema().field(1).clone(), right.schema().field(0).clone()];
    let compared = BinaryExpr::new(
        Arc::new(Column::new("left_value", 0)),
        Operator::NotEq,
        lit(ScalarValue::Utf8View(Some("the value of row 000007 of left".to_string()))),
    );
    let columns = vec![ColumnIndex { index: 1, side: JoinSide::Left }, ColumnIndex { index: 0, side: JoinSide::Right }];
    JoinFilter::new(Arc::new(compared), columns, Arc::new(Schema::new(fields.to_vec())))
}

struct Case {
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    mode: PartitionMode,
    nulls: NullEquality,
    filtered: bool,
    projection: Option<Vec<usize>>,
}

impl Case {
    fn new(left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>) -> Case {
        let mode = PartitionMode::CollectLeft;
        Case { left, right, mode, nulls: NullEquality::NullEqualsNothing, filtered: false, projection: None }
    }

    fn join(&self, join_type: JoinType) -> HashJoinExec {
        let key = |plan: &Arc<dyn ExecutionPlan>| -> PhysicalExprRef {
            Arc::new(Column::new(plan.schema().field(0).name(), 0))
        };
        let on = vec![(key(&self.left), key(&self.right))];
        let filter = self.filtered.then(|| condition(&self.left, &self.right));
        let (left, right) = (Arc::clone(&self.left), Arc::clone(&self.right));
        HashJoinExec::try_new(
            left,
            right,
            on,
            filter,
            &join_type,
            self.projection.clone(),
            self.mode,
            self.nulls,
            false,
        )
        .expect("a join")
    }

    /// Compares with the join in memory. Returns how many files were written.
    async fn check(&self, join_type: JoinType, bytes: usize) -> usize {
        let expected = text_of(Arc::new(self.join(join_type))).await.expect("an answer");
        let spilling = Arc::new(SpillingHashJoinExec::new(self.join(join_type), Share::Bytes(bytes)));
        let actual = text_of(Arc::clone(&spilling) as _).await.expect("an answer");
        assert_eq!(expected.len(), actual.len(), "{join_type}");
        assert_eq!(expected, actual, "{join_type}");
        spill_files(&spilling)
    }
}

fn spill_files(plan: &SpillingHashJoinExec) -> usize {
    let metrics = plan.metrics().expect("metrics");
    metrics.sum(|metric| matches!(metric.value(), MetricValue::SpillCount(_))).map_or(0, |count| count.as_usize())
}

/// The rows as text, in an order of their own.
async fn text_of(plan: Arc<dyn ExecutionPlan>) -> Result<Vec<String>> {
    // A side of one batch is never divided.
    let context = TaskContext::default().with_session_config(SessionConfig::new().with_batch_size(64));
    let parts = collect_partitioned(plan, Arc::new(context)).await?;
    let mut lines = Vec::new();
    let options = FormatOptions::default().with_null("NULL");
    for batch in parts.iter().flatten() {
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<std::result::Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            lines.push(columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(", "));
        }
    }
    lines.sort();
    Ok(lines)
}

#[tokio::test]
async fn what_fits_is_joined_in_memory() {
    let case = Case::new(rows("left", 500, 1, Some), rows("right", 700, 2, |number| Some(number / 2)));
    for join_type in TYPES {
        assert_eq!(case.check(join_type, usize::MAX).await, 0);
    }
}

#[tokio::test]
async fn what_does_not_fit_is_joined_by_files() {
    let mut case = Case::new(rows("left", 3000, 1, |number| Some(number % 2500)), rows("right", 4000, 1, Some));
    for filtered in [false, true] {
        case.filtered = filtered;
        for join_type in TYPES {
            // One dealing out, and with few bytes two or three.
            assert!(case.check(join_type, 100_000).await > 0);
            assert!(case.check(join_type, 4_000).await > 100);
        }
    }
}

#[tokio::test]
async fn one_side_may_be_empty() {
    let none = || rows("none", 0, 1, Some);
    for join_type in TYPES {
        assert_eq!(Case::new(none(), rows("right", 900, 1, Some)).check(join_type, 4_000).await, 0);
        assert!(Case::new(rows("left", 900, 1, Some), none()).check(join_type, 4_000).await > 0);
    }
}

#[tokio::test]
async fn nulls_match_nothing_or_each_other() {
    let every_third = |number: i64| (number % 3 > 0).then_some(number);
    let mut case = Case::new(rows("left", 600, 1, every_third), rows("right", 300, 1, every_third));
    for join_type in TYPES {
        assert!(case.check(join_type, 10_000).await > 0);
    }
    case.nulls = NullEquality::NullEqualsNull;
    for join_type in TYPES.into_iter().filter(|join_type| *join_type != JoinType::Full) {
        assert!(case.check(join_type, 10_000).await > 0);
    }
}

#[tokio::test]
async fn rows_of_one_key_are_joined_in_chunks() {
    let mut case = Case::new(rows("left", 400, 1, |_| Some(5)), rows("right", 300, 1, |number| Some(number % 50)));
    for filtered in [false, true] {
        case.filtered = filtered;
        for join_type in TYPES.into_iter().filter(|join_type| *join_type != JoinType::Full) {
            assert!(case.check(join_type, 8_000).await > 0);
        }
    }
    let full = SpillingHashJoinExec::new(case.join(JoinType::Full), Share::Bytes(8_000));
    let error = text_of(Arc::new(full)).await.expect_err("all rows of a key have to be in memory for this");
    assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error}");
}

#[tokio::test]
async fn partitions_spill_by_themselves() {
    let by_key = |plan: Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> {
        let key: PhysicalExprRef = Arc::new(Column::new(plan.schema().field(0).name(), 0));
        Arc::new(RepartitionExec::try_new(plan, Partitioning::Hash(vec![key], 3)).expect("a repartitioning"))
    };
    for join_type in TYPES {
        let mut case = Case::new(
            by_key(rows("left", 2000, 2, |number| Some(number % 900))),
            by_key(rows("right", 2000, 2, |number| Some(number % 1100))),
        );
        case.mode = PartitionMode::Partitioned;
        // A repartitioning gives its rows once.
        let again = Case::new(
            by_key(rows("left", 2000, 2, |number| Some(number % 900))),
            by_key(rows("right", 2000, 2, |number| Some(number % 1100))),
        );
        let expected = text_of(Arc::new(Case { mode: PartitionMode::Partitioned, ..again }.join(join_type))).await;
        let spilling = Arc::new(SpillingHashJoinExec::new(case.join(join_type), Share::Bytes(20_000)));
        let actual = text_of(Arc::clone(&spilling) as _).await;
        assert_eq!(expected.expect("an answer"), actual.expect("an answer"), "{join_type}");
        assert!(spill_files(&spilling) > 0, "{join_type}");
    }
}

#[tokio::test]
async fn many_partitions_may_probe_one_build_side() {
    let mut case = Case::new(rows("left", 2000, 1, Some), rows("right", 3000, 3, |number| Some(number % 2200)));
    case.projection = Some(vec![3, 0]);
    for join_type in [JoinType::Inner, JoinType::Left, JoinType::Right, JoinType::Full] {
        assert!(case.check(join_type, 20_000).await > 0);
    }
}
