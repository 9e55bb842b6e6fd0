//! Where the text comes from: a file of the server, or the client.

use crate::api::ResultWriter;
use crate::session::Session;
use crate::settings::{Values, ids};
use squall_parser::ast::LoadData;
use squall_types::{ErrorCode, SqlError};
use std::io::Read;
use tokio::sync::mpsc;

const CHUNK_BYTES: usize = 512 << 10;

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
                    let failed = |error: std::io::Error| {
                        let number = error.raw_os_error().unwrap_or(0);
                        let code = ErrorCode::FileOpen;
                        SqlError::with_message(
                            code,
                            format!("File '{}' not found (OS errno {number} - {error})", path.display()),
                        )
                    };
                    let mut file = std::fs::File::open(&path).map_err(failed)?;
                    process.load.set_bytes_total(file.metadata().map_or(0, |found| found.len()));
                    loop {
                        let mut chunk = vec![0; CHUNK_BYTES];
                        let length = file.read(&mut chunk).map_err(failed)?;
                        chunk.truncate(length);
                        process.load.add_bytes(length);
                        // An empty piece says that the text is complete.
                        if sender.blocking_send(chunk).is_err() || length == 0 {
                            return Ok(());
                        }
                    }
                })
                .await;
        }
        let allowed = Values(&self.shared.globals.load_values()).on(ids::LOCAL_INFILE) && self.info.local_files;
        if !allowed {
            return Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[]));
        }
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
}
