//! `squall export`: writes the rows of a table or a query to a file.

pub(crate) mod columns;
mod output;

use crate::connection::{ConnectionArgs, quoted_table};
use crate::progress::{Progress, grouped};
use clap::Args;
use columns::{bits, format_parser, json_form, sql_type, value};
use output::Output;
use squall_client::{Client, Column, QueryResult};
use squall_file_formats::text::{JsonForm, push_csv, push_json, push_json_string};
use squall_file_formats::{FileFormat, ParquetWriter, WriteError, push_field};
use squall_functions::arrow_map::ValueArrayBuilder;
use squall_types::SqlType;
use squall_types::temporal::TimeZone;
use squall_wire::constants::ColumnType;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Rows after which progress is looked at, and that go into Parquet at a time.
const ROWS_PER_LOOK: u64 = 1024;

/// Writes a table, or the rows of a query, to a CSV, TSV, NDJSON or Parquet file.
///
/// Text is compressed if the file's name ends in .gz or .zst. The file appears when it is complete. TIMESTAMPs are in UTC in
/// Parquet, for which the whole query is run in that time zone.
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
    #[arg(long, value_parser = format_parser())]
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
        (None, Some(path)) => FileFormat::of_path(path).unwrap_or(FileFormat::Csv),
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
    let shown = args.output.as_ref().map_or_else(|| "standard output".to_owned(), |path| path.display().to_string());
    let mut export = Export { args, client: &mut client, shown: &shown, progress: None };
    let rows = match format {
        FileFormat::Parquet => export.parquet(&query)?,
        _ => export.text(&query, format)?,
    };
    let elapsed = export.progress.map(|progress| progress.clear()).unwrap_or_default();
    if args.output.is_some() {
        println!("{} rows written to {shown} in {:.1} s", grouped(rows), elapsed.as_secs_f64());
    }
    // A server that is gone needs no goodbye.
    let _ = client.quit();
    Ok(())
}

/// An export on its way.
struct Export<'a> {
    args: &'a ExportArgs,
    client: &'a mut Client,
    /// Where it goes, for messages.
    shown: &'a str,
    progress: Option<Progress>,
}

impl Export<'_> {
    fn failed(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.shown)
    }

    fn write_failed(&self, error: WriteError) -> String {
        match error {
            WriteError::Io(error) => self.failed(&error),
            WriteError::Sql(error) => error.to_string(),
        }
    }

    fn create(&mut self, compressed: bool) -> Result<Output, String> {
        let out = Output::create(self.args.output.as_deref(), compressed).map_err(|error| self.failed(&error))?;
        self.progress = Some(Progress::new(self.args.quiet || self.args.output.is_none(), None));
        Ok(out)
    }

    fn show(&mut self, rows: u64) {
        if let Some(progress) = &mut self.progress {
            progress.show(0, rows);
        }
    }

    /// Writes lines; returns the number of rows.
    fn text(&mut self, query: &str, format: FileFormat) -> Result<u64, String> {
        self.client.query(query).map_err(|error| error.to_string())?;
        let Some(QueryResult::Rows(columns)) = self.client.next_result().map_err(|error| error.to_string())? else {
            return Err("the statement gives no rows".to_owned());
        };
        let mut out = self.create(true)?;
        let forms = columns.iter().map(json_form).collect();
        let mut writer = LineWriter { format, columns: &columns, forms, line: Vec::new() };
        if !self.args.no_header {
            writer.header();
            out.write_all(&writer.line).map_err(|error| self.failed(&error))?;
        }
        let mut rows = 0;
        while let Some(row) = self.client.next_row().map_err(|error| error.to_string())? {
            writer.row(&row);
            out.write_all(&writer.line).map_err(|error| self.failed(&error))?;
            rows += 1;
            if rows % ROWS_PER_LOOK == 0 {
                self.show(rows);
            }
        }
        out.finish().map_err(|error| self.failed(&error))?;
        Ok(rows)
    }

    /// Writes Parquet; returns the number of rows. A prepared statement has floating point numbers with all their digits.
    fn parquet(&mut self, query: &str) -> Result<u64, String> {
        let said = |error: squall_client::ClientError| error.to_string();
        self.client.run("SET time_zone = '+00:00'").map_err(said)?;
        let statement = self.client.prepare(query).map_err(said)?;
        let columns = self.client.execute_rows(&statement, &[]).map_err(said)?;
        if columns.is_empty() {
            return Err("the statement gives no rows".to_owned());
        }
        let types: Vec<SqlType> = columns.iter().map(sql_type).collect();
        let named = columns.iter().map(|column| column.name.clone()).zip(types.iter().cloned()).collect();
        let out = self.create(false)?;
        let mut writer = ParquetWriter::new(out, named, TimeZone::utc()).map_err(|error| self.write_failed(error))?;
        let mut builders: Vec<_> =
            types.iter().map(|sql_type| ValueArrayBuilder::new(sql_type, ROWS_PER_LOOK as usize)).collect();
        let mut rows = 0;
        loop {
            let row = self.client.next_binary_row(&columns).map_err(said)?;
            let last = row.is_none();
            for ((found, builder), (sql_type, column)) in
                row.into_iter().flatten().zip(&mut builders).zip(types.iter().zip(&columns))
            {
                let wrong = || format!("the server's value of column '{}' in row {} is none", column.name, rows + 1);
                let found = value(found, sql_type).ok_or_else(wrong)?;
                builder.append(&found).map_err(|error| error.to_string())?;
            }
            rows += u64::from(!last);
            if last || rows % ROWS_PER_LOOK == 0 {
                let arrays: Vec<_> = builders.iter_mut().map(ValueArrayBuilder::finish).collect();
                let written = writer.write(&arrays, &mut |unfit| Err(unfit.error()));
                written.map_err(|error| self.write_failed(error))?;
                self.show(rows);
            }
            if last {
                break;
            }
        }
        let out = writer.finish().map_err(|error| self.write_failed(error))?;
        out.finish().map_err(|error| self.failed(&error))?;
        Ok(rows)
    }
}

