//! The views of `sys` over the history: `sys_history`.

use super::History;
use super::table::{SERVER_ID_TYPE, TS_TYPE, localized, stamps, time_range};
use crate::sys::config::directories;
use crate::views::form::{Form, Style};
use crate::views::source::Tables;
use crate::views::view::{Column, View};
use squall_history_store::Reader;
use squall_registry::{RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_types::temporal::TimeZone;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The schema.
pub(crate) const NAME: &str = "sys_history";

/// One of the views: for each snapshot, in the order of time, what the view makes of it.
#[derive(Debug)]
pub(super) struct ViewTable {
    history: Arc<History>,
    name: String,
    view: &'static View,
    with_units: bool,
    /// `ts`, the view's, and `server_id`, which has to be named.
    columns: Vec<VirtualColumn>,
}

/// The view's columns that histories show, by ordinal.
fn shown(view: &'static View) -> impl Iterator<Item = (usize, &'static Column)> {
    view.columns.iter().enumerate().filter(|(_, column)| !column.is_new)
}

impl ViewTable {
    /// The tables of all views.
    pub fn all(history: &Arc<History>) -> Vec<Arc<dyn VirtualTable>> {
        let views = crate::views::all().filter(|view| view.over_time);
        let tables = views.flat_map(|view| view.variants().map(move |(name, with_units)| (view, name, with_units)));
        tables
            .map(|(view, name, with_units)| {
                let stamp = |name: &'static str, sql_type, invisible| VirtualColumn {
                    name: name.into(),
                    sql_type,
                    nullable: true,
                    invisible,
                };
                let mut columns = vec![stamp("ts", TS_TYPE, false)];
                columns.extend(shown(view).map(|(_, column)| column.declared(with_units)));
                columns.push(stamp("server_id", SERVER_ID_TYPE, true));
                let history = history.clone();
                Arc::new(ViewTable { history, name, view, with_units, columns }) as Arc<dyn VirtualTable>
            })
            .collect()
    }
}

impl VirtualTable for ViewTable {
    fn database(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn order(&self) -> Option<usize> {
        Some(0)
    }

    fn parts(&self, scan: &VirtualScan<'_>) -> SqlResult<RowParts> {
        let zone = scan.context.settings.time_zone.clone();
        let (from, to) = time_range(scan.ranges, 0, &zone);
        let reader = self.history.store()?.reader(from, to, scan.backward);
        let wanted = (0..self.columns.len()).map(|at| scan.wanted.is_none_or(|wanted| wanted.contains(&at))).collect();
        let form = Form { directories: directories(scan.context), ..Form::plain(Style::Clock) };
        Ok(Box::new(Parts { reader, view: self.view, with_units: self.with_units, zone, wanted, form }))
    }
}

/// The rows of one snapshot after the other.
struct Parts {
    reader: Reader,
    view: &'static View,
    with_units: bool,
    zone: Arc<TimeZone>,
    /// Whether each column of the table is looked at.
    wanted: Vec<bool>,
    form: Form,
}

impl Parts {
    fn next_part(&mut self) -> SqlResult<Option<Vec<Vec<Value>>>> {
        let Some(moment) = self.reader.next()? else { return Ok(None) };
        let raw = (self.view.rows)(&mut Tables::Then(&mut self.reader))?;
        let (ts, server_id) = stamps(moment, &self.zone);
        let row = |mut values: Vec<Value>| {
            let mut row = Vec::with_capacity(self.wanted.len());
            row.push(ts.clone());
            for (at, column) in shown(self.view) {
                let value = match self.wanted.get(row.len()) {
                    Some(true) => values.get_mut(at).map(std::mem::take).unwrap_or_default(),
                    _ => Value::Null,
                };
                let value = if let Value::DateTime(_) = value { localized(&value, &self.zone) } else { value };
                row.push(if self.with_units { column.shown(value, &self.form) } else { value });
            }
            row.push(server_id.clone());
            row
        };
        Ok(Some(raw.into_iter().map(row).collect()))
    }
}

impl Iterator for Parts {
    type Item = SqlResult<Vec<Vec<Value>>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_part().transpose()
    }
}
