//! SELECT … INTO OUTFILE: one thread writes rows while the query makes the next ones.

use super::file_format::Format;
use super::new_file::NewFile;
use crate::session::{Session, SessionState};
use arrow::record_batch::RecordBatch;
use squall_catalog::{Authorized, Catalog};
use squall_file_formats::text::LineWriter;
use squall_file_formats::{ParquetWriter, Unfit, WriteError};
use squall_functions::arrow_map::value_at;
use squall_instrumentation::process::{Process, Transfer};
use squall_parser::ast::{NamedFormat, OutFile};
use squall_planner::BoundQuery;
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::collation::Charset;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Batches that may wait to be written.
const BATCHES_AHEAD: usize = 2;
const BUFFER_BYTES: usize = 256 << 10;
/// Rows between two looks at the statement's end.
const ROWS_PER_CHECK: usize = 1024;

impl Session {
    /// Writes a query's rows to a file of the server, which appears when it is complete. Returns how many there are.
    pub(super) async fn write_outfile(
        &mut self,
        bound: &Authorized<BoundQuery>,
        file: &OutFile,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<u64> {
        let path = self.server_file(&file.path)?;
        let output = Output {
            names: bound.columns.iter().map(|column| column.name.to_string()).collect(),
            types: bound.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect(),
            form: Form::of(file)?,
            context: context.clone(),
            process: self.process.clone(),
            path,
        };
        let place = self.shared.runtime.waiting_threads().take()?;
        let is_synced = self.syncs_files();
        let (new_file, output) = self
            .blocking(move |_| {
                let new_file = NewFile::create(&output.path).map_err(|error| file_error(&output.path, error))?;
                Ok((new_file.synced(is_synced), output))
            })
            .await?;
        let mut running = self.start_query(bound, context, catalog).await?;
        self.process.transfer.begin(Transfer::Writing);
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let writing = self.shared.runtime.spawn_waiting(place, move || output.write(new_file, batches));
        let limit = bound.calc_found_rows.unwrap_or_default();
        let (first, count) = (limit.offset, limit.count.unwrap_or(u64::MAX));
        let (mut seen, mut failed) = (0u64, None);
        while let Some(batch) = running.stream.next().await {
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            let rows = batch.num_rows() as u64;
            let start = first.saturating_sub(seen).min(rows);
            let end = first.saturating_add(count).saturating_sub(seen).min(rows);
            seen += rows;
            if start < end && sender.send(Some(batch.slice(start as usize, (end - start) as usize))).await.is_err() {
                // The writing task says why it has ended.
                break;
            }
        }
        let ended = self.end_query(running).await;
        if failed.is_none() && ended.is_ok() {
            // The query is complete, so the file may be.
            let _ = sender.send(None).await;
        }
        drop(sender);
        let written = writing.await;
        self.process.transfer.end();
        if let Some(error) = failed {
            return Err(error);
        }
        ended?;
        written.map_err(|error| SqlError::internal(format_args!("writing failed: {error}")))?
    }
}

impl SessionState {
    /// Whether files that statements write are synced (`select_into_disk_sync`).
    pub(super) fn syncs_files(&self) -> bool {
        Values(&self.variables.session).on(ids::SELECT_INTO_DISK_SYNC)
    }
}

/// How rows are written.
enum Form {
    /// As FIELDS and LINES ask for, in that character set.
    Fields(Format, Option<Charset>),
    Named(NamedFormat),
}

impl Form {
    fn of(file: &OutFile) -> SqlResult<Form> {
        let charset = file.charset.as_deref().and_then(Charset::from_name);
        match file.named_format {
            Some(_) if charset.is_some_and(|charset| charset != Charset::Utf8mb4) => {
                Err(SqlError::unsupported("INTO OUTFILE with FORMAT in another CHARACTER SET"))
            }
            Some(named) => Ok(Form::Named(named)),
            None => Ok(Form::Fields(Format::new(&file.format), charset)),
        }
    }
}

/// The state of the writing thread.
struct Output {
    path: PathBuf,
    names: Vec<String>,
    types: Vec<SqlType>,
    form: Form,
    context: Arc<StatementContext>,
    process: Arc<Process>,
}

impl Output {
    /// Writes what comes until `None` says that it is complete; returns the number of rows. Without that the file is given
    /// up.
    fn write(&self, file: NewFile, mut batches: mpsc::Receiver<Option<RecordBatch>>) -> SqlResult<u64> {
        self.write_rows(BufWriter::with_capacity(BUFFER_BYTES, file), &mut batches).map_err(|error| match error {
            WriteError::Io(error) => file_error(&self.path, error),
            WriteError::Sql(error) => error,
        })
    }

