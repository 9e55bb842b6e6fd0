//! Takes a statement's results, and sends them in a [`Form`].

use crate::answer::{empty, whole};
use crate::forms::{Cell, Form};
use crate::problem::Problem;
use crate::sink::Sink;
use bytes::Bytes;
use hyper::StatusCode;
use squall_session::api::{ColumnMeta, LocalFuture, OkInfo, ResultWriter, RowWriter, StatusInfo};
use squall_session::time_slice::TimeSlice;
use squall_types::{Date, DateTime, Decimal, SqlError, SqlResult, Time, Warning};
use std::io;
use std::time::Instant;

/// Past this many bytes a result is sent on before more of it is made.
const FLUSH_BYTES: usize = 64 << 10;

/// Writes results into an answer. Up to 64 KiB are kept, so that the status of a short answer tells whether all has succeeded.
#[derive(Debug)]
pub struct AnswerWriter<F> {
    form: F,
    sink: Sink,
    out: Vec<u8>,
    start: Instant,
    slice: TimeSlice,
    rows_max: u64,
    /// Rows of the current result.
    rows: u64,
    /// The current row, or result, is not wanted.
    is_dropped: bool,
    has_set: bool,
    /// Statements that have succeeded.
    done: usize,
    error: Option<SqlError>,
}

impl<F: Form> AnswerWriter<F> {
    /// Sends at most `rows_max` rows of each result.
    pub fn new(form: F, sink: Sink, rows_max: u64, start: Instant) -> AnswerWriter<F> {
        AnswerWriter {
            form,
            sink,
            out: Vec::new(),
            start,
            slice: TimeSlice::default(),
            rows_max,
            rows: 0,
            is_dropped: false,
            has_set: false,
            done: 0,
            error: None,
        }
    }

    /// Whether a statement has failed.
    pub fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// The form, for what it is told beside results.
    pub fn form_mut(&mut self) -> &mut F {
        &mut self.form
    }

    /// Whether what waits to be sent is no more than what each answer keeps back.
    pub fn is_nearly_sent(&self) -> bool {
        self.out.len() <= 2 * FLUSH_BYTES
    }

    /// Ends the answer: with what has come, or with a problem that is not a statement's.
    ///
    /// # Errors
    /// When the client is gone.
    pub async fn finish(mut self, problem: Option<Problem>) -> io::Result<()> {
        let of_error = || {
            let statement = Some(self.done + 1).filter(|_| self.done > 0);
            self.error.as_ref().map(|error| Problem { statement, ..Problem::of_error(error) })
        };
        let problem = problem.or_else(of_error);
        if !self.sink.has_begun() {
            let answer = match problem {
                Some(problem) => self.form.refusal(&problem),
                None if F::IS_OF_SETS && !self.has_set => empty(StatusCode::NO_CONTENT),
                None => {
                    self.form.end(None, self.start.elapsed(), &mut self.out);
                    whole(StatusCode::OK, F::MEDIA_TYPE, std::mem::take(&mut self.out))
                }
            };
            return self.sink.send_answer(answer).await;
        }
        if !self.form.end(problem.as_ref(), self.start.elapsed(), &mut self.out) {
            self.sink.abort();
            return Ok(());
        }
        if !self.out.is_empty() {
            self.sink.send(F::MEDIA_TYPE, Bytes::from(std::mem::take(&mut self.out))).await?;
        }
        self.sink.end().await
    }

    fn put(&mut self, cell: Cell<'_>) {
        if !self.is_dropped {
            let put = self.form.cell(cell, &mut self.out);
            self.note(put);
        }
    }

    /// What the form cannot have ends the statement at the next flush.
    fn note(&mut self, done: SqlResult<()>) {
        if let Err(error) = done
            && self.error.is_none()
        {
            self.error = Some(error);
        }
    }
}

impl<F: Form> RowWriter for AnswerWriter<F> {
    fn begin_row(&mut self) {
        self.rows += 1;
        self.is_dropped |= self.rows > self.rows_max;
        if !self.is_dropped {
            self.form.begin_row(&mut self.out);
        }
    }

    fn put_null(&mut self) {
        self.put(Cell::Null);
    }

    fn put_int(&mut self, value: i64) {
        self.put(Cell::Int(value));
    }

    fn put_uint(&mut self, value: u64) {
        self.put(Cell::UInt(value));
    }

    fn put_double(&mut self, value: f64) {
        self.put(Cell::Double(value));
    }

    fn put_decimal(&mut self, value: Decimal) {
        self.put(Cell::Decimal(value));
    }

    fn put_bytes(&mut self, value: &[u8]) {
        self.put(Cell::Bytes(value));
    }

    fn put_date(&mut self, value: Date) {
        self.put(Cell::Date(value));
    }

    fn put_datetime(&mut self, value: DateTime) {
        self.put(Cell::DateTime(value));
    }

    fn put_time(&mut self, value: Time) {
        self.put(Cell::Time(value));
    }

    fn end_row(&mut self) {
        if !self.is_dropped {
            let ended = self.form.end_row(&mut self.out);
            self.note(ended);
        }
    }
}

impl<F: Form> ResultWriter for AnswerWriter<F> {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.rows = 0;
        self.is_dropped = self.form.is_full();
        if !self.is_dropped {
            self.has_set = true;
            let begun = self.form.begin_set(columns, &mut self.out);
            self.note(begun);
        }
    }

    fn end_result_set(&mut self, status: &StatusInfo) {
        let truncated = self.rows > self.rows_max;
        if !self.form.is_full() {
            let ended = self.form.end_set(truncated, &mut self.out);
            self.note(ended);
        }
        self.done += usize::from(status.more_results);
    }

    fn ok(&mut self, ok: &OkInfo, status: &StatusInfo) {
        if !self.form.is_full() {
            self.form.ok(ok, &mut self.out);
        }
        self.done += usize::from(status.more_results);
    }

    fn conditions(&mut self, conditions: &[Warning]) {
        if !self.form.is_full() {
            self.form.conditions(conditions, &mut self.out);
        }
    }

    fn error(&mut self, error: &SqlError) {
        // The first one has ended the text.
        if self.error.is_none() {
            self.error = Some(error.clone());
        }
    }

    fn is_satisfied(&self) -> bool {
        self.is_dropped
    }

    fn needs_flush(&self) -> bool {
        self.out.len() >= FLUSH_BYTES || self.error.is_some() || self.slice.is_over()
    }

    fn flush(&mut self) -> LocalFuture<'_, io::Result<()>> {
        Box::pin(async move {
            if self.error.is_some() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if self.out.len() >= FLUSH_BYTES {
                let bytes = std::mem::replace(&mut self.out, Vec::with_capacity(FLUSH_BYTES + (FLUSH_BYTES >> 2)));
                self.sink.send(F::MEDIA_TYPE, Bytes::from(bytes)).await?;
                self.slice.end();
            } else {
                self.slice.give_way().await;
            }
            Ok(())
        })
    }
}
