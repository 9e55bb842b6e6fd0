//! Results as text: tables for people, tab-separated values for programs, one line per column for wide rows.

use std::io::{self, Write};

use squall_client::{Column, Row};
use squall_wire::constants::ColumnType;
use unicode_width::UnicodeWidthStr as _;

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A box of lines.
    Table,
    /// One row per line, values between tabs.
    Tabs,
    /// One value per line.
    Vertical,
}

/// A format, and what to leave out or change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) format: Format,
    /// Whether names of columns are printed.
    pub(crate) names: bool,
    /// Whether byte strings are printed in hexadecimal.
    pub(crate) binary_as_hex: bool,
}

/// Rows of a table that are looked at to find its widths; what comes behind them may stick out.
const TABLE_ROWS_MAX: usize = 10_000;

/// Prints one result set row by row.
#[derive(Debug)]
pub(crate) struct Printer<'a, W: Write> {
    out: &'a mut W,
    columns: &'a [Column],
    style: Style,
    /// Rows of the table that wait until its widths are known.
    waiting: Vec<Vec<String>>,
    /// Known once the head of the table is printed.
    widths: Vec<usize>,
    row_count: u64,
}

impl<'a, W: Write> Printer<'a, W> {
    pub(crate) fn new(out: &'a mut W, columns: &'a [Column], style: Style) -> Self {
        Self { out, columns, style, waiting: Vec::new(), widths: Vec::new(), row_count: 0 }
    }

    /// Prints a row, now or later.
    pub(crate) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.row_count += 1;
        match self.style.format {
            Format::Tabs => {
                if self.row_count == 1 {
                    self.tab_names()?;
                }
                self.tab_row(row)
            }
            Format::Vertical => self.vertical_row(row),
            Format::Table => {
                let texts = row.iter().zip(self.columns).map(|(value, column)| self.text(value.as_deref(), column));
                let texts = texts.collect();
                self.waiting.push(texts);
                if self.waiting.len() >= TABLE_ROWS_MAX { self.table() } else { Ok(()) }
            }
        }
    }

    /// Prints what is left; gives the number of rows.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        if !self.waiting.is_empty() {
            self.table()?;
        }
        if !self.widths.is_empty() {
            self.rule()?;
        }
        Ok(self.row_count)
    }

    fn text(&self, value: Option<&[u8]>, column: &Column) -> String {
        match value {
            None => "NULL".to_owned(),
            Some(bytes) if self.style.binary_as_hex && is_bytes(column) => hexadecimal(bytes),
            Some(bytes) => String::from_utf8_lossy(bytes).replace('\0', " "),
        }
    }

    fn tab_names(&mut self) -> io::Result<()> {
        if self.style.names {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            writeln!(self.out, "{}", names.join("\t"))?;
        }
        Ok(())
    }

    fn tab_row(&mut self, row: &Row) -> io::Result<()> {
        for (ordinal, (value, column)) in row.iter().zip(self.columns).enumerate() {
            if ordinal > 0 {
                self.out.write_all(b"\t")?;
            }
            match value {
                None => self.out.write_all(b"NULL")?,
                Some(bytes) if self.style.binary_as_hex && is_bytes(column) => {
                    self.out.write_all(hexadecimal(bytes).as_bytes())?;
                }
                Some(bytes) => write_escaped(self.out, bytes)?,
            }
        }
        self.out.write_all(b"\n")
    }

    fn vertical_row(&mut self, row: &Row) -> io::Result<()> {
        let stars = "*".repeat(27);
        writeln!(self.out, "{stars} {}. row {stars}", self.row_count)?;
        let width = self.columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
        for (value, column) in row.iter().zip(self.columns) {
            let text = self.text(value.as_deref(), column);
            if self.style.names {
                let padding = " ".repeat(width - column.name.width());
                writeln!(self.out, "{padding}{}: {text}", column.name)?;
            } else {
                writeln!(self.out, "{text}")?;
            }
        }
        Ok(())
    }

    /// Prints the rows that wait, with the head of the table if they are the first.
    fn table(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        if self.widths.is_empty() {
            self.table_head(&rows)?;
        }
        for row in &rows {
            for ((text, column), width) in row.iter().zip(self.columns).zip(&self.widths) {
                let padding = " ".repeat(width.saturating_sub(text.width()));
                if is_number(column) {
                    write!(self.out, "| {padding}{text} ")?;
                } else {
                    write!(self.out, "| {text}{padding} ")?;
                }
            }
            self.out.write_all(b"|\n")?;
        }
        Ok(())
    }

    fn table_head(&mut self, rows: &[Vec<String>]) -> io::Result<()> {
        self.widths =
            self.columns.iter().map(|column| if self.style.names { column.name.width() } else { 0 }).collect();
        for row in rows {
            for (width, text) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(text.width());
            }
        }
        self.rule()?;
        if self.style.names {
            for (column, width) in self.columns.iter().zip(&self.widths) {
                write!(self.out, "| {}{} ", column.name, " ".repeat(width - column.name.width()))?;
            }
            self.out.write_all(b"|\n")?;
            self.rule()?;
        }
        Ok(())
    }

    fn rule(&mut self) -> io::Result<()> {
        for width in &self.widths {
            write!(self.out, "+{}", "-".repeat(width + 2))?;
        }
        self.out.write_all(b"+\n")
    }
}

