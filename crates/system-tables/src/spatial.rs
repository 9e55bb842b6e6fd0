//! ST_GEOMETRY_COLUMNS, ST_SPATIAL_REFERENCE_SYSTEMS, ST_UNITS_OF_MEASURE.

use crate::source::Source;
use crate::spec::{ColumnSpec, TableSpec, double, long_text, s, s_or_null, text, u, uint};
use squall_catalog::TableEntry;
use squall_registry::VirtualScan;
use squall_spatial::srs::{LENGTH_UNITS, SYSTEMS, spatial_reference_system};
use squall_types::{SqlResult, Value};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        database: "information_schema",
        name: "ST_GEOMETRY_COLUMNS",
        columns: GEOMETRY_COLUMNS,
        rows: geometry_columns,
    },
    TableSpec {
        database: "information_schema",
        name: "ST_SPATIAL_REFERENCE_SYSTEMS",
        columns: REFERENCE_SYSTEMS,
        rows: |_, _| Ok(reference_systems()),
    },
    TableSpec { database: "information_schema", name: "ST_UNITS_OF_MEASURE", columns: UNITS, rows: |_, _| Ok(units()) },
];

const GEOMETRY_COLUMNS: &[ColumnSpec] = &[
    text("TABLE_CATALOG", 64),
    text("TABLE_SCHEMA", 64),
    text("TABLE_NAME", 64),
    text("COLUMN_NAME", 64).or_null(),
    text("SRS_NAME", 80).or_null(),
    uint("SRS_ID").or_null(),
    long_text("GEOMETRY_TYPE_NAME").or_null(),
];

const REFERENCE_SYSTEMS: &[ColumnSpec] = &[
    text("SRS_NAME", 80),
    uint("SRS_ID"),
    text("ORGANIZATION", 256).or_null(),
    uint("ORGANIZATION_COORDSYS_ID").or_null(),
    text("DEFINITION", 4096),
    text("DESCRIPTION", 2048).or_null(),
];

const UNITS: &[ColumnSpec] = &[
    text("UNIT_NAME", 255).or_null(),
    text("UNIT_TYPE", 7).or_null(),
    double("CONVERSION_FACTOR").or_null(),
    text("DESCRIPTION", 255).or_null(),
];

fn geometry_columns(source: &Source<'_>, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, name, entry) in source.entries(scan.equal_text(1), scan.equal_text(2)) {
        let TableEntry::Table(table) = entry else { continue };
        for column in table.named_columns() {
            let Some(geometry) = column.sql_type.geometry_type() else { continue };
            if !source.access.sees_column(&database.name, name, &column.name) {
                continue;
            }
            let system = geometry.srid.and_then(|srid| spatial_reference_system(srid).ok());
            rows.push(vec![
                s("def"),
                s(&database.name),
                s(&table.name),
                s(&column.name),
                s_or_null(system.map(|system| system.name)),
                geometry.srid.map_or(Value::Null, |srid| u(u64::from(srid))),
                s(geometry.kind.type_name()),
            ]);
        }
    }
    Ok(rows)
}

fn reference_systems() -> Vec<Vec<Value>> {
    let systems = SYSTEMS.iter();
    systems
        .map(|system| {
            let organization = system.organization;
            vec![
                s(system.name),
                u(u64::from(system.srid)),
                s_or_null(organization.map(|(name, _)| name)),
                organization.map_or(Value::Null, |(_, number)| u(u64::from(number))),
                s(system.definition),
                Value::Null,
            ]
        })
        .collect()
}

fn units() -> Vec<Vec<Value>> {
    let units = LENGTH_UNITS.iter();
    units.map(|(name, metres)| vec![s(*name), s("LINEAR"), Value::Double(*metres), s("")]).collect()
}
