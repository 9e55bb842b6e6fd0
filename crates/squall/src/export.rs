//! `squall export`: a table or a query's rows into a file.

use crate::connection::{ConnectionArgs, quoted_table};
use crate::load::progress::{Progress, grouped};
use crate::load::records::FileFormat;
use base64::Engine as _;
use clap::Args;
use squall_client::{Column, QueryResult};
use squall_types::Value;
use squall_types::json::Json;
use squall_wire::constants::ColumnType;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 256 << 10;
/// Rows after which progress is looked at.
const ROWS_PER_LOOK: u64 = 1024;
/// What zstd's own program uses.
const ZSTD_LEVEL: i32 = 3;

/// Writes a table, or the rows of a query, to a CSV, TSV or NDJSON file.
///
/// A file whose name ends in .gz or .zst is compressed. The file appears when it is complete.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ExportArgs {
    /// Table: TABLE or DATABASE.TABLE
    #[arg(value_name = "TABLE", required_unless_present = "query")]
    table: Option<String>,
    /// A query instead of a table
    #[arg(long, value_name = "SELECT", conflicts_with = "table")]
    query: Option<String>,
    /// File to write [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How to write [default: by the file's name, otherwise csv]
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// Leaves the line of columns' names out
    #[arg(short = 'N', long)]
    no_header: bool,
    /// Overwrites a file that is there
    #[arg(short = 'f', long)]
    force: bool,
    /// Database of the table
    #[arg(short = 'D', long)]
    database: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// Draws no progress
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// Exports.
pub(crate) fn run(args: &ExportArgs) -> Result<(), String> {
    let format = match (args.format, &args.output) {
        (Some(format), _) => format,
        (None, Some(path)) => FileFormat::of_name(path).unwrap_or(FileFormat::Csv),
        (None, None) => FileFormat::Csv,
    };
    if let Some(path) = &args.output
        && path.exists()
        && !args.force
    {
        return Err(format!("{} is there already; --force overwrites it", path.display()));
    }
    let mut client = args.connection.connect(args.database.as_deref().unwrap_or_default())?;
    let query = match (&args.query, &args.table) {
        (Some(query), _) => query.clone(),
        (None, Some(table)) => format!("SELECT * FROM {}", quoted_table(table)),
        (None, None) => return Err("a table or a query is needed".to_owned()),
    };
    client.query(&query).map_err(|error| error.to_string())?;
    let Some(QueryResult::Rows(columns)) = client.next_result().map_err(|error| error.to_string())? else {
        return Err("the statement gives no rows".to_owned());
    };
    let shown = args.output.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    let failed = |error: io::Error| format!("{shown}: {error}");
    let mut out = Output::create(args.output.as_deref()).map_err(failed)?;
    let mut progress = Progress::new(args.quiet || args.output.is_none(), None);
    let mut writer = RowWriter { format, columns: &columns, line: Vec::new() };
    if !args.no_header {
        writer.header();
        out.writer().write_all(&writer.line).map_err(failed)?;
    }
    let mut rows = 0;
    while let Some(row) = client.next_row().map_err(|error| error.to_string())? {
        writer.row(&row);
        out.writer().write_all(&writer.line).map_err(failed)?;
        rows += 1;
        if rows % ROWS_PER_LOOK == 0 {
            progress.show(0, rows);
        }
    }
    out.finish().map_err(failed)?;
    let elapsed = progress.clear();
    if args.output.is_some() {
        println!("{} rows written to {shown} in {:.1} s", grouped(rows), elapsed.as_secs_f64());
    }
    // A server that is gone needs no goodbye.
    let _ = client.quit();
    Ok(())
}

