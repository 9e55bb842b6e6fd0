//! Writes the log entries of a session.
//!
//! With all logs off, a statement costs one relaxed load ([`Logs::active`](squall_logs::Logs::active)) and nothing else.

use crate::session::{Ended, Session, SessionState};
use crate::state::log::{BUFFER_BYTES_KEPT, Logged};
use squall_instrumentation::process::count;
use squall_logs::{Active, Client, Entry, LogSettings, Work};
use squall_parser::ast::{FlushTarget, MaintenanceKind, ObjectName, Set, Statement};
use squall_server_state::now_micros;
use squall_server_state::variables::{Values, ids};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::atomic::Ordering;

impl Session {
    /// Hands an entry with the text that was taken down to `write`.
    fn with_entry<T>(
        &mut self,
        command: &str,
        times: (i64, i64),
        work: Option<Work>,
        write: impl FnOnce(&Session, &Entry<'_>, &mut Vec<u8>) -> T,
    ) -> T {
        let (text, mut buffer) = (std::mem::take(&mut self.log.text), std::mem::take(&mut self.log.buffer));
        let entry = Entry {
            client: &self.log.client,
            query_id: self.log.query_id,
            command,
            database: self.default_database().map(|name| &**name),
            text: &text,
            start_micros: times.0,
            now_micros: times.1,
            work,
        };
        let result = write(self, &entry, &mut buffer);
        self.log.text = text;
        buffer.clear();
        buffer.shrink_to(BUFFER_BYTES_KEPT);
        self.log.buffer = buffer;
        result
    }

    /// A statement begins: the general log and the audit log. An error refuses the statement. `statement` is its tree, unless it is
    /// answered without.
    pub(crate) fn log_start(
        &mut self,
        active: Active,
        logged: Logged<'_>,
        statement: Option<&Statement>,
    ) -> SqlResult<()> {
        // The wait of the last statement, unless it was logged.
        self.instruments().take_lock_micros();
        let start = self.process.since_micros.load(Ordering::Relaxed);
        let settings = self.shared.logs.settings();
        self.take_text(logged, &settings);
        let general = active.general() && !self.settings.general_log_off;
        if !general && !active.audit() {
            return Ok(());
        }
        let audited = self.with_entry(logged.command(), (start, start), None, |session, entry, buffer| {
            if general {
                session.shared.logs.write_general(&settings, entry, buffer);
            }
            !active.audit() || session.shared.logs.write_audit(&settings, entry, buffer)
        });
        if audited || !settings.audit_strict || statement.is_some_and(|statement| self.may_mend_logs(statement)) {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::AuditApiAbort, &[&"audit_log", &1]))
    }

    /// [`Session::log_start`] of a statement that was answered at once, if a log gets anything of it. The audit log does not: an entry
    /// has to be there before the statement runs.
    pub(crate) fn log_answered(&mut self, ended: &Ended<'_>, now: i64) {
        let active = ended.begun.logs;
        let is_logged = active.query()
            || (active.general() && !self.settings.general_log_off)
            || (active.slow() && self.is_slow(ended, now));
        if is_logged {
            // Only the audit log refuses anything.
            let _logged = self.log_start(active, ended.logged, None);
        }
    }

    /// A statement has ended: the slow log and the query log, and its outcome for the audit log.
    pub(crate) fn log_end(&mut self, ended: &Ended<'_>, now: i64, lock_micros: u64) {
        let active = ended.begun.logs;
        let slow = self.is_slow(ended, now);
        if slow {
            count(&self.process.status.slow_queries);
        }
        if active.any() {
            let work = Work {
                rows_examined: ended.answered.rows_examined,
                tmp_tables: ended.answered.counts.tmp_tables,
                error: ended.error,
                lock_micros,
                ..self.work()
            };
            self.write_end(ended, slow && active.slow(), now, work);
        }
    }

    /// Whether a statement that has ended now was slow, or is logged as if it were, as it has scanned a table.
    fn is_slow(&self, ended: &Ended<'_>, now: i64) -> bool {
        if ended.answered.rows_examined < self.settings.min_examined_rows {
            return false;
        }
        let long = self.settings.long_query_micros;
        let counts = &ended.answered.counts;
        // With 0 every statement is meant, also one that takes no whole microsecond.
        long == 0
            || u64::try_from(now - ended.begun.start_micros).unwrap_or(0) > long
            || (ended.begun.logs.slow()
                && counts.select_scan + counts.select_full_join > 0
                && Values(&self.shared.globals.load_values()).on(ids::LOG_QUERIES_NOT_USING_INDEXES))
    }

    fn write_end(&mut self, ended: &Ended<'_>, slow: bool, now: i64, work: Work) {
        let (active, command) = (ended.begun.logs, ended.logged.command());
        let settings = self.shared.logs.settings();
        let slow = slow && (settings.slow_admin_statements || !ended.statement.is_some_and(is_administration));
        if !slow && !active.query() && !active.audit() {
            return;
        }
        let times = (ended.begun.start_micros, now);
        self.with_entry(command, times, Some(work), |session, entry, buffer| {
            let logs = &session.shared.logs;
            if slow {
                logs.write_slow(&settings, entry, buffer);
            }
            if active.query() {
                logs.write_query(&settings, entry, buffer);
            }
            if active.audit() {
                logs.write_audit(&settings, entry, buffer);
            }
        });
    }

