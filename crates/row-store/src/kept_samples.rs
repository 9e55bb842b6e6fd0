//! What planners have made of samples of tables, for the next ones.

use crate::table::Table;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::any::Any;
use std::sync::Arc;

/// Memory of what planners have made of samples, of all tables together. What is not used makes room.
const KEPT_BYTES_MAX: u64 = 32 << 20;
/// Bytes of a usual one.
const KEPT_BYTES: usize = 128 << 10;

/// What a planner has made of a sample of a table's rows.
pub trait KeptSample: Any + Send + Sync {
    /// Its memory.
    fn bytes(&self) -> usize;
}

/// Samples that are kept, by the serial numbers of tables.
pub(crate) struct KeptSamples(Cache<u64, Arc<dyn KeptSample>, SampleWeight>);

#[derive(Clone)]
struct SampleWeight;

impl Weighter<u64, Arc<dyn KeptSample>> for SampleWeight {
    fn weight(&self, _: &u64, sample: &Arc<dyn KeptSample>) -> u64 {
        sample.bytes().max(1) as u64
    }
}

impl Default for KeptSamples {
    fn default() -> Self {
        KeptSamples(Cache::with_weighter(KEPT_BYTES_MAX as usize / KEPT_BYTES, KEPT_BYTES_MAX, SampleWeight))
    }
}

impl KeptSamples {
    /// What was last kept of a table.
    pub fn get(&self, table: &Table) -> Option<Arc<dyn KeptSample>> {
        self.0.get(&table.data.serial())
    }

    /// Keeps a sample.
    pub fn insert(&self, table: &Table, sample: Arc<dyn KeptSample>) {
        self.0.insert(table.data.serial(), sample);
    }

    /// The sample is not one of the table any more.
    pub fn forget(&self, table: &Table) {
        self.0.remove(&table.data.serial());
    }
}
