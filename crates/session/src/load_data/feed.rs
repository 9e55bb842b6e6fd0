//! Where the text comes from: a file of the server, or the client.

use crate::result::writer::ResultWriter;
use crate::session::Session;
use squall_parser::ast::LoadData;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError};
use std::io::Read;
use std::path::Path;
use tokio::sync::mpsc;

/// Text of a piece, about.
pub(super) const CHUNK_BYTES: usize = 512 << 10;

impl Session {
    /// Sends the text to the loading thread until its end, which an empty piece tells, or until that thread stops.
    pub(super) async fn feed(
        &mut self,
        statement: &LoadData,
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
                        // An empty piece says that the text is complete.
                        if sender.blocking_send(chunk).is_err() || length == 0 {
                            return Ok(());
                        }
                    }
                })
                .await;
        }
        self.check_local_infile()?;
        writer.local_infile(&statement.path).await?;
        let mut failed = None;
        // The client sends its file whatever happens here: it is read to the end.
        while let Some(chunk) = writer.local_infile_chunk().await? {
            if failed.is_none() && sender.send(chunk).await.is_err() {
                failed = Some(());
            }
        }
        let _ = sender.send(Vec::new()).await;
        Ok(())
    }

    /// 3948 unless the client may be asked for files.
    pub(super) fn check_local_infile(&self) -> Result<(), SqlError> {
        let allowed = Values(&self.shared.globals.load_values()).on(ids::LOCAL_INFILE) && self.info.local_files;
        if allowed { Ok(()) } else { Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[])) }
    }
}

/// The error of a file that cannot be read.
pub(super) fn open_error(path: &Path, error: &std::io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    let reason = squall_types::io_error_text(error);
    let message = format!("File '{}' not found (OS errno {number} - {reason})", path.display());
    SqlError::with_message(ErrorCode::FileOpen, message)
}
