//! The configuration: the variables of the server.

use super::{NdbTable, Rows, node};
use crate::source::Source;
use crate::spec::{s, s_or_null, u};
use crate::variables::{data_type, range, shown};
use squall_registry::VirtualScan;

pub(super) const TABLES: &[NdbTable] = &[
    NdbTable {
        name: "config_params",
        comment: "parameters of the configuration",
        columns: "param_number:w param_name:v512 param_description:v2048 param_type:v512 param_default:v2048? param_min:v512? \
                  param_max:v512? param_mandatory:w param_status:v512",
        rows: params,
    },
    NdbTable {
        name: "config_values",
        comment: "values of the parameters of the configuration",
        columns: "node_id:w config_param:w config_value:v2048?",
        rows: values,
    },
];

fn params(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let rows = shown(source).map(|variable| {
        let definition = variable.definition;
        let (min, max) = range(definition.kind).unzip();
        let mut row = vec![u(u64::from(variable.id.0)), s(definition.name), s(definition.doc)];
        row.extend([s(data_type(definition.kind)), variable.default_value(), s_or_null(min), s_or_null(max)]);
        row.extend([u(0), s("")]);
        row
    });
    Ok(rows.collect())
}

fn values(source: &Source<'_>, _: &VirtualScan<'_>) -> Rows {
    let global = shown(source).filter(|variable| variable.definition.has_global());
    Ok(global.map(|variable| vec![node(), u(u64::from(variable.id.0)), variable.global_value(source)]).collect())
}
