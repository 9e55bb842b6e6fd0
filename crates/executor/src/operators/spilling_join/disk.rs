//! Joins pairs of files.

use super::Run;
use super::buckets::{BUCKETS, Bucket, Dealer};
use super::build_side::{BuildRows, Collected, collect};
use super::sources::StreamExec;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{JoinType, NullEquality, Result, resources_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_expr::{LexOrdering, PhysicalExprRef};
use datafusion::physical_plan::joins::PartitionMode;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, SpillManager};
use futures::{StreamExt, TryStreamExt};
use std::sync::Arc;

/// How often rows are dealt out again before the rows that still do not fit are taken to have one key.
const DEPTH_MAX: u32 = 4;

/// A join whose sides are in files.
pub(super) struct DiskJoin {
    sides: Sides,
    /// Pairs that are still to be joined.
    pairs: Vec<Pair>,
    /// A pair that is being joined in chunks.
    chunks: Option<Chunks>,
}

/// The parameters of all pairs.
struct Sides {
    run: Run,
    left: Side,
    right: Side,
}

/// The parameters of all files of a side.
struct Side {
    files: SpillManager,
    keys: Vec<PhysicalExprRef>,
}

/// Rows of both sides whose keys have the same hashes.
struct Pair {
    left: Bucket,
    right: Bucket,
    /// How often they were dealt out.
    depth: u32,
}

/// A build side that does not fit and cannot be divided.
struct Chunks {
    /// Whether the sides have changed places.
    swapped: bool,
    /// The rows that were read beyond the last chunk.
    carried: Vec<RecordBatch>,
    build: SendableRecordBatchStream,
    probe: Bucket,
}

impl DiskJoin {
    /// Deals out both sides.
    pub(super) async fn begin(
        run: Run,
        build: BuildRows,
        rest: SendableRecordBatchStream,
        right: SendableRecordBatchStream,
    ) -> Result<DiskJoin> {
        let side = |schema, keys| Side {
            files: SpillManager::new(run.context.runtime_env(), run.spill_metrics.clone(), schema),
            keys,
        };
        let (left_keys, right_keys) = run.shape.on().iter().cloned().unzip();
        let left = side(run.shape.left().schema(), left_keys);
        let right_side = side(run.shape.right().schema(), right_keys);
        let sides = Sides { run, left, right: right_side };
        let (lefts, rights) = sides.deal(build, rest, right, 1).await?;
        let mut join = DiskJoin { sides, pairs: Vec::new(), chunks: None };
        join.add_pairs(lefts, rights, 1);
        Ok(join)
    }

    /// All rows of the join; `ordering` is the order in which they are expected, `fetch` how many at most.
    pub(super) fn rows(
        self,
        schema: SchemaRef,
        ordering: Option<LexOrdering>,
        fetch: Option<usize>,
    ) -> Result<SendableRecordBatchStream> {
        let context = Arc::clone(&self.sides.run.context);
        let joined = futures::stream::try_unfold(self, |mut join| async move {
            let rows = join.next_rows().await?;
            Ok::<_, datafusion::common::DataFusionError>(rows.map(|rows| (rows, join)))
        });
        let joined: SendableRecordBatchStream =
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), joined.try_flatten()));
        let source: Arc<dyn ExecutionPlan> = Arc::new(StreamExec::new(joined));
        match (ordering, fetch) {
            // The join was planned to keep its right side's order.
            (Some(ordering), fetch) => SortExec::new(ordering, source).with_fetch(fetch).execute(0, context),
            (None, Some(fetch)) => GlobalLimitExec::new(source, 0, Some(fetch)).execute(0, context),
            (None, None) => source.execute(0, context),
        }
    }

    /// Rows of the next pair or chunk; `None` at the end.
    async fn next_rows(&mut self) -> Result<Option<SendableRecordBatchStream>> {
        loop {
            if let Some(chunks) = self.chunks.take() {
                return self.next_chunk(chunks).await.map(Some);
            }
            let Some(pair) = self.pairs.pop() else { return Ok(None) };
            match self.sides.collect(self.sides.left.read(&pair.left)?).await? {
                Collected::All(build) => return self.sides.join(build, &pair.right, false).map(Some),
                Collected::Part(build, rest) if pair.depth < DEPTH_MAX => {
                    let depth = pair.depth + 1;
                    let right = self.sides.right.read(&pair.right)?;
                    let (lefts, rights) = self.sides.deal(build, rest, right, depth).await?;
                    // All in one again: they have one key, or nearly so.
                    let is_one_key = lefts.iter().any(|bucket| bucket.rows == pair.left.rows);
                    self.add_pairs(lefts, rights, if is_one_key { DEPTH_MAX } else { depth });
                }
                Collected::Part(build, rest) => self.begin_chunks(pair, build, rest)?,
            }
        }
    }

    /// Keeps the pairs that can give rows.
    fn add_pairs(&mut self, lefts: Vec<Bucket>, rights: Vec<Bucket>, depth: u32) {
        debug_assert_eq!((lefts.len(), rights.len()), (BUCKETS, BUCKETS));
        let (left_alone, right_alone) = unmatched_sides(*self.sides.run.shape.join_type());
        for (left, right) in lefts.into_iter().zip(rights) {
            let gives_rows = match (left.rows, right.rows) {
                (0, 0) => false,
                (0, _) => right_alone,
                (_, 0) => left_alone,
                _ => true,
            };
            if gives_rows {
                self.pairs.push(Pair { left, right, depth });
            }
        }
    }

    /// Chooses the side that is joined in chunks: whether one of its rows comes out must not depend on other chunks.
    fn begin_chunks(&mut self, pair: Pair, build: BuildRows, rest: SendableRecordBatchStream) -> Result<()> {
        let (carried, _reservation) = build.into_parts();
        self.chunks = Some(match unmatched_sides(*self.sides.run.shape.join_type()) {
            (_, false) => Chunks { swapped: false, carried, build: rest, probe: pair.right },
            (false, true) => {
                let build = self.sides.right.read(&pair.right)?;
                Chunks { swapped: true, carried: Vec::new(), build, probe: pair.left }
            }
            (true, true) => {
                return Err(resources_datafusion_err!(
                    "the rows of one key on one side of a full outer join do not fit into memory"
                ));
            }
        });
        Ok(())
    }

    async fn next_chunk(&mut self, chunks: Chunks) -> Result<SendableRecordBatchStream> {
        let Chunks { swapped, carried, build, probe } = chunks;
        let schema = build.schema();
        let input = futures::stream::iter(carried.into_iter().map(Ok)).chain(build);
        let input = Box::pin(RecordBatchStreamAdapter::new(schema, input));
        let build = match self.sides.collect(input).await? {
            Collected::All(build) => build,
            Collected::Part(mut build, rest) => {
                let carried = build.take_last();
                if build.is_empty() {
                    return Err(resources_datafusion_err!("a batch of rows is larger than the memory for a join"));
                }
                self.chunks = Some(Chunks { swapped, carried, build: rest, probe: probe.clone() });
                build
            }
        };
        self.sides.join(build, &probe, swapped)
    }
}

