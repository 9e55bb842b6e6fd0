//! Samples a few documents, to decide whether to read entries or documents, and how to divide the entries among threads.

use crate::access::RowTable;
use squall_catalog::IndexId;
use squall_row_store::{Direction, ReadView, ValueRange};
use squall_types::json::terms::collect_stored;
use squall_types::json::terms::value::{Found, TermReader};
use squall_types::term_list::TermList;
use squall_types::{SqlResult, Value};

/// Documents that are looked at, from each end of the table.
const DOCUMENTS: usize = 16;

/// Bytes of documents after which that is enough. A longer answer is not worth waiting for while a query is planned.
const BYTES_MAX: usize = 1 << 20;

// Times in nanoseconds, as measured on a processor of 2023 with all in memory; their ratios are what counts.
/// Reading an entry.
const ENTRY_NS: f64 = 150.0;
/// Reading the document of an entry.
const LOOK_NS: f64 = 4_000.0;
/// Reading the next row.
const ROW_NS: f64 = 450.0;
/// Reading a byte of a document.
const BYTE_NS: f64 = 1.1;

/// Entries that make it worth to share them among threads.
const PARALLEL_ENTRIES_MIN: f64 = 50_000.0;

/// The sample of a few documents.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    documents: usize,
    bytes: usize,
    entries: usize,
    looks: usize,
    /// In order.
    numbers: Vec<f64>,
    /// Whether there was one that was too long.
    has_long: bool,
    /// Rows of the table.
    rows: f64,
}

impl Sample {
    /// Looks at the first and the last documents of a table; `None` if there are none.
    pub fn take(table: &RowTable, column: usize, reader: &TermReader, view: &ReadView) -> SqlResult<Option<Sample>> {
        let mut sample = Sample { rows: table.store.table_stats(&table.table).row_count as f64, ..Sample::default() };
        let range = table.table.range(IndexId(0), ValueRange::ALL)?;
        let mut terms = TermList::default();
        for direction in [Direction::Forward, Direction::Backward] {
            let mut cursor = view.scan(&table.table, &range, direction);
            for _ in 0..DOCUMENTS {
                let Some(row) = cursor.next_row()? else { break };
                if let Value::Json(document) = row.view(&table.table).get_value(column)? {
                    sample.add(document.stored(), reader, &mut terms);
                }
                if sample.bytes > BYTES_MAX {
                    break;
                }
            }
        }
        sample.numbers.sort_by(f64::total_cmp);
        Ok((sample.documents > 0).then_some(sample))
    }

    fn add(&mut self, document: &str, reader: &TermReader, terms: &mut TermList) {
        self.documents += 1;
        self.bytes += document.len();
        terms.clear();
        self.has_long |= document.len() > BYTES_MAX;
        if document.len() > BYTES_MAX || collect_stored(document, terms).is_err() {
            return;
        }
        let range = reader.range();
        let within = |term: &&[u8]| *term >= &range.low[..] && range.high.as_ref().is_none_or(|high| *term < &high[..]);
        for term in terms.iter().filter(within) {
            self.entries += 1;
            self.looks += usize::from(reader.read(term) == Found::Look);
            self.numbers.extend(reader.number(term));
        }
    }

    /// Whether reading entries costs less than reading documents.
    pub fn is_worth_it(&self) -> bool {
        let by_entries = self.entries as f64 * ENTRY_NS + self.looks as f64 * LOOK_NS;
        !self.has_long && by_entries < self.documents as f64 * ROW_NS + self.bytes as f64 * BYTE_NS
    }

    /// Entries that the index has under the name, about.
    pub fn entries(&self) -> f64 {
        self.rows * self.entries as f64 / self.documents.max(1) as f64
    }

    /// Numbers that cut the entries into `pieces` of about the same size; fewer where that is not worth it.
    pub fn cuts(&self, pieces: usize) -> Vec<f64> {
        if self.entries() < PARALLEL_ENTRIES_MIN {
            return Vec::new();
        }
        let count = self.numbers.len();
        let mut cuts: Vec<f64> =
            (1..pieces).filter_map(|piece| self.numbers.get(count * piece / pieces).copied()).collect();
        cuts.dedup();
        cuts
    }
}
