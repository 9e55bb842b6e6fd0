//! The file formats and their names.

use std::path::Path;

/// How files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Commas, and quotes where they are needed (RFC 4180).
    Csv,
    /// Tabs, and backslashes where they are needed, as SELECT ... INTO OUTFILE writes them; \N is NULL.
    Tsv,
    /// A JSON object in each line.
    Ndjson,
    /// Apache Parquet.
    Parquet,
}

impl FileFormat {
    /// All of them by name.
    pub const NAMES: [(&'static str, FileFormat); 4] = [
        ("csv", FileFormat::Csv),
        ("tsv", FileFormat::Tsv),
        ("ndjson", FileFormat::Ndjson),
        ("parquet", FileFormat::Parquet),
    ];

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<FileFormat> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// What a file's name says.
    pub fn of_path(path: &Path) -> Option<FileFormat> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(FileFormat::Csv),
            "tsv" | "tab" | "txt" => Some(FileFormat::Tsv),
            "ndjson" | "jsonl" | "json" => Some(FileFormat::Ndjson),
            "parquet" | "parq" | "pq" => Some(FileFormat::Parquet),
            _ => None,
        }
    }
}
