//! The state of a session as bytes. It is stored with a queued text, so that the text runs later as in its session. Several kinds of
//! jobs use it.

use squall_catalog::{AccountKey, ActiveGrants, NameKey};
use squall_registry::Registry;
use squall_row_store::{Malformed, Reader, Writer, read_type, read_value, write_type, write_value};
use squall_session::api::ConnectionInfo;
use squall_session::procedure::SessionImage;
use squall_system_variables::ValueTable;
use squall_types::{SqlError, SqlResult, SqlType, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

/// Version of the layout.
const FORMAT: u8 = 3;
/// The one before: without the databases that a session is limited to.
const FORMAT_WITHOUT_LIMIT: u8 = 2;

/// Variables that only concern the queueing session: about its commits and its next insert.
const NOT_CAPTURED: &[&str] = &[
    "autocommit",
    "error_count",
    "identity",
    "insert_id",
    "last_insert_id",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "timestamp",
    "warning_count",
];

/// Whether a text, or a procedure that it calls, can see user variables.
pub(crate) fn sees_user_variables(sql: &str) -> bool {
    sql.contains('@') || sql.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"call"))
}

/// A query as bytes: its text, then its session. Queries of equal sessions have equal bytes behind the text, from whichever
/// port their clients have come.
pub(crate) fn encode(sql: &str, image: &SessionImage, registry: &Registry) -> Vec<u8> {
    let mut out = Writer::new(FORMAT);
    out.str(sql);
    let account = |out: &mut Writer, key: &AccountKey| {
        out.str(&key.user);
        out.str(&key.host);
    };
    account(&mut out, &image.account);
    out.list(&image.active_grants.roles.iter().collect::<Vec<_>>(), |out, role| account(out, role));
    let databases = image.active_grants.databases.as_ref();
    out.option(databases, |out, names| out.list(&names.iter().collect::<Vec<_>>(), |out, name| out.str(name)));
    out.str(&image.info.user);
    out.option(image.info.address, |out, address| out.str(&address.to_string()));
    out.uint(u64::from(image.info.collation));
    out.bool(image.info.found_rows);
    out.bool(image.info.ignore_space);
    out.option(image.database.as_deref(), Writer::str);
    put_variables(&mut out, &image.variables, registry);
    let user_variables = image.user_variables.lock();
    out.list(&user_variables.iter().collect::<Vec<_>>(), |out, (name, (value, sql_type))| {
        out.str(name.as_str());
        write_value(out, value);
        write_type(out, sql_type);
    });
    out.finish()
}

/// Sessions of a thread whose variables are remembered as bytes.
const REMEMBERED_MAX: usize = 16;

thread_local! {
    /// Variables of sessions that have queued something on this thread, the last to be found last, and their bytes.
    static REMEMBERED: RefCell<Vec<(ValueTable, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

fn put_variables(out: &mut Writer, variables: &ValueTable, registry: &Registry) {
    REMEMBERED.with_borrow_mut(|remembered| {
        let bytes = match remembered.iter().rposition(|(known, _)| known.is_same(variables)) {
            Some(at) => remembered.remove(at).1,
            None => variables_as_bytes(variables, registry),
        };
        out.array(&bytes);
        if remembered.len() == REMEMBERED_MAX {
            remembered.remove(0);
        }
        remembered.push((variables.clone(), bytes));
    });
}

fn variables_as_bytes(variables: &ValueTable, registry: &Registry) -> Vec<u8> {
    let set = variables.differences(registry.variables.defaults()).filter_map(|(id, value)| {
        let definition = registry.variables.definition(id);
        (definition.has_session() && !NOT_CAPTURED.contains(&definition.name)).then_some((definition.name, value))
    });
    let mut out = Writer::default();
    out.list(&set.collect::<Vec<_>>(), |out, (name, value)| {
        out.str(name);
        write_value(out, value);
    });
    out.finish()
}

/// The bytes of a session. Equal sessions have equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionBytes<'a> {
    format: u8,
    bytes: &'a [u8],
}

impl SessionBytes<'_> {
    /// A copy to compare others with.
    pub fn to_owned(self) -> (u8, Vec<u8>) {
        (self.format, self.bytes.to_vec())
    }

    /// Whether a copy is of equal bytes.
    pub fn is(&self, (format, bytes): &(u8, Vec<u8>)) -> bool {
        self.format == *format && self.bytes == bytes
    }
}

