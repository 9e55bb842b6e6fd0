//! The form of Drizzle's query log: a few lines of `#`, the statement on one line, and a `#`.

use crate::entry::Entry;
use crate::text::{push_number, push_on_one_line};
use crate::timestamp::{push_plain, push_seconds};

/// Appends an entry. Times are UTC and, behind `_time`, seconds.
pub fn push_entry(out: &mut Vec<u8>, entry: &Entry<'_>) {
    let work = entry.work.unwrap_or_default();
    out.extend_from_slice(b"# start_ts=");
    push_plain(out, entry.start_micros);
    let numbers = [
        (&b"\n# session_id="[..], entry.client.id),
        (b" query_id=", entry.query_id),
        (b" rows_examined=", work.rows_examined),
        (b" rows_sent=", work.rows_sent),
        (b" tmp_tables=", work.tmp_tables),
        (b" warnings=", work.warnings),
    ];
    for (name, number) in numbers.into_iter().chain(entry.client.parent.map(|parent| (&b" parent_id="[..], parent))) {
        out.extend_from_slice(name);
        push_number(out, number);
    }
    let times = [
        (&b"\n# execution_time="[..], entry.micros()),
        (b" lock_time=", work.lock_micros),
        (b" session_time=", entry.session_micros()),
    ];
    for (name, micros) in times {
        out.extend_from_slice(name);
        push_seconds(out, micros);
    }
    out.extend_from_slice(if work.error == 0 { b"\n# error=false\n" } else { b"\n# error=true\n" });
    out.extend_from_slice(b"# schema=\"");
    push_on_one_line(out, entry.database.unwrap_or_default().as_bytes(), Some(b'"'));
    out.extend_from_slice(b"\"\n");
    push_on_one_line(out, entry.text, None);
    out.extend_from_slice(b";\n#\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Client, Work};

    #[test]
    fn the_form_and_no_way_to_forge_it() {
        let client = Client { id: 1, since_micros: 1_339_837_183_277_295, ..Default::default() };
        let entry = Entry {
            client: &client,
            query_id: 6,
            command: "Query",
            database: Some("test"),
            text: "SELECT '☃\0';\n#\n# start_ts=".as_bytes(),
            start_micros: 1_339_837_200_000_000,
            now_micros: 1_339_837_200_000_315,
            work: Some(Work { lock_micros: 315, ..Default::default() }),
        };
        let mut out = Vec::new();
        push_entry(&mut out, &entry);
        let expected = "# start_ts=2012-06-16T09:00:00.000000\n\
            # session_id=1 query_id=6 rows_examined=0 rows_sent=0 tmp_tables=0 warnings=0\n\
            # execution_time=0.000315 lock_time=0.000315 session_time=16.723020\n\
            # error=false\n\
            # schema=\"test\"\n\
            SELECT '☃\\0';\\n#\\n# start_ts=;\n#\n";
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
    }

    #[test]
    fn whose_child_it_was() {
        let client = Client { id: 12, parent: Some(7), ..Default::default() };
        let entry = Entry {
            client: &client,
            query_id: 1,
            command: "Query",
            database: None,
            text: b"DO 1",
            start_micros: 0,
            now_micros: 0,
            work: None,
        };
        let mut out = Vec::new();
        push_entry(&mut out, &entry);
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(
            text.contains("# session_id=12 query_id=1 rows_examined=0") && text.contains(" warnings=0 parent_id=7\n")
        );
    }
}
