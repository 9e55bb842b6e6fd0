//! Aggregates of the values at one path or name of documents, read from the entries of their index.
//!
//! An index of documents has an entry for each value with its place in the document ([`squall_types::json::terms`]). Where a query
//! asks nothing of a table but sums, extremes and counts of the values under one name (`SUM(JSUM(JSON_EXTRACT_ALL(doc, 'k')))`) or at
//! one path (`AVG(doc->'$.a.b')`), the entries of that name are all that it needs: a few bytes for each value in place of whole
//! documents. What an entry does not have (only the document keeps the case of strings) is read from the document.
//!
//! Nothing above the scan changes: it gives numbers in place of `CONVERT(doc->path, DOUBLE)`, or small documents that have the values
//! at the same place, from which the query's own functions take them.
//!
//! Reading order: `recognize` (which queries), `sample` (whether it is worth it), `source` (the table in their plans), `exec`.

mod exec;
mod recognize;
mod sample;
mod source;

pub use exec::DocumentValuesExec;
pub use recognize::recognize;
