//! Removes finished jobs whose time is over.

use crate::record::JobRecord;
use crate::system::{KindInner, SystemInner, now_micros};
use squall_catalog::IndexId;
use squall_row_store::{Direction, ValueRange};
use squall_types::{SqlResult, Value};
use std::sync::Arc;
use std::time::Duration;

/// Jobs removed by one commit.
const GROUP: usize = 500;

/// Removes what is to be removed now; tells in how long to look again, if ever.
pub(crate) fn sweep(system: &SystemInner) -> SqlResult<Option<Duration>> {
    let mut next: Option<Duration> = None;
    for kind in system.kinds() {
        if kind.spec.durable
            && let Some(wait) = sweep_kind(system, &kind)?
        {
            next = Some(next.map_or(wait, |next| next.min(wait)));
        }
    }
    Ok(next)
}

/// Jobs are looked at in the order of their numbers, which is that of their creation, so the first one that was created
/// after the limit ends the search: none behind it has finished before.
fn sweep_kind(system: &SystemInner, kind: &Arc<KindInner>) -> SqlResult<Option<Duration>> {
    let retention = i64::try_from(kind.retention().as_micros()).unwrap_or(i64::MAX);
    let now = now_micros();
    let limit = now.saturating_sub(retention);
    let (mut expired, mut oldest) = (Vec::new(), i64::MAX);
    let name = [Value::from(kind.spec.name)];
    let range = system.jobs.range(IndexId(0), ValueRange::prefix(&name))?;
    let mut cursor = system.store.read_view().scan(&system.jobs, &range, Direction::Forward);
    while let Some(row) = cursor.next_row()? {
        let info = JobRecord::of_row(row.values(&system.jobs)?)?.info;
        match info.finished_micros {
            // Its end is not known to all yet; there is another sweep when it is.
            Some(_) if kind.live.lock().contains_key(&info.number) => {}
            Some(finished) if finished <= limit => expired.push(info.number),
            Some(finished) => oldest = oldest.min(finished),
            None => {}
        }
        if expired.len() == GROUP {
            kind.remove_rows(system, &expired)?;
            expired.clear();
        }
        if info.created_micros > limit {
            break;
        }
    }
    if !expired.is_empty() {
        kind.remove_rows(system, &expired)?;
    }
    let wait = oldest.checked_sub(limit).filter(|_| oldest != i64::MAX);
    // A moment later, so that whatever ended together goes together.
    Ok(wait.map(|micros| Duration::from_micros(micros.max(0) as u64) + Duration::from_millis(100)))
}
