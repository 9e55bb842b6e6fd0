//! Lets filters over scans of rows believe these: their estimates reckon with the conditions above them.

use crate::access::RowScanExec;
use crate::operator::Operator as _;
use crate::rewrite::replace_each;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub struct ScanFiltersRule;

impl PhysicalOptimizerRule for ScanFiltersRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_each(plan, |filter: &FilterExec| {
            let is_known = RowScanExec::of(filter.input().as_ref()).is_some_and(RowScanExec::knows_conditions);
            let leaves_all = || FilterExecBuilder::from(filter).with_default_selectivity(100).build();
            Ok(if is_known { Some(Arc::new(leaves_all()?) as Arc<dyn ExecutionPlan>) } else { None })
        })
    }

    fn name(&self) -> &str {
        "scan_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
