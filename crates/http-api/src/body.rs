//! Bodies of requests.

use crate::problem::Problem;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{HeaderMap, StatusCode};
use squall_session::api::GrowingCharge;
use squall_types::{SqlError, SqlResult};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A client that sends fewer bytes each second than these is given up, after a while.
const BYTES_PER_SECOND_MIN: u64 = 1 << 10;

/// A body up to this length is taken apart at once.
const QUICK_BYTES: usize = 64 << 10;

/// A body that is not read is taken up to this length before its request is answered, and for this long.
const DRAINED_BYTES_MAX: usize = 256 << 10;
/// See [`DRAINED_BYTES_MAX`].
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The body of a request until somebody reads it.
#[derive(Clone, Default)]
pub struct UnreadBody(Rc<Cell<Option<Incoming>>>);

impl UnreadBody {
    /// Of a request that has just come.
    pub fn new(body: Incoming) -> UnreadBody {
        UnreadBody(Rc::new(Cell::new(Some(body))))
    }

    /// The body, for whoever reads it.
    pub fn take(&self) -> Option<Incoming> {
        self.0.take()
    }

    fn put_back(&self, body: Incoming) {
        self.0.set(Some(body));
    }

    /// Takes what nobody has read, within limits. The answer to a request ends its body: a client that is still sending would get an
    /// error of the connection in place of the answer (RFC 9112, 9.6; RFC 9113, 8.1). One that `expects_continue` sends none before it is told.
    pub async fn drain(&self, expects_continue: bool) {
        let Some(mut body) = self.take().filter(|_| !expects_continue) else { return };
        let (mut left, end) = (DRAINED_BYTES_MAX, Instant::now() + DRAIN_TIME);
        while left > 0 && !body.is_end_stream() {
            let Ok(Some(Ok(frame))) = timeout_at(end, body.frame()).await else { return };
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        }
    }
}

/// Checks that a body is declared to be of one of these media types. A form of a browser cannot declare them without asking first.
///
/// # Errors
/// 415.
pub fn check_type(headers: &HeaderMap, media_types: &[&str]) -> Result<(), Problem> {
    let unsupported = |detail: String| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    if headers.contains_key(CONTENT_ENCODING) {
        return unsupported("bodies are not compressed".to_owned());
    }
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = declared.split(';').next().unwrap_or_default().trim();
    if !media_types.iter().any(|known| known.eq_ignore_ascii_case(media_type)) {
        return unsupported(format!("Content-Type has to be {}", media_types.join(" or ")));
    }
    let charset = declared.split(';').skip(1).filter_map(|part| part.trim().split_once('='));
    for (name, value) in charset {
        let value = value.trim_matches('"');
        if name.eq_ignore_ascii_case("charset")
            && !["utf-8", "utf8", "us-ascii"].contains(&&*value.to_ascii_lowercase())
        {
            return unsupported("bodies are in UTF-8".to_owned());
        }
    }
    Ok(())
}

/// Takes a body apart, a long one on a thread of the pool: others wait on this event loop.
///
/// # Errors
/// When the thread has ended in panic.
pub async fn read_on_pool<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&[u8]) -> T + Send + 'static,
) -> SqlResult<T> {
    if body.len() <= QUICK_BYTES {
        return Ok(read(&body));
    }
    tokio::task::spawn_blocking(move || read(&body)).await.map_err(SqlError::internal)
}

/// Reads a body, and charges it as it comes. A client may rest for `read_timeout`, but not so often that it hardly sends anything.
///
/// # Errors
/// 413 for too long a body, 408 for too slow a client, 400 for a broken one; those of the charge.
pub async fn read(
    unread: &UnreadBody,
    bytes_max: usize,
    read_timeout: Duration,
    charge: &mut GrowingCharge,
) -> Result<Bytes, Problem> {
    let Some(mut body) = unread.take() else { return Ok(Bytes::new()) };
    let too_large = || {
        let detail = format!("the body has more than {bytes_max} bytes (json_server_max_body)");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    if body.size_hint().lower() > bytes_max as u64 {
        unread.put_back(body);
        return Err(too_large());
    }
    let start = Instant::now();
    let mut whole = BytesMut::new();
    loop {
        let allowed = Duration::from_secs(whole.len() as u64 / BYTES_PER_SECOND_MIN);
        // What was sent quickly is no reason to rest for longer: its memory is held meanwhile.
        let end = (start + read_timeout + allowed).min(Instant::now() + read_timeout);
        let Ok(frame) = timeout_at(end, body.frame()).await else {
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body comes too slowly"));
        };
        match frame {
            None => return Ok(whole.freeze()),
            Some(Ok(frame)) => {
                // Trailers are of no interest.
                let Ok(data) = frame.into_data() else { continue };
                if whole.len() + data.len() > bytes_max {
                    unread.put_back(body);
                    return Err(too_large());
                }
                charge.grow(data.len())?;
                whole.extend_from_slice(&data);
            }
            Some(Err(_)) => return Err(Problem::bad_request("the body is broken")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn types_of_bodies_are_checked() {
        let check = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(text));
            check_type(&headers, &["application/json"]).map_err(|problem| problem.status.as_u16())
        };
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            assert_eq!(check(good), Ok(()));
        }
        for bad in ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"] {
            assert_eq!(check(bad), Err(415));
        }
    }
}
