//! The history of global and kept variables: `data_dictionary.configuration_history`, and what RESET PERSIST TO VERSION goes back to.
//!
//! Each statement that changes such variables is a version; each variable of it an entry. An entry is written in the commit that keeps
//! the value, so there is none without the other. The oldest entries go when there are too many.

use parking_lot::Mutex;
use squall_row_store::{Malformed, Reader, SystemChange, SystemRecords, Writer};
use squall_types::clock::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::collections::VecDeque;

/// The kind of record.
const SPACE: &str = "variable_history";
/// Version of the layout.
const FORMAT: u8 = 1;
/// Newest entries that are kept.
const ENTRIES_MAX: usize = 10_000;
/// As much of a statement as an entry has, bytes.
const STATEMENT_BYTES_MAX: usize = 1024;

/// A value before and after a change, encoded; `None` where none is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeforeAfter {
    /// The old one.
    pub before: Option<Vec<u8>>,
    /// The new one.
    pub after: Option<Vec<u8>>,
}

/// The change of one variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableChange {
    /// The variable.
    pub name: String,
    /// The value that holds, unless the statement leaves it.
    pub running: Option<BeforeAfter>,
    /// The value for the next start, unless the statement leaves it.
    pub persisted: Option<BeforeAfter>,
}

/// What a statement has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigurationChange {
    /// Who has done it, `user@host`.
    pub user: String,
    /// The statement, with passwords masked.
    pub statement: String,
    /// Its variables.
    pub changes: Vec<VariableChange>,
    /// Why nothing has changed after all.
    pub error: Option<String>,
}

/// A row of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The number of the statement.
    pub version: u64,
    /// Unix time, microseconds.
    pub at_micros: i64,
    /// Who has done it, `user@host`.
    pub user: String,
    /// The statement.
    pub statement: String,
    /// The change.
    pub change: VariableChange,
    /// Why the old value was put back.
    pub error: Option<String>,
}

/// The places of the entries that are kept.
#[derive(Debug, Default)]
pub struct ConfigurationHistory {
    places: Mutex<VecDeque<Place>>,
}

/// Version and place within it: the key of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    version: u64,
    ordinal: u32,
}

impl Place {
    fn key(self) -> Vec<u8> {
        let mut key = self.version.to_be_bytes().to_vec();
        key.extend_from_slice(&self.ordinal.to_be_bytes());
        key
    }

    fn of_key(key: &[u8]) -> Option<Place> {
        let (version, ordinal) = key.split_first_chunk::<8>()?;
        let (ordinal, _) = ordinal.split_first_chunk::<4>()?;
        Some(Place { version: u64::from_be_bytes(*version), ordinal: u32::from_be_bytes(*ordinal) })
    }
}