fn is_number(column: &Column) -> bool {
    matches!(
        column.column_type,
        ColumnType::Tiny
            | ColumnType::Short
            | ColumnType::Int24
            | ColumnType::Long
            | ColumnType::LongLong
            | ColumnType::Year
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal
            | ColumnType::NewDecimal
            | ColumnType::Null
    )
}

/// Whether values are bytes rather than characters.
fn is_bytes(column: &Column) -> bool {
    const BINARY: u16 = 63;
    column.collation == BINARY
        && matches!(
            column.column_type,
            ColumnType::VarString
                | ColumnType::VarChar
                | ColumnType::String
                | ColumnType::TinyBlob
                | ColumnType::MediumBlob
                | ColumnType::LongBlob
                | ColumnType::Blob
                | ColumnType::Bit
                | ColumnType::Geometry
                | ColumnType::Vector
        )
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::from("0x");
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// Writes a value so that tabs and line breaks in it cannot be taken for those between values.
fn write_escaped(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut start = 0;
    for (offset, byte) in bytes.iter().enumerate() {
        let escaped: &[u8] = match byte {
            b'\t' => b"\\t",
            b'\n' => b"\\n",
            b'\\' => b"\\\\",
            0 => b"\\0",
            _ => continue,
        };
        out.write_all(&bytes[start..offset])?;
        out.write_all(escaped)?;
        start = offset + 1;
    }
    out.write_all(&bytes[start..])
}

#[cfg(test)]
mod tests {
    use squall_wire::constants::ColumnFlags;

    use super::*;

    fn column(name: &str, column_type: ColumnType, collation: u16) -> Column {
        Column {
            schema: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.to_owned(),
            org_name: String::new(),
            collation,
            length: 0,
            column_type,
            flags: ColumnFlags::EMPTY,
            decimals: 0,
        }
    }

    fn print(format: Format, names: bool) -> String {
        let columns = [
            column("id", ColumnType::Long, 63),
            column("name", ColumnType::VarString, 255),
            column("raw", ColumnType::Blob, 63),
        ];
        let row =
            |id: &str, name: Option<&str>| -> Row { vec![Some(id.into()), name.map(Into::into), Some(vec![0xab, 0])] };
        let mut out = Vec::new();
        let style = Style { format, names, binary_as_hex: true };
        let mut printer = Printer::new(&mut out, &columns, style);
        printer.row(&row("1", Some("grün"))).expect("printed");
        printer.row(&row("22", None)).expect("printed");
        assert_eq!(printer.finish().expect("printed"), 2);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn tables_are_mysqls() {
        assert_eq!(
            print(Format::Table, true),
            "+----+------+--------+\n\
             | id | name | raw    |\n\
             +----+------+--------+\n\
             |  1 | grün | 0xAB00 |\n\
             | 22 | NULL | 0xAB00 |\n\
             +----+------+--------+\n"
        );
    }

    #[test]
    fn tabs_and_vertical_lines() {
        assert_eq!(print(Format::Tabs, true), "id\tname\traw\n1\tgrün\t0xAB00\n22\tNULL\t0xAB00\n");
        assert_eq!(print(Format::Tabs, false), "1\tgrün\t0xAB00\n22\tNULL\t0xAB00\n");
        let stars = "*".repeat(27);
        assert!(
            print(Format::Vertical, true)
                .starts_with(&format!("{stars} 1. row {stars}\n  id: 1\nname: grün\n raw: 0xAB00\n"))
        );
    }

    #[test]
    fn separators_in_values_are_escaped() {
        let mut out = Vec::new();
        write_escaped(&mut out, b"a\tb\nc\\d\0e").expect("printed");
        assert_eq!(out, b"a\\tb\\nc\\\\d\\0e");
    }
}
