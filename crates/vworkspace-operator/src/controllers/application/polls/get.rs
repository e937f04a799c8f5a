//! One GET request on a connection of its own.

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;

const AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
/// The head of a response may be this large, and no more of a body is held at once.
const READ_LIMIT: usize = 64 * 1024;

/// An answer whose body can be read for as long as this lives.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) response: Response<Incoming>,
    /// Moves the bytes; ends when dropped, and the connection with it.
    _driver: JoinSet<()>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// Host or path cannot be sent.
    NotAskable,
    /// Something came, but no HTTP.
    NotHttp,
    /// The head of the answer is larger than we read.
    TooLarge,
    /// The other side hung up.
    Closed,
}

impl NoAnswer {
    /// What happened to the request, as the rest of a sentence about it.
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::NotAskable => {
                "cannot be sent: the host or the path has characters that HTTP does not allow"
            }
            Self::NotHttp => "was answered with something that is not HTTP/1",
            Self::TooLarge => "was answered with more than 64 KiB of headers",
            Self::Closed => "was not answered: the connection was closed",
        }
    }
}

/// Asks for a path, with the given Host header; redirects are answers like any other.
pub(super) async fn get<S>(stream: S, host: &str, path: &str) -> Result<Answered, NoAnswer>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let request = Request::get(path)
        .header(HOST, host)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, "*/*")
        .header(CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| NoAnswer::NotAskable)?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(READ_LIMIT)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| no_answer(&error))?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // The request or the body learns of an error too, and tells it.
        let _: hyper::Result<()> = connection.await;
    });
    let response = sender.send_request(request).await.map_err(|error| no_answer(&error))?;
    Ok(Answered { response, _driver: driver })
}

fn no_answer(error: &hyper::Error) -> NoAnswer {
    if error.is_parse_too_large() {
        NoAnswer::TooLarge
    } else if error.is_parse() {
        NoAnswer::NotHttp
    } else if error.is_user() {
        NoAnswer::NotAskable
    } else {
        NoAnswer::Closed
    }
}
