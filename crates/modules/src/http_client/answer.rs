//! Answers as documents.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use squall_http_client::Response;
use squall_http_client::header::HeaderMap;
use squall_http_client::text::decode;
use squall_types::json::{Json, Object};

/// What `HTTP_HEAD` gives.
pub(super) fn head(response: &Response) -> Json {
    object([("status", status(response)), ("headers", headers(&response.headers))])
}

/// The result of `HTTP_REQUEST`: the body as text, or in base64 if it is not text.
pub(super) fn whole(response: Response, is_binary: bool) -> Json {
    let content_type = response.content_type().to_string();
    let members = vec![
        ("status", status(&response)),
        ("url", Json::String(response.target.url().to_string())),
        ("headers", headers(&response.headers)),
        ("elapsed_ms", Json::Int(i64::try_from(response.elapsed.as_millis()).unwrap_or(i64::MAX))),
        ("redirects", Json::Int(i64::from(response.redirects))),
    ];
    let body = if is_binary { Err(response.body) } else { decode(response.body, &content_type) };
    let body = match body {
        Ok(text) => ("body", Json::String(text)),
        Err(bytes) => ("body_base64", Json::String(STANDARD.encode(bytes))),
    };
    object(members.into_iter().chain([body, ("content_type", Json::String(content_type))]))
}

fn status(response: &Response) -> Json {
    Json::Int(i64::from(response.status.as_u16()))
}

/// Each header with all of its values.
fn headers(headers: &HeaderMap) -> Json {
    let values =
        |name| headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let members = headers.keys().map(|name| (name.to_string(), Json::Array(values(name).map(Json::String).collect())));
    Json::Object(members.collect::<Object>())
}

fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}
