//! The options of a call: the documents `options` and `request`.

use super::settings::{BYTES_MAX, REDIRECTS_MAX, Settings, TIMEOUT_MAX};
use squall_http_client::client::may_be_given;
use squall_http_client::header::{self, HeaderMap, HeaderName, HeaderValue};
use squall_http_client::target::{basic, secret};
use squall_http_client::{HttpError, Limits, Method};
use squall_types::json::{Json, Object};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::time::Duration;

/// Most headers of a request.
const HEADERS_MAX: usize = 100;
/// Most bytes of them.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// What the options of a call say.
#[derive(Debug)]
pub(super) struct Options {
    /// Its limits.
    pub limits: Limits,
    /// Headers, credentials among them.
    pub headers: HeaderMap,
    /// Whether a status of 400 or more is an error.
    pub fail_on_status: bool,
    /// Whether the body is wanted as bytes.
    pub is_binary: bool,
}

/// What `HTTP_REQUEST()` is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub method: Method,
    pub url: String,
    /// Its body, and whether that is a document.
    pub body: Option<(Vec<u8>, bool)>,
    pub options: Options,
}

/// Error 1210 with what is wrong.
pub(super) fn wrong(function: &str, what: &str) -> SqlError {
    SqlError::new(ErrorCode::WrongArguments, &[&format_args!("{function}: {what}")])
}

/// Reads options.
///
/// # Errors
/// 1210 for a value that is not an object, and for unknown names or invalid values.
pub(super) fn options(function: &str, document: &Json, settings: &Settings) -> SqlResult<Options> {
    let mut reader = Reader::new(function, settings);
    for (name, value) in object(function, document)?.iter() {
        reader.option(name, value)?;
    }
    reader.finish()
}

/// Without options.
pub(super) fn no_options(settings: &Settings) -> Options {
    Options { limits: settings.limits.clone(), headers: HeaderMap::new(), fail_on_status: false, is_binary: false }
}

/// Whether options ask for the body as bytes, as far as can be seen.
pub(super) fn asks_for_bytes(document: &str) -> bool {
    let parsed = Json::parse(document);
    matches!(&parsed, Ok(Json::Object(options)) if options.get("as") == Some(&Json::String("binary".to_string())))
}

/// Reads a request.
///
/// # Errors
/// As [`options`]; 1210 without a URL.
pub(super) fn request(function: &str, document: &Json, settings: &Settings) -> SqlResult<Asked> {
    let mut reader = Reader::new(function, settings);
    let (mut method, mut url, mut body) = (Method::GET, None, None);
    for (name, value) in object(function, document)?.iter() {
        match (name, value) {
            ("method", Json::String(word)) => method = method_of(function, word)?,
            ("url", Json::String(text)) => url = Some(text.clone()),
            ("body", Json::Null) => {}
            ("body", Json::String(text)) => body = Some((text.clone().into_bytes(), false)),
            ("body", document) => body = Some((document.to_string().into_bytes(), true)),
            ("method" | "url", _) => return Err(wrong(function, &format!("{name} is a text"))),
            _ => reader.option(name, value)?,
        }
    }
    let url = url.ok_or_else(|| wrong(function, "the request has no url"))?;
    Ok(Asked { method, url, body, options: reader.finish()? })
}

fn method_of(function: &str, word: &str) -> SqlResult<Method> {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD, Method::OPTIONS];
    let method = known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(word));
    method.ok_or_else(|| wrong(function, "method is GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS"))
}

fn object<'d>(function: &str, document: &'d Json) -> SqlResult<&'d Object> {
    match document {
        Json::Object(object) => Ok(object),
        _ => Err(wrong(function, "a JSON object is expected")),
    }
}

struct Reader<'f> {
    function: &'f str,
    options: Options,
    user: Option<String>,
    password: Option<String>,
    bearer: Option<String>,
}

impl<'f> Reader<'f> {
    fn new(function: &'f str, settings: &Settings) -> Self {
        Reader { function, options: no_options(settings), user: None, password: None, bearer: None }
    }

