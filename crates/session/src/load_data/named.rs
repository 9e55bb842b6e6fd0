//! LOAD DATA … FORMAT CSV, NDJSON or PARQUET: files whose fields have names. They are converted to LOAD DATA's default format, and then
//! loaded like other files.

use super::feed::{CHUNK_BYTES, open_error, read_error};
use crate::database::TEMPORARY_FOLDER;
use crate::result::writer::ResultWriter;
use crate::session::Session;
use squall_file_formats::{FieldKind, FileFormat, ParquetRows, Record, Records, RowsError, member_names};
use squall_instrumentation::process::Process;
use squall_parser::ast::{ColumnName, LoadData, LoadSource, NamedFormat, VariableTarget};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;

/// Objects of a file that tell which columns there are.
const RECORDS_LOOKED_AT: usize = 1000;
/// Rows between two looks at how far a Parquet file has been read.
const ROWS_PER_LOOK: u64 = 1024;

/// An open file and its properties.
pub(super) struct NamedFile {
    /// As the statement has it.
    path: String,
    bytes: u64,
    names: Vec<String>,
    content: Content,
}

enum Content {
    Text(File, FileFormat),
    Parquet(Box<ParquetRows>),
}

impl Session {
    /// Opens the file, the client's after all of it has come.
    pub(super) async fn open_named(
        &mut self,
        statement: &LoadData,
        format: NamedFormat,
        context: &Arc<StatementContext>,
        writer: &mut dyn ResultWriter,
    ) -> SqlResult<NamedFile> {
        let path = statement.path.to_string();
        let spool = match statement.source {
            LoadSource::Server => None,
            LoadSource::Client => Some(self.spool(statement, writer).await?),
            LoadSource::Url => Some(self.spool_url(statement, context).await?),
        };
        if let Some(spool) = spool {
            return self.blocking(move |_| NamedFile::open(spool, path, format)).await;
        }
        let full = self.server_file(&path)?;
        self.waiting(move |_| {
            let file = File::open(&full).map_err(|error| open_error(&full, &error))?;
            NamedFile::open(file, path, format)
        })
        .await
    }

    /// What a URL names, in a file without a name.
    async fn spool_url(&mut self, statement: &LoadData, context: &Arc<StatementContext>) -> SqlResult<File> {
        let mut source = self.open_url(statement, context).await?;
        let (folder, process) = (self.shared.directory.join(TEMPORARY_FOLDER), self.process.clone());
        self.waiting(move |_| {
            let mut spool = tempfile::tempfile_in(folder).map_err(|error| spool_error("of the URL", &error))?;
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let length = source.read(&mut chunk).map_err(read_error)?;
                if length == 0 {
                    return Ok(spool);
                }
                process.transfer.add_bytes(length);
                let piece = chunk.get(..length).unwrap_or_default();
                spool.write_all(piece).map_err(|error| spool_error("of the URL", &error))?;
            }
        })
        .await
    }

    /// A client's file in one without a name, since formats are not read from the beginning to the end.
    async fn spool(&mut self, statement: &LoadData, writer: &mut dyn ResultWriter) -> SqlResult<File> {
        self.check_local_infile()?;
        let folder = self.shared.directory.join(TEMPORARY_FOLDER);
        let written = |error: io::Error| spool_error("of the client", &error);
        let mut file = self.blocking(move |_| tempfile::tempfile_in(folder).map_err(written)).await;
        writer.local_infile(&statement.path).await?;
        // The client sends its file whatever happens here: it is read to the end.
        while let Some(chunk) = writer.local_infile_chunk().await? {
            file = match file {
                Ok(mut open) => self.blocking(move |_| open.write_all(&chunk).map(|()| open).map_err(written)).await,
                failed => failed,
            };
        }
        file
    }
}

fn spool_error(whose: &str, error: &io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    SqlError::new(ErrorCode::ErrorOnWrite, &[&whose, &number, &squall_types::io_error_text(error)])
}

impl NamedFile {
    fn open(mut file: File, path: String, format: NamedFormat) -> SqlResult<NamedFile> {
        let bytes = file.metadata().map_or(0, |found| found.len());
        let wrong = |reason: String| wrong_file(&path, &reason);
        let read = |error: io::Error| wrong(error.to_string());
        file.seek(SeekFrom::Start(0)).map_err(read)?;
        let text = |file: &File, format| -> SqlResult<Records> {
            Ok(Records::new(Box::new(BufReader::new(file.try_clone().map_err(read)?)), format, b','))
        };
        let (names, content) = match format {
            NamedFormat::Parquet => {
                let rows = ParquetRows::open(file).map_err(wrong)?;
                (rows.names().to_vec(), Content::Parquet(Box::new(rows)))
            }
            NamedFormat::Csv => {
                let mut records = text(&file, FileFormat::Csv)?;
                let mut record = Record::default();
                let names = match records.next(&mut record).map_err(read)? {
                    true => records.names(&record).map_err(|reason| wrong(format!("line 1: {reason}")))?,
                    false => Vec::new(),
                };
                (names, Content::Text(file, FileFormat::Csv))
            }
            NamedFormat::NdJson => {
                let names = member_names(&mut text(&file, FileFormat::Ndjson)?, RECORDS_LOOKED_AT).map_err(wrong)?;
                (names, Content::Text(file, FileFormat::Ndjson))
            }
        };
        Ok(NamedFile { path, bytes, names, content })
    }

