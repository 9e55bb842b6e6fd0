//! `POST /1.0/blob/sign`: a URL by which anybody may get one value, for a while.

use super::page_query::key_of;
use super::path::Path;
use super::resource::Resource;
use super::value::{VALUE_PARAMETERS, column_of};
use crate::answer::{Answer, JSON, whole};
use crate::body::check_type;
use crate::exchange::Exchange;
use crate::problem::Problem;
use crate::signing::now_seconds;
use hyper::{StatusCode, Uri};
use squall_file_formats::text::push_json_string;
use std::io::Write as _;

/// Most bytes of a request.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Answers a request.
pub(super) async fn answer(mut exchange: Exchange) {
    match answered(&mut exchange).await {
        Ok(answer) => exchange.sink.answer(answer),
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn answered(exchange: &mut Exchange) -> Result<Answer, Problem> {
    check_type(&exchange.head.headers, &["application/json"])?;
    exchange.check_query(&[])?;
    let mut session = exchange.logged_in().await?;
    let body = exchange.read_body(&mut session).await?;
    let asked = Asked::read(&body, exchange.settings.sign_seconds_max)?;
    let uri: Uri = asked.path.parse().map_err(|_| no_value())?;
    let is_value = uri.authority().is_none() && super::Kind::is_value(uri.path());
    let Some(Path::Value { name, column, key: Some(key) }) = is_value.then(|| Path::of(uri.path())).transpose()? else {
        return Err(no_value());
    };
    let query = uri.query().unwrap_or_default();
    crate::query::check(query, &VALUE_PARAMETERS)?;
    // What the account, or its token, may not see now, it does not sign. What it may see then is asked then.
    let resource = Resource::find(&mut session, name)?;
    let mut columns = vec![column_of(&resource, &column)?];
    if let Some(name) = crate::query::find(query, "type_column") {
        columns.push(column_of(&resource, &name)?);
    }
    resource.key_values(&key_of(key, &resource))?;
    if !columns.iter().chain(resource.key()).all(|at| resource.columns()[*at].may_read) {
        return Err(Problem::new(StatusCode::FORBIDDEN, "the account may not read the value"));
    }
    let gone = || Problem::new(StatusCode::UNAUTHORIZED, "the account is gone");
    let account = session.account.as_ref().ok_or_else(gone)?;
    let expires = now_seconds().saturating_add(asked.seconds);
    let url = exchange.caller.server.signing.sign(account, &asked.path, expires)?;
    let mut out = b"{\"url\":".to_vec();
    push_json_string(&url, &mut out);
    // Writing to memory cannot fail.
    let _ = write!(out, ",\"expires\":{expires}}}");
    Ok(whole(StatusCode::OK, JSON, out))
}

/// A request.
struct Asked {
    path: String,
    seconds: i64,
}

impl Asked {
    fn read(body: &[u8], seconds_max: u64) -> Result<Asked, Problem> {
        if body.len() > BODY_BYTES_MAX {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body has more than 64 KiB"));
        }
        if seconds_max == 0 {
            return Err(Problem::new(StatusCode::FORBIDDEN, "no URL is signed (blob_sign_max_seconds)"));
        }
        let wrong = || {
            let detail = format!(
                "the body is an object with path, a value by its key, and expires_in, seconds from 1 to {seconds_max}"
            );
            Problem::bad_request(detail)
        };
        let json: serde_json::Value = serde_json::from_slice(body).map_err(|_| wrong())?;
        let members = json.as_object().ok_or_else(wrong)?;
        if members.keys().any(|name| name != "path" && name != "expires_in") {
            return Err(wrong());
        }
        let path = members.get("path").and_then(|path| path.as_str()).ok_or_else(wrong)?.to_owned();
        let seconds = members.get("expires_in").and_then(|seconds| seconds.as_u64()).ok_or_else(wrong)?;
        match i64::try_from(seconds) {
            Ok(seconds @ 1..) if seconds as u64 <= seconds_max => Ok(Asked { path, seconds }),
            _ => Err(wrong()),
        }
    }
}

fn no_value() -> Problem {
    Problem::bad_request("path is that of a value by its key: /1.0/blob/{schema}/{table}/{column}/{key}")
}
