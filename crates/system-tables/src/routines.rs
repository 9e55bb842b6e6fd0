//! information_schema.ROUTINES and PARAMETERS, and the rows of SHOW PROCEDURE STATUS.

use crate::routine_view::{RoutineView, routine_views};
use crate::type_text::type_text;
use crate::{ColumnSpec, Source, TableSpec, int, local_time, long_text, s, text, time, type_facts, u, uint};
use squall_catalog::RoutineKind;
use squall_registry::VirtualScan;
use squall_types::{SqlResult, SqlType, Value};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec { database: "information_schema", name: "ROUTINES", columns: ROUTINES, rows: routines },
    TableSpec { database: "information_schema", name: "PARAMETERS", columns: PARAMETERS, rows: parameters },
];

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
    text("ROUTINE_BODY", 8),
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

fn routines(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let row = |view: RoutineView| {
        let mut row = vec![s(&*view.name), s("def"), s(&*view.database), s(&*view.name), s(view.kind.word())];
        match &view.returns {
            None => {
                row.push(s(""));
                row.extend(std::iter::repeat_n(Value::Null, 8));
            }
            Some(returns) => {
                row.extend(type_facts(returns));
                row.push(s(type_text(returns)));
            }
        }
        let external = view.external();
        let (kind, language) =
            external.as_ref().map_or(("SQL", "SQL"), |(language, _)| ("EXTERNAL", language.as_str()));
        let source = external.as_ref().map(|(_, source)| source.as_str()).or(view.body.as_deref());
        row.extend([s(kind), source.map_or(Value::Null, s), Value::Null, s(language), s("SQL")]);
        row.extend([s(if view.deterministic { "YES" } else { "NO" }), s(view.data_access.clause()), Value::Null]);
        row.push(s(view.security()));
        row.extend([view.created_micros, view.altered_micros].map(|micros| local_time(scan.context, micros)));
        row.extend([s(&*view.sql_mode), s(&*view.comment), s(view.definer_text())]);
        row.extend([s(&*view.client_charset), s(&*view.connection_collation), s(&*view.database_collation)]);
        row
    };
    Ok(routine_views(source).into_iter().map(row).collect())
}

fn parameters(source: &Source<'_>, _scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for view in routine_views(source) {
        let mut add = |at: u64, mode: Value, name: Value, sql_type: &SqlType| {
            let mut row = vec![s("def"), s(&*view.database), s(&*view.name), u(at), mode, name];
            row.extend(type_facts(sql_type));
            row.extend([s(type_text(sql_type)), s(view.kind.word())]);
            rows.push(row);
        };
        if let Some(returns) = &view.returns {
            add(0, Value::Null, Value::Null, returns);
        }
        for (at, parameter) in view.parameters.iter().enumerate() {
            add(at as u64 + 1, s(parameter.mode.word()), s(&*parameter.name), &parameter.sql_type);
        }
    }
    Ok(rows)
}

/// The rows of SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
pub fn routine_status(source: &Source<'_>, kind: RoutineKind) -> Vec<Vec<Value>> {
    let row = |view: RoutineView| {
        let mut row =
            vec![s(&*view.database), s(&*view.name), s(kind.word()), s(view.language()), s(view.definer_text())];
        row.extend([view.altered_micros, view.created_micros].map(|micros| local_time(source.context, micros)));
        row.extend([s(view.security()), s(&*view.comment)]);
        row.extend([s(&*view.client_charset), s(&*view.connection_collation), s(&*view.database_collation)]);
        row
    };
    routine_views(source).into_iter().filter(|view| view.kind == kind).map(row).collect()
}
