//! information_schema.ROUTINES and PARAMETERS: the procedures that are part of the server, for those who may run them.

use crate::database::Shared;
use crate::procedure::ProcedureHead;
use squall_catalog::Privileges;
use squall_registry::VirtualScan;
use squall_system_tables::type_facts;
use squall_system_tables::type_text::type_text;
use squall_system_tables::{
    ColumnSpec, Source, TableSpec, int, local_time, long_text, no_rows, s, text, time, u, uint,
};
use squall_types::{CollationId, SqlMode, SqlResult, Value};

pub(super) const ROUTINES_TABLE: TableSpec =
    TableSpec { database: "information_schema", name: "ROUTINES", columns: ROUTINES, rows: no_rows };
pub(super) const PARAMETERS_TABLE: TableSpec =
    TableSpec { database: "information_schema", name: "PARAMETERS", columns: PARAMETERS, rows: no_rows };

const ROUTINES: &[ColumnSpec] = &[
    text("SPECIFIC_NAME", 64),
    text("ROUTINE_CATALOG", 64),
    text("ROUTINE_SCHEMA", 64),
    text("ROUTINE_NAME", 64),
    text("ROUTINE_TYPE", 9),
    long_text("DATA_TYPE").or_null(),
    int("CHARACTER_MAXIMUM_LENGTH").or_null(),
    int("CHARACTER_OCTET_LENGTH").or_null(),
    uint("NUMERIC_PRECISION").or_null(),
    uint("NUMERIC_SCALE").or_null(),
    uint("DATETIME_PRECISION").or_null(),
    text("CHARACTER_SET_NAME", 64).or_null(),
    text("COLLATION_NAME", 64).or_null(),
    long_text("DTD_IDENTIFIER").or_null(),
    text("ROUTINE_BODY", 3),
    long_text("ROUTINE_DEFINITION").or_null(),
    text("EXTERNAL_NAME", 1).or_null(),
    text("EXTERNAL_LANGUAGE", 64),
    text("PARAMETER_STYLE", 3),
    text("IS_DETERMINISTIC", 3),
    text("SQL_DATA_ACCESS", 17),
    text("SQL_PATH", 1).or_null(),
    text("SECURITY_TYPE", 7),
    time("CREATED"),
    time("LAST_ALTERED"),
    text("SQL_MODE", 520),
    long_text("ROUTINE_COMMENT"),
    text("DEFINER", 288),
    text("CHARACTER_SET_CLIENT", 64),
    text("COLLATION_CONNECTION", 64),
    text("DATABASE_COLLATION", 64),
];

const PARAMETERS: &[ColumnSpec] = &[
    text("SPECIFIC_CATALOG", 64),
    text("SPECIFIC_SCHEMA", 64),
    text("SPECIFIC_NAME", 64),
    uint("ORDINAL_POSITION"),
    text("PARAMETER_MODE", 5).or_null(),
    text("PARAMETER_NAME", 64).or_null(),
    long_text("DATA_TYPE").or_null(),
    int("CHARACTER_MAXIMUM_LENGTH").or_null(),
    int("CHARACTER_OCTET_LENGTH").or_null(),
    uint("NUMERIC_PRECISION").or_null(),
    int("NUMERIC_SCALE").or_null(),
    uint("DATETIME_PRECISION").or_null(),
    text("CHARACTER_SET_NAME", 64).or_null(),
    text("COLLATION_NAME", 64).or_null(),
    long_text("DTD_IDENTIFIER"),
    text("ROUTINE_TYPE", 9),
];

/// Who is said to have made what comes with the server.
const DEFINER: &str = "mysql.sys@localhost";

/// Procedures that the reader may run.
fn visible<'a>(shared: &'a Shared, source: &'a Source<'_>) -> impl Iterator<Item = &'a ProcedureHead> {
    let heads = shared.procedures.all().map(|procedure| procedure.head());
    heads.filter(|head| source.access.on_routine(head.database, false, head.name).contains(Privileges::EXECUTE))
}

pub(super) fn routines(shared: &Shared, source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let collation = squall_server_state::charset::collation_name(CollationId::UTF8MB4_0900_AI_CI);
    let row = |head: &ProcedureHead| {
        let mut row = vec![s(head.name), s("def"), s(head.database), s(head.name), s("PROCEDURE")];
        row.push(s(""));
        row.extend(std::iter::repeat_n(Value::Null, 8));
        row.extend([s("SQL"), Value::Null, Value::Null, s("SQL"), s("SQL"), s("NO"), s("MODIFIES SQL DATA")]);
        row.extend([Value::Null, s("INVOKER")]);
        row.extend([made(source, scan), made(source, scan)]);
        row.extend([s(SqlMode::DEFAULT.to_string()), s(head.comment), s(DEFINER)]);
        row.extend([s("utf8mb4"), s(collation), s(collation)]);
        row
    };
    Ok(visible(shared, source).map(row).collect())
}

/// When what comes with the server was made: at its start.
fn made(source: &Source<'_>, scan: &VirtualScan<'_>) -> Value {
    local_time(scan.context, source.state.started_micros)
}

pub(super) fn parameters(shared: &Shared, source: &Source<'_>, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for head in visible(shared, source) {
        for (at, parameter) in head.parameters.iter().enumerate() {
            let mut row = vec![s("def"), s(head.database), s(head.name), u(at as u64 + 1)];
            row.extend([s(parameter.mode.word()), s(parameter.name)]);
            row.extend(type_facts(&parameter.sql_type));
            row.extend([s(type_text(&parameter.sql_type)), s("PROCEDURE")]);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The rows of SHOW PROCEDURE STATUS.
pub(crate) fn procedure_status(shared: &Shared, source: &Source<'_>) -> Vec<Vec<Value>> {
    let collation = squall_server_state::charset::collation_name(CollationId::UTF8MB4_0900_AI_CI);
    let made = local_time(source.context, source.state.started_micros);
    let row = |head: &ProcedureHead| {
        let mut row = vec![s(head.database), s(head.name), s("PROCEDURE"), s("SQL"), s(DEFINER)];
        row.extend([made.clone(), made.clone(), s("INVOKER"), s(head.comment)]);
        row.extend([s("utf8mb4"), s(collation), s(collation)]);
        row
    };
    visible(shared, source).map(row).collect()
}
