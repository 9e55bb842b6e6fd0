//! SELECT … INTO variables and files.

use super::named_format::{write_csv, write_ndjson};
use crate::result::Outcome;
use crate::session::Session;
use crate::settings::{Values, ids};
use squall_catalog::{AccessMap, AccountKey, Catalog, NameKey, Privileges};
use squall_functions::operators::coerce::{to_bytes, to_text};
use squall_parser::ast::{FileFormat, NamedFormat, OutFile, SelectInto, VariableTarget};
use squall_planner::BoundQuery;
use squall_registry::StatementContext;
use squall_types::collation::Charset;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Session {
    pub(super) async fn select_into(
        &mut self,
        bound: BoundQuery,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<Outcome> {
        let Some(into) = bound.into.clone() else { return Ok(Outcome::done()) };
        match &into {
            SelectInto::Variables(targets) if targets.len() != bound.columns.len() => {
                return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
            }
            SelectInto::OutFile(file) => {
                self.server_file(&file.path)?;
                let charset = file.charset.as_deref().and_then(Charset::from_name).unwrap_or(Charset::Utf8mb4);
                match file.named_format {
                    Some(NamedFormat::Parquet) => {
                        return Err(SqlError::unsupported("INTO OUTFILE with FORMAT PARQUET"));
                    }
                    Some(_) if charset != Charset::Utf8mb4 => {
                        return Err(SqlError::unsupported("INTO OUTFILE with FORMAT in another CHARACTER SET"));
                    }
                    _ => {}
                }
            }
            SelectInto::DumpFile(path) => {
                self.server_file(path)?;
            }
            SelectInto::Variables(_) => {}
        }
        let types: Vec<SqlType> = bound.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect();
        let names: Vec<String> = bound.columns.iter().map(|column| column.name.to_string()).collect();
        let rows = self.collect_rows(&bound, context, catalog).await?;
        let count = rows.len() as u64;
        match into {
            SelectInto::Variables(targets) => {
                if rows.len() > 1 {
                    return Err(SqlError::new(ErrorCode::TooManyRows, &[]));
                }
                match rows.into_iter().next() {
                    Some(row) => self.assign_variables(&targets, row, types)?,
                    None => context.diagnostics.warn(SqlError {
                        code: 1329,
                        sqlstate: *b"02000",
                        message: "No data - zero rows fetched, selected, or processed".to_string(),
                    }),
                }
            }
            SelectInto::OutFile(file) => {
                let path = self.server_file(&file.path)?;
                self.blocking(move |_| {
                    write_file(&path, |out| match file.named_format {
                        Some(NamedFormat::NdJson) => write_ndjson(out, &names, &rows, &types),
                        Some(NamedFormat::Csv | NamedFormat::Parquet) => write_csv(out, &names, &rows, &types),
                        None => write_rows(out, &file, &rows, &types),
                    })
                })
                .await?;
            }
            SelectInto::DumpFile(path) => {
                if rows.len() > 1 {
                    return Err(SqlError::new(ErrorCode::TooManyRows, &[]));
                }
                let path = self.server_file(&path)?;
                self.blocking(move |_| {
                    write_file(&path, |out| {
                        for (value, sql_type) in rows.iter().flatten().zip(&types) {
                            out.write_all(&to_bytes(value, sql_type).unwrap_or_default())?;
                        }
                        Ok(())
                    })
                })
                .await?;
            }
        }
        Ok(Outcome::affected(count))
    }

    fn assign_variables(&mut self, targets: &[VariableTarget], row: Vec<Value>, types: Vec<SqlType>) -> SqlResult<()> {
        let mut variables = self.user_variables.lock();
        for ((target, value), sql_type) in targets.iter().zip(row).zip(types) {
            match target {
                VariableTarget::User(name) => {
                    variables.insert(NameKey::new(name), (value, sql_type));
                }
                VariableTarget::Local(name) => {
                    let message = format!("Undeclared variable: {}", name.column.as_str());
                    return Err(SqlError { code: 1327, sqlstate: *b"42000", message });
                }
            }
        }
        Ok(())
    }

    /// See [`server_file`].
    pub(crate) fn server_file(&self, path: &str) -> SqlResult<PathBuf> {
        server_file(&self.shared, &self.account, &self.access, path)
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
        return Err(SqlError::new(ErrorCode::AccessDenied, &[&account.user, &account.host, &"YES"]));
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

/// Writes a new file (1086 if it is there).
fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<std::fs::File>) -> std::io::Result<()>) -> SqlResult<()> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        let number = error.raw_os_error().unwrap_or(0);
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => SqlError::new(ErrorCode::FileExists, &[&shown]),
            _ => SqlError {
                code: 1,
                sqlstate: *b"HY000",
                message: format!("Can't create/write to file '{shown}' (OS errno {number} - {error})"),
            },
        }
    };
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    let mut out = BufWriter::new(file);
    write(&mut out).and_then(|()| out.flush()).map_err(failed)
}

/// Rows in the form that FIELDS and LINES ask for.
fn write_rows(out: &mut impl Write, file: &OutFile, rows: &[Vec<Value>], types: &[SqlType]) -> std::io::Result<()> {
    let format = Format::new(&file.format);
    let charset = file.charset.as_deref().and_then(Charset::from_name);
    for row in rows {
        out.write_all(&format.lines_starting)?;
        for (at, (value, sql_type)) in row.iter().zip(types).enumerate() {
            if at > 0 {
                out.write_all(&format.fields_terminated)?;
            }
            format.write_value(out, value, sql_type, charset)?;
        }
        out.write_all(&format.lines_terminated)?;
    }
    Ok(())
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
    /// Fields that a line has at least, for those that are missing are NULL; LOAD DATA only.
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

    fn write_value(
        &self,
        out: &mut impl Write,
        value: &Value,
        sql_type: &SqlType,
        charset: Option<Charset>,
    ) -> std::io::Result<()> {
        if value.is_null() {
            return match self.escaped {
                Some(escape) => out.write_all(&[escape, b'N']),
                None => out.write_all(b"NULL"),
            };
        }
        let is_text = matches!(value, Value::String(_) | Value::Bytes(_) | Value::Json(_))
            || matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. })
            || sql_type.is_temporal();
        let enclosed = self.enclosed.filter(|_| !self.optionally_enclosed || is_text);
        if let Some(quote) = enclosed {
            out.write_all(&[quote])?;
        }
        let bytes = match (value, charset) {
            (Value::Bytes(bytes), _) => bytes.clone(),
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
                out.write_all(&[escape, written])?;
            } else {
                out.write_all(&[byte])?;
            }
        }
        if let Some(quote) = enclosed {
            out.write_all(&[quote])?;
        }
        Ok(())
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
