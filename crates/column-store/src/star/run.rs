//! Runs a star query over all zones of all sources, on several threads.

use super::accumulate::Groups;
use super::bind::{BoundSource, GroupKeys};
use super::code_table::CodeTables;
use super::distinct::{distinct_column, merged, values_of};
use super::known::{KnownSource, KnownZone, known_source};
use super::rank::Ranks;
use super::zone::Worker;
use super::{Group, StarAnswer, StarOptions, StarQuery, StarSource};
use crate::error::{Error, Result};
use crate::parallel::map_in_parallel;
use crate::predicate::SkippedRows;
use squall_accounting::work_meter::carried;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a star query over Segments and delta rows, which all have the same columns.
///
/// # Errors
/// If a column cannot be read; [`Error::Cancelled`]; [`Error::Invalid`] if the query is not one that this operator can run: keys or arguments that
/// are not whole numbers, groups by columns without codes, products or sums that 128 bits may not hold.
pub fn run_star_query(query: &StarQuery, sources: &[StarSource<'_>], options: StarOptions<'_>) -> Result<StarAnswer> {
    let Some(column) = distinct_column(query) else { return run_pass(query, sources, options) };
    let (mut values, mut others) = (Vec::new(), Vec::with_capacity(sources.len()));
    for source in sources {
        match values_of(query, source, column)? {
            Some(known) => values.extend(known),
            None => others.push(*source),
        }
    }
    let answer = run_pass(query, &others, options)?;
    let groups = merged(values, answer.groups);
    if groups.len() > options.groups_max {
        return Err(too_many_groups(options.groups_max));
    }
    Ok(StarAnswer { groups, dictionaries: sources.len() - others.len(), ..answer })
}

fn run_pass(query: &StarQuery, sources: &[StarSource<'_>], options: StarOptions<'_>) -> Result<StarAnswer> {
    let keys = GroupKeys::new(query, sources)?;
    let tables = CodeTables::default();
    let known: Vec<KnownSource> = sources.iter().map(|source| known_source(query, source)).collect::<Result<_>>()?;
    let dictionaries = known.iter().filter(|source| source.by_dictionary).count();
    let known: Vec<Vec<Option<KnownZone>>> = known.into_iter().map(|source| source.zones).collect();
    let to_read = |(_, known): &(_, &Vec<Option<KnownZone>>)| known.iter().any(Option::is_none);
    let to_read: Vec<_> = sources.iter().zip(&known).filter(to_read).collect();
    let ranks = Ranks::new(query, &known, to_read.iter().map(|(source, _)| *source))?;
    // Columns that are not in memory yet are loaded here.
    let bound = map_in_parallel(options.threads, to_read, |_, (source, known)| {
        BoundSource::new(query, &keys, source, (&tables, &ranks)).map(|bound| (bound, known))
    });
    let bound = bound.into_iter().collect::<Result<Vec<(BoundSource<'_>, _)>>>()?;
    let rows = bound.iter().map(|(source, _)| source.rows as u128).sum();
    for (source, _) in &bound {
        if !source.sums_fit(rows)? {
            return Err(Error::invalid("a sum may exceed 128 bits"));
        }
        if options.arguments_of_64_bits && !source.arguments_fit_64_bits() {
            return Err(Error::invalid("an argument may exceed 64 bits"));
        }
    }
    let (mut skipped, mut segments_skipped) = (SkippedRows::default(), 0);
    for (source, _) in &bound {
        let of_source = source.filter.skipped(source.rows);
        skipped += of_source;
        segments_skipped += usize::from(of_source.total() == source.rows as u64);
    }
    let zones: Vec<(&BoundSource<'_>, usize)> =
        bound.iter().flat_map(|(source, known)| unknown(known).map(move |zone| (source, zone))).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Groups> {
        let mut worker = Worker::new(Groups::new(&query.aggregates, keys.possible, options.groups_max));
        while let Some((source, zone)) = zones.get(next.fetch_add(1, Ordering::Relaxed)) {
            if options.cancelled.is_some_and(|cancelled| cancelled()) {
                return Err(Error::Cancelled);
            }
            worker.zone(source, *zone);
            if worker.groups.are_too_many() {
                return Err(too_many_groups(options.groups_max));
            }
        }
        Ok(worker.groups)
    };
    let mut groups = std::thread::scope(|scope| {
        let others: Vec<_> = (1..options.threads.min(zones.len())).map(|_| scope.spawn(carried(work))).collect();
        let mut groups = work()?;
        for other in others {
            match other.join() {
                Ok(other) => groups.merge(&other?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(groups)
    })?;
    known.iter().flatten().flatten().for_each(|zone| groups.add_known(query, &ranks, zone));
    let mut found = groups.finish();
    if found.is_empty() && query.groups.is_empty() {
        found.push((0, groups.values_of_nothing()));
    }
    let groups = found.into_iter().map(|(index, values)| Group { keys: keys.decode(index), values }).collect();
    let zones_known = known.iter().flatten().flatten().count();
    let zones_read = zones.len();
    let texts = ranks.into_texts();
    Ok(StarAnswer { groups, zones_known, zones_read, dictionaries, texts, skipped, segments_skipped })
}

fn too_many_groups(groups_max: usize) -> Error {
    Error::invalid(format!("there are more than {groups_max} groups"))
}

/// The zones that have to be read.
fn unknown(known: &[Option<KnownZone>]) -> impl Iterator<Item = usize> {
    known.iter().enumerate().filter(|(_, known)| known.is_none()).map(|(zone, _)| zone)
}
