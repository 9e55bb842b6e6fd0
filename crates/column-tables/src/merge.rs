//! Merges small segments, and rewrites segments with many deleted rows.

use crate::entry::entry_name;
use crate::level::{ColumnTable, SegmentManifest};
use crate::listed_segment::ListedSegment;
use crate::rows::SegmentRows;
use crate::{segment_columns, sql_error};
use arrow::array::{ArrayRef, UInt32Array};
use squall_column_store::ColumnSpec;
use squall_column_store::index::IndexChoice;
use squall_column_store::segment::SEGMENT_ROWS_MAX;
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_row_store::{HeldTable, LevelStore, ManifestEntry, Table};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;

/// Segments of about one size that are merged as they come.
const MERGE_FROM: usize = 4;

/// A segment of which one row in this many is deleted is written again.
const DELETED_SHARE: u64 = 4;

/// What came of looking for segments to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeOutcome {
    /// This many segments became one, or none.
    Merged(usize),
    /// There is nothing to merge.
    Nothing,
    /// Another thread seals or merges.
    Busy,
}

impl ColumnTable {
    /// Merges some segments if it is worth it, or, `all`, if it is possible.
    pub(crate) fn merge(
        &self,
        store: &dyn LevelStore,
        table: &HeldTable,
        threads: usize,
        all: bool,
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<MergeOutcome> {
        self.forget_replaced(store);
        let Some(sealing) = store.begin_sealing(table, self.part)? else { return Ok(MergeOutcome::Busy) };
        let manifest = self.segments(sealing.manifest()?)?;
        let columns = segment_columns(table, self.is_copy())?;
        let chosen = choose(&manifest, &columns, all);
        if chosen.is_empty() {
            return Ok(MergeOutcome::Nothing);
        }
        // What cannot be written is not begun: it would be tried again and again.
        self.room.check(chosen.iter().map(|segment| segment.file_bytes()).sum())?;
        let mut changes: Vec<_> = chosen.iter().map(|segment| (entry_name(segment.number), None)).collect();
        if chosen.iter().any(|segment| segment.live_rows() > 0) {
            let merged = self.write_merged(&manifest, &chosen, table, (&columns, threads), check)?;
            changes.push((merged.name, Some(merged.content)));
        }
        let seqno = sealing.commit(changes)?;
        self.drop_segments(seqno, &chosen)?;
        Ok(MergeOutcome::Merged(chosen.len()))
    }

    /// Removes the files of segments that are in no manifest from a sequence number on.
    pub(crate) fn drop_segments(&self, seqno: u64, segments: &[Arc<ListedSegment>]) -> SqlResult<()> {
        // Readers of earlier snapshots have the files open.
        self.replaced(seqno, segments.iter().map(|segment| segment.segment.clone()));
        for segment in segments {
            let path = self.path(segment.number);
            std::fs::remove_file(&path)
                .map_err(|error| SqlError::internal(format_args!("{}: {error}", path.display())))?;
        }
        Ok(())
    }

    /// Writes the segment that others become, and gives its entry.
    fn write_merged(
        &self,
        manifest: &SegmentManifest,
        chosen: &[Arc<ListedSegment>],
        table: &Arc<Table>,
        (columns, threads): (&[ColumnSpec], usize),
        check: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<ManifestEntry> {
        let live: Vec<Vec<u32>> = chosen
            .iter()
            .map(|segment| {
                (0..segment.segment.rows() as u32).filter(|row| !segment.entry.deleted.contains(*row)).collect()
            })
            .collect();
        let ends = |segment: &Arc<ListedSegment>, live: &Vec<u32>| {
            let rows = SegmentRows { table, segment, cache: manifest.cache() };
            let ends: Vec<u32> = live.first().into_iter().chain(live.last()).copied().collect();
            rows.keys(&ends)
        };
        let ends: Vec<Vec<Vec<u8>>> =
            chosen.iter().zip(&live).map(|(segment, live)| ends(segment, live)).collect::<SqlResult<_>>()?;
        let ends: Vec<&Vec<u8>> = ends.iter().flatten().collect();
        let (Some(first), Some(last)) = (ends.iter().min(), ends.iter().max()) else {
            return Err(SqlError::internal("a merge of no rows"));
        };
        let (first_key, last_key) = (first.to_vec(), last.to_vec());
        let order = match ends.is_sorted() {
            true => None,
            false => Some(self.key_order(manifest, chosen, &live, table)?),
        };
        let mut arrays = Vec::with_capacity(columns.len());
        for column in columns {
            check()?;
            let array = self.merged_column(chosen, &live, table, column)?;
            arrays.push(match &order {
                Some(order) => arrow::compute::take(&array, order, None).map_err(SqlError::internal)?,
                None => array,
            });
        }
        self.write_segment(columns, &arrays, (first_key, last_key), threads)
    }

    /// The live rows of a column, one segment after the other.
    fn merged_column(
        &self,
        chosen: &[Arc<ListedSegment>],
        live: &[Vec<u32>],
        table: &Table,
        column: &ColumnSpec,
    ) -> SqlResult<ArrayRef> {
        let mut parts: Vec<ArrayRef> = Vec::with_capacity(chosen.len());
        for (segment, live) in chosen.iter().zip(live) {
            let segment = &segment.segment;
            parts.push(match segment.column_ordinal(column.id) {
                Some(ordinal) => {
                    let codes = segment.column(ordinal);
                    let array =
                        codes.and_then(|codes| codes.to_array(segment.column_type(ordinal), live.iter().copied()));
                    array.map_err(|error| sql_error(&self.name, error))?
                }
                None => {
                    let def = table.def().columns.iter().find(|def| def.id.0 == column.id);
                    let def = def.ok_or_else(|| SqlError::internal("a segment without its key's column"))?;
                    let mut builder = ValueArrayBuilder::new(&def.sql_type, live.len());
                    live.iter().try_for_each(|_| builder.append(&def.value_for_older_rows))?;
                    builder.finish()
                }
            });
        }
        let parts: Vec<&dyn arrow::array::Array> = parts.iter().map(AsRef::as_ref).collect();
        arrow::compute::concat(&parts).map_err(SqlError::internal)
    }

    /// The order of the live rows by their keys.
    fn key_order(
        &self,
        manifest: &SegmentManifest,
        chosen: &[Arc<ListedSegment>],
        live: &[Vec<u32>],
        table: &Table,
    ) -> SqlResult<UInt32Array> {
        let mut keys = Vec::with_capacity(live.iter().map(Vec::len).sum());
        for (segment, live) in chosen.iter().zip(live) {
            keys.extend(SegmentRows { table, segment, cache: manifest.cache() }.keys(live)?);
        }
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_unstable_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
        Ok(order.into())
    }
}

/// Chooses segments to be made one, neighbours by their keys.
fn choose(manifest: &SegmentManifest, columns: &[ColumnSpec], all: bool) -> Vec<Arc<ListedSegment>> {
    let mut segments = manifest.segments().to_vec();
    segments.sort_by(|a, b| a.entry.first_key.cmp(&b.entry.first_key));
    if let Some(worn) = segments.iter().find(|segment| is_worn(segment, all) || lacks_index(segment, columns)) {
        return vec![worn.clone()];
    }
    let tier = |segment: &ListedSegment| segment.live_rows().max(1).ilog2() / 2;
    let tiers = if all { 32..=32 } else { 0..=SEGMENT_ROWS_MAX.ilog2() / 2 };
    for least in tiers {
        for run in segments.chunk_by(|a, b| tier(a) <= least && tier(b) <= least) {
            let mut rows = 0;
            let fits = |segment: &&Arc<ListedSegment>| {
                rows += segment.live_rows();
                rows <= SEGMENT_ROWS_MAX as u64
            };
            // Runs from each of the first on: a large one may stand before small ones.
            let fitting = run.iter().take_while(fits).count();
            if fitting >= if all { 2 } else { MERGE_FROM } {
                return run[..fitting].to_vec();
            }
            if all {
                let pair = run.windows(2).find(|pair| {
                    pair.iter().map(|segment| segment.live_rows()).sum::<u64>() <= SEGMENT_ROWS_MAX as u64
                });
                if let Some(pair) = pair {
                    return pair.to_vec();
                }
            }
        }
    }
    Vec::new()
}

fn is_worn(segment: &ListedSegment, all: bool) -> bool {
    let deleted = segment.deleted().len();
    deleted > 0 && (all || deleted * DELETED_SHARE >= segment.segment.rows() as u64)
}

/// Whether a column has no index although one is asked for.
fn lacks_index(segment: &ListedSegment, columns: &[ColumnSpec]) -> bool {
    let asked = columns.iter().filter(|column| !matches!(column.index, IndexChoice::Auto | IndexChoice::None));
    asked
        .filter_map(|column| segment.segment.column_ordinal(column.id))
        .any(|ordinal| !segment.segment.has_index(ordinal))
}
