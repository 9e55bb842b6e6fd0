//! All zones of all sources, on some threads.

use super::accumulate::Groups;
use super::bind::{BoundSource, GroupKeys};
use super::code_table::CodeTables;
use super::zone::Worker;
use super::{Group, StarOptions, StarQuery, StarSource};
use crate::error::{Error, Result};
use crate::parallel::map_in_parallel;
use crate::zone_map::ZONE_ROWS;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a star query over sealed segments and fresh rows, which all have the same columns.
///
/// # Errors
/// If a column cannot be read; [`Error::Cancelled`]; [`Error::Invalid`] if the query is not one that this operator can run: keys or arguments that
/// are not whole numbers, groups by columns without codes, products or sums that 128 bits may not hold.
pub fn run_star_query(query: &StarQuery, sources: &[StarSource<'_>], options: StarOptions<'_>) -> Result<Vec<Group>> {
    let keys = GroupKeys::new(query, sources)?;
    let tables = CodeTables::default();
    // Columns that are not in memory yet are loaded here.
    let bound = map_in_parallel(options.threads, sources.iter().collect(), |_, source| {
        BoundSource::new(query, &keys, source, &tables)
    });
    let bound = bound.into_iter().collect::<Result<Vec<BoundSource<'_>>>>()?;
    let rows = bound.iter().map(|source| source.rows as u128).sum();
    for source in &bound {
        if !source.sums_fit(rows)? {
            return Err(Error::invalid("a sum may exceed 128 bits"));
        }
        if options.arguments_of_64_bits && !source.arguments_fit_64_bits() {
            return Err(Error::invalid("an argument may exceed 64 bits"));
        }
    }
    let zones: Vec<(&BoundSource<'_>, usize)> =
        bound.iter().flat_map(|source| (0..source.rows.div_ceil(ZONE_ROWS)).map(move |zone| (source, zone))).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Groups> {
        let mut worker = Worker::new(Groups::new(&query.aggregates, keys.possible, options.groups_max));
        while let Some((source, zone)) = zones.get(next.fetch_add(1, Ordering::Relaxed)) {
            if options.cancelled.is_some_and(|cancelled| cancelled()) {
                return Err(Error::Cancelled);
            }
            worker.zone(source, *zone);
            if worker.groups.are_too_many() {
                return Err(Error::invalid(format!("there are more than {} groups", options.groups_max)));
            }
        }
        Ok(worker.groups)
    };
    let groups = std::thread::scope(|scope| {
        let others: Vec<_> = (1..options.threads.min(zones.len())).map(|_| scope.spawn(work)).collect();
        let mut groups = work()?;
        for other in others {
            match other.join() {
                Ok(other) => groups.merge(&other?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(groups)
    })?;
    let mut found = groups.finish();
    if found.is_empty() && query.groups.is_empty() {
        found.push((0, groups.values_of_nothing()));
    }
    Ok(found.into_iter().map(|(index, values)| Group { keys: keys.decode(index), values }).collect())
}
