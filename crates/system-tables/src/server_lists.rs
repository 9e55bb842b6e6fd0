//! Tables of `mysql` that tools read, besides those of accounts. Time zones come from the bundled database, lists of plugins and
//! components are empty, and `servers` has the servers of CREATE SERVER. All are read-only.

use crate::grant_tables::password_history;
use crate::source::Source;
use crate::spec::{TableSpec, choice, int, int32, long_text, moment, no_rows, s, small_uint, text, time, u};
use squall_registry::VirtualScan;
use squall_server_state::foreign_servers::{self, ForeignServer};
use squall_types::temporal::TimeZone;
use squall_types::{SqlResult, Value};

const DATABASE: &str = "mysql";

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: DATABASE,
        name: "proxies_priv",
        columns: &[
            text("Host", 255),
            text("User", 32),
            text("Proxied_host", 255),
            text("Proxied_user", 32),
            int32("With_grant"),
            text("Grantor", 288),
            time("Timestamp"),
        ],
        rows: no_rows,
    },
    TableSpec {
        database: DATABASE,
        name: "password_history",
        columns: &[text("Host", 255), text("User", 32), moment("Password_timestamp"), long_text("Password").or_null()],
        rows: password_history,
    },
    TableSpec {
        database: DATABASE,
        name: "func",
        columns: &[text("name", 64), int32("ret"), text("dl", 128), choice("type", &["function", "aggregate"])],
        rows: no_rows,
    },
    TableSpec { database: DATABASE, name: "plugin", columns: &[text("name", 64), text("dl", 128)], rows: no_rows },
    TableSpec {
        database: DATABASE,
        name: "component",
        columns: &[small_uint("component_id"), small_uint("component_group_id"), long_text("component_urn")],
        rows: no_rows,
    },
    TableSpec {
        database: DATABASE,
        name: "servers",
        columns: &[
            text("Server_name", 64),
            text("Host", 255),
            text("Db", 64),
            text("Username", 64),
            text("Password", 64),
            int32("Port"),
            text("Socket", 64),
            text("Wrapper", 64),
            text("Owner", 64),
        ],
        rows: servers,
    },
    TableSpec {
        database: DATABASE,
        name: "time_zone",
        columns: &[small_uint("Time_zone_id"), choice("Use_leap_seconds", &["Y", "N"])],
        rows: |_, _| Ok(numbered_zones().map(|(id, _)| vec![u(id), s("N")]).collect()),
    },
    TableSpec {
        database: DATABASE,
        name: "time_zone_name",
        columns: &[text("Name", 64), small_uint("Time_zone_id")],
        rows: |_, _| Ok(numbered_zones().map(|(id, name)| vec![s(name), u(id)]).collect()),
    },
    TableSpec {
        database: DATABASE,
        name: "time_zone_leap_second",
        columns: &[int("Transition_time"), int32("Correction")],
        rows: no_rows,
    },
    TableSpec {
        database: DATABASE,
        name: "time_zone_transition",
        columns: &[small_uint("Time_zone_id"), int("Transition_time"), small_uint("Transition_type_id")],
        rows: transitions,
    },
    TableSpec {
        database: DATABASE,
        name: "time_zone_transition_type",
        columns: &[
            small_uint("Time_zone_id"),
            small_uint("Transition_type_id"),
            int32("Offset"),
            int32("Is_DST"),
            text("Abbreviation", 8),
        ],
        rows: transition_types,
    },
];

/// Zones in the order of their names, counted from 1.
fn numbered_zones() -> impl Iterator<Item = (u64, String)> {
    (1..).zip(TimeZone::names())
}

/// What a zone's clocks say between two changes.
type ZoneType = (i32, bool, String);

/// The transitions of a zone. Each has the position of its new offset in the zone's list of offsets, which begins with the offset
/// before the first transition.
fn changes_of(name: &str) -> (Vec<ZoneType>, Vec<(i64, u64)>) {
    let mut types: Vec<ZoneType> = Vec::new();
    let mut changes = Vec::new();
    for change in TimeZone::changes(name) {
        let said = (change.offset_seconds, change.is_dst, change.abbreviation);
        let at = types.iter().position(|known| *known == said).unwrap_or_else(|| {
            types.push(said);
            types.len() - 1
        });
        changes.extend(change.unix_seconds.map(|seconds| (seconds, at as u64)));
    }
    (types, changes)
}

fn transitions(_: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (id, name) in numbered_zones() {
        let (_, changes) = changes_of(&name);
        rows.extend(changes.into_iter().map(|(seconds, at)| vec![u(id), Value::Int(seconds), u(at)]));
    }
    Ok(rows)
}

fn transition_types(_: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (id, name) in numbered_zones() {
        let (types, _) = changes_of(&name);
        rows.extend((0..).zip(types).map(|(at, (offset, is_dst, abbreviation))| {
            let numbers = [i64::from(offset), i64::from(is_dst)].map(Value::Int);
            let [offset, is_dst] = numbers;
            vec![u(id), u(at), offset, is_dst, s(abbreviation)]
        }));
    }
    Ok(rows)
}

/// What CREATE SERVER has named.
fn servers(source: &Source<'_>, _: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |server: ForeignServer| {
        vec![
            s(server.name),
            s(server.host),
            s(server.database),
            s(server.user),
            s(server.password),
            Value::Int(i64::from(server.port)),
            s(server.socket),
            s(server.wrapper),
            s(server.owner),
        ]
    };
    Ok(foreign_servers::all(&*source.state.store)?.into_iter().map(row).collect())
}
