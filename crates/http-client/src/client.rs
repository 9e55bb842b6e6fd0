//! Runs a request from its URL to its answer.

use crate::connection::{Connection, Key, Pool, connect, system_tls};
use crate::decode::{ACCEPTED, Unpacker};
use crate::error::HttpError;
use crate::gate::{Gate, Place};
use crate::proxy::Proxy;
use crate::resolver::Resolve;
use crate::rules::Rules;
use crate::target::Target;
use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_rustls::TlsConnector;

/// Headers that a request may not set: they give its destination and the end of its body, which only the client sets.
const RESERVED: &[HeaderName] = &[
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::EXPECT,
    header::PROXY_AUTHORIZATION,
];
/// Headers that go along to another origin; any other may be a credential.
const HARMLESS: &[HeaderName] =
    &[header::ACCEPT, header::ACCEPT_LANGUAGE, header::ACCEPT_ENCODING, header::CONTENT_TYPE, header::USER_AGENT];

/// Whether a request may give this header.
pub fn may_be_given(name: &HeaderName) -> bool {
    !RESERVED.contains(name) && !matches!(name.as_str(), "keep-alive" | "proxy-connection")
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// GET, POST …
    pub method: Method,
    /// Of whom.
    pub target: Target,
    /// Additional headers, which override the client's own ones.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// The path below which redirects take headers along that may be credentials; `None` for all of the origin.
    pub scope: Option<Arc<str>>,
}

/// How far a request may go.
#[derive(Clone, Debug)]
pub struct Limits {
    /// For all of it: waiting for others, names, connections, redirects, the body.
    pub timeout: Duration,
    /// For the name and the connection of each hop.
    pub connect_timeout: Duration,
    /// Bytes of the unpacked body.
    pub max_bytes: usize,
    /// Redirects that are followed; with 0 a redirect is the answer.
    pub max_redirects: u32,
    /// Requests of all clients at once.
    pub max_concurrent: usize,
    /// What may be reached.
    pub rules: Arc<Rules>,
    /// What connections go through.
    pub proxy: Option<Proxy>,
    /// Who asks.
    pub user_agent: HeaderValue,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// Its status.
    pub status: StatusCode,
    /// Of whom it is.
    pub target: Target,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its unpacked body.
    pub body: Vec<u8>,
    /// Redirects that were followed.
    pub redirects: u32,
    /// How long it took.
    pub elapsed: Duration,
}

impl Response {
    /// Its content type; empty if it has none.
    pub fn content_type(&self) -> &str {
        text_of(&self.headers, &header::CONTENT_TYPE)
    }
}

fn text_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Asked with the number of bytes that come in, before they are kept; false: they cannot be.
pub type Charge<'c> = &'c mut (dyn FnMut(usize) -> bool + Send);

/// Makes requests, and keeps connections for more of them. It is used within one runtime.
pub struct Client {
    resolver: Arc<dyn Resolve>,
    pool: Arc<Pool>,
    gate: Gate,
    tls: Mutex<Option<TlsConnector>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("resolver", &self.resolver).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Opened<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("status", &self.status).finish_non_exhaustive()
    }
}

/// An answer whose body is yet to be read.
pub struct Opened<'c> {
    /// Its status.
    pub status: StatusCode,
    /// Of whom it is.
    pub target: Target,
    /// Its headers.
    pub headers: HeaderMap,
    /// Redirects that were followed.
    pub redirects: u32,
    client: &'c Client,
    body: Incoming,
    /// What came of the body and is not unpacked yet.
    input: Bytes,
    unpacker: Option<Unpacker>,
    kept: Option<(Key, Connection)>,
}

impl Opened<'_> {
    /// The next part of the body; `None` at its end.
    ///
    /// # Errors
    /// [`HttpError::Transfer`] if it breaks off, is damaged or too long.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        while let Some(unpacker) = &mut self.unpacker {
            if unpacker.has_more(&self.input) {
                let mut rest: &[u8] = &self.input;
                let part = unpacker.unpack(&mut rest)?;
                let used = self.input.len() - rest.len();
                self.input.advance(used);
                // A long body of few bytes leaves others their time, and can be ended.
                tokio::task::consume_budget().await;
                if !part.is_empty() {
                    return Ok(Some(part));
                }
                continue;
            }
            let part = match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.input = frame.into_data().unwrap_or_default();
                    continue;
                }
                Some(Err(error)) => return Err(connection_error(&error)),
                None => {
                    if let Some((key, connection)) = self.kept.take() {
                        self.client.pool.keep(key, connection);
                    }
                    self.unpacker.take().map(Unpacker::finish).transpose()?.unwrap_or_default()
                }
            };
            if !part.is_empty() {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }
}

