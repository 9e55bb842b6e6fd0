//! Errors as `application/problem+json` (RFC 9457).

use hyper::StatusCode;
use squall_file_formats::text::push_json_string;
use squall_types::{ErrorCode, SqlError};
use std::io::Write as _;
use std::time::Duration;

/// What is wrong with a request, or what has failed.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The answer's status.
    pub status: StatusCode,
    /// What is wrong.
    pub detail: String,
    /// Number and SQLSTATE of a statement's error.
    pub sql: Option<(u16, [u8; 5])>,
    /// Which statement of the text has failed, from 1.
    pub statement: Option<usize>,
    /// The methods that the path has (405).
    pub allow: Option<&'static str>,
    /// When the client may ask again (429, 503); a second if nothing is known.
    pub retry_after: Option<Duration>,
}

impl Problem {
    /// One without an error of a statement.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, detail: detail.into(), sql: None, statement: None, allow: None, retry_after: None }
    }

    /// 400.
    pub fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 429 until a time has passed.
    pub fn too_often(detail: impl Into<String>, wait: Duration) -> Problem {
        Problem { retry_after: Some(wait), ..Problem::new(StatusCode::TOO_MANY_REQUESTS, detail) }
    }

    /// An error of a statement or a login.
    pub fn of_error(error: &SqlError) -> Problem {
        let sql = Some((error.code, error.sqlstate));
        Problem { sql, ..Problem::new(status_of(error), error.message.clone()) }
    }

    /// The JSON text.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push_json(&mut out);
        out
    }

    /// Appends the JSON text.
    pub fn push_json(&self, out: &mut Vec<u8>) {
        let title = self.status.canonical_reason().unwrap_or("Error");
        out.extend_from_slice(b"{\"type\":\"about:blank\",\"title\":");
        push_json_string(title, out);
        // Writing to memory cannot fail.
        let _ = write!(out, ",\"status\":{},\"detail\":", self.status.as_u16());
        push_json_string(&self.detail, out);
        if let Some((code, sqlstate)) = self.sql {
            let _ = write!(out, ",\"error_code\":{code},\"sqlstate\":\"{}\"", String::from_utf8_lossy(&sqlstate));
        }
        if let Some(statement) = self.statement {
            let _ = write!(out, ",\"statement\":{statement}");
        }
        out.push(b'}');
    }
}

impl From<SqlError> for Problem {
    fn from(error: SqlError) -> Problem {
        Problem::of_error(&error)
    }
}

/// The status of an answer that is an error of MySQL's: by its number, else by its SQLSTATE's class.
pub fn status_of(error: &SqlError) -> StatusCode {
    use ErrorCode as E;
    match error.known() {
        // A login was refused, or the password has to be changed.
        Some(
            E::AccessDenied
            | E::MustChangePassword
            | E::MustChangePasswordLogin
            | E::AccountLocked
            | E::AccountBlockedByPasswordLock,
        ) => StatusCode::UNAUTHORIZED,
        // A privilege is missing, or the server or the transaction is read-only.
        Some(
            E::DbAccessDenied
            | E::TableAccessDenied
            | E::ColumnAccessDenied
            | E::SpecificAccessDenied
            | E::ProcAccessDenied
            | E::OptionPreventsStatement
            | E::ReadOnlyTransaction
            | E::CantExecuteInReadOnly
            | E::SecureTransportRequired,
        ) => StatusCode::FORBIDDEN,
        // An object is missing.
        Some(
            E::DbDropExists
            | E::BadDatabase
            | E::BadTable
            | E::UnknownTable
            | E::NoSuchTable
            | E::SpDoesNotExist
            | E::TriggerDoesNotExist
            | E::NoSuchEvent,
        ) => StatusCode::NOT_FOUND,
        // Others were there first.
        Some(
            E::DbCreateExists
            | E::RecordChanged
            | E::TableExists
            | E::DuplicateKeyName
            | E::DuplicateEntry
            | E::LockWaitTimeout
            | E::Deadlock
            | E::NoReferencedRow
            | E::RowIsReferenced
            | E::SpAlreadyExists
            | E::RowIsReferenced2
            | E::NoReferencedRow2
            | E::LockNowait
            | E::DoesNotSupportSchemaChange,
        ) => StatusCode::CONFLICT,
        Some(E::PacketTooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
        Some(E::WrongArguments) => StatusCode::BAD_REQUEST,
        // A value does not fit its column, or breaks a rule of its table.
        Some(
            E::BadNull
            | E::WrongValue
            | E::ToVectorConversion
            | E::WrongValueCountOnRow
            | E::WarnNullToNotNull
            | E::DataOutOfRange
            | E::DataTruncated
            | E::TruncatedWrongValue
            | E::NoDefaultForField
            | E::DivisionByZero
            | E::TruncatedWrongValueForField
            | E::DataTooLong
            | E::WrongValueForType
            | E::DatetimeFunctionOverflow
            | E::DataOutOfRangeExpr
            | E::InvalidJsonText
            | E::BadValueForGeneratedColumn
            | E::CheckConstraintViolated,
        ) => StatusCode::UNPROCESSABLE_ENTITY,
        Some(E::TooManyConnections | E::TooManyUserConnections | E::UserLimitReached) => StatusCode::TOO_MANY_REQUESTS,
        Some(E::ServerShutdown | E::QueryInterrupted | E::ServerOfflineMode) => StatusCode::SERVICE_UNAVAILABLE,
        Some(E::QueryTimeout) => StatusCode::GATEWAY_TIMEOUT,
        _ => match &error.sqlstate {
            [b'2', b'2' | b'3', ..] | [b'4', b'5', ..] => StatusCode::UNPROCESSABLE_ENTITY,
            [b'4', b'0', ..] => StatusCode::CONFLICT,
            [b'2', b'8', ..] => StatusCode::UNAUTHORIZED,
            [b'2' | b'4', ..] | [b'0', b'A', ..] | [b'3', b'D', ..] => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_statuses() {
        for (code, status) in [
            (ErrorCode::Parse, 400),
            (ErrorCode::AccessDenied, 401),
            (ErrorCode::TableAccessDenied, 403),
            (ErrorCode::NoSuchTable, 404),
            (ErrorCode::DuplicateEntry, 409),
            (ErrorCode::PacketTooLarge, 413),
            (ErrorCode::TooManyUserConnections, 429),
            (ErrorCode::UserLimitReached, 429),
            (ErrorCode::ServerShutdown, 503),
        ] {
            assert_eq!(status_of(&SqlError::new(code, &[&"", &"", &"", &""])).as_u16(), status, "{code:?}");
        }
    }

    #[test]
    fn a_problem_is_json() {
        let error = SqlError::with_message(ErrorCode::NoSuchTable, "Table \"a\nb\" doesn't exist");
        let problem = Problem { statement: Some(2), ..Problem::of_error(&error) };
        let text = "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,\"detail\":\"Table \\\"a\\nb\\\" \
                    doesn't exist\",\"error_code\":1146,\"sqlstate\":\"42S02\",\"statement\":2}";
        assert_eq!(String::from_utf8(problem.to_json()).expect("text"), text);
    }
}