    /// The statement with the file's names as its list of columns, unless it has one.
    pub(super) fn with_columns(&self, statement: &LoadData) -> LoadData {
        let mut statement = statement.clone();
        if statement.columns.is_empty() {
            let column = |name: &String| VariableTarget::Local(ColumnName::new(name.as_str()));
            statement.columns = self.names.iter().map(column).collect();
        }
        statement
    }

    /// Sends the text of these columns until its end, which an empty piece tells, or until the receiver is gone.
    pub(super) fn send(
        self,
        columns: Vec<(String, FieldKind)>,
        sender: &mpsc::Sender<Vec<u8>>,
        process: &Process,
    ) -> SqlResult<()> {
        let NamedFile { path, bytes, names, content } = self;
        process.transfer.set_bytes_total(bytes);
        match content {
            Content::Parquet(rows) => send_parquet(*rows, &columns, bytes, sender, process),
            Content::Text(file, format) => send_text(file, format, &names, columns, sender, process),
        }
        .map_err(|reason| wrong_file(&path, &reason))
    }
}

fn send_parquet(
    mut rows: ParquetRows,
    columns: &[(String, FieldKind)],
    bytes: u64,
    sender: &mpsc::Sender<Vec<u8>>,
    process: &Process,
) -> Result<(), String> {
    rows.select(columns)?;
    send_pieces(sender, |piece| {
        let more = rows.next(piece).map_err(|error| match error {
            RowsError::Row(reason) => format!("row {}: {reason}", rows.rows()),
            RowsError::File(reason) => reason,
        })?;
        if rows.rows().is_multiple_of(ROWS_PER_LOOK) || !more {
            let read = u128::from(bytes) * u128::from(rows.rows()) / u128::from(rows.rows_total().max(1));
            process.transfer.set_bytes(u64::try_from(read).unwrap_or(bytes));
        }
        Ok(more)
    })
}

fn send_text(
    mut file: File,
    format: FileFormat,
    names: &[String],
    columns: Vec<(String, FieldKind)>,
    sender: &mpsc::Sender<Vec<u8>>,
    process: &Process,
) -> Result<(), String> {
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    let read = Arc::new(AtomicU64::new(0));
    let input = BufReader::with_capacity(CHUNK_BYTES, Counting { file, read: read.clone() });
    let (columns, kinds): (Vec<String>, Vec<FieldKind>) = columns.into_iter().unzip();
    let mut records = Records::new(Box::new(input), format, b',')
        .with_kinds(kinds)
        .with_field_count(names.len())
        .with_other_members();
    let mut record = Record::default();
    if format == FileFormat::Csv {
        let mut fields = Vec::with_capacity(columns.len());
        for column in &columns {
            let position = names.iter().position(|name| name.eq_ignore_ascii_case(column));
            fields.push(position.ok_or_else(|| format!("it has no column '{column}'"))?);
        }
        if !fields.iter().copied().eq(0..names.len()) {
            records = records.with_fields(fields);
        }
        records.next(&mut record).map_err(|error| error.to_string())?;
    }
    send_pieces(sender, |piece| {
        process.transfer.set_bytes(read.load(Ordering::Relaxed));
        if !records.next(&mut record).map_err(|error| error.to_string())? {
            return Ok(false);
        }
        let encoded = records.encode(&record, b"", &columns, piece);
        encoded.map(|()| true).map_err(|reason| format!("line {}: {reason}", record.line))
    })
}

/// Sends what `append` makes of row after row until it says that there are no more.
fn send_pieces(
    sender: &mpsc::Sender<Vec<u8>>,
    mut append: impl FnMut(&mut Vec<u8>) -> Result<bool, String>,
) -> Result<(), String> {
    loop {
        let mut piece = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        let mut more = true;
        while more && piece.len() < CHUNK_BYTES {
            more = append(&mut piece)?;
        }
        if !piece.is_empty() && sender.blocking_send(piece).is_err() {
            return Ok(());
        }
        if !more {
            // An empty piece says that the text is complete; a receiver that is gone knows why.
            let _ = sender.blocking_send(Vec::new());
            return Ok(());
        }
    }
}

fn wrong_file(path: &str, reason: &str) -> SqlError {
    SqlError::with_message(ErrorCode::NotFormFile, format!("Incorrect information in file: '{path}' ({reason})"))
}

/// Counts what is read.
struct Counting {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}
