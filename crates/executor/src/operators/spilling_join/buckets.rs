//! Distributes the rows of a join's side over files, so that rows with equal keys are in files of the same number.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::spill_file::SpillFile;
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_plan::SpillManager;
use futures::StreamExt;
use std::sync::Arc;

/// Files that a side is dealt out into: each has a buffer, and a batch of rows is divided among them.
pub(super) const BUCKETS: usize = 16;
/// The seed that makes the hashes of one distribution differ from the next one's and from those of the joins.
const SEED: u64 = 0x5371_7561_6c6c_0001;

/// Rows in a file.
#[derive(Clone)]
pub(super) struct Bucket {
    /// `None` without rows.
    pub(super) file: Option<Arc<dyn SpillFile>>,
    pub(super) rows: usize,
}

/// Writes a batch to a file, or ends it. (DataFusion's type of a file in the making has no public name.)
type FileWriter = Box<dyn FnMut(Option<&RecordBatch>) -> Result<Option<Arc<dyn SpillFile>>> + Send>;

fn file_writer(manager: &SpillManager) -> Result<FileWriter> {
    let mut file = manager.create_in_progress_file("hash join")?;
    Ok(Box::new(move |batch| match batch {
        Some(batch) => file.append_batch(batch).map(|_bytes| None),
        None => file.finish(),
    }))
}

/// Deals rows out.
pub(super) struct Dealer {
    keys: Vec<PhysicalExprRef>,
    /// Rows with a NULL key match nothing: they may be anywhere, and so are spread evenly.
    spread_nulls: bool,
    hash_state: RandomState,
    files: Vec<FileWriter>,
    rows: Vec<usize>,
}

impl Dealer {
    /// `depth` tells how often the rows have been dealt out before.
    pub(super) fn new(
        manager: &SpillManager,
        keys: Vec<PhysicalExprRef>,
        spread_nulls: bool,
        depth: u32,
    ) -> Result<Dealer> {
        let files = (0..BUCKETS).map(|_| file_writer(manager)).collect::<Result<Vec<_>>>()?;
        let hash_state =
            RandomState::with_seed(SEED.wrapping_add(u64::from(depth).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Ok(Dealer { keys, spread_nulls, hash_state, files, rows: vec![0; BUCKETS] })
    }

    /// Deals out a batch.
    pub(super) fn deal(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let keys: Vec<ArrayRef> =
            self.keys.iter().map(|key| key.evaluate(batch)?.into_array(rows)).collect::<Result<_>>()?;
        let mut hashes = vec![0; rows];
        create_hashes(&keys, &self.hash_state, &mut hashes)?;
        let mut chosen: [Vec<u32>; BUCKETS] = Default::default();
        for (row, hash) in (0_u32..).zip(hashes) {
            let bucket = match self.spread_nulls && keys.iter().any(|key| key.is_null(row as usize)) {
                true => row as usize % BUCKETS,
                // The upper bits choose: a table's place is made of the lower ones.
                false => ((u128::from(hash) * BUCKETS as u128) >> u64::BITS) as usize,
            };
            chosen[bucket].push(row);
        }
        for (bucket, rows) in chosen.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            self.rows[bucket] += rows.len();
            self.files[bucket](Some(&take_record_batch(batch, &UInt32Array::from(rows))?))?;
        }
        Ok(())
    }

    /// Deals out all that a stream gives.
    pub(super) async fn deal_all(&mut self, mut input: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = input.next().await.transpose()? {
            tokio::task::consume_budget().await;
            if batch.num_rows() > 0 {
                self.deal(&batch)?;
            }
        }
        Ok(())
    }

    /// The files.
    pub(super) fn finish(self) -> Result<Vec<Bucket>> {
        self.files.into_iter().zip(self.rows).map(|(mut file, rows)| Ok(Bucket { file: file(None)?, rows })).collect()
    }
}