impl Sides {
    /// Reads a build side as far as it fits.
    async fn collect(&self, input: SendableRecordBatchStream) -> Result<Collected> {
        collect(input, self.run.reservation(), self.run.build_bytes_max).await
    }

    /// Deals out a left side, of which some is in memory, and a right side.
    async fn deal(
        &self,
        build: BuildRows,
        rest: SendableRecordBatchStream,
        right: SendableRecordBatchStream,
        depth: u32,
    ) -> Result<(Vec<Bucket>, Vec<Bucket>)> {
        let spread_nulls = self.run.shape.null_equality() == NullEquality::NullEqualsNothing;
        let dealer = |side: &Side| Dealer::new(&side.files, side.keys.clone(), spread_nulls, depth);
        let mut lefts = dealer(&self.left)?;
        {
            let (batches, _reservation) = build.into_parts();
            for batch in batches {
                lefts.deal(&batch)?;
            }
        }
        lefts.deal_all(rest).await?;
        let lefts = lefts.finish()?;
        let mut rights = dealer(&self.right)?;
        rights.deal_all(right).await?;
        Ok((lefts, rights.finish()?))
    }

    /// Joins a build side in memory with a file.
    fn join(&self, build: BuildRows, probe: &Bucket, swapped: bool) -> Result<SendableRecordBatchStream> {
        let (build_side, probe_side) = if swapped { (&self.right, &self.left) } else { (&self.left, &self.right) };
        let (batches, reservation) = build.into_parts();
        let build = Arc::new(StreamExec::of_batches(Arc::clone(build_side.files.schema()), batches));
        let probe = Arc::new(StreamExec::new(probe_side.read(probe)?));
        let plan: Arc<dyn ExecutionPlan> = match swapped {
            false => Arc::new(self.run.join(build, probe)?),
            true => self.run.join(probe, build)?.swap_inputs(PartitionMode::Partitioned)?,
        };
        let rows = plan.execute(0, self.run.paid_context())?.inspect(move |_| {
            // Paid for as long as rows come.
            let _ = &reservation;
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(plan.schema(), rows)))
    }
}

impl Side {
    fn read(&self, bucket: &Bucket) -> Result<SendableRecordBatchStream> {
        match &bucket.file {
            Some(file) => self.files.read_spill_as_stream(Arc::clone(file), None),
            None => {
                Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(self.files.schema()), futures::stream::empty())))
            }
        }
    }
}

/// Whether rows of the left side, and of the right, can come out without a match, or come out once however many matches
/// they have.
fn unmatched_sides(join_type: JoinType) -> (bool, bool) {
    match join_type {
        JoinType::Inner => (false, false),
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (true, false),
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (false, true),
        JoinType::Full => (true, true),
    }
}