impl Client {
    /// A client that finds addresses by a resolver.
    pub fn new(resolver: Arc<dyn Resolve>) -> Client {
        Client { resolver, pool: Arc::default(), gate: Gate::default(), tls: Mutex::default() }
    }

    /// The same with certificates that are trusted in the place of the machine's.
    pub fn with_tls(self, tls: TlsConnector) -> Client {
        Client { tls: Mutex::new(Some(tls)), ..self }
    }

    /// Requests that run now.
    pub fn running(&self) -> usize {
        self.gate.running()
    }

    /// Waits for a place among the requests that run at once.
    pub async fn enter(&self, max_concurrent: usize) -> Place<'_> {
        self.gate.enter(max_concurrent).await
    }

    /// Makes a request and reads the whole answer. Dropping the future ends the request.
    ///
    /// # Errors
    /// [`HttpError`].
    pub async fn fetch(&self, request: Request, limits: &Limits, charge: Charge<'_>) -> Result<Response, HttpError> {
        let begun = Instant::now();
        let whole = async {
            let _place = self.enter(limits.max_concurrent).await;
            let mut opened = self.open(request, limits).await?;
            let mut body = Vec::new();
            while let Some(part) = opened.next().await? {
                if !charge(part.len()) {
                    return Err(HttpError::Refused);
                }
                match body.is_empty() {
                    true => body = part,
                    false => body.extend_from_slice(&part),
                }
            }
            let Opened { status, target, headers, redirects, .. } = opened;
            Ok(Response { status, target, headers, body, redirects, elapsed: begun.elapsed() })
        };
        tokio::time::timeout(limits.timeout, whole).await.unwrap_or_else(|_| {
            Err(HttpError::transfer(format_args!("no whole answer within {} ms", limits.timeout.as_millis())))
        })
    }

    /// Makes a request, follows redirects, and gives the answer with its body to be read part by part. Neither the time of the whole nor the number of
    /// requests is bounded here.
    ///
    /// # Errors
    /// [`HttpError`].
    pub async fn open(&self, request: Request, limits: &Limits) -> Result<Opened<'_>, HttpError> {
        let mut request = request;
        let mut redirects = 0;
        loop {
            let (response, key, connection) = self.hop(&request, limits).await?;
            let (head, body) = response.into_parts();
            match redirect(&request, head.status, &head.headers).filter(|_| limits.max_redirects > 0).transpose()? {
                Some(_) if redirects == limits.max_redirects => {
                    return Err(HttpError::transfer(format_args!("more than {redirects} redirects")));
                }
                Some(next) => request = next,
                None => {
                    let has_body = request.method != Method::HEAD
                        && !matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
                    let encoding = if has_body { text_of(&head.headers, &header::CONTENT_ENCODING) } else { "" };
                    let unpacker = Some(Unpacker::new(encoding, limits.max_bytes)?);
                    let (status, headers, target) = (head.status, head.headers, request.target);
                    let kept = Some((key, connection));
                    let input = Bytes::new();
                    return Ok(Opened {
                        status,
                        target,
                        headers,
                        redirects,
                        client: self,
                        body,
                        input,
                        unpacker,
                        kept,
                    });
                }
            }
            redirects += 1;
        }
    }

    /// One request and the head of its answer.
    async fn hop(
        &self,
        request: &Request,
        limits: &Limits,
    ) -> Result<(hyper::Response<Incoming>, Key, Connection), HttpError> {
        let target = &request.target;
        limits.rules.check_name(target.host(), target.port())?;
        let key = Key::new(target, limits.proxy.as_ref());
        let may_repeat = matches!(request.method, Method::GET | Method::HEAD);
        while let Some(mut connection) = self.pool.take(&key, !may_repeat).await {
            // It was checked by the rules of its time.
            limits.rules.check_addresses(target.host(), target.port(), &[connection.address()])?;
            match connection.sender.try_send_request(message(request, limits)?).await {
                Ok(response) => return Ok((response, key, connection)),
                // The peer has closed it meanwhile.
                Err(mut failed) => {
                    if failed.take_message().is_none() && !may_repeat {
                        return Err(connection_error(failed.error()));
                    }
                }
            }
        }
        let connecting = self.connect(target, &key, limits);
        let mut connection = tokio::time::timeout(limits.connect_timeout, connecting).await.unwrap_or_else(|_| {
            let millis = limits.connect_timeout.as_millis();
            Err(HttpError::transfer(format_args!("no connection within {millis} ms")))
        })?;
        let sent = connection.sender.send_request(message(request, limits)?).await;
        Ok((sent.map_err(|error| connection_error(&error))?, key, connection))
    }

    /// A new connection, to an address that was checked.
    async fn connect(&self, target: &Target, key: &Key, limits: &Limits) -> Result<Connection, HttpError> {
        let addresses = match target.address() {
            Some(address) => vec![address],
            None => self.resolve(target.host()).await?,
        };
        limits.rules.check_addresses(target.host(), target.port(), &addresses)?;
        let proxy = match &limits.proxy {
            Some(proxy) => match proxy.host().parse() {
                Ok(address) => vec![address],
                Err(_) => self.resolve(proxy.host()).await?,
            },
            None => Vec::new(),
        };
        let tls = if target.is_secure() { Some(self.tls()?) } else { None };
        connect(key, &addresses, &proxy, tls.as_ref()).await
    }

    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, HttpError> {
        match self.resolver.resolve(host).await {
            Ok(addresses) if !addresses.is_empty() => Ok(addresses),
            _ => Err(HttpError::transfer("the name of the host has no address")),
        }
    }

    /// TLS; what the machine trusts is read once.
    fn tls(&self) -> Result<TlsConnector, HttpError> {
        let mut tls = self.tls.lock();
        if let Some(tls) = &*tls {
            return Ok(tls.clone());
        }
        Ok(tls.insert(system_tls()?).clone())
    }
}

