//! The variables of logs: their allowed values, and the options of [`Logs`](squall_logs::Logs) that they set.

use crate::state::ServerState;
use crate::variables::{Values, ids};
use squall_logs::error_log::error_log;
use squall_logs::logs::{OpenError, Switch};
use squall_logs::{Format, LogSettings, Rotation, Thresholds, Zone};
use squall_system_variables::VariableId;
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Variables that name a log's file.
const FILE_VARIABLES: &[VariableId] =
    &[ids::GENERAL_LOG_FILE, ids::SLOW_QUERY_LOG_FILE, ids::QUERY_LOG_FILE, ids::AUDIT_LOG_FILE, ids::LOG_ERROR];

/// Longest path of a log's file, bytes.
const PATH_BYTES_MAX: usize = 512;

/// The default of a file's variable, which depends on the machine.
pub fn default_file(values: Values<'_>, id: VariableId) -> Option<Value> {
    let ending = match id {
        ids::GENERAL_LOG_FILE => ".log",
        ids::SLOW_QUERY_LOG_FILE => "-slow.log",
        _ => return None,
    };
    Some(Value::String(format!("{}{}{ending}", values.text(ids::DATADIR), values.text(ids::HOSTNAME))))
}

/// Checks what depends on more than a value's type (1231, 1680).
pub fn check_value(directory: &Path, id: VariableId, name: &str, value: &Value) -> SqlResult<()> {
    let Value::String(text) = value else { return Ok(()) };
    if !FILE_VARIABLES.contains(&id) || id == ids::LOG_ERROR && text == "stderr" {
        return Ok(());
    }
    if text.len() > PATH_BYTES_MAX {
        return Err(SqlError::new(ErrorCode::PathTooLong, &[&name]));
    }
    if may_be_log(directory, text) {
        return Ok(());
    }
    Err(SqlError::new(ErrorCode::WrongValueForVar, &[&name, &text]))
}

/// Whether a path is a regular file that can be written, or one that can be made; and neither a file of options of MySQL's
/// nor one of the data directory's own.
fn may_be_log(directory: &Path, text: &str) -> bool {
    let path = directory.join(text);
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase()).unwrap_or_default();
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let (Ok(parent), Ok(directory)) = (parent.canonicalize(), directory.canonicalize()) else { return false };
    if text.is_empty() || text.ends_with('/') || text.contains('\0') || extension == "cnf" || extension == "ini" {
        return false;
    }
    let own = if parent == directory {
        name == "lock" || extension == "pem" || extension == "sock"
    } else {
        parent.starts_with(&directory)
    };
    if own {
        return false;
    }
    let can_write = |path: &Path| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    match path.metadata() {
        Ok(facts) => facts.is_file() && can_write(&path),
        Err(_) => can_write(&parent),
    }
}

/// MySQL's error 29 for a log that cannot be opened.
pub fn open_error(error: &OpenError) -> SqlError {
    let number = error.error.raw_os_error().unwrap_or(0);
    let reason = squall_types::io_error_text(&error.error);
    SqlError::new(ErrorCode::FileNotFound, &[&error.path.display(), &number, &reason])
}

impl ServerState {
    /// Makes the values of the log variables hold.
    pub fn apply_log_variables(&self) -> SqlResult<()> {
        // Of two changes at once the later one's values must be the ones that stay.
        let _changing = self.log_change.lock();
        let values = self.globals.load_values();
        let values = Values(&values);
        let settings = settings(values, &self.directory);
        let (json, rotation, zone) = (settings.format == Format::Json, settings.rotation, settings.zone.clone());
        let result = self.logs.apply(settings);
        let verbosity = values.number(ids::LOG_ERROR_VERBOSITY) as u8;
        let path = match values.text(ids::LOG_ERROR) {
            "stderr" | "" => None,
            name => Some(self.directory.join(name)),
        };
        let errors = error_log().set(path.as_deref(), json, zone, verbosity, rotation);
        let errors = errors.map_err(|error| OpenError { path: path.unwrap_or_default(), error });
        result.and(errors).map_err(|error| open_error(&error))
    }
}

fn settings(values: Values<'_>, directory: &Path) -> LogSettings {
    let switch = |on: bool, file: VariableId| Switch { on, path: file_path(values, directory, file) };
    let output = values.text(ids::LOG_OUTPUT);
    let goes_to =
        |place: &str| !output.split(',').any(|word| word == "NONE") && output.split(',').any(|word| word == place);
    let number = |id: VariableId| usize::try_from(values.number(id)).unwrap_or(usize::MAX);
    LogSettings {
        general: switch(values.on(ids::GENERAL_LOG), ids::GENERAL_LOG_FILE),
        slow: switch(values.on(ids::SLOW_QUERY_LOG), ids::SLOW_QUERY_LOG_FILE),
        query: switch(values.on(ids::QUERY_LOG_ENABLED) && values.on(ids::QUERY_LOG_FILE_ENABLED), ids::QUERY_LOG_FILE),
        query_enabled: values.on(ids::QUERY_LOG_ENABLED),
        audit: switch(values.on(ids::AUDIT_LOG), ids::AUDIT_LOG_FILE),
        to_file: goes_to("FILE"),
        to_table: goes_to("TABLE"),
        format: match values.text(ids::LOG_FORMAT) {
            "json" => Format::Json,
            "query_log" => Format::QueryLog,
            _ => Format::Classic,
        },
        zone: match values.text(ids::LOG_TIMESTAMPS) {
            "SYSTEM" => Zone::System(Arc::new(TimeZone::system())),
            _ => Zone::Utc,
        },
        raw: values.on(ids::LOG_RAW),
        entry_bytes_max: number(ids::LOG_ENTRY_MAX_BYTES),
        buffered: values.text(ids::LOG_WRITE_MODE) == "buffered",
        table_rows_max: number(ids::LOG_TABLE_MAX_ROWS),
        rotation: Rotation {
            bytes: values.number(ids::LOG_ROTATE_BYTES),
            seconds: values.number(ids::LOG_ROTATE_SECONDS),
        },
        thresholds: Thresholds {
            execution_micros: values.number(ids::QUERY_LOG_THRESHOLD_EXECUTION_TIME),
            lock_micros: values.number(ids::QUERY_LOG_THRESHOLD_LOCK_TIME),
            session_micros: values.number(ids::QUERY_LOG_THRESHOLD_SESSION_TIME),
            rows_examined: values.number(ids::QUERY_LOG_THRESHOLD_ROWS_EXAMINED),
            rows_sent: values.number(ids::QUERY_LOG_THRESHOLD_ROWS_SENT),
            tmp_tables: values.number(ids::QUERY_LOG_THRESHOLD_TMP_TABLES),
            warnings: values.number(ids::QUERY_LOG_THRESHOLD_WARNINGS),
        },
        audit_sync: values.on(ids::AUDIT_LOG_SYNC),
        audit_strict: values.on(ids::AUDIT_LOG_STRICT),
        slow_admin_statements: values.on(ids::LOG_SLOW_ADMIN_STATEMENTS),
        header: squall_logs::classic::header(
            values.text(ids::VERSION),
            values.number(ids::PORT),
            values.text(ids::SOCKET),
        ),
    }
}

fn file_path(values: Values<'_>, directory: &Path, id: VariableId) -> PathBuf {
    match values.text(id) {
        "" => match default_file(values, id) {
            Some(Value::String(path)) => path.into(),
            _ => directory.to_path_buf(),
        },
        name => directory.join(name),
    }
}
