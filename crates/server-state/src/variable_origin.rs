//! Where the global value of a variable comes from: `performance_schema.variables_info`.

use squall_types::clock::now_micros;

/// The kind of a value's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VariableSource {
    /// The compiled default.
    #[default]
    Compiled,
    /// An option of the command line, or what the server found at its start.
    CommandLine,
    /// SET PERSIST of an earlier run.
    Persisted,
    /// A statement of this run.
    Dynamic,
}

impl VariableSource {
    /// MySQL's word.
    pub fn name(self) -> &'static str {
        match self {
            VariableSource::Compiled => "COMPILED",
            VariableSource::CommandLine => "COMMAND_LINE",
            VariableSource::Persisted => "PERSISTED",
            VariableSource::Dynamic => "DYNAMIC",
        }
    }
}

/// The origin of a variable's global value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableOrigin {
    /// Its kind.
    pub source: VariableSource,
    /// Who has set it, and when; `None` if no statement has.
    pub set: Option<VariableSetter>,
}

/// Who has set a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableSetter {
    /// Unix time, microseconds.
    pub at_micros: i64,
    /// The account's user.
    pub user: String,
    /// The host of the connection.
    pub host: String,
}

impl VariableOrigin {
    /// An option of the command line.
    pub const COMMAND_LINE: VariableOrigin = VariableOrigin { source: VariableSource::CommandLine, set: None };

    /// A statement of now, by a user of the form `user@host`.
    pub fn dynamic(user: &str) -> VariableOrigin {
        let (user, host) = user.rsplit_once('@').unwrap_or((user, ""));
        let set = VariableSetter { at_micros: now_micros(), user: user.to_owned(), host: host.to_owned() };
        VariableOrigin { source: VariableSource::Dynamic, set: Some(set) }
    }

    /// What is kept with a persisted value: eight bytes of time, the user, a NUL, the host.
    pub(crate) fn to_record(&self) -> Option<Vec<u8>> {
        let set = self.set.as_ref()?;
        let mut record = set.at_micros.to_be_bytes().to_vec();
        record.extend_from_slice(set.user.as_bytes());
        record.push(0);
        record.extend_from_slice(set.host.as_bytes());
        Some(record)
    }

    /// The origin of a persisted value. A record that cannot be read says nothing.
    pub(crate) fn of_record(record: Option<&[u8]>) -> VariableOrigin {
        let read = |record: &[u8]| {
            let (at, names) = record.split_first_chunk::<8>()?;
            let text = String::from_utf8_lossy(names);
            let (user, host) = text.split_once('\0')?;
            Some(VariableSetter { at_micros: i64::from_be_bytes(*at), user: user.to_owned(), host: host.to_owned() })
        };
        VariableOrigin { source: VariableSource::Persisted, set: record.and_then(read) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let origin = VariableOrigin::dynamic("a@b@10.0.0.1");
        let read = VariableOrigin::of_record(origin.to_record().as_deref());
        assert_eq!(read.set, origin.set);
        assert_eq!(read.set.as_ref().map(|set| (&*set.user, &*set.host)), Some(("a@b", "10.0.0.1")));
        assert_eq!(read.source, VariableSource::Persisted);
        for damaged in [None, Some(&b""[..]), Some(b"1234567"), Some(b"12345678no end")] {
            assert_eq!(VariableOrigin::of_record(damaged).set, None);
        }
    }
}
