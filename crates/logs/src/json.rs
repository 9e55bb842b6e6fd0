//! One JSON object per line.

use crate::entry::Entry;
use crate::text::{push_json_string, push_number};
use crate::timestamp::{Zone, push, push_seconds};

fn push_text(out: &mut Vec<u8>, name: &str, text: &[u8]) {
    push_name(out, name);
    push_json_string(out, text);
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Appends an entry. `log` is the log that it belongs to. What a statement did is there once it has ended.
pub fn push_entry(out: &mut Vec<u8>, log: &str, entry: &Entry<'_>, zone: &Zone) {
    out.extend_from_slice(b"{\"time\":\"");
    push(out, entry.now_micros, zone);
    out.push(b'"');
    push_text(out, "log", log.as_bytes());
    for (name, number) in [("session_id", entry.client.id), ("query_id", entry.query_id)] {
        push_name(out, name);
        push_number(out, number);
    }
    if let Some(parent) = entry.client.parent {
        push_name(out, "parent_id");
        push_number(out, parent);
    }
    push_text(out, "user", entry.client.user.as_bytes());
    push_text(out, "account", entry.client.account_user.as_bytes());
    push_text(out, "host", entry.client.host.as_bytes());
    push_name(out, "schema");
    match entry.database {
        Some(database) => push_json_string(out, database.as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    push_text(out, "command", entry.command.as_bytes());
    if let Some(work) = entry.work {
        let times = [
            ("execution_time", entry.micros()),
            ("lock_time", work.lock_micros),
            ("session_time", entry.session_micros()),
        ];
        for (name, micros) in times {
            push_name(out, name);
            push_seconds(out, micros);
        }
        let numbers = [
            ("rows_examined", work.rows_examined),
            ("rows_sent", work.rows_sent),
            ("rows_affected", work.rows_affected),
            ("warnings", work.warnings),
            ("error", u64::from(work.error)),
        ];
        for (name, number) in numbers {
            push_name(out, name);
            push_number(out, number);
        }
    }
    push_text(out, "text", entry.text);
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Client;

    #[test]
    fn a_line_whatever_the_statement() {
        let client = Client { id: 1, user: "a\"b".into(), ..Default::default() };
        let entry = Entry {
            client: &client,
            query_id: 2,
            command: "Query",
            database: None,
            text: "SELECT '☃\n\0\"}'".as_bytes(),
            start_micros: 0,
            now_micros: 0,
            work: None,
        };
        let mut out = Vec::new();
        push_entry(&mut out, "general", &entry, &Zone::Utc);
        let expected = "{\"time\":\"1970-01-01T00:00:00.000000Z\",\"log\":\"general\",\"session_id\":1,\"query_id\":2,\
            \"user\":\"a\\\"b\",\"account\":\"\",\"host\":\"\",\"schema\":null,\"command\":\"Query\",\
            \"text\":\"SELECT '☃\\n\\u0000\\\"}'\"}\n";
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }
}
