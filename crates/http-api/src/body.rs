//! Bodies of requests.

use crate::problem::Problem;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{HeaderMap, StatusCode};
use squall_session::api::GrowingCharge;
use squall_types::{SqlError, SqlResult};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A client that sends fewer bytes each second than these is given up, after a while.
const BYTES_PER_SECOND_MIN: u64 = 1 << 10;

/// A body up to this length is taken apart at once.
const QUICK_BYTES: usize = 64 << 10;

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
    mut body: Incoming,
    bytes_max: usize,
    read_timeout: Duration,
    charge: &mut GrowingCharge,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("the body has more than {bytes_max} bytes (json_server_max_body)");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    if body.size_hint().lower() > bytes_max as u64 {
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
