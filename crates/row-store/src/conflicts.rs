//! Resolves conflicts of a bulk load: decides which of two rows with the same unique key stays.

use crate::index_key::{LARGE_VALUES, is_exclusive_entry, split_index_id};
use crate::sorter::{Record, Sorted};
use crate::table::Table;
use crate::table::segment_level::SegmentSnapshot;
use rustc_hash::FxHashSet;
use squall_catalog::IndexId;
use squall_types::SqlResult;
use std::collections::BTreeMap;

/// A unique key that several rows want, or a committed row has and another wants.
struct Meeting {
    index: IndexId,
    key: Vec<u8>,
    /// By the rows' numbers: what each wanted to store.
    wanted: BTreeMap<u64, Vec<u8>>,
    /// A committed row has the key.
    taken: bool,
}

/// All meetings of a bulk load.
#[derive(Default)]
pub(crate) struct Conflicts {
    meetings: Vec<Meeting>,
}

/// A row that is left out.
pub(crate) struct Loser<'a> {
    pub number: u64,
    pub index: IndexId,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

impl Conflicts {
    /// Looks for equal unique keys among sorted records, `against_table` among committed ones, and among `made` rows of the
    /// same load that are sealed already. The caller holds the table's exclusive lock.
    pub fn find(
        table: &Table,
        sorted: &Sorted,
        against_table: bool,
        made: Option<&dyn SegmentSnapshot>,
    ) -> SqlResult<Conflicts> {
        let is_made = |key: &[u8]| match made {
            Some(made) => made.get(table, key).map(|row| row.is_some()),
            None => Ok(false),
        };
        let mut meetings: Vec<Meeting> = Vec::new();
        let mut merge = sorted.iter()?;
        let (mut record, mut previous) = (Record::default(), Record::default());
        while merge.next_into(&mut record)? {
            let Some((index, _)) = split_index_id(&record.key) else { continue };
            let unique = match index {
                IndexId(0) => !table.has_hidden_row_id(),
                LARGE_VALUES => false,
                _ => is_exclusive_entry(&record.value),
            };
            if !unique {
                continue;
            }
            if record.key == previous.key {
                if meetings.last().is_none_or(|meeting| meeting.key != record.key) {
                    meetings.push(Meeting::new(index, &previous, false));
                }
            } else if against_table && table.has_now(&record.key)? || is_made(&record.key)? {
                meetings.push(Meeting::new(index, &record, true));
            }
            if let Some(meeting) = meetings.last_mut().filter(|meeting| meeting.key == record.key) {
                meeting.wanted.insert(record.number, record.value.clone());
            }
            std::mem::swap(&mut record, &mut previous);
        }
        Ok(Conflicts { meetings })
    }

    /// Goes through the rows in the order in which they came: one that meets a committed row, or one let in before
    /// it, is left out, and then conflicts with no other row.
    fn decide(&self) -> Vec<(u64, usize)> {
        let mut rows: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, meeting) in self.meetings.iter().enumerate() {
            for number in meeting.wanted.keys() {
                rows.entry(*number).or_default().push(at);
            }
        }
        let mut taken: Vec<bool> = self.meetings.iter().map(|meeting| meeting.taken).collect();
        let mut losers = Vec::new();
        for (number, meetings) in rows {
            match meetings.iter().find(|meeting| taken[**meeting]) {
                Some(meeting) => losers.push((number, *meeting)),
                None => meetings.iter().for_each(|meeting| taken[*meeting] = true),
            }
        }
        losers
    }

    /// The numbers of the rows that are left out.
    pub fn losers(&self) -> FxHashSet<u64> {
        self.decide().into_iter().map(|(number, _)| number).collect()
    }

    /// The first row that is left out.
    pub fn first_loser(&self) -> Option<Loser<'_>> {
        let (number, meeting) = self.decide().into_iter().next()?;
        let meeting = &self.meetings[meeting];
        Some(Loser { number, index: meeting.index, key: &meeting.key, value: meeting.wanted.get(&number)? })
    }
}

impl Meeting {
    fn new(index: IndexId, first: &Record, taken: bool) -> Meeting {
        let wanted = BTreeMap::from([(first.number, first.value.clone())]);
        Meeting { index, key: first.key.clone(), wanted, taken }
    }
}
