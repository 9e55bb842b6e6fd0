//! The source of the text: a file of the server, the client, or a URL.

use super::xml::XmlRows;
use crate::result::writer::ResultWriter;
use crate::session::Session;
use squall_instrumentation::process::Process;
use squall_parser::ast::{LoadData, LoadSource};
use squall_server_state::variables::{Values, ids};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Text of a piece, about.
pub(super) const CHUNK_BYTES: usize = 512 << 10;

impl Session {
    /// Sends the text, or what `rows` makes of it, to the loading thread until its end, which an empty piece tells, or until that thread
    /// stops.
    pub(super) async fn feed(
        &mut self,
        statement: &LoadData,
        mut rows: Option<XmlRows>,
        sender: mpsc::Sender<Vec<u8>>,
        context: &Arc<StatementContext>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), SqlError> {
        let source: Box<dyn Read + Send> = match statement.source {
            LoadSource::Client => return self.feed_from_client(statement, rows, sender, writer).await,
            LoadSource::Url => self.open_url(statement, context).await?,
            LoadSource::Server => {
                let path = self.server_file(&statement.path)?;
                let open = move || {
                    let file = std::fs::File::open(&path).map_err(|error| open_error(&path, &error))?;
                    Ok((file.metadata().map_or(0, |found| found.len()), ServerFile { path, file }))
                };
                let (length, file) = self.waiting(move |_| open()).await?;
                self.process.transfer.set_bytes_total(length);
                Box::new(file)
            }
        };
        let process = self.process.clone();
        self.waiting(move |_| send_all(source, &mut rows, &sender, &process)).await
    }

    /// Opens the source at the URL of a statement.
    ///
    /// # Errors
    /// 1235 without a module that reads URLs; the module's.
    pub(super) async fn open_url(
        &mut self,
        statement: &LoadData,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Box<dyn Read + Send>> {
        let source = self.shared.modules.iter().find_map(|module| module.url_source());
        let source =
            source.ok_or_else(|| SqlError::unsupported("LOAD DATA FROM URL without a module that reads URLs"))?;
        let (url, context) = (statement.path.to_string(), context.clone());
        self.waiting(move |_| source.open(&url, &context)).await
    }

    async fn feed_from_client(
        &mut self,
        statement: &LoadData,
        mut rows: Option<XmlRows>,
        sender: mpsc::Sender<Vec<u8>>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), SqlError> {
        self.check_local_infile()?;
        writer.local_infile(&statement.path).await?;
        let mut sender = Some(sender);
        let mut made = Ok(());
        // The client sends its file whatever happens here: it is read to the end.
        while let Some(chunk) = writer.local_infile_chunk().await? {
            let Some(open) = &sender else { continue };
            match piece_of(&mut rows, chunk) {
                Ok(piece) => {
                    if !piece.is_empty() && open.send(piece).await.is_err() {
                        sender = None;
                    }
                }
                Err(error) => {
                    made = Err(error);
                    sender = None;
                }
            }
        }
        if let Some(open) = sender {
            let _ = open.send(Vec::new()).await;
        }
        made
    }

    /// 3948 unless the client may be asked for files.
    pub(super) fn check_local_infile(&self) -> Result<(), SqlError> {
        let allowed =
            Values(&self.shared.globals.load_values()).on(ids::LOCAL_INFILE) && self.identity.info.local_files;
        if allowed { Ok(()) } else { Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[])) }
    }
}

/// A file of the server, whose errors say which it is.
struct ServerFile {
    path: PathBuf,
    file: std::fs::File,
}

impl Read for ServerFile {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        self.file.read(room).map_err(|error| std::io::Error::other(open_error(&self.path, &error)))
    }
}

/// Sends a text to its end.
fn send_all(
    mut source: Box<dyn Read + Send>,
    rows: &mut Option<XmlRows>,
    sender: &mpsc::Sender<Vec<u8>>,
    process: &Process,
) -> SqlResult<()> {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = source.read(&mut chunk).map_err(read_error)?;
        chunk.truncate(length);
        process.transfer.add_bytes(length);
        let piece = piece_of(rows, chunk)?;
        // An empty piece says that the text is complete.
        let says = length == 0 || !piece.is_empty();
        if says && sender.blocking_send(piece).is_err() || length == 0 {
            return Ok(());
        }
    }
}

/// The error of a source: it has brought its own.
pub(super) fn read_error(error: std::io::Error) -> SqlError {
    error.downcast::<SqlError>().unwrap_or_else(SqlError::internal)
}

/// The text that a piece of a file is to the loading thread.
fn piece_of(rows: &mut Option<XmlRows>, piece: Vec<u8>) -> SqlResult<Vec<u8>> {
    match rows {
        Some(rows) => rows.rows_of(&piece),
        None => Ok(piece),
    }
}

/// The error of a file that cannot be read.
pub(super) fn open_error(path: &Path, error: &std::io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    let reason = squall_types::io_error_text(error);
    let message = format!("File '{}' not found (OS errno {number} - {reason})", path.display());
    SqlError::with_message(ErrorCode::FileOpen, message)
}