    /// A text that no grammar takes. It may hold a password, so it is logged with `log_raw` only.
    pub(crate) fn log_unparsed(&mut self, sql: &[u8]) {
        if self.shared.logs.active().general() && self.shared.logs.settings().raw {
            self.log_command("Query", sql);
        }
    }

    /// A command that is no statement, or one inside of a statement.
    pub(crate) fn log_command(&mut self, command: &str, text: &[u8]) {
        self.log_inner(command, Logged { sql: text, executed: None });
    }

    /// As [`Session::log_command`], for text with values.
    pub(crate) fn log_inner(&mut self, command: &str, logged: Logged<'_>) {
        if self.shared.logs.active().any() {
            self.write_command(command, logged);
        }
    }

    fn write_command(&mut self, command: &str, logged: Logged<'_>) {
        let settings = self.shared.logs.settings();
        // The text of the statement that this is a part of is still needed.
        let outer = std::mem::take(&mut self.log.text);
        self.take_text(logged, &settings);
        let now = now_micros();
        self.with_entry(command, (now, now), None, |session, entry, buffer| {
            session.shared.logs.write_command(entry, !session.settings.general_log_off, buffer);
        });
        self.log.text = outer;
    }

    /// The session is gone, whether its client said goodbye or not; for the audit log.
    pub(crate) fn log_disconnect(&mut self) {
        if self.shared.logs.active().audit() {
            self.write_command("Disconnect", Logged { sql: b"", executed: None });
        }
    }

    /// TRUNCATE TABLE of a log's table forgets its entries; `false` if it is another table.
    pub(crate) fn truncate_log(&self, name: &ObjectName) -> SqlResult<bool> {
        let (database, table) = self.security().qualify(name)?;
        let logs = &self.shared.logs;
        match (database.as_str(), table.to_ascii_lowercase().as_str()) {
            ("mysql", "general_log") => logs.general_rows.clear(),
            ("mysql", "slow_log") => logs.slow_rows.clear(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The session is there: `Connect`, or `Change user`.
    pub(crate) fn log_connect(&mut self) {
        if !self.shared.logs.active().any() {
            return;
        }
        let transport = match (self.identity.info.parent, &self.identity.info.tls, self.identity.info.address) {
            (Some(parent), ..) => format!("EXECUTE of connection {parent}"),
            (None, Some(_), _) => "SSL/TLS".to_string(),
            (None, None, Some(_)) => "TCP/IP".to_string(),
            (None, None, None) => "Socket".to_string(),
        };
        let Client { user, host, account_user, .. } = &self.log.client;
        let proxied = if user == account_user { String::new() } else { format!(" as {account_user}") };
        let text = format!(
            "{user}@{host}{proxied} on {} using {transport}",
            self.default_database().map(|name| &**name).unwrap_or("")
        );
        self.log_command(if self.identity.info.changes_user { "Change user" } else { "Connect" }, text.as_bytes());
    }
}

impl SessionState {
    /// Takes down the text of a statement that begins.
    fn take_text(&mut self, logged: Logged<'_>, settings: &LogSettings) {
        let options = self.parse_options();
        let (bytes_max, raw) = (settings.entry_bytes_max, settings.raw);
        let log = &mut self.log;
        log.query_id += 1;
        log.text.clear();
        log.text.shrink_to(BUFFER_BYTES_KEPT);
        match logged.executed {
            Some((places, values)) => {
                log.buffer.clear();
                squall_logs::text::push_executed(&mut log.buffer, logged.sql, places, values, bytes_max);
                squall_logs::text::push_statement(&mut log.text, &log.buffer, &options, bytes_max, raw);
            }
            None => squall_logs::text::push_statement(&mut log.text, logged.sql, &options, bytes_max, raw),
        }
    }

    /// With `audit_log_strict` and a log that cannot be written, an account must still be able to change that.
    fn may_mend_logs(&self, statement: &Statement) -> bool {
        let mends = match statement {
            Statement::Set(set) => matches!(set, Set::Items(_)),
            Statement::Flush(flush) => flush.targets.iter().all(|target| matches!(target, FlushTarget::Logs)),
            _ => false,
        };
        mends && self.identity.access.has_dynamic("SYSTEM_VARIABLES_ADMIN")
    }

    /// The record of the statement that has just ended.
    pub(crate) fn work(&self) -> Work {
        Work {
            rows_sent: if self.previous.row_count == -1 && self.diagnostics.errors() == 0 {
                self.previous.found_rows
            } else {
                0
            },
            rows_affected: u64::try_from(self.previous.row_count).unwrap_or(0),
            warnings: self.diagnostics.total(),
            last_insert_id: self.previous.last_insert_id,
            ..Default::default()
        }
    }
}

/// Statements that the slow log leaves out unless `log_slow_admin_statements`.
fn is_administration(statement: &Statement) -> bool {
    match statement {
        Statement::AlterTable(_) | Statement::CreateIndex(_) | Statement::DropIndex(_) => true,
        Statement::TableMaintenance(maintenance) => maintenance.kind != MaintenanceKind::Checksum,
        _ => false,
    }
}
