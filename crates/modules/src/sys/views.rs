//! The views of `sys`: [`crate::views`] applied to the current tables.

use super::DATABASE;
use super::config::form;
use super::source::Source;
use crate::views::source::Tables;
use crate::views::view::View;
use squall_registry::{VirtualColumn, VirtualScan, VirtualTable};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// One of the views.
#[derive(Debug)]
struct SysView {
    source: Source,
    name: String,
    view: &'static View,
    with_units: bool,
    columns: Vec<VirtualColumn>,
}

/// All of them.
pub(super) fn all(source: &Source) -> Vec<Arc<dyn VirtualTable>> {
    let views =
        crate::views::all().flat_map(|view| view.variants().map(move |(name, with_units)| (view, name, with_units)));
    views
        .map(|(view, name, with_units)| {
            let columns = view.columns.iter().map(|column| column.declared(with_units)).collect();
            let source = source.clone();
            Arc::new(SysView { source, name, view, with_units, columns }) as Arc<dyn VirtualTable>
        })
        .collect()
}

impl VirtualTable for SysView {
    fn database(&self) -> &str {
        DATABASE
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn rows(&self, scan: &VirtualScan<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let database = self.source.database()?;
        let mut tables = Tables::Now { database: &database, context: scan.context };
        let rows = (self.view.rows)(&mut tables)?;
        if !self.with_units {
            return Ok(rows);
        }
        let form = form(scan.context);
        let shown = |row: Vec<Value>| {
            let values = row.into_iter().zip(self.view.columns);
            values.map(|(value, column)| column.shown(value, &form)).collect()
        };
        Ok(rows.into_iter().map(shown).collect())
    }
}
