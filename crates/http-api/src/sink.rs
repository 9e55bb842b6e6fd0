//! The way of an answer's bytes from a statement to its client.

use crate::answer::{Answer, AnswerBody, Piece, Reader};
use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

/// Longest body that is sent as a whole, and longest piece of a longer one.
const PIECE_BYTES: usize = 64 << 10;

/// Where an answer goes, once. Its body may come in pieces: then the head is sent with the first of them, and a client that does not read
/// holds its statement up.
#[derive(Debug)]
pub struct Sink {
    head: Option<oneshot::Sender<Answer>>,
    pieces: Option<mpsc::Sender<Piece>>,
    /// Told when the client is gone.
    gone: Arc<Notify>,
    /// Told by KILL, so that no statement waits for its client any more.
    killed: Arc<Notify>,
    write_timeout: Duration,
}

impl Sink {
    /// A way on which an answer can go to `head`.
    pub fn new(head: oneshot::Sender<Answer>, gone: Arc<Notify>, killed: Arc<Notify>) -> Sink {
        Sink { head: Some(head), pieces: None, gone, killed, write_timeout: Duration::from_secs(60) }
    }

    /// `net_write_timeout`: how long a client may refuse to read.
    pub fn set_write_timeout(&mut self, write_timeout: Duration) {
        self.write_timeout = write_timeout;
    }

    /// Whether the head has been sent: the status cannot change any more.
    pub fn has_begun(&self) -> bool {
        self.head.is_none()
    }

    /// Sends a whole answer, unless another has begun.
    pub fn answer(&mut self, answer: Answer) {
        if let Some(head) = self.head.take() {
            // Without a reader it is dropped.
            let _unread = head.send(answer);
        }
    }

    /// Sends a whole answer, unless another has begun. A long body goes in pieces: a client that does not take it is given up, and keeps
    /// none of it in memory.
    ///
    /// # Errors
    /// As for [`Sink::send`].
    pub async fn send_answer(&mut self, answer: Answer) -> io::Result<()> {
        let (head, body) = answer.into_parts();
        match body {
            AnswerBody::Whole(mut bytes) if bytes.len() > PIECE_BYTES => {
                self.begin(head)?;
                while !bytes.is_empty() {
                    let piece = bytes.split_to(PIECE_BYTES.min(bytes.len()));
                    self.push(Piece::More(piece)).await?;
                }
                self.end().await
            }
            body => {
                self.answer(Response::from_parts(head, body));
                Ok(())
            }
        }
    }

    /// Sends a head as a whole answer.
    ///
    /// # Errors
    /// When the client is gone.
    pub fn send_head(&mut self, head: Parts) -> io::Result<()> {
        self.answer(Response::from_parts(head, AnswerBody::Whole(Bytes::new())));
        Ok(())
    }

    /// Sends the head of a body that comes in pieces, unless an answer has begun.
    ///
    /// # Errors
    /// When the client is gone.
    pub fn begin(&mut self, head: Parts) -> io::Result<()> {
        let Some(sender) = self.head.take() else { return Ok(()) };
        let (pieces_sender, pieces) = mpsc::channel(1);
        let body = AnswerBody::Pieces { pieces, reader: Reader::new(self.gone.clone()) };
        sender.send(Response::from_parts(head, body)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        self.pieces = Some(pieces_sender);
        Ok(())
    }

    /// Sends a piece of the body, after the head with status 200 if it is the first one.
    ///
    /// # Errors
    /// When the client is gone, reads nothing for too long, or the session was killed.
    pub async fn send(&mut self, media_type: &'static str, bytes: Bytes) -> io::Result<()> {
        if !self.has_begun() {
            let mut head = Response::new(()).into_parts().0;
            head.status = StatusCode::OK;
            head.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
            self.begin(head)?;
        }
        self.send_piece(bytes).await
    }

    /// The same in pieces, of which the client has taken all but the last two when this returns: it keeps no more than these in memory.
    ///
    /// # Errors
    /// As for [`Sink::send`].
    pub async fn send_in_pieces(&mut self, media_type: &'static str, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(PIECE_BYTES) {
            self.send(media_type, Bytes::copy_from_slice(piece)).await?;
        }
        Ok(())
    }

    /// Sends a piece of the body that has begun.
    ///
    /// # Errors
    /// When the client is gone, reads nothing for too long, or the session was killed.
    pub async fn send_piece(&mut self, bytes: Bytes) -> io::Result<()> {
        self.push(Piece::More(bytes)).await
    }

    /// Ends a body that came in pieces.
    ///
    /// # Errors
    /// As for [`Sink::send`].
    pub async fn end(&mut self) -> io::Result<()> {
        self.push(Piece::End).await
    }

    /// Breaks a body off, so that the client sees that it has not got all.
    pub fn abort(&mut self) {
        self.pieces = None;
    }

    async fn push(&mut self, piece: Piece) -> io::Result<()> {
        let Some(pieces) = &self.pieces else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let sent = tokio::select! {
            biased;
            sent = timeout(self.write_timeout, pieces.send(piece)) => sent,
            () = self.killed.notified() => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        match sent {
            Ok(sent) => sent.map_err(|_| io::ErrorKind::BrokenPipe.into()),
            Err(_late) => {
                self.pieces = None;
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }
}
