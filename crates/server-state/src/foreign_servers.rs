//! Other servers that CREATE SERVER has named: records of the store, which `mysql.servers` shows. No storage engine uses them.

use squall_row_store::{Malformed, Reader, SystemChange, SystemRecords, Writer};
use squall_types::{SqlError, SqlResult};

/// The kind of record.
const SPACE: &str = "server_options";
/// Version of the layout.
const FORMAT: u8 = 1;

/// Another server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignServer {
    /// Its name as it was written; whatever its case, there is one of it.
    pub name: String,
    /// HOST.
    pub host: String,
    /// DATABASE.
    pub database: String,
    /// USER.
    pub user: String,
    /// PASSWORD, as it was written.
    pub password: String,
    /// SOCKET.
    pub socket: String,
    /// FOREIGN DATA WRAPPER.
    pub wrapper: String,
    /// OWNER.
    pub owner: String,
    /// PORT; 0 if it was not said.
    pub port: u32,
}

impl ForeignServer {
    fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new(FORMAT);
        let texts = [
            &self.name,
            &self.host,
            &self.database,
            &self.user,
            &self.password,
            &self.socket,
            &self.wrapper,
            &self.owner,
        ];
        texts.into_iter().for_each(|text| out.str(text));
        out.uint(u64::from(self.port));
        out.finish()
    }

    fn read(bytes: &[u8]) -> Result<ForeignServer, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != FORMAT {
            return Err(Malformed);
        }
        Ok(ForeignServer {
            name: reader.string()?,
            host: reader.string()?,
            database: reader.string()?,
            user: reader.string()?,
            password: reader.string()?,
            socket: reader.string()?,
            wrapper: reader.string()?,
            owner: reader.string()?,
            port: u32::try_from(reader.uint()?).map_err(|_| Malformed)?,
        })
    }

    fn decode(bytes: &[u8]) -> SqlResult<ForeignServer> {
        Self::read(bytes).map_err(|_| SqlError::internal("a record of a foreign server is damaged"))
    }
}

fn key(name: &str) -> Vec<u8> {
    name.to_lowercase().into_bytes()
}

/// All of them, by name.
///
/// # Errors
/// When they cannot be read.
pub fn all(records: &dyn SystemRecords) -> SqlResult<Vec<ForeignServer>> {
    records.system_records(SPACE)?.iter().map(|(_, bytes)| ForeignServer::decode(bytes)).collect()
}

/// The one of that name.
///
/// # Errors
/// When it cannot be read.
pub fn find(records: &dyn SystemRecords, name: &str) -> SqlResult<Option<ForeignServer>> {
    records.system_get(SPACE, &key(name))?.as_deref().map(ForeignServer::decode).transpose()
}

/// Keeps one, durably.
///
/// # Errors
/// When that is not possible.
pub fn put(records: &dyn SystemRecords, server: &ForeignServer) -> SqlResult<()> {
    records.commit_system(&[SystemChange { space: SPACE, key: key(&server.name), value: Some(server.encode()) }])
}

/// Forgets the one of that name, durably.
///
/// # Errors
/// When that is not possible.
pub fn remove(records: &dyn SystemRecords, name: &str) -> SqlResult<()> {
    records.commit_system(&[SystemChange { space: SPACE, key: key(name), value: None }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_they_were_written() {
        let text = |text: &str| text.to_string();
        let server =
            ForeignServer { name: text("S"), host: text("h"), owner: text("o"), port: 3306, ..Default::default() };
        let bytes = server.encode();
        assert_eq!(ForeignServer::read(&bytes).ok(), Some(server));
        for end in 0..bytes.len() {
            assert!(ForeignServer::read(&bytes[..end]).is_err(), "{end}");
        }
    }
}
