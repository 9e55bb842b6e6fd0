//! SELECT … INTO variables and files.

use super::outfile::dump;
use crate::authorization::grants::require_server;
use crate::program_errors::no_data;
use crate::result::Outcome;
use crate::session::Session;
use squall_catalog::{AccessMap, AccountKey, Authorized, Catalog, NameKey, Privileges};
use squall_functions::operators::coerce::to_text;
use squall_parser::ast::{FileFormat, SelectInto, VariableTarget};
use squall_planner::BoundQuery;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::{StatementContext, held_by_variable};
use squall_types::collation::Charset;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Session {
    pub(super) async fn select_into(
        &mut self,
        bound: Authorized<BoundQuery>,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<Outcome> {
        let Some(into) = bound.into.clone() else { return Ok(Outcome::done()) };
        if !matches!(into, SelectInto::Variables(_)) {
            require_server(&self.security(), Privileges::FILE, &[], "FILE")?;
        }
        match &into {
            SelectInto::Variables(targets) if targets.len() != bound.columns.len() => {
                return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
            }
            SelectInto::OutFile(file) => {
                let rows = self.write_outfile(&bound, file, context, catalog).await?;
                return Ok(Outcome::affected(rows));
            }
            SelectInto::DumpFile(path) => {
                self.server_file(path)?;
            }
            SelectInto::Variables(_) => {}
        }
        let types: Vec<SqlType> = bound.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect();
        /// The second one is an error, and the rest does not matter.
        const ROWS_MAX: usize = 2;
        let rows = self.collect_rows(&bound, context, catalog, ROWS_MAX).await?;
        let count = rows.len() as u64;
        if rows.len() > 1 {
            return Err(SqlError::new(ErrorCode::TooManyRows, &[]));
        }
        let row = rows.into_iter().next();
        match into {
            SelectInto::Variables(targets) => match row {
                Some(row) => self.assign_variables(&targets, row, types, context)?,
                None => context.diagnostics.warn(no_data()),
            },
            SelectInto::DumpFile(path) => {
                let (path, is_synced) = (self.server_file(&path)?, self.syncs_files());
                self.blocking(move |_| dump(&path, is_synced, &row.unwrap_or_default(), &types)).await?;
            }
            SelectInto::OutFile(_) => {}
        }
        Ok(Outcome::affected(count))
    }

    fn assign_variables(
        &mut self,
        targets: &[VariableTarget],
        row: Vec<Value>,
        types: Vec<SqlType>,
        context: &StatementContext,
    ) -> SqlResult<()> {
        for ((target, value), sql_type) in targets.iter().zip(row).zip(types) {
            match target {
                VariableTarget::User(name) => {
                    let (value, sql_type) = held_by_variable(value, sql_type);
                    self.user_variables.assign(NameKey::new(name), value, sql_type)?;
                }
                VariableTarget::Local(name) => self.set_target(name, (value, &sql_type), context)?,
            }
        }
        Ok(())
    }

    /// See [`server_file`].
    pub(crate) fn server_file(&self, path: &str) -> SqlResult<PathBuf> {
        server_file(&self.shared, &self.identity.account, &self.identity.access, path)
    }
}

/// A file of the server that an account may read or write: FILE and `secure_file_priv` have to allow it.
pub(crate) fn server_file(
    shared: &crate::database::Shared,
    account: &AccountKey,
    access: &AccessMap,
    path: &str,
) -> SqlResult<PathBuf> {
    if !access.global.contains(Privileges::FILE) {
        return Err(shared.accounts.load_now().access_denied(account));
    }
    let globals = shared.globals.load_values();
    let refused = || SqlError::new(ErrorCode::OptionPreventsStatement, &[&"--secure-file-priv"]);
    let directory = Values(&globals).text_or_null(ids::SECURE_FILE_PRIV).ok_or_else(refused)?;
    let full = if Path::new(path).is_absolute() { PathBuf::from(path) } else { shared.directory.join(path) };
    if directory.is_empty() {
        return Ok(full);
    }
    // What the path means once links and `..` are resolved decides.
    let parent = full.parent().unwrap_or(Path::new("/"));
    // A file that is to be made is where its folder is; one that is there may be a link.
    let resolved = full.canonicalize().or_else(|_| parent.canonicalize());
    let inside = match (resolved, Path::new(directory).canonicalize()) {
        (Ok(resolved), Ok(directory)) => resolved.starts_with(directory),
        _ => false,
    };
    if inside { Ok(full) } else { Err(refused()) }
}

/// FIELDS and LINES with their defaults in place.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    pub fields_terminated: Vec<u8>,
    pub enclosed: Option<u8>,
    pub optionally_enclosed: bool,
    pub escaped: Option<u8>,
    pub lines_starting: Vec<u8>,
    pub lines_terminated: Vec<u8>,
    /// The text of a field that is NULL; LOAD DATA only.
    pub null_text: Option<Vec<u8>>,
    /// The least number of fields of a line; missing fields are NULL; LOAD DATA only.
    pub fields_min: usize,
}

