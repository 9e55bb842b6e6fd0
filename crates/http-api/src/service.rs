//! From a request's head to what answers it.

use crate::answer::{Answer, Reader, empty, of_problem};
use crate::body::UnreadBody;
use crate::caller::{Caller, STREAMS_MAX};
use crate::exchange::{Exchange, SESSION_PATH};
use crate::origin::{self, Origin};
use crate::problem::Problem;
use crate::running::Ends;
use crate::settings::{HttpSettings, TlsRule};
use crate::sink::Sink;
use crate::{console, db, health, legacy, metrics, openapi, session_path, sql};
use hyper::body::Incoming;
use hyper::header::{
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, EXPECT, HeaderName, HeaderValue,
    REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Request, StatusCode, Version};
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::sync::oneshot;

/// Longest path and query, bytes.
const URI_BYTES_MAX: usize = 32 << 10;

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Metrics,
    Sql,
    Description,
    Session,
    Db,
    Legacy(legacy::Path),
    Console(console::File),
}

impl Route {
    /// What a path is, and its methods.
    pub fn of(path: &str, settings: &HttpSettings) -> Option<(Route, &'static str)> {
        if let Some(file) = console::File::of(path).filter(|_| settings.console) {
            return Some((Route::Console(file), "GET, HEAD"));
        }
        if let Some((path, methods)) = legacy::Path::of(path) {
            return Some((Route::Legacy(path), methods));
        }
        Some(match path {
            "/health" => (Route::Health, "GET, HEAD"),
            "/metrics" => (Route::Metrics, "GET"),
            "/1.0/sql" => (Route::Sql, "POST"),
            "/1.0/openapi.json" => (Route::Description, "GET"),
            SESSION_PATH => (Route::Session, "GET, POST, DELETE"),
            _ => {
                let (_, methods) = db::Kind::of(path)?;
                (Route::Db, methods)
            }
        })
    }
}

/// Answers a request.
pub(crate) async fn answer(caller: Rc<Caller>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    caller.touch();
    let settings = caller.server.settings();
    let is_scripted = request.headers().contains_key("x-requested-with");
    // HTTP/1 sends no body for HEAD by itself.
    let is_bare = request.method() == Method::HEAD && request.version() == Version::HTTP_2;
    let is_fixed = console::File::of(request.uri().path()).is_some();
    let is_encrypted = caller.tls.is_some();
    let origin = origin::check(request.uri(), request.headers(), &settings);
    let server = caller.server.clone();
    let expects_continue = request.headers().contains_key(EXPECT);
    let (head, body) = request.into_parts();
    let unread = UnreadBody::new(body);
    let request = Request::from_parts(head, unread.clone());
    let mut answer = match &origin {
        Ok(origin) => route(caller, request, &settings, origin).await,
        Err(problem) => of_problem(problem),
    };
    unread.drain(expects_continue).await;
    if is_bare {
        *answer.body_mut() = empty(StatusCode::OK).into_body();
    }
    server.requests.fetch_add(1, Ordering::Relaxed);
    if answer.status().as_u16() >= 400 {
        server.failures.fetch_add(1, Ordering::Relaxed);
    }
    add_headers(&mut answer, is_fixed, is_encrypted);
    // A browser asks its user for a password when it sees this, but not for a page that asks itself.
    if answer.status() == StatusCode::UNAUTHORIZED && !is_scripted {
        let scheme = if settings.auth.basic { "Basic realm=\"squall\", charset=\"UTF-8\"" } else { "Bearer" };
        answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
    }
    if let Ok(origin) = &origin {
        origin::allow(origin, &settings, answer.headers_mut());
    }
    Ok(answer)
}

