//! `/health`: whether the server answers.

use crate::answer::{Answer, JSON, whole};
use hyper::StatusCode;

/// The answer.
pub(crate) fn answer() -> Answer {
    whole(StatusCode::OK, JSON, "{\"status\":\"ok\"}")
}
