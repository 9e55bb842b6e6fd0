//! `/1.0/session`: logs pages in and out.

use crate::answer::{Answer, JSON, empty, whole};
use crate::credentials::{COOKIE_NAME, Credentials, csrf_of, of_cookie};
use crate::exchange::Exchange;
use crate::page_sessions::{IDLE_MAX, PageSession};
use crate::problem::Problem;
use crate::running::{tell_refusal, wrong_token};
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{Method, StatusCode};
use squall_file_formats::text::push_json_string;
use std::io::Write as _;

/// Answers a request.
pub(crate) async fn answer(mut exchange: Exchange) {
    let answered = match exchange.head.method {
        Method::POST => begin(&exchange).await,
        Method::DELETE => end(&exchange),
        _ => show(&exchange).await,
    };
    match answered {
        Ok(answer) => exchange.sink.answer(answer),
        Err(problem) => exchange.refuse(&problem),
    }
}

async fn begin(exchange: &Exchange) -> Result<Answer, Problem> {
    if !exchange.settings.auth.session {
        let detail = "json_server_auth does not have this way of authentication";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    let credentials = Credentials::of(&exchange.head.headers)?;
    if !matches!(credentials, Credentials::Basic { .. }) {
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "a login has user and password (Basic)"));
    }
    let session = exchange.session().await?;
    let no_secret = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the system has no random bytes");
    let gone = || Problem::new(StatusCode::UNAUTHORIZED, "the account is gone");
    let account = session.account.as_ref().ok_or_else(gone)?;
    let sessions = &exchange.caller.server.page_sessions;
    // The browser forgets the cookie that it had.
    if let Credentials::Session { cookie, .. } = of_cookie(&exchange.head.headers) {
        sessions.end(&cookie);
    }
    let (cookie, login) = sessions.begin(account).map_err(no_secret)?;
    let mut answer = whole(StatusCode::CREATED, JSON, shown(&login));
    set_cookie(exchange, &mut answer, &cookie, IDLE_MAX.as_secs());
    Ok(answer)
}

async fn show(exchange: &Exchange) -> Result<Answer, Problem> {
    exchange.session().await?;
    let (cookie, login) = login_of(exchange)?;
    let mut answer = whole(StatusCode::OK, JSON, shown(&login));
    set_cookie(exchange, &mut answer, &cookie, IDLE_MAX.as_secs());
    Ok(answer)
}

/// Ends a login even if its account could not log in now.
fn end(exchange: &Exchange) -> Result<Answer, Problem> {
    let (cookie, login) = login_of(exchange)?;
    if !login.has_token(csrf_of(&exchange.head.headers)) {
        let problem = wrong_token();
        tell_refusal(&exchange.caller, &login.user, exchange.program(), &problem);
        return Err(problem);
    }
    exchange.caller.server.page_sessions.end(&cookie);
    let mut answer = empty(StatusCode::NO_CONTENT);
    set_cookie(exchange, &mut answer, "", 0);
    Ok(answer)
}

fn login_of(exchange: &Exchange) -> Result<(String, PageSession), Problem> {
    if let Credentials::Session { cookie, .. } = Credentials::of(&exchange.head.headers)?
        && let Some(login) = exchange.caller.server.page_sessions.find(&cookie)
    {
        return Ok((cookie, login));
    }
    Err(Problem::new(StatusCode::UNAUTHORIZED, "there is no login of this page"))
}

fn set_cookie(exchange: &Exchange, answer: &mut Answer, cookie: &str, seconds: u64) {
    let secure = if exchange.caller.tls.is_some() { "; Secure" } else { "" };
    let text = format!("{COOKIE_NAME}={cookie}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        answer.headers_mut().insert(SET_COOKIE, value);
    }
}

fn shown(login: &PageSession) -> Vec<u8> {
    let mut out = b"{\"account\":".to_vec();
    push_json_string(&format!("{}@{}", login.user, login.host), &mut out);
    out.extend_from_slice(b",\"csrf_token\":");
    push_json_string(&login.csrf, &mut out);
    // Writing to memory cannot fail.
    let _ = write!(out, ",\"expires_in\":{}}}", IDLE_MAX.as_secs());
    out
}
