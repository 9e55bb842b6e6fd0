//! All logs of a database: their switches, forms and destinations.

use crate::entry::{Client, Entry, Work};
use crate::file::buffer::Drainer;
use crate::file::{LogFile, Rotation};
use crate::rows::LogRows;
use crate::timestamp::Zone;
use crate::{classic, json, query_log};
use arc_swap::ArcSwap;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Which logs a statement has to be written to. All of it is one relaxed load of a word that changes with SET GLOBAL only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Active(u32);

impl Active {
    const GENERAL: u32 = 1;
    const SLOW: u32 = 2;
    const QUERY: u32 = 4;
    const AUDIT: u32 = 8;

    /// Whether there is anything to do.
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// The general log is on.
    pub fn general(self) -> bool {
        self.0 & Self::GENERAL != 0
    }

    /// The slow log is on.
    pub fn slow(self) -> bool {
        self.0 & Self::SLOW != 0
    }

    /// The query log is on.
    pub fn query(self) -> bool {
        self.0 & Self::QUERY != 0
    }

    /// The audit log is on.
    pub fn audit(self) -> bool {
        self.0 & Self::AUDIT != 0
    }
}

/// `log_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// MySQL's; the query log has no other than its own.
    #[default]
    Classic,
    /// The query log's.
    QueryLog,
    /// A JSON object per line.
    Json,
}

/// `query_log_threshold_…`: a statement has to reach every one of them. Times are microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thresholds {
    /// `…_execution_time`.
    pub execution_micros: u64,
    /// `…_lock_time`.
    pub lock_micros: u64,
    /// `…_session_time`.
    pub session_micros: u64,
    /// `…_rows_examined`.
    pub rows_examined: u64,
    /// `…_rows_sent`.
    pub rows_sent: u64,
    /// `…_tmp_tables`.
    pub tmp_tables: u64,
    /// `…_warnings`.
    pub warnings: u64,
}

impl Thresholds {
    fn reached(&self, entry: &Entry<'_>, work: &Work) -> bool {
        entry.micros() >= self.execution_micros
            && work.lock_micros >= self.lock_micros
            && entry.session_micros() >= self.session_micros
            && work.rows_examined >= self.rows_examined
            && work.rows_sent >= self.rows_sent
            && work.tmp_tables >= self.tmp_tables
            && work.warnings >= self.warnings
    }
}

/// A log with a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// Whether it is on.
    pub on: bool,
    /// Its file.
    pub path: PathBuf,
}

/// What the variables say of logs.
#[derive(Clone, Debug, Default)]
pub struct LogSettings {
    /// `general_log`.
    pub general: Switch,
    /// `slow_query_log`.
    pub slow: Switch,
    /// `query_log_enabled` and `query_log_file_enabled`.
    pub query: Switch,
    /// `query_log_enabled`.
    pub query_enabled: bool,
    /// `audit_log`.
    pub audit: Switch,
    /// `log_output` names FILE.
    pub to_file: bool,
    /// `log_output` names TABLE.
    pub to_table: bool,
    /// `log_format`.
    pub format: Format,
    /// `log_timestamps`.
    pub zone: Zone,
    /// `log_raw`.
    pub raw: bool,
    /// `log_entry_max_bytes`.
    pub entry_bytes_max: usize,
    /// `log_write_mode` is buffered.
    pub buffered: bool,
    /// `log_table_max_rows`.
    pub table_rows_max: usize,
    /// `log_rotate_bytes`, `log_rotate_seconds`.
    pub rotation: Rotation,
    /// `query_log_threshold_…`.
    pub thresholds: Thresholds,
    /// `audit_log_sync`.
    pub audit_sync: bool,
    /// `audit_log_strict`.
    pub audit_strict: bool,
    /// `log_slow_admin_statements`.
    pub slow_admin_statements: bool,
    /// What the files of the classic form begin with.
    pub header: Vec<u8>,
}

