//! GROUP_CONCAT of a column of a column table, from its codes.

use super::spec::{List, StarSpec};
use crate::env::StatementEnv;
use arrow::array::ArrayRef;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::Accumulator as _;
use roaring::RoaringBitmap;
use squall_column_store::predicate::{ColumnSource, Condition};
use squall_column_store::{ListOptions, ZONE_ROWS, append_list};
use squall_column_tables::{ColumnSnapshot, TableColumns, sql_error};
use squall_functions::aggregate::group_concat::{GroupConcatKernel, PlainConcat};
use squall_functions::expr::datafusion_error;

/// A list, and what it took.
pub(super) struct Listed {
    /// One text, or NULL.
    pub(super) text: ArrayRef,
    /// Zones of 65,536 rows that were read.
    pub(super) zones_read: usize,
}

/// The values of all rows that match, in the order of scans.
pub(super) fn listed(
    spec: &StarSpec,
    list: &List,
    snapshot: &ColumnSnapshot,
    threads: usize,
    env: &StatementEnv,
) -> Result<Listed> {
    let kernel = list.call.kernel_as::<GroupConcatKernel>().ok_or_else(|| internal_datafusion_err!("no list"))?;
    let condition = Condition::from(&spec.condition);
    let mut listing = Listing {
        condition: &condition,
        ordinal: list.ordinal,
        threads,
        texts: kernel.plain_accumulator(env.context.clone()),
        zones_read: 0,
    };
    let table = &spec.fact.table;
    let failed = |error| datafusion_error(sql_error(&table.def().name, error));
    for visible in &snapshot.segments {
        env.context.kill.check().map_err(datafusion_error)?;
        let columns = TableColumns::new(table, &visible.segment, &snapshot.cache);
        listing.append(&columns, Some(&visible.hidden)).map_err(failed)?;
    }
    let mut ordinals = condition.columns();
    ordinals.push(list.ordinal);
    let delta = snapshot.delta_columns(table, &ordinals).map_err(datafusion_error)?;
    listing.append(&delta, None).map_err(failed)?;
    let text = listing.texts.evaluate()?.to_array()?;
    Ok(Listed { text, zones_read: listing.zones_read })
}

struct Listing<'a> {
    condition: &'a Condition,
    ordinal: usize,
    threads: usize,
    texts: PlainConcat,
    zones_read: usize,
}

impl Listing<'_> {
    fn append(
        &mut self,
        source: &(dyn ColumnSource + Sync),
        deleted: Option<&RoaringBitmap>,
    ) -> squall_column_store::Result<()> {
        // What is cut has had its warning.
        if source.rows() == 0 || self.texts.is_cut() {
            return Ok(());
        }
        let mut text = Vec::new();
        let options = ListOptions { separator: self.texts.separator(), threads: self.threads };
        let rows = append_list(source, self.condition, deleted, self.ordinal, options, &mut text)?;
        self.texts.append_joined(&text, rows);
        self.zones_read += source.rows().div_ceil(ZONE_ROWS);
        Ok(())
    }
}