impl ConfigurationHistory {
    /// The history that a data directory has.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(records: &dyn SystemRecords) -> SqlResult<ConfigurationHistory> {
        let places = records.system_records(SPACE)?.iter().filter_map(|(key, _)| Place::of_key(key)).collect();
        Ok(ConfigurationHistory { places: Mutex::new(places) })
    }

    /// The newest version; 0 if there is none.
    pub fn version(&self) -> u64 {
        self.places.lock().back().map_or(0, |last| last.version)
    }

    /// Commits a change: the records that are given and its entries, all or none. Durable when it returns.
    ///
    /// # Errors
    /// Those of [`SystemRecords::commit_system`].
    pub fn commit(
        &self,
        store: &dyn SystemRecords,
        change: &ConfigurationChange,
        mut records: Vec<SystemChange>,
    ) -> SqlResult<()> {
        // Held until the commit has its place in the log: versions are in the order of the changes.
        let mut places = self.places.lock();
        let version = places.back().map_or(1, |last| last.version + 1);
        let at_micros = now_micros();
        let new: Vec<Place> =
            (0..).zip(&change.changes).map(|(ordinal, _)| Place { version, ordinal }).take(ENTRIES_MAX).collect();
        for (place, variable) in new.iter().zip(&change.changes) {
            let value = Some(encode(at_micros, change, variable));
            records.push(SystemChange { space: SPACE, key: place.key(), value });
        }
        let expired = (places.len() + new.len()).saturating_sub(ENTRIES_MAX).min(places.len());
        let gone =
            places.iter().take(expired).map(|place| SystemChange { space: SPACE, key: place.key(), value: None });
        records.extend(gone);
        let ticket = store.commit_system_async(&records)?;
        places.drain(..expired);
        places.extend(new);
        drop(places);
        ticket.wait()
    }

    /// All entries, the oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn entries(&self, records: &dyn SystemRecords) -> SqlResult<Vec<HistoryEntry>> {
        let decode = |(key, record): &(Vec<u8>, Vec<u8>)| {
            let place = Place::of_key(key).ok_or(Malformed)?;
            decode(place.version, record)
        };
        let entries: Result<_, Malformed> = records.system_records(SPACE)?.iter().map(decode).collect();
        entries.map_err(|_| SqlError::internal("an entry of the history of variables is damaged"))
    }

    /// What has to be done so that everything is as it was after a version: for each variable that has changed since, the first of its
    /// changes.
    ///
    /// # Errors
    /// 1210 if the version is not known, or no longer.
    pub fn changes_since(&self, records: &dyn SystemRecords, version: u64) -> SqlResult<Vec<VariableChange>> {
        let entries = self.entries(records)?;
        let first = entries.first().map_or(1, |entry| entry.version);
        let last = entries.last().map_or(0, |entry| entry.version);
        if version > last || version + 1 < first {
            let what = format!("RESET PERSIST TO VERSION (versions {} to {last} are kept)", first.saturating_sub(1));
            return Err(SqlError::new(ErrorCode::WrongArguments, &[&what]));
        }
        let mut changes: Vec<VariableChange> = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.version > version && entry.error.is_none()) {
            match changes.iter_mut().find(|change| change.name == entry.change.name) {
                Some(known) => {
                    known.running = known.running.take().or(entry.change.running);
                    known.persisted = known.persisted.take().or(entry.change.persisted);
                }
                None => changes.push(entry.change),
            }
        }
        Ok(changes)
    }
}

fn encode(at_micros: i64, change: &ConfigurationChange, variable: &VariableChange) -> Vec<u8> {
    let mut out = Writer::new(FORMAT);
    let statement = &change.statement[..change.statement.floor_char_boundary(STATEMENT_BYTES_MAX)];
    out.i64(at_micros);
    for text in [&change.user, statement, &variable.name] {
        out.str(text);
    }
    for values in [&variable.running, &variable.persisted] {
        out.option(values.as_ref(), |out, values| {
            for value in [&values.before, &values.after] {
                out.option(value.as_deref(), Writer::bytes);
            }
        });
    }
    out.option(change.error.as_deref(), Writer::str);
    out.finish()
}

fn decode(version: u64, record: &[u8]) -> Result<HistoryEntry, Malformed> {
    let mut reader = Reader::new(record);
    if reader.u8()? != FORMAT {
        return Err(Malformed);
    }
    let at_micros = reader.i64()?;
    let (user, statement, name) = (reader.string()?, reader.string()?, reader.string()?);
    let mut values = || {
        reader.option(|reader| {
            let before = reader.option(|reader| reader.bytes().map(<[u8]>::to_vec))?;
            let after = reader.option(|reader| reader.bytes().map(<[u8]>::to_vec))?;
            Ok(BeforeAfter { before, after })
        })
    };
    let (running, persisted) = (values()?, values()?);
    let error = reader.option(Reader::string)?;
    let change = VariableChange { name, running, persisted };
    Ok(HistoryEntry { version, at_micros, user, statement, change, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let values = BeforeAfter { before: None, after: Some(b"u7".to_vec()) };
        let variable = VariableChange { name: "x".to_owned(), running: None, persisted: Some(values) };
        let change = ConfigurationChange {
            user: "a@b".to_owned(),
            statement: "ä".repeat(STATEMENT_BYTES_MAX),
            changes: vec![variable.clone()],
            error: Some("no".to_owned()),
        };
        let record = encode(5, &change, &variable);
        let entry = decode(3, &record).ok();
        let statement = "ä".repeat(STATEMENT_BYTES_MAX / 2);
        let (user, error) = (change.user, change.error);
        assert_eq!(entry, Some(HistoryEntry { version: 3, at_micros: 5, user, statement, change: variable, error }));
        for end in 0..record.len() {
            assert!(decode(3, &record[..end]).is_err(), "{end}");
        }
    }
}
