//! HTTP as a protocol of the front end.

use crate::connection;
use crate::problem::Problem;
use crate::server::HttpServer;
use squall_front_end::{Client, LocalFuture, Moving, Protocol, Socket};
use squall_types::SqlError;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

/// The protocol.
#[derive(Debug)]
pub struct HttpProtocol(Arc<HttpServer>);

impl HttpProtocol {
    /// Serves a server's clients.
    pub fn new(server: Arc<HttpServer>) -> HttpProtocol {
        HttpProtocol(server)
    }
}

impl Protocol for HttpProtocol {
    fn name(&self) -> &str {
        "http"
    }

    fn application_protocols(&self) -> Vec<Vec<u8>> {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    }

    fn serve(self: Arc<Self>, client: Client) -> LocalFuture<'static, io::Result<Option<Moving>>> {
        Box::pin(async move { connection::serve(self.0.clone(), client).await.map(|()| None) })
    }

    fn refuse(self: Arc<Self>, mut socket: Socket, time_max: Duration, error: SqlError) -> LocalFuture<'static, ()> {
        Box::pin(async move {
            // A client that begins with TLS cannot read this, and sees a connection that ends.
            let body = Problem::of_error(&error).to_json();
            let head = format!(
                "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\n\
                 Connection: close\r\nRetry-After: 1\r\n\r\n",
                body.len()
            );
            let bytes = [head.as_bytes(), &body].concat();
            let _gone = timeout(time_max, socket.write_all(&bytes)).await;
        })
    }
}