/// The text, and the bytes of the session.
///
/// # Errors
/// When these are not the bytes of a query.
pub(crate) fn split(bytes: &[u8]) -> SqlResult<(&str, SessionBytes<'_>)> {
    let mut reader = Reader::new(bytes);
    let (Ok(format @ (FORMAT_WITHOUT_LIMIT | FORMAT)), Ok(sql)) = (reader.u8(), reader.bytes()) else {
        return Err(damaged());
    };
    let sql = std::str::from_utf8(sql).map_err(|_| damaged())?;
    Ok((sql, SessionBytes { format, bytes: reader.rest() }))
}

/// The session.
///
/// # Errors
/// When these are not its bytes.
pub(crate) fn decode(session: SessionBytes<'_>, registry: &Registry) -> SqlResult<SessionImage> {
    read(session.format, &mut Reader::new(session.bytes), registry).map_err(|_| damaged())
}

fn damaged() -> SqlError {
    SqlError::internal("a queued query is damaged")
}

fn read(format: u8, reader: &mut Reader<'_>, registry: &Registry) -> Result<SessionImage, Malformed> {
    let account = |reader: &mut Reader<'_>| Ok(AccountKey::new(reader.string()?, reader.string()?));
    let own = account(reader)?;
    let roles = reader.list(account)?.into_iter().collect();
    let databases = match format {
        FORMAT_WITHOUT_LIMIT => None,
        _ => reader.option(|reader| reader.list(Reader::string))?.map(|names| names.into_iter().collect()),
    };
    let active_grants = Arc::new(ActiveGrants { roles, databases });
    let user = reader.string()?;
    let address = reader.option(|reader| reader.string()?.parse::<IpAddr>().map_err(|_| Malformed))?;
    let info = ConnectionInfo {
        user,
        address,
        collation: reader.uint()? as u16,
        found_rows: reader.bool()?,
        ignore_space: reader.bool()?,
        ..ConnectionInfo::default()
    };
    let database = reader.option(Reader::string)?;
    let mut variables = registry.variables.defaults().clone();
    for (name, value) in reader.list(|reader| Ok((reader.string()?, read_value(reader)?)))? {
        // One that is gone since then means nothing any more.
        if let Some(id) = registry.variables.find(&name) {
            variables.set(id, value);
        }
    }
    let user_variables = reader.list(|reader| {
        let name = NameKey::new(&reader.string()?);
        Ok::<(NameKey, (Value, SqlType)), Malformed>((name, (read_value(reader)?, read_type(reader)?)))
    })?;
    Ok(SessionImage {
        account: own,
        active_grants,
        info,
        database: database.map(Into::into),
        variables,
        user_variables: Arc::new(user_variables.into_iter().collect::<HashMap<_, _>>().into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::CollationId;

    #[test]
    fn queries_are_read_as_they_were_written() {
        let registry = Registry::default();
        let mode = registry.variables.find("sql_mode").expect("a variable");
        let autocommit = registry.variables.find("autocommit").expect("a variable");
        let mut variables = registry.variables.defaults().clone();
        variables.set(mode, Value::from("ANSI"));
        variables.set(autocommit, Value::Int(0));
        let variable = (Value::from("x"), SqlType::varchar(1, CollationId::UTF8MB4_BIN));
        let image = SessionImage {
            account: AccountKey::new("u", "%"),
            active_grants: Arc::new(ActiveGrants {
                roles: [AccountKey::new("r", "%")].into(),
                databases: Some(["d".to_string()].into()),
            }),
            info: ConnectionInfo { user: "u".into(), address: "::1".parse().ok(), port: 7, ..Default::default() },
            database: Some("d".into()),
            variables,
            user_variables: Arc::new(HashMap::from([(NameKey::new("V"), variable.clone())]).into()),
        };
        assert!(
            sees_user_variables("SELECT @v") && sees_user_variables("CALL p()") && !sees_user_variables("SELECT 1")
        );
        let bytes = encode("SELECT @v", &image, &registry);
        let (sql, session) = split(&bytes).expect("a query");
        assert_eq!(sql, "SELECT @v");
        let read = decode(session, &registry).expect("a session");
        assert_eq!(read.account, image.account);
        assert_eq!((read.active_grants, read.database), (image.active_grants, image.database));
        assert_eq!((read.info.user, read.info.address), (image.info.user, image.info.address));
        assert_eq!(*read.variables.get(mode), Value::from("ANSI"));
        assert_eq!(*read.variables.get(autocommit), Value::Int(1));
        assert_eq!(read.user_variables.lock().get(&NameKey::new("v")), Some(&variable));
        for end in 0..session.bytes.len() {
            let part = SessionBytes { bytes: &session.bytes[..end], ..session };
            assert!(decode(part, &registry).is_err(), "{end}");
        }
    }
}