    fn wrong(&self, what: &str) -> SqlError {
        wrong(self.function, what)
    }

    fn option(&mut self, name: &str, value: &Json) -> SqlResult<()> {
        let text = |value: &Json| match value {
            Json::String(text) => Ok(text.clone()),
            _ => Err(self.wrong(&format!("{name} is a text"))),
        };
        match name {
            "headers" => self.headers(value)?,
            "timeout_ms" => {
                self.options.limits.timeout = Duration::from_millis(self.number(name, value, 1, TIMEOUT_MAX)?);
            }
            "max_bytes" => {
                let most = self.number(name, value, 1, BYTES_MAX)? as usize;
                // Beyond the session's is the session's to set.
                self.options.limits.max_bytes = most.min(self.options.limits.max_bytes);
            }
            "redirects" => self.options.limits.max_redirects = self.number(name, value, 0, REDIRECTS_MAX)? as u32,
            "user" => self.user = Some(text(value)?),
            "password" => self.password = Some(text(value)?),
            "bearer" => self.bearer = Some(text(value)?),
            "fail_on_status" => match value {
                Json::Bool(flag) => self.options.fail_on_status = *flag,
                _ => return Err(self.wrong("fail_on_status is true or false")),
            },
            "as" => match text(value)?.as_str() {
                "text" => self.options.is_binary = false,
                "binary" => self.options.is_binary = true,
                _ => return Err(self.wrong("as is text or binary")),
            },
            _ => {
                let shown: String = name.chars().take(64).collect();
                return Err(self.wrong(&format!("there is no option '{shown}'")));
            }
        }
        Ok(())
    }

    fn number(&self, name: &str, value: &Json, least: u64, most: u64) -> SqlResult<u64> {
        let number = match value {
            Json::Int(number) => u64::try_from(*number).ok(),
            Json::UInt(number) => Some(*number),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.wrong(&format!("{name} is a number from {least} to {most}")))
    }

    fn headers(&mut self, value: &Json) -> SqlResult<()> {
        let Json::Object(headers) = value else { return Err(self.wrong("headers is an object")) };
        let mut bytes = 0_usize;
        for (name, value) in headers.iter() {
            let values = match value {
                Json::Array(values) => values.as_slice(),
                one => std::slice::from_ref(one),
            };
            for value in values {
                let text = match value {
                    Json::String(text) => text.clone(),
                    Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) | Json::Bool(_) => {
                        value.to_string()
                    }
                    _ => return Err(self.wrong("the value of a header is a text or an array of texts")),
                };
                bytes = bytes.saturating_add(name.len() + text.len());
                if self.options.headers.len() == HEADERS_MAX || bytes > HEADER_BYTES_MAX {
                    return Err(self.wrong("too many headers"));
                }
                let (name, value) = header_of(self.function, name, &text)?;
                self.options.headers.append(name, value);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> SqlResult<Options> {
        let credentials = match (&self.user, &self.password, &self.bearer) {
            (None, None, None) => None,
            (None, None, Some(token)) => Some(secret(&format!("Bearer {token}"))),
            (Some(user), password, None) => Some(basic(user, password.as_deref().unwrap_or_default())),
            _ => return Err(self.wrong("credentials are user and password, or bearer")),
        };
        if let Some(credentials) = credentials {
            let credentials = credentials.map_err(|error: HttpError| self.wrong(&error.to_string()))?;
            self.options.headers.insert(header::AUTHORIZATION, credentials);
        }
        Ok(self.options)
    }
}

/// A header that a request may give.
///
/// # Errors
/// 1210 for characters that a header cannot have (CR, LF, NUL), and for headers that only the client sets.
pub(super) fn header_of(function: &str, name: &str, value: &str) -> SqlResult<(HeaderName, HeaderValue)> {
    let parsed = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.as_bytes()));
    let (Ok(name), Ok(value)) = parsed else {
        return Err(wrong(function, "a header has characters that no header can have"));
    };
    if !may_be_given(&name) {
        return Err(wrong(function, &format!("the header {name} is not a request's to give")));
    }
    Ok((name, value))
}
