//! The output of an export: a file, or standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 256 << 10;
/// What zstd's own program uses.
const ZSTD_LEVEL: i32 = 3;

enum Sink {
    Plain(Box<dyn Write + Send>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

/// A file, which has another name until it is complete, or standard output.
pub(super) struct Output {
    sink: Sink,
    names: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// `compressed` tells whether the file's name may ask for that.
    pub(super) fn create(path: Option<&Path>, compressed: bool) -> io::Result<Output> {
        let Some(path) = path else {
            let out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
            return Ok(Output { sink: Sink::Plain(Box::new(out)), names: None });
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let file = BufWriter::with_capacity(BUFFER_BYTES, File::create(&partial)?);
        let sink = match path.extension().and_then(|extension| extension.to_str()).filter(|_| compressed) {
            Some("gz") => Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Sink::Zstd(zstd::Encoder::new(file, ZSTD_LEVEL)?),
            _ => Sink::Plain(Box::new(file)),
        };
        Ok(Output { sink, names: Some((partial, path.to_path_buf())) })
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let sink = std::mem::replace(&mut self.sink, Sink::Plain(Box::new(io::sink())));
        match sink {
            Sink::Plain(mut out) => out.flush()?,
            Sink::Gzip(out) => out.finish()?.flush()?,
            Sink::Zstd(out) => out.finish()?.flush()?,
        }
        match &self.names {
            Some((partial, path)) => std::fs::rename(partial, path)?,
            None => return Ok(()),
        }
        self.names = None;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Plain(out) => out.write(bytes),
            Sink::Gzip(out) => out.write(bytes),
            Sink::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Plain(out) => out.flush(),
            Sink::Gzip(out) => out.flush(),
            Sink::Zstd(out) => out.flush(),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.names {
            // What is left of an export that has failed.
            let _ = std::fs::remove_file(partial);
        }
    }
}