/// The logs of a database.
#[derive(Debug)]
pub struct Logs {
    active: CachePadded<AtomicU32>,
    settings: ArcSwap<LogSettings>,
    general: Arc<LogFile>,
    slow: Arc<LogFile>,
    query: Arc<LogFile>,
    audit: LogFile,
    lost: Arc<AtomicU64>,
    /// There while entries are buffered.
    drainer: Mutex<Option<Drainer>>,
    /// `mysql.general_log`.
    pub general_rows: LogRows,
    /// `mysql.slow_log`.
    pub slow_rows: LogRows,
    /// `data_dictionary.query_log`.
    pub query_rows: LogRows,
}

impl Default for Logs {
    fn default() -> Self {
        let lost = Arc::new(AtomicU64::new(0));
        let file = || LogFile::new(lost.clone());
        Logs {
            active: CachePadded::default(),
            settings: ArcSwap::default(),
            general: Arc::new(file()),
            slow: Arc::new(file()),
            query: Arc::new(file()),
            audit: file(),
            drainer: Mutex::default(),
            general_rows: LogRows::default(),
            slow_rows: LogRows::default(),
            query_rows: LogRows::default(),
            lost,
        }
    }
}

/// A file that could not be opened.
#[derive(Debug)]
pub struct OpenError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub error: std::io::Error,
}

impl Logs {
    /// Which logs are on.
    pub fn active(&self) -> Active {
        Active(self.active.load(Ordering::Relaxed))
    }

    /// The settings now.
    pub fn settings(&self) -> arc_swap::Guard<Arc<LogSettings>> {
        self.settings.load()
    }

    /// `Log_entries_lost`: entries that could not be written, not even by their beginning.
    pub fn entries_lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Makes settings hold: opens and closes files.
    ///
    /// # Errors
    /// The first file that cannot be opened. The settings hold all the same, and its entries are counted as lost until it
    /// can be.
    pub fn apply(&self, settings: LogSettings) -> Result<(), OpenError> {
        let header: &[u8] = if settings.format == Format::Classic { &settings.header } else { b"" };
        let outputs = settings.to_file || settings.to_table;
        let files: [(&LogFile, &Switch, bool, &[u8], bool); 4] = [
            (&self.general, &settings.general, settings.to_file, header, false),
            (&self.slow, &settings.slow, settings.to_file, header, false),
            (&self.query, &settings.query, true, b"", false),
            (&self.audit, &settings.audit, true, b"", settings.audit_sync),
        ];
        let mut result = Ok(());
        for (file, switch, to_file, header, sync) in files {
            let path = (switch.on && to_file).then_some(switch.path.as_path());
            if let Err(error) = file.set(path, header, settings.rotation, sync)
                && result.is_ok()
            {
                result = Err(OpenError { path: switch.path.clone(), error });
            }
        }
        self.set_buffered(settings.buffered);
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        let active = bit(settings.general.on && outputs, Active::GENERAL)
            | bit(settings.slow.on && outputs, Active::SLOW)
            | bit(settings.query.on || settings.query_enabled && settings.to_table, Active::QUERY)
            | bit(settings.audit.on, Active::AUDIT);
        self.settings.store(Arc::new(settings));
        self.active.store(active, Ordering::Relaxed);
        result
    }

    /// The audit log is never buffered: its entries have to be there before their statements run.
    fn set_buffered(&self, buffered: bool) {
        let files = [&self.general, &self.slow, &self.query];
        let mut drainer = self.drainer.lock();
        if buffered && drainer.is_none() {
            // Without a thread, entries are written at once as before.
            *drainer = Drainer::start(files.into_iter().cloned().collect()).ok();
        }
        let buffered = buffered && drainer.is_some();
        files.iter().for_each(|file| file.set_buffered(buffered));
        if !buffered {
            *drainer = None;
        }
    }

    /// Writes what waits in memory.
    pub fn drain(&self) {
        [&self.general, &self.slow, &self.query].iter().for_each(|file| file.drain());
    }