/// Headers against misuse of answers by browsers.
fn add_headers(answer: &mut Answer, is_fixed: bool, is_encrypted: bool) {
    let headers = answer.headers_mut();
    let policy = match is_fixed {
        true => console::POLICY,
        false => "default-src 'none'; frame-ancestors 'none'",
    };
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CACHE_CONTROL, if is_fixed { "no-cache" } else { "no-store" }),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if is_encrypted {
        headers.insert(STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}

async fn route(
    caller: Rc<Caller>,
    request: Request<UnreadBody>,
    settings: &Arc<HttpSettings>,
    origin: &Origin,
) -> Answer {
    if let Err(problem) = check_head(&caller, &request, settings) {
        return of_problem(&problem);
    }
    let Some((route, methods)) = Route::of(request.uri().path(), settings) else {
        return of_problem(&Problem::new(StatusCode::NOT_FOUND, "there is no such path"));
    };
    if request.method() == Method::OPTIONS {
        let mut answer = empty(StatusCode::NO_CONTENT);
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
        if matches!(origin, Origin::Foreign(_)) && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            origin::allow_requests(answer.headers_mut());
        }
        return answer;
    }
    if !methods.split(", ").any(|method| method == request.method().as_str()) {
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("the path has the methods {methods}"));
        return of_problem(&Problem { allow: Some(methods), ..problem });
    }
    match route {
        Route::Console(file) => file.answer(request.headers()),
        Route::Health => health::answer(),
        _ => run(caller, request, settings, route).await,
    }
}

/// Rules for all requests beside those of origins.
fn check_head(caller: &Caller, request: &Request<UnreadBody>, settings: &HttpSettings) -> Result<(), Problem> {
    let is_allowed = match settings.tls {
        TlsRule::Off => true,
        TlsRule::Required => caller.tls.is_some(),
        TlsRule::RequiredIfRemote => caller.tls.is_some() || caller.is_local(),
    };
    if !is_allowed {
        return Err(Problem::new(StatusCode::FORBIDDEN, "the connection has to be encrypted (json_server_tls)"));
    }
    let length = request.uri().path_and_query().map_or(0, |uri| uri.as_str().len());
    if length > URI_BYTES_MAX {
        return Err(Problem::new(StatusCode::URI_TOO_LONG, format!("the path has more than {URI_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// Runs a request's statements in a task of their own: a statement is not dropped in its middle when the client goes.
async fn run(caller: Rc<Caller>, request: Request<UnreadBody>, settings: &Arc<HttpSettings>, route: Route) -> Answer {
    // A stream that its client resets makes room for another, but its task may still run.
    if caller.running() >= STREAMS_MAX as usize {
        let detail = format!("more than {STREAMS_MAX} requests of the connection run");
        return of_problem(&Problem::new(StatusCode::TOO_MANY_REQUESTS, detail));
    }
    let start = Instant::now();
    let running = caller.begin();
    let ends = Ends::default();
    // Tells the task when the client goes while it waits for the head.
    let reader = Reader::new(ends.gone.clone());
    let (sender, head) = oneshot::channel();
    let sink = Sink::new(sender, ends.gone.clone(), ends.killed.clone());
    let (parts, body) = request.into_parts();
    let settings = settings.clone();
    let exchange = Exchange { caller, settings, head: parts, body, sink, ends, start, takes_signature: false };
    tokio::task::spawn_local(async move {
        let _running = running;
        match route {
            Route::Metrics => metrics::answer(exchange).await,
            Route::Description => openapi::answer(exchange).await,
            Route::Session => session_path::answer(exchange).await,
            Route::Db => db::answer(exchange).await,
            Route::Legacy(path) => match path {
                legacy::Path::Version { is_short } => legacy::answer_version(exchange, is_short).await,
                legacy::Path::Sql => legacy::answer_sql(exchange).await,
                legacy::Path::Documents => legacy::answer_documents(exchange).await,
                legacy::Path::CreateSchema => legacy::answer_ddl(exchange, false).await,
                legacy::Path::DropSchema => legacy::answer_ddl(exchange, true).await,
            },
            _ => sql::answer(exchange).await,
        }
    });
    let answered = head.await;
    // The body of the answer has a reader of its own.
    reader.pass_on();
    answered.unwrap_or_else(|_| of_problem(&Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the statement was ended")))
}
