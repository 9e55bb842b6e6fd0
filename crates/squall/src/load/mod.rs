//! `squall load`: loads files into a table of a server.
//!
//! The files' records go to the server as one LOAD DATA LOCAL statement, so they become visible at once or not at all. Rows that the
//! server cannot store are left out, up to `--max-rejects` (REJECT LIMIT). The server returns their numbers as warnings, and the files
//! are read a second time to find their lines.

pub(crate) mod source;

use crate::connection::{ConnectionArgs, quoted, quoted_table};
use crate::export::columns::{field_kind, format_parser};
use crate::progress::{Progress, grouped};
use clap::Args;
use squall_client::{Client, ClientError, LoadError, QueryResult, Row};
use squall_file_formats::{FieldKind, FileFormat, ParquetRows, Record, Records, RowsError, member_names};
use squall_types::ErrorCode;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Text that goes to the server at a time.
const PIECE_BYTES: usize = 256 << 10;
/// Records of a file of JSON objects that tell which columns there are.
const RECORDS_LOOKED_AT: usize = 1000;
/// Rows of a Parquet file after which it is counted how much has been read.
const ROWS_PER_COUNT: u64 = 1024;
/// More warnings than this a server does not keep.
const REJECTS_MAX: u64 = 65_535;

/// Loads CSV, TSV, NDJSON or Parquet files into a table, all rows at once or none.
///
/// Text may be compressed with gzip or zstd. Columns of Parquet files and members of NDJSON belong to those of the same name. The server has to allow LOAD DATA LOCAL (SET GLOBAL local_infile = ON).
/// With --max-rejects, rows that cannot be stored are left out, and --rejects says which ones and why.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LoadArgs {
    /// Table to load into: TABLE or DATABASE.TABLE
    #[arg(value_name = "TABLE")]
    table: String,
    /// Files, or patterns such as 'data/*.csv.gz'; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Database of the table
    #[arg(short = 'D', long)]
    database: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    /// How the files are written [default: by their names]
    #[arg(long, value_parser = format_parser())]
    format: Option<FileFormat>,
    /// Columns that the fields belong to, separated by commas [default: those of the table, in order]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    columns: Vec<String>,
    /// The first line of each CSV or TSV file names the columns
    #[arg(long)]
    header: bool,
    /// What separates fields, one byte [default: a comma in CSV, a tab in TSV]
    #[arg(long, value_name = "BYTE")]
    delimiter: Option<String>,
    /// The unquoted CSV field that means NULL
    #[arg(long, value_name = "TEXT", default_value = "")]
    null: String,
    /// Rows that may be left out because they cannot be stored, at most 65535 [default: 0, or 1000 with --rejects]
    #[arg(long, value_name = "ROWS")]
    max_rejects: Option<u64>,
    /// Writes the rows that were left out to this file: file, line, error code, reason and text, separated by tabs
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Draws no progress
    #[arg(short = 'q', long)]
    quiet: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// A row that was left out.
struct Reject {
    file: String,
    line: u64,
    code: u32,
    reason: String,
    text: Vec<u8>,
}

/// The files and how their records are read.
struct Input<'a> {
    args: &'a LoadArgs,
    files: Vec<PathBuf>,
    columns: Vec<String>,
    /// The types of the columns, as far as they are known.
    kinds: Vec<FieldKind>,
    read: Arc<AtomicU64>,
}

/// A file that is being read.
enum Source {
    Text(Records),
    Parquet(ParquetFile),
}

struct ParquetFile {
    rows: ParquetRows,
    bytes: u64,
    /// Those of them that have been counted as read.
    counted: u64,
}

