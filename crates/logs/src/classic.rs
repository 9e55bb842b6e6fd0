//! The forms of MySQL's general and slow logs.
//!
//! Every entry is complete, since entries of other sessions come before and after it. So, unlike in MySQL, every slow entry names its
//! default database.

use crate::entry::Entry;
use crate::text::{push_number, push_on_one_line};
use crate::timestamp::{Zone, push, push_seconds};

/// The lines at the beginning of a file, written each time it is opened. Tools know these lines by the `/` and by `mysqld,
/// Version`.
pub fn header(version: &str, port: u64, socket: &str) -> Vec<u8> {
    format!(
        "/squall as mysqld, Version: {version}. started with:\nTcp port: {port}  Unix socket: {socket}\n\
         Time                 Id Command    Argument\n"
    )
    .into_bytes()
}

fn push_id(out: &mut Vec<u8>, id: u64) {
    let start = out.len();
    push_number(out, id);
    let length = out.len() - start;
    out.splice(start..start, std::iter::repeat_n(b' ', 5usize.saturating_sub(length)));
}

/// Appends an entry of the general log.
pub fn push_general(out: &mut Vec<u8>, entry: &Entry<'_>, zone: &Zone) {
    push(out, entry.now_micros, zone);
    out.push(b'\t');
    push_id(out, entry.client.id);
    out.push(b' ');
    out.extend_from_slice(entry.command.as_bytes());
    out.push(b'\t');
    out.extend_from_slice(entry.text);
    out.push(b'\n');
}

/// Appends an entry of the slow log.
pub fn push_slow(out: &mut Vec<u8>, entry: &Entry<'_>, zone: &Zone) {
    let work = entry.work.unwrap_or_default();
    out.extend_from_slice(b"# Time: ");
    push(out, entry.now_micros, zone);
    out.extend_from_slice(b"\n# User@Host: ");
    push_on_one_line(out, entry.client.user_host.as_bytes(), None);
    out.extend_from_slice(b"  Id: ");
    push_id(out, entry.client.id);
    out.extend_from_slice(b"\n# Query_time: ");
    push_seconds(out, entry.micros());
    out.extend_from_slice(b"  Lock_time: ");
    push_seconds(out, work.lock_micros);
    out.extend_from_slice(b" Rows_sent: ");
    push_number(out, work.rows_sent);
    out.extend_from_slice(b"  Rows_examined: ");
    push_number(out, work.rows_examined);
    if let Some(parent) = entry.client.parent {
        out.extend_from_slice(b"  Parent_id: ");
        push_number(out, parent);
    }
    if let Some(database) = entry.database {
        out.extend_from_slice(b"\nuse ");
        push_on_one_line(out, database.as_bytes(), None);
        out.push(b';');
    }
    out.extend_from_slice(b"\nSET timestamp=");
    push_number(out, u64::try_from(entry.start_micros / 1_000_000).unwrap_or(0));
    out.extend_from_slice(b";\n");
    if entry.command != "Query" && entry.command != "Execute" {
        out.extend_from_slice(b"# administrator command: ");
        out.extend_from_slice(entry.command.as_bytes());
    } else {
        out.extend_from_slice(entry.text);
    }
    out.extend_from_slice(b";\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Client, Work};

    #[test]
    fn files_begin_as_tools_expect() {
        let expected = "/squall as mysqld, Version: 8.4.0. started with:\nTcp port: 3306  Unix socket: /s.sock\n\
            Time                 Id Command    Argument\n";
        assert_eq!(header("8.4.0", 3306, "/s.sock"), expected.as_bytes());
    }

    #[test]
    fn forms() {
        let client = Client {
            id: 8,
            user: "app".into(),
            account_user: "app".into(),
            host: "localhost".into(),
            address: "127.0.0.1".into(),
            since_micros: 0,
            ..Default::default()
        };
        let client = client.described();
        let entry = Entry {
            client: &client,
            query_id: 1,
            command: "Query",
            database: Some("shop"),
            text: b"SELECT 1",
            start_micros: 1_339_837_200_000_000,
            now_micros: 1_339_837_202_000_315,
            work: Some(Work { rows_sent: 1, rows_examined: 7, ..Default::default() }),
        };
        let mut out = Vec::new();
        push_general(&mut out, &entry, &Zone::Utc);
        push_slow(&mut out, &entry, &Zone::Utc);
        let expected = "2012-06-16T09:00:02.000315Z\t    8 Query\tSELECT 1\n\
            # Time: 2012-06-16T09:00:02.000315Z\n\
            # User@Host: app[app] @ localhost [127.0.0.1]  Id:     8\n\
            # Query_time: 2.000315  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 7\n\
            use shop;\nSET timestamp=1339837200;\nSELECT 1;\n";
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
        let child = Client { parent: Some(7), ..client.clone() };
        let mut out = Vec::new();
        push_slow(&mut out, &Entry { client: &child, ..entry }, &Zone::Utc);
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.contains(" Rows_sent: 1  Rows_examined: 7  Parent_id: 7\nuse shop;"), "{text}");
    }
}
