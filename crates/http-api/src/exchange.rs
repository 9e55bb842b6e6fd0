//! A request on its way to an answer.

use crate::answer::of_problem;
use crate::body;
use crate::caller::Caller;
use crate::credentials::Credentials;
use crate::problem::Problem;
use crate::running::{Asked, Ends, RequestSession};
use crate::settings::HttpSettings;
use crate::sink::Sink;
use bytes::Bytes;
use hyper::body::Incoming;
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
    pub body: Option<Incoming>,
    pub sink: Sink,
    pub ends: Ends,
    pub start: Instant,
}

impl Exchange {
    /// Logs the client in, and waits for a place among the requests that run: who may not ask takes none.
    ///
    /// # Errors
    /// See [`RequestSession::open`]; 503 without a place, and when the client goes.
    pub async fn session(&self) -> Result<RequestSession, Problem> {
        let credentials = Credentials::of(&self.head.headers)?;
        let asked = Asked {
            program: self.program(),
            is_reading: matches!(self.head.method, Method::GET | Method::HEAD),
            is_login: self.head.method == Method::POST && self.head.uri.path() == SESSION_PATH,
        };
        let begun = async {
            let session = RequestSession::open(&self.caller, &credentials, asked, &self.ends).await?;
            Ok(session.with_place(self.caller.server.place().await?))
        };
        tokio::select! {
            begun = begun => begun,
            // Else requests that nobody waits for would pile up.
            () = self.ends.gone.notified() => {
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the client is gone"))
            }
        }
    }

    /// What the client calls itself.
    pub fn program(&self) -> &str {
        self.head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body.
    ///
    /// # Errors
    /// See [`body::read`].
    pub async fn read_body(&mut self, session: &RequestSession) -> Result<Bytes, Problem> {
        let Some(incoming) = self.body.take() else { return Ok(Bytes::new()) };
        body::read(incoming, self.settings.body_bytes_max, session.read_timeout()).await
    }

    /// The value of a parameter of the URL, percent-decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.head.uri.query().and_then(|query| crate::query::find(query, name))
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
