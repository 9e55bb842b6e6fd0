//! A request on its way to an answer.

use crate::answer::of_problem;
use crate::body::{self, UnreadBody};
use crate::caller::Caller;
use crate::credentials::Credentials;
use crate::problem::Problem;
use crate::running::{Asked, Ends, RequestSession};
use crate::settings::HttpSettings;
use crate::signing::Signed;
use crate::sink::Sink;
use bytes::Bytes;
use hyper::header::USER_AGENT;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The path that logs pages in and out, which takes passwords whenever pages may log in.
pub(crate) const SESSION_PATH: &str = "/1.0/session";

/// What a path needs to answer a request.
pub(crate) struct Exchange {
    pub caller: Rc<Caller>,
    pub settings: Arc<HttpSettings>,
    pub head: Parts,
    pub body: UnreadBody,
    pub sink: Sink,
    pub ends: Ends,
    pub start: Instant,
    /// A signed URL is enough for it.
    pub takes_signature: bool,
}

impl Exchange {
    /// Logs the client in, and waits for a place among the requests that run: who may not ask takes none.
    ///
    /// # Errors
    /// See [`RequestSession::open`]; 503 without a place, and when the client goes.
    pub async fn session(&self) -> Result<RequestSession, Problem> {
        let mut session = self.logged_in().await?;
        self.give_place(&mut session).await?;
        Ok(session)
    }

    /// Logs the client in. Its session has no place among those that run until [`Exchange::read_body`] has given it one: clients that
    /// send slowly keep no others from running.
    ///
    /// # Errors
    /// See [`RequestSession::open`]; 503 when the client goes.
    pub async fn logged_in(&self) -> Result<RequestSession, Problem> {
        let credentials = self.credentials()?;
        let asked = Asked {
            program: self.program(),
            is_reading: matches!(self.head.method, Method::GET | Method::HEAD),
            is_login: self.head.method == Method::POST && self.head.uri.path() == SESSION_PATH,
        };
        self.unless_gone(RequestSession::open(&self.caller, &credentials, asked, &self.ends)).await
    }

    /// What the request says of who it is from: a signed URL says it by itself.
    pub fn credentials(&self) -> Result<Credentials, Problem> {
        match self.signed()? {
            Some(signed) => Ok(Credentials::Signed(signed)),
            None => Credentials::of(&self.head.headers),
        }
    }

    /// What the URL says, if it is signed and may be.
    pub fn signed(&self) -> Result<Option<Signed>, Problem> {
        if self.takes_signature { Signed::of(&self.head.uri) } else { Ok(None) }
    }

    async fn give_place(&self, session: &mut RequestSession) -> Result<(), Problem> {
        session.set_place(self.unless_gone(self.caller.server.place()).await?);
        Ok(())
    }

    /// Ends when the client goes: else requests without a client would pile up.
    async fn unless_gone<T>(&self, done: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
        tokio::select! {
            done = done => done,
            () = self.ends.gone.notified() => {
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the client is gone"))
            }
        }
    }

    /// What the client calls itself.
    pub fn program(&self) -> &str {
        self.head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body; from here on the session has its place.
    ///
    /// # Errors
    /// See [`body::read`]; 503 without a place, and when the client goes.
    pub async fn read_body(&mut self, session: &mut RequestSession) -> Result<Bytes, Problem> {
        let (bytes_max, read_timeout) = (self.settings.body_bytes_max, session.read_timeout());
        let body = body::read(&self.body, bytes_max, read_timeout, session.body_charge()).await?;
        self.give_place(session).await?;
        Ok(body)
    }

    /// The value of a parameter of the URL, percent-decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.head.uri.query().and_then(|query| crate::query::find(query, name))
    }

    /// Checks that the URL has no parameters but these, and none of them twice: what is not known is not ignored.
    ///
    /// # Errors
    /// 400.
    pub fn check_query(&self, known: &[&str]) -> Result<(), Problem> {
        crate::query::check(self.head.uri.query().unwrap_or_default(), known)
    }

    /// Ends with a problem.
    pub fn refuse(&mut self, problem: &Problem) {
        self.sink.answer(of_problem(problem));
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("uri", &self.head.uri).finish_non_exhaustive()
    }
}
