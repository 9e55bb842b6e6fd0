//! Where the text comes from: a file of the server, or the client.

use super::xml::XmlRows;
use crate::result::writer::ResultWriter;
use crate::session::Session;
use squall_parser::ast::LoadData;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::io::Read;
use std::path::Path;
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
        writer: &mut dyn ResultWriter,
    ) -> Result<(), SqlError> {
        if !statement.local {
            let path = self.server_file(&statement.path)?;
            let process = self.process.clone();
            return self
                .blocking(move |_| {
                    let failed = |error: std::io::Error| open_error(&path, &error);
                    let mut file = std::fs::File::open(&path).map_err(failed)?;
                    process.transfer.set_bytes_total(file.metadata().map_or(0, |found| found.len()));
                    loop {
                        let mut chunk = vec![0; CHUNK_BYTES];
                        let length = file.read(&mut chunk).map_err(failed)?;
                        chunk.truncate(length);
                        process.transfer.add_bytes(length);
                        let piece = piece_of(&mut rows, chunk)?;
                        // An empty piece says that the text is complete.
                        let says = length == 0 || !piece.is_empty();
                        if says && sender.blocking_send(piece).is_err() || length == 0 {
                            return Ok(());
                        }
                    }
                })
                .await;
        }
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
        let allowed = Values(&self.shared.globals.load_values()).on(ids::LOCAL_INFILE) && self.info.local_files;
        if allowed { Ok(()) } else { Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[])) }
    }
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
