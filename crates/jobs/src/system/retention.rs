//! Removes expired jobs, and the oldest ended jobs if there are too many.

use crate::system::kept::bytes_of;
use crate::system::record::{JobRecord, job_key};
use crate::system::{KindInner, SystemInner};
use squall_catalog::IndexId;
use squall_row_store::{Direction, ValueRange};
use squall_types::clock::now_micros;
use squall_types::{SqlResult, Value};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// Jobs removed by one commit.
const GROUP: usize = 500;

/// Removes what is to be removed now; tells in how long to look again, if ever.
pub(crate) fn sweep(system: &SystemInner) -> SqlResult<Option<Duration>> {
    let mut next: Option<Duration> = None;
    for kind in system.kinds() {
        if !kind.spec.durable {
            continue;
        }
        make_room(system, &kind)?;
        if let Some(wait) = remove_expired(system, &kind)? {
            next = Some(next.map_or(wait, |next| next.min(wait)));
        }
    }
    Ok(next)
}

/// Jobs are looked at in the order of their numbers, which is that of their creation, so the first one that was created
/// after the limit ends the search: none behind it has finished before.
fn remove_expired(system: &SystemInner, kind: &Arc<KindInner>) -> SqlResult<Option<Duration>> {
    let retention = i64::try_from(kind.retention().as_micros()).unwrap_or(i64::MAX);
    let limit = now_micros().saturating_sub(retention);
    let mut oldest = i64::MAX;
    remove_ended(system, kind, |record| {
        let finished = record.info.finished_micros.unwrap_or(i64::MAX);
        if finished > limit {
            oldest = oldest.min(finished);
        }
        Chosen { goes: finished <= limit, is_last: record.info.created_micros > limit }
    })?;
    let wait = oldest.checked_sub(limit).filter(|_| oldest != i64::MAX);
    // A little later, so that jobs that ended together are removed together.
    Ok(wait.map(|micros| Duration::from_micros(micros.max(0) as u64) + Duration::from_millis(100)))
}

/// Removes jobs that ended up to a time, those of one owner or of all; gives how many.
pub(crate) fn purge(system: &SystemInner, kind: &Arc<KindInner>, limit: i64, owner: Option<&str>) -> SqlResult<u64> {
    remove_ended(system, kind, |record| {
        let is_old = record.info.finished_micros.is_some_and(|finished| finished <= limit);
        let goes = is_old && owner.is_none_or(|owner| record.info.owner == owner);
        Chosen { goes, is_last: record.info.created_micros > limit }
    })
}

/// Removes the oldest jobs until no more is kept than may be.
fn make_room(system: &SystemInner, kind: &Arc<KindInner>) -> SqlResult<()> {
    let Some(surplus) = kind.kept.surplus() else { return Ok(()) };
    let mut found = 0;
    let removed = remove_ended(system, kind, |record| {
        let bytes = if record.info.state.is_final() { bytes_of(&record.info, &record.payload) } else { 0 };
        // Beyond the excess it removes only small ones, because a large one may be the only one left.
        let goes = found < surplus.needed || bytes <= surplus.slack;
        found += if goes { bytes } else { 0 };
        Chosen { goes, is_last: !goes || found >= surplus.needed + surplus.slack }
    })?;
    kind.kept.count_removed_for_room(removed);
    Ok(())
}

/// What happens to a job that was looked at.
struct Chosen {
    /// It is removed, if it has ended.
    goes: bool,
    /// No further one is looked at.
    is_last: bool,
}

/// Reads jobs from the oldest on, and removes the ended ones that `choose` selects. Gives their number.
fn remove_ended(
    system: &SystemInner,
    kind: &Arc<KindInner>,
    mut choose: impl FnMut(&JobRecord) -> Chosen,
) -> SqlResult<u64> {
    let (mut chosen, mut removed, mut is_first) = (Vec::new(), 0, true);
    let from = job_key(kind.spec.name, kind.kept.first());
    let all = [Value::from(kind.spec.name)];
    let bounds = ValueRange { start: Bound::Included(&from), end: Bound::Included(&all) };
    let range = system.jobs.range(IndexId(0), bounds)?;
    let mut cursor = system.store.read_view().scan(&system.jobs, &range, Direction::Forward);
    while let Some(row) = cursor.next_row()? {
        let record = JobRecord::of_row(row.values(&system.jobs)?)?;
        if std::mem::take(&mut is_first) {
            // What is below has been removed; numbers only grow.
            kind.kept.set_first(record.info.number);
        }
        let Chosen { goes, is_last } = choose(&record);
        // Until the end of a job is known to all it is not removed; when it is, there is another sweep.
        if goes && record.info.state.is_final() && !kind.is_live(record.info.number) {
            chosen.push(record.info.number);
        }
        if chosen.len() == GROUP {
            removed += kind.remove_rows(system, &chosen)?;
            chosen.clear();
        }
        if is_last {
            break;
        }
    }
    if !chosen.is_empty() {
        removed += kind.remove_rows(system, &chosen)?;
    }
    Ok(removed)
}