impl Format {
    pub fn new(format: &FileFormat) -> Format {
        let bytes = |text: &Option<squall_parser::ast::SqlString>, default: &[u8]| {
            text.as_ref().map_or_else(|| default.to_vec(), |text| text.as_bytes().to_vec())
        };
        Format {
            fields_terminated: bytes(&format.fields_terminated, b"\t"),
            enclosed: format.fields_enclosed.as_ref().and_then(|text| text.as_bytes().first().copied()),
            optionally_enclosed: format.fields_optionally_enclosed,
            escaped: bytes(&format.fields_escaped, b"\\").first().copied(),
            lines_starting: bytes(&format.lines_starting, b""),
            lines_terminated: bytes(&format.lines_terminated, b"\n"),
            null_text: None,
            fields_min: 0,
        }
    }

    /// Appends a row.
    pub(super) fn write_row(&self, out: &mut Vec<u8>, row: &[Value], types: &[SqlType], charset: Option<Charset>) {
        out.extend_from_slice(&self.lines_starting);
        for (at, (value, sql_type)) in row.iter().zip(types).enumerate() {
            if at > 0 {
                out.extend_from_slice(&self.fields_terminated);
            }
            self.write_value(out, value, sql_type, charset);
        }
        out.extend_from_slice(&self.lines_terminated);
    }

    fn write_value(&self, out: &mut Vec<u8>, value: &Value, sql_type: &SqlType, charset: Option<Charset>) {
        if value.is_null() {
            return match self.escaped {
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            };
        }
        let is_text = matches!(value, Value::String(_) | Value::Bytes(_) | Value::Json(_))
            || matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. })
            || sql_type.is_temporal();
        let enclosed = self.enclosed.filter(|_| !self.optionally_enclosed || is_text);
        if let Some(quote) = enclosed {
            out.push(quote);
        }
        let bytes = match (value, charset) {
            (Value::Bytes(bytes), _) if sql_type.digit_bytes().is_none() => bytes.clone(),
            (_, None) => to_text(value, sql_type).unwrap_or_default().into_owned().into_bytes(),
            (_, Some(charset)) => {
                let mut encoded = Vec::new();
                charset.encode(&to_text(value, sql_type).unwrap_or_default(), &mut encoded);
                encoded
            }
        };
        for byte in bytes {
            if self.needs_escape(byte, enclosed) {
                let escape = self.escaped.unwrap_or(b'\\');
                let written = if byte == 0 { b'0' } else { byte };
                out.extend_from_slice(&[escape, written]);
            } else {
                out.push(byte);
            }
        }
        if let Some(quote) = enclosed {
            out.push(quote);
        }
    }

    fn needs_escape(&self, byte: u8, enclosed: Option<u8>) -> bool {
        let Some(escape) = self.escaped else { return false };
        byte == 0
            || byte == escape
            || match enclosed {
                Some(quote) => byte == quote,
                None => self.fields_terminated.first() == Some(&byte) || self.lines_terminated.first() == Some(&byte),
            }
    }
}