/// A request as it is sent.
fn message(request: &Request, limits: &Limits) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
    let target = &request.target;
    let unsendable = |_| HttpError::Invalid("the URL cannot be sent".to_string());
    let mut message = hyper::Request::builder()
        .method(request.method.clone())
        .uri(target.path_and_query())
        .body(Full::new(request.body.clone()))
        .map_err(unsendable)?;
    let headers = message.headers_mut();
    *headers = request.headers.clone();
    let host = HeaderValue::from_str(target.authority());
    headers.insert(header::HOST, host.map_err(|_| HttpError::Invalid("the host cannot be sent".to_string()))?);
    headers.entry(header::USER_AGENT).or_insert_with(|| limits.user_agent.clone());
    headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    headers.entry(header::ACCEPT_ENCODING).or_insert(HeaderValue::from_static(ACCEPTED));
    if let Some(authorization) = target.authorization() {
        headers.entry(header::AUTHORIZATION).or_insert(authorization.clone());
    }
    // A body that is expected is there, be it empty.
    if request.body.is_empty() && matches!(request.method, Method::POST | Method::PUT | Method::PATCH) {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(message)
}

/// The request that an answer asks to make instead, if it does. What may be a credential stays with its origin.
fn redirect(request: &Request, status: StatusCode, headers: &HeaderMap) -> Option<Result<Request, HttpError>> {
    let becomes_get = match status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => request.method == Method::POST,
        StatusCode::SEE_OTHER => request.method != Method::HEAD,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => false,
        _ => return None,
    };
    let location = headers.get(header::LOCATION)?;
    let target = match location.to_str() {
        Ok(location) => request.target.redirected(location),
        Err(_) => Err(HttpError::transfer("a redirect to a URL that means nothing")),
    };
    let target = match target {
        Ok(target) => target,
        Err(error) => return Some(Err(error)),
    };
    let mut next = request.clone();
    let stays =
        target.is_of_origin(&request.target) && request.scope.as_deref().is_none_or(|scope| target.is_within(scope));
    if !stays {
        next.headers =
            HARMLESS.iter().filter_map(|name| Some((name.clone(), request.headers.get(name)?.clone()))).collect();
    } else if let Some(authorization) = request.target.authorization() {
        next.headers.entry(header::AUTHORIZATION).or_insert(authorization.clone());
    }
    if becomes_get {
        next.method = Method::GET;
        next.body = Bytes::new();
        next.headers.remove(header::CONTENT_TYPE);
    }
    next.target = target;
    Some(Ok(next))
}

/// Whether the peer has closed the connection within a body.
fn is_cut_off(error: &hyper::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::UnexpectedEof)
}

/// What went wrong on a connection. Texts of the library may quote what came in.
fn connection_error(error: &hyper::Error) -> HttpError {
    HttpError::transfer(match error {
        error if error.to_string().contains("head is too large") => "the head of the answer is too long",
        error if error.is_parse() => "the answer is no HTTP",
        error if is_cut_off(error) => "the connection was closed before the answer was whole",
        error if error.is_incomplete_message() || error.is_closed() || error.is_body_write_aborted() => {
            "the connection was closed before the answer was whole"
        }
        _ => "the connection broke",
    })
}
