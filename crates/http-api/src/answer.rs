//! Answers: a head, and a body that is there or comes in pieces.

use crate::problem::Problem;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{Notify, mpsc};

/// An answer.
pub type Answer = Response<AnswerBody>;

/// The media type of JSON.
pub const JSON: &str = "application/json; charset=utf-8";

/// Tells a statement's task, when dropped, that its answer is not read any more.
#[derive(Debug)]
pub struct Reader(Option<Arc<Notify>>);

impl Reader {
    /// A reader, of whose end `gone` is told.
    pub fn new(gone: Arc<Notify>) -> Reader {
        Reader(Some(gone))
    }

    /// Another reads on.
    pub fn pass_on(mut self) {
        self.0 = None;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(gone) = &self.0 {
            gone.notify_one();
        }
    }
}

/// A body.
#[derive(Debug)]
pub enum AnswerBody {
    /// What is there.
    Whole(Bytes),
    /// What comes. An error, or an end without [`Piece::End`], tells the client that it has not got all.
    Pieces {
        /// Where it comes from.
        pieces: mpsc::Receiver<Piece>,
        /// There as long as the client is.
        reader: Reader,
    },
}

/// A piece of a body.
#[derive(Debug)]
pub enum Piece {
    /// More of it.
    More(Bytes),
    /// It was all.
    End,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            AnswerBody::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            AnswerBody::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            AnswerBody::Pieces { pieces, .. } => pieces.poll_recv(cx).map(|piece| match piece {
                Some(Piece::More(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(Piece::End) => None,
                None => Some(Err(io::ErrorKind::ConnectionAborted.into())),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, AnswerBody::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            AnswerBody::Pieces { .. } => SizeHint::default(),
        }
    }
}

/// An answer with a whole body.
pub fn whole(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(AnswerBody::Whole(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

/// An answer without a body.
pub fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(AnswerBody::Whole(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// The answer that a problem is.
pub fn of_problem(problem: &Problem) -> Answer {
    let mut answer = whole(problem.status, "application/problem+json", problem.to_json());
    if let Some(allow) = problem.allow {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    }
    if matches!(problem.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        // Whole seconds, rounded up.
        let seconds = problem.retry_after.map_or(1, |wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}