enum Sink {
    Plain(Box<dyn Write>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

/// Where rows go; a file has another name until it is complete.
struct Output {
    sink: Sink,
    names: Option<(PathBuf, PathBuf)>,
}

impl Output {
    fn create(path: Option<&Path>) -> io::Result<Output> {
        let Some(path) = path else {
            let out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
            return Ok(Output { sink: Sink::Plain(Box::new(out)), names: None });
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let file = BufWriter::with_capacity(BUFFER_BYTES, File::create(&partial)?);
        let sink = match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Sink::Zstd(zstd::Encoder::new(file, ZSTD_LEVEL)?),
            _ => Sink::Plain(Box::new(file)),
        };
        Ok(Output { sink, names: Some((partial, path.to_path_buf())) })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            Sink::Plain(out) => out,
            Sink::Gzip(out) => out,
            Sink::Zstd(out) => out,
        }
    }

    fn finish(mut self) -> io::Result<()> {
        let sink = std::mem::replace(&mut self.sink, Sink::Plain(Box::new(io::sink())));
        match sink {
            Sink::Plain(mut out) => out.flush()?,
            Sink::Gzip(out) => out.finish()?.flush()?,
            Sink::Zstd(out) => out.finish()?.flush()?,
        }
        match self.names.take() {
            Some((partial, path)) => std::fs::rename(partial, path),
            None => Ok(()),
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

/// Makes lines of rows.
struct RowWriter<'c> {
    format: FileFormat,
    columns: &'c [Column],
    line: Vec<u8>,
}

impl RowWriter<'_> {
    fn header(&mut self) {
        self.line.clear();
        if self.format == FileFormat::Ndjson {
            return;
        }
        for at in 0..self.columns.len() {
            let name = self.columns[at].name.clone().into_bytes();
            self.field(at, Some(&name));
        }
        self.line.push(b'\n');
    }

    fn row(&mut self, row: &[Option<Vec<u8>>]) {
        self.line.clear();
        for (at, value) in row.iter().enumerate() {
            match self.format {
                FileFormat::Ndjson => self.member(at, value.as_deref()),
                _ => self.field(at, value.as_deref()),
            }
        }
        if self.format == FileFormat::Ndjson {
            self.line.push(b'}');
        }
        self.line.push(b'\n');
    }

    fn field(&mut self, at: usize, value: Option<&[u8]>) {
        let csv = self.format == FileFormat::Csv;
        if at > 0 {
            self.line.push(if csv { b',' } else { b'\t' });
        }
        match value {
            None if csv => {}
            None => self.line.extend_from_slice(b"\\N"),
            Some(value) if csv => {
                let plain = !value.is_empty() && !value.iter().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'));
                if plain {
                    return self.line.extend_from_slice(value);
                }
                self.line.push(b'"');
                for byte in value {
                    if *byte == b'"' {
                        self.line.push(b'"');
                    }
                    self.line.push(*byte);
                }
                self.line.push(b'"');
            }
            Some(value) => crate::load::records::push_field(Some(value), &mut self.line),
        }
    }

    /// Numbers and JSON as they are, other values as strings; bytes that are no UTF-8 as base64.
    fn member(&mut self, at: usize, value: Option<&[u8]>) {
        let column = &self.columns[at];
        let text = |text: String| Json::from_value(&Value::String(text)).to_text();
        self.line.push(if at == 0 { b'{' } else { b',' });
        self.line.extend_from_slice(text(column.name.clone()).as_bytes());
        self.line.push(b':');
        let Some(value) = value else { return self.line.extend_from_slice(b"null") };
        match column.column_type {
            ColumnType::Tiny
            | ColumnType::Short
            | ColumnType::Int24
            | ColumnType::Long
            | ColumnType::LongLong
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::NewDecimal
            | ColumnType::Year
            | ColumnType::Json => {
                // Zeros that ZEROFILL puts before a number are none of JSON's.
                let zeros = value.iter().take_while(|byte| **byte == b'0').count();
                let kept =
                    if value.get(zeros).is_some_and(u8::is_ascii_digit) { zeros } else { zeros.saturating_sub(1) };
                self.line.extend_from_slice(&value[kept..]);
            }
            _ => {
                let shown = match std::str::from_utf8(value) {
                    Ok(value) => value.to_owned(),
                    Err(_) => base64::engine::general_purpose::STANDARD.encode(value),
                };
                self.line.extend_from_slice(text(shown).as_bytes());
            }
        }
    }
}