/// Makes lines of rows.
struct LineWriter<'c> {
    format: FileFormat,
    columns: &'c [Column],
    forms: Vec<JsonForm>,
    line: Vec<u8>,
}

impl LineWriter<'_> {
    fn header(&mut self) {
        self.line.clear();
        if self.format == FileFormat::Ndjson {
            return;
        }
        for (at, column) in self.columns.iter().enumerate() {
            if at > 0 {
                self.line.push(self.separator());
            }
            match self.format {
                FileFormat::Csv => push_csv(Some(column.name.as_bytes()), &mut self.line),
                _ => push_field(Some(column.name.as_bytes()), &mut self.line),
            }
        }
        self.line.push(b'\n');
    }

    fn separator(&self) -> u8 {
        if self.format == FileFormat::Tsv { b'\t' } else { b',' }
    }

    fn row(&mut self, row: &[Option<Vec<u8>>]) {
        self.line.clear();
        for (at, value) in row.iter().enumerate() {
            let column = &self.columns[at];
            // Files have the number of a BIT column; only TSV, which is LOAD DATA's own, has its bytes.
            let number = match (value, column.column_type) {
                (Some(bytes), ColumnType::Bit) if self.format != FileFormat::Tsv => bits(bytes),
                _ => None,
            };
            let number = number.map(|number| number.to_string().into_bytes());
            let value = number.as_ref().or(value.as_ref()).map(Vec::as_slice);
            match self.format {
                FileFormat::Ndjson => {
                    self.line.push(if at == 0 { b'{' } else { b',' });
                    push_json_string(&column.name, &mut self.line);
                    self.line.push(b':');
                    match value {
                        Some(value) => push_json(value, self.forms[at], &mut self.line),
                        None => self.line.extend_from_slice(b"null"),
                    }
                }
                _ => {
                    if at > 0 {
                        self.line.push(self.separator());
                    }
                    match self.format {
                        FileFormat::Csv => push_csv(value, &mut self.line),
                        _ => push_field(value, &mut self.line),
                    }
                }
            }
        }
        self.line.extend_from_slice(if self.format == FileFormat::Ndjson { b"}\n" } else { b"\n" });
    }
}