    /// FLUSH GENERAL LOGS and FLUSH SLOW LOGS; with both, all of this database's.
    ///
    /// # Errors
    /// The first file that cannot be opened; it goes on in the old one.
    pub fn reopen(&self, general: bool, slow: bool) -> Result<(), OpenError> {
        let settings = self.settings.load();
        let files: [(bool, &LogFile, &Switch); 4] = [
            (general, &self.general, &settings.general),
            (slow, &self.slow, &settings.slow),
            (general && slow, &self.query, &settings.query),
            (general && slow, &self.audit, &settings.audit),
        ];
        let mut result = Ok(());
        for (_, file, switch) in files.into_iter().filter(|(wanted, ..)| *wanted) {
            if let Err(error) = file.reopen()
                && result.is_ok()
            {
                result = Err(OpenError { path: switch.path.clone(), error });
            }
        }
        result
    }

    /// Writes a command to the general log. `buffer` is the caller's, used again and again.
    pub fn write_general(&self, settings: &LogSettings, entry: &Entry<'_>, buffer: &mut Vec<u8>) {
        if settings.to_table {
            self.general_rows.push(entry, settings.table_rows_max);
        }
        if settings.to_file {
            buffer.clear();
            match settings.format {
                Format::Classic => classic::push_general(buffer, entry, &settings.zone),
                Format::QueryLog => query_log::push_entry(buffer, entry),
                Format::Json => json::push_entry(buffer, "general", entry, &settings.zone),
            }
            self.general.append(buffer, entry.now_micros);
        }
    }

    /// Writes a statement that was slow to the slow log.
    pub fn write_slow(&self, settings: &LogSettings, entry: &Entry<'_>, buffer: &mut Vec<u8>) {
        if settings.to_table {
            self.slow_rows.push(entry, settings.table_rows_max);
        }
        if settings.to_file {
            buffer.clear();
            match settings.format {
                Format::Classic => classic::push_slow(buffer, entry, &settings.zone),
                Format::QueryLog => query_log::push_entry(buffer, entry),
                Format::Json => json::push_entry(buffer, "slow", entry, &settings.zone),
            }
            self.slow.append(buffer, entry.now_micros);
        }
    }

    /// Writes a statement to the query log, if it reaches the thresholds.
    pub fn write_query(&self, settings: &LogSettings, entry: &Entry<'_>, buffer: &mut Vec<u8>) {
        let work = entry.work.unwrap_or_default();
        if !settings.thresholds.reached(entry, &work) {
            return;
        }
        if settings.query_enabled && settings.to_table {
            self.query_rows.push(entry, settings.table_rows_max);
        }
        if !settings.query.on {
            return;
        }
        buffer.clear();
        match settings.format {
            Format::Classic | Format::QueryLog => query_log::push_entry(buffer, entry),
            Format::Json => json::push_entry(buffer, "query", entry, &settings.zone),
        }
        self.query.append(buffer, entry.now_micros);
    }

    /// Writes to the audit log, always as JSON. `false`: it is not there, and the statement must not be, where
    /// [`LogSettings::audit_strict`].
    pub fn write_audit(&self, settings: &LogSettings, entry: &Entry<'_>, buffer: &mut Vec<u8>) -> bool {
        buffer.clear();
        json::push_entry(buffer, "audit", entry, &settings.zone);
        self.audit.append(buffer, entry.now_micros)
    }

    /// Writes a command that is no statement: to the general log if the session wants that, and to the audit log if it
    /// begins or ends a session.
    pub fn write_command(&self, entry: &Entry<'_>, general: bool, buffer: &mut Vec<u8>) {
        let active = self.active();
        let settings = self.settings();
        if general && active.general() && entry.command != "Disconnect" {
            self.write_general(&settings, entry, buffer);
        }
        if active.audit() && matches!(entry.command, "Connect" | "Change user" | "Disconnect" | "Init DB") {
            self.write_audit(&settings, entry, buffer);
        }
    }

    /// Writes that a client was refused.
    pub fn write_refused(&self, client: &Client, command: &str, error: &squall_types::SqlError, now_micros: i64) {
        if !self.active().any() {
            return;
        }
        let entry = Entry {
            client,
            query_id: 0,
            command,
            database: None,
            text: error.message.as_bytes(),
            start_micros: now_micros,
            now_micros,
            work: Some(Work { error: error.code, ..Default::default() }),
        };
        self.write_command(&entry, true, &mut Vec::new());
    }
}