    fn write_rows(
        &self,
        mut out: BufWriter<NewFile>,
        batches: &mut mpsc::Receiver<Option<RecordBatch>>,
    ) -> Result<u64, WriteError> {
        let mut rows = 0;
        let types = || self.types.clone();
        let lines = match &self.form {
            Form::Named(NamedFormat::Parquet) => {
                let columns = self.names.iter().cloned().zip(types()).collect();
                let mut writer = ParquetWriter::new(out, columns, (*self.context.settings.time_zone).clone())?;
                while let Some(batch) = next(batches)? {
                    writer.write(batch.columns(), &mut |unfit| self.unfit(&unfit))?;
                    rows += batch.num_rows() as u64;
                    self.process.transfer.add_rows(batch.num_rows() as u64);
                }
                return finish(writer.finish()?).map(|()| rows);
            }
            Form::Named(NamedFormat::Csv) => {
                let mut header = Vec::new();
                LineWriter::header(&self.names, &mut header);
                out.write_all(&header).map_err(WriteError::Io)?;
                Some(LineWriter::csv(types()))
            }
            Form::Named(NamedFormat::NdJson) => {
                self.check_names()?;
                Some(LineWriter::ndjson(&self.names, types()))
            }
            Form::Fields(..) => None,
        };
        let (mut line, mut row) = (Vec::new(), Vec::with_capacity(self.types.len()));
        while let Some(batch) = next(batches)? {
            for at in 0..batch.num_rows() {
                if at % ROWS_PER_CHECK == 0 {
                    self.context.kill.check()?;
                }
                row.clear();
                for (array, sql_type) in batch.columns().iter().zip(&self.types) {
                    row.push(value_at(array, at, sql_type)?);
                }
                line.clear();
                match (&lines, &self.form) {
                    (None, Form::Fields(format, charset)) => format.write_row(&mut line, &row, &self.types, *charset),
                    (lines, _) => lines.iter().for_each(|lines| lines.row(&row, &mut line)),
                }
                out.write_all(&line).map_err(WriteError::Io)?;
            }
            rows += batch.num_rows() as u64;
            self.process.transfer.add_rows(batch.num_rows() as u64);
        }
        finish(out).map(|()| rows)
    }

    /// Members of an object have different names (1060).
    fn check_names(&self) -> SqlResult<()> {
        match self.names.iter().enumerate().find(|(at, name)| self.names[..*at].contains(name)) {
            Some((_, name)) => Err(SqlError::new(ErrorCode::DuplicateFieldName, &[name])),
            None => Ok(()),
        }
    }

    /// A value without a form in Parquet is an error, or NULL and a warning, as for a column that cannot hold a
    /// value.
    fn unfit(&self, unfit: &Unfit<'_>) -> SqlResult<()> {
        if self.context.settings.sql_mode.is_strict() {
            return Err(unfit.error());
        }
        self.context.diagnostics.warn(unfit.error());
        Ok(())
    }
}

/// The next batch; `None` behind the last.
fn next(batches: &mut mpsc::Receiver<Option<RecordBatch>>) -> SqlResult<Option<RecordBatch>> {
    match batches.blocking_recv() {
        Some(batch) => Ok(batch),
        None => Err(SqlError::internal("a query that has ended early")),
    }
}

fn finish(out: BufWriter<NewFile>) -> Result<(), WriteError> {
    let file = out.into_inner().map_err(|error| WriteError::Io(error.into_error()))?;
    file.finish().map_err(WriteError::Io)
}

/// The error of a file that cannot be written: 1086 if it is there.
pub(super) fn file_error(path: &Path, error: std::io::Error) -> SqlError {
    let shown = path.display();
    let number = error.raw_os_error().unwrap_or(0);
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => SqlError::new(ErrorCode::FileExists, &[&shown]),
        _ => SqlError::new(ErrorCode::CantCreateFile, &[&shown, &number, &squall_types::io_error_text(&error)]),
    }
}

/// Writes one value as it is to a new file.
pub(super) fn dump(path: &Path, is_synced: bool, row: &[Value], types: &[SqlType]) -> SqlResult<()> {
    let write = || {
        let mut file = NewFile::create(path)?.synced(is_synced);
        for (value, sql_type) in row.iter().zip(types) {
            let bytes = squall_functions::operators::coerce::to_bytes(value, sql_type);
            file.write_all(&bytes.unwrap_or_default())?;
        }
        file.finish()
    };
    write().map_err(|error| file_error(path, error))
}
