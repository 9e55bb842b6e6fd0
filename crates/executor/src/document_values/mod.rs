//! Aggregates of the values at one path or name of documents, read from the entries of their index.
//!
//! An index of documents has an entry for each value, with its place in the document ([`squall_types::json::terms`]). Some queries use
//! a table only for sums, extremes and counts of the values under one name (`SUM(JSUM(JSON_EXTRACT_ALL(doc, 'k')))`) or at one path
//! (`AVG(doc->'$.a.b')`). For them the entries of that name are enough: a few bytes for each value instead of whole documents. The case
//! of strings is not in the entries, so those values are read from the document.
//!
//! The operators above the scan stay the same. The scan gives numbers in place of `CONVERT(doc->path, DOUBLE)`, or small documents that
//! have the values at the same place. The query's own functions read these.
//!
//! Reading order: `recognize` (the queries that qualify), `sample` (the decision if it pays), `source` (the table in their plans),
//! `exec`.

mod exec;
mod provider;
mod recognize;
mod sample;
mod source;

pub use exec::DocumentValuesExec;
pub use recognize::recognize;