/// Loads.
pub(crate) fn run(args: &LoadArgs) -> Result<(), String> {
    let max_rejects = args.max_rejects.unwrap_or(if args.rejects.is_some() { 1000 } else { 0 });
    if max_rejects > REJECTS_MAX {
        return Err(format!("--max-rejects is at most {REJECTS_MAX}"));
    }
    let files = source::expand(&args.files)?;
    let mut client = args.connection.connect(args.database.as_deref().unwrap_or_default())?;
    let mut input = Input { args, files, columns: args.columns.clone(), kinds: vec![], read: Arc::default() };
    input.find_columns(&mut client)?;
    input.find_kinds(&mut client);
    let failed = |error: ClientError| error.to_string();
    client.run(&format!("SET SESSION max_error_count = {REJECTS_MAX}")).map_err(failed)?;
    let names: Vec<String> = input.columns.iter().map(|name| quoted(name)).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let statement = format!(
        "LOAD DATA LOCAL INFILE 'squall load' INTO TABLE {} CHARACTER SET utf8mb4{names} REJECT LIMIT {max_rejects}",
        quoted_table(&args.table)
    );
    let mut progress = Progress::new(args.quiet, input.total_bytes());
    let mut reading = Reading {
        input: &input,
        current: None,
        name: String::new(),
        next_file: 0,
        rows: 0,
        rejects: Vec::new(),
        max_rejects,
    };
    let loaded = client.load_local(&statement, |piece| {
        reading.fill(piece)?;
        if piece.is_empty() {
            progress.say("waiting for the server to finish");
        } else {
            progress.show(reading.input.read.load(Ordering::Relaxed), reading.rows);
        }
        Ok(())
    });
    let mut rejects = std::mem::take(&mut reading.rejects);
    let ok = match loaded {
        Ok(ok) => ok,
        Err(error) => {
            progress.clear();
            return Err(explain(&input, error));
        }
    };
    let elapsed = progress.clear();
    if ok.warning_count > 0 {
        let warned = client.run("SHOW WARNINGS").map_err(failed)?;
        rejects.extend(input.locate(rejected_rows(&warned))?);
    }
    rejects.sort_by(|left, right| (&left.file, left.line).cmp(&(&right.file, right.line)));
    if let Some(path) = &args.rejects {
        write_rejects(path, &rejects).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let rate = ok.affected_rows as f64 / elapsed.as_secs_f64().max(0.001);
    println!(
        "{} rows loaded in {:.1} s ({} rows/s), {} rejected{}",
        grouped(ok.affected_rows),
        elapsed.as_secs_f64(),
        grouped(rate as u64),
        grouped(rejects.len() as u64),
        args.rejects.as_ref().map(|path| format!(", see {}", path.display())).unwrap_or_default()
    );
    // A server that is gone needs no goodbye.
    let _ = client.quit();
    Ok(())
}

/// The server's words, and where the row lies that they are about.
fn explain(input: &Input<'_>, error: LoadError) -> String {
    let text = error.to_string();
    let LoadError::Client(ClientError::Server(server)) = &error else { return text };
    if server.code == ErrorCode::LocalInfileDisabled.number() {
        return format!("{text}\nLOAD DATA LOCAL has to be allowed on the server first: SET GLOBAL local_infile = ON");
    }
    let row = ["at row ", "Row "].iter().find_map(|before| {
        let digits = server.message.split_once(before)?.1;
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    });
    match row.map(|row| input.locate(BTreeMap::from([(row, (0, String::new()))]))) {
        Some(Ok(found)) if found.len() == 1 => {
            let place = input.place(&found[0].file, found[0].line);
            format!("{text}\nThat row is in {place}")
        }
        _ => text,
    }
}

/// Numbers of rows that warnings say were rejected, with their codes and reasons.
fn rejected_rows(warned: &[(QueryResult, Vec<Row>)]) -> BTreeMap<u64, (u32, String)> {
    let mut rows = BTreeMap::new();
    for row in warned.iter().flat_map(|(_, rows)| rows) {
        let text = |at: usize| row.get(at).cloned().flatten().map(|text| String::from_utf8_lossy(&text).into_owned());
        let (Some(code), Some(message)) = (text(1), text(2)) else { continue };
        let Some((number, reason)) = message.strip_prefix("Row ").and_then(|rest| rest.split_once(" rejected: "))
        else {
            continue;
        };
        if let (Ok(number), Ok(code)) = (number.parse(), code.parse()) {
            rows.insert(number, (code, reason.to_owned()));
        }
    }
    rows
}

fn write_rejects(path: &Path, rejects: &[Reject]) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    for reject in rejects {
        write!(out, "{}\t{}\t{}\t{}\t", reject.file, reject.line, reject.code, reject.reason)?;
        out.write_all(&reject.text)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

impl Input<'_> {
    fn format_of(&self, path: &Path) -> Result<FileFormat, String> {
        self.args.format.or_else(|| FileFormat::of_path(path)).ok_or_else(|| {
            format!("{}: the name does not tell how the file is written; say it with --format", path.display())
        })
    }

    /// A place in a file, for people.
    fn place(&self, file: &str, line: u64) -> String {
        let unit = if self.format_of(Path::new(file)) == Ok(FileFormat::Parquet) { "row" } else { "line" };
        format!("{file}, {unit} {line}")
    }

    fn open(&self, path: &Path) -> Result<(Source, FileFormat), String> {
        let format = self.format_of(path)?;
        if format == FileFormat::Parquet {
            let mut rows = open_parquet(path)?;
            let kind = |at: usize| self.kinds.get(at).copied().unwrap_or_default();
            let columns: Vec<_> = self.columns.iter().cloned().enumerate().map(|(at, name)| (name, kind(at))).collect();
            rows.select(&columns).map_err(|reason| format!("{}: {reason}", path.display()))?;
            let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
            return Ok((Source::Parquet(ParquetFile { rows, bytes, counted: 0 }), format));
        }
        self.open_text(path, format).map(|records| (Source::Text(records), format))
    }

    fn open_text(&self, path: &Path, format: FileFormat) -> Result<Records, String> {
        let delimiter = match self.args.delimiter.as_deref().map(str::as_bytes) {
            None if format == FileFormat::Csv => b',',
            None => b'\t',
            Some([byte]) => *byte,
            Some(b"\\t") => b'\t',
            Some(_) => return Err("--delimiter is one byte".to_owned()),
        };
        let count = if self.columns.is_empty() { self.kinds.len() } else { self.columns.len() };
        let records = Records::new(source::open(path, &self.read)?, format, delimiter);
        Ok(records.with_field_count(count).with_kinds(self.kinds.clone()))
    }

    /// All bytes to read, unless standard input is among the files.
    fn total_bytes(&self) -> Option<u64> {
        self.files
            .iter()
            .map(|file| std::fs::metadata(file).ok().filter(|meta| meta.is_file()).map(|meta| meta.len()))
            .sum()
    }

    fn has_header(&self, format: FileFormat) -> bool {
        self.args.header && matches!(format, FileFormat::Csv | FileFormat::Tsv)
    }

    /// Finds out which columns the fields belong to, unless the command line says it.
    fn find_columns(&mut self, client: &mut Client) -> Result<(), String> {
        let Some(first) = self.files.first().cloned() else { return Ok(()) };
        let format = self.format_of(&first)?;
        let standard_input = self.files.iter().any(|file| file == Path::new(source::STANDARD_INPUT));
        if !self.columns.is_empty() {
            return Ok(());
        }
        if format == FileFormat::Parquet {
            self.columns = open_parquet(&first)?.names().to_vec();
            return Ok(());
        }
        if format != FileFormat::Ndjson && !self.args.header {
            return Ok(());
        }
        if format != FileFormat::Ndjson || !standard_input {
            let mut records = self.open_text(&first, format)?;
            self.columns = if format == FileFormat::Ndjson {
                member_names(&mut records, RECORDS_LOOKED_AT)?
            } else if standard_input {
                return Err("--header cannot be used with standard input; name the --columns".to_owned());
            } else {
                let mut record = Record::default();
                let any = records.next(&mut record).map_err(|error| format!("{}: {error}", first.display()))?;
                if any {
                    records.names(&record).map_err(|reason| format!("{}: {reason}", first.display()))?
                } else {
                    vec![]
                }
            };
            self.read.store(0, Ordering::Relaxed);
            return Ok(());
        }
        let shown =
            client.run(&format!("SHOW COLUMNS FROM {}", quoted_table(&self.args.table))).map_err(|e| e.to_string())?;
        let rows = shown.into_iter().flat_map(|(_, rows)| rows);
        self.columns = rows
            .filter_map(|row| row.into_iter().next().flatten())
            .map(|name| String::from_utf8_lossy(&name).into_owned())
            .collect();
        Ok(())
    }

    /// Finds out how the columns want to be told their values. A server that does not tell gets texts.
    fn find_kinds(&mut self, client: &mut Client) {
        let names: Vec<String> = self.columns.iter().map(|name| quoted(name)).collect();
        let names = if names.is_empty() { "*".to_owned() } else { names.join(", ") };
        let query = format!("SELECT {names} FROM {} LIMIT 0", quoted_table(&self.args.table));
        if let Ok(Some((QueryResult::Rows(columns), _))) = client.run(&query).map(|results| results.into_iter().next())
        {
            self.kinds = columns.iter().map(field_kind).collect();
        }
    }

    /// Where rows lie that the server has numbered.
    fn locate(&self, mut wanted: BTreeMap<u64, (u32, String)>) -> Result<Vec<Reject>, String> {
        let standard_input = self.files.iter().any(|file| file == Path::new(source::STANDARD_INPUT));
        let mut found = Vec::new();
        if standard_input || wanted.is_empty() {
            let unknown =
                |(row, (code, reason))| Reject { file: format!("row {row}"), line: 0, code, reason, text: Vec::new() };
            return Ok(wanted.into_iter().map(unknown).collect());
        }
        let mut reading = Reading {
            input: self,
            current: None,
            name: String::new(),
            next_file: 0,
            rows: 0,
            rejects: Vec::new(),
            max_rejects: u64::MAX,
        };
        let (mut record, mut line) = (Record::default(), Vec::new());
        while !wanted.is_empty() && reading.next(&mut record, &mut line)? {
            if let Some((code, reason)) = wanted.remove(&reading.rows) {
                found.push(Reject {
                    file: reading.name.clone(),
                    line: record.line,
                    code,
                    reason,
                    // Rows of Parquet have no text of their own.
                    text: if record.text.is_empty() { line.trim_ascii_end().to_vec() } else { record.text.clone() },
                });
            }
            line.clear();
        }
        Ok(found)
    }
}

/// Goes through all records of all files.
struct Reading<'i, 'a> {
    input: &'i Input<'a>,
    current: Option<Source>,
    /// The file's.
    name: String,
    next_file: usize,
    /// Records that the server has been given.
    rows: u64,
    /// Those that were not worth it.
    rejects: Vec<Reject>,
    max_rejects: u64,
}

impl Reading<'_, '_> {
    /// Appends the next record's line for LOAD DATA; `false` behind the last.
    fn next(&mut self, record: &mut Record, out: &mut Vec<u8>) -> Result<bool, String> {
        loop {
            let Some(source) = &mut self.current else {
                let Some(file) = self.input.files.get(self.next_file) else { return Ok(false) };
                self.next_file += 1;
                let (mut source, format) = self.input.open(file)?;
                if let Source::Text(records) = &mut source
                    && self.input.has_header(format)
                {
                    records.next(record).map_err(|error| format!("{}: {error}", file.display()))?;
                    let names = records.names(record).map_err(|reason| format!("{}: {reason}", file.display()))?;
                    if self.input.args.columns.is_empty() && names != self.input.columns {
                        return Err(format!(
                            "{}: the first line names other columns than that of the first file",
                            file.display()
                        ));
                    }
                }
                self.current = Some(source);
                self.name = file.display().to_string();
                continue;
            };
            let encoded = match source {
                Source::Text(records) => {
                    if !records.next(record).map_err(|error| format!("{}: {error}", self.name))? {
                        self.current = None;
                        continue;
                    }
                    records.encode(record, self.input.args.null.as_bytes(), &self.input.columns, out)
                }
                Source::Parquet(file) => {
                    record.text.clear();
                    let next = file.rows.next(out);
                    record.line = file.rows.rows();
                    file.count(&self.input.read, next == Ok(false));
                    match next {
                        Ok(true) => Ok(()),
                        Ok(false) => {
                            self.current = None;
                            continue;
                        }
                        Err(RowsError::Row(reason)) => Err(reason),
                        Err(RowsError::File(reason)) => return Err(format!("{}: {reason}", self.name)),
                    }
                }
            };
            match encoded {
                Ok(()) => {
                    self.rows += 1;
                    return Ok(true);
                }
                Err(reason) => {
                    let (file, line) = (self.name.clone(), record.line);
                    if self.rejects.len() as u64 >= self.max_rejects {
                        return Err(format!("{}: {reason}", self.input.place(&file, line)));
                    }
                    self.rejects.push(Reject { file, line, code: 0, reason, text: record.text.clone() });
                }
            }
        }
    }

    fn fill(&mut self, piece: &mut Vec<u8>) -> Result<(), String> {
        let mut record = Record::default();
        while piece.len() < PIECE_BYTES && self.next(&mut record, piece)? {}
        Ok(())
    }
}

impl ParquetFile {
    /// Counts as read what its rows so far are of the file.
    fn count(&mut self, read: &AtomicU64, all: bool) {
        let rows = self.rows.rows();
        if !all && !rows.is_multiple_of(ROWS_PER_COUNT) {
            return;
        }
        let part = u128::from(self.bytes) * u128::from(rows) / u128::from(self.rows.rows_total().max(1));
        let bytes = if all { self.bytes } else { u64::try_from(part).unwrap_or(self.bytes) };
        read.fetch_add(bytes.saturating_sub(self.counted), Ordering::Relaxed);
        self.counted = self.counted.max(bytes);
    }
}

fn open_parquet(path: &Path) -> Result<ParquetRows, String> {
    if path == Path::new(source::STANDARD_INPUT) {
        return Err("Parquet cannot be read from standard input".to_owned());
    }
    let failed = |reason: String| format!("{}: {reason}", path.display());
    let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    ParquetRows::open(file).map_err(failed)
}
