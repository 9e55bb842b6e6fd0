//! A connection: TLS or not, HTTP/1.1 or 2, until it ends.

use crate::caller::{Caller, STREAMS_MAX};
use crate::server::HttpServer;
use crate::service;
use crate::settings::TlsRule;
use crate::write_timeout::WriteTimeoutStream;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use squall_front_end::protocol::{Interrupted, before_session};
use squall_front_end::{Client, CountedStream, Transport};
use squall_session::api::SocketUse;
use std::future::{Future, pending};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Most bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Most headers of a request.
const HEADERS_MAX: usize = 100;
/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 22;
/// How HTTP/2 begins without TLS, as far as no request of HTTP/1.1 does.
const HTTP2_PREFACE: &[u8] = b"PRI";
/// How often a silent HTTP/2 client is asked whether it is there.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Runs what a library spawns on this event loop.
#[derive(Clone, Copy, Debug)]
struct OnThisLoop;

impl<F: Future<Output = ()> + 'static> Executor<F> for OnThisLoop {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

/// What a client speaks.
enum Spoken {
    Tls,
    Http1,
    Http2,
}

/// Serves a client from its first byte to its last.
pub(crate) async fn serve(server: Arc<HttpServer>, client: Client) -> io::Result<()> {
    let settings = client.services.context().front_end_settings();
    let spoken = match before_session(&client.wake, &settings, listen(&client)).await {
        Ok(spoken) => spoken?,
        // Nothing was said.
        Err(Interrupted::TimedOut | Interrupted::Ending) => return Ok(()),
    };
    let (transport, is_http2) = match spoken {
        Spoken::Tls if server.settings().tls == TlsRule::Off => return Ok(()),
        Spoken::Tls => {
            let transport = client.accept_tls().await.inspect_err(|_| client.services.context().connect_failed())?;
            let is_http2 = transport.application_protocol() == Some(b"h2");
            (transport, is_http2)
        }
        Spoken::Http1 => (Transport::Plain(client.socket.clone()), false),
        Spoken::Http2 => (Transport::Plain(client.socket.clone()), true),
    };
    let counted = Arc::new(SocketUse::new(client.socket.descriptor()));
    let tls = transport.tls_use().map(Arc::new);
    let parts = (client.peer, client.place.clone(), client.services.clone());
    let caller = Rc::new(Caller::new(server, parts, tls, counted.clone()));
    let stream = CountedStream::new(transport, counted);
    let served = serve_requests(&client, &caller, stream, is_http2).await;
    // Statements end by themselves when their client has gone.
    caller.wait_for_end().await;
    served
}

/// Finds out what a client speaks, without reading anything.
async fn listen(client: &Client) -> io::Result<Spoken> {
    let mut first = [0; HTTP2_PREFACE.len()];
    loop {
        let seen = client.socket.peek(&mut first).await?;
        match &first[..seen] {
            [] => return Err(io::ErrorKind::UnexpectedEof.into()),
            [TLS_HANDSHAKE, ..] => return Ok(Spoken::Tls),
            seen if seen == HTTP2_PREFACE => return Ok(Spoken::Http2),
            seen if !HTTP2_PREFACE.starts_with(seen) => return Ok(Spoken::Http1),
            // The rest is on its way.
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve_requests(client: &Client, caller: &Rc<Caller>, stream: CountedStream, is_http2: bool) -> io::Result<()> {
    let idle_timeout = caller.server.settings().idle_timeout;
    let service = {
        let caller = caller.clone();
        service_fn(move |request| service::answer(caller.clone(), request))
    };
    let write_timeout = client.services.context().front_end_settings().net_write_timeout_seconds.max(1);
    let write_timeout = Duration::from_secs(write_timeout);
    // The library has a type for each version, with the same methods.
    macro_rules! serve {
        ($connection:expr) => {{
            let mut connection = pin!($connection);
            tokio::select! {
                served = connection.as_mut() => return served.map_err(io::Error::other),
                () = ending(client) => {}
                () = idle(caller, is_http2.then_some(idle_timeout)) => {
                    connection.as_mut().graceful_shutdown();
                    // A client may take the rest of its answers, but not for ever.
                    tokio::select! {
                        served = connection.as_mut() => return served.map_err(io::Error::other),
                        () = ending(client) => {}
                        () = idle(caller, Some(idle_timeout + write_timeout)) => return Ok(()),
                    }
                }
            }
            connection.as_mut().graceful_shutdown();
            connection.await.map_err(io::Error::other)
        }};
    }
    let stream = TokioIo::new(WriteTimeoutStream::new(stream, write_timeout));
    if is_http2 {
        let mut builder = http2::Builder::new(OnThisLoop);
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .max_send_buf_size(HEAD_BYTES_MAX)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(idle_timeout);
        return serve!(builder.serve_connection(stream, service));
    }
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(idle_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    serve!(builder.serve_connection(stream, service))
}

/// Waits until nothing has run for a time. HTTP/1.1 has a limit of its own.
async fn idle(caller: &Caller, limit: Option<Duration>) {
    match limit {
        Some(limit) => caller.wait_for_idle(limit).await,
        None => pending().await,
    }
}

/// Waits until the connection has to end.
async fn ending(client: &Client) {
    while !client.neighbour.is_ending() {
        client.wake.notified().await;
    }
}
