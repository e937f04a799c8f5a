//! Output to a reader that may leave early: `explain --all | head -1`.

use std::io::{self, Write};

/// Writes to `W` as long as somebody reads it. What is written after that is lost, and no error: the work, and with it
/// the exit code, does not depend on who looks at it. [`Write::flush`] still tells, so that endless work can end.
#[derive(Debug)]
pub struct UntilClosed<W> {
    inner: W,
    closed: bool,
}

impl<W: Write> UntilClosed<W> {
    /// Nobody has left yet.
    pub fn new(inner: W) -> UntilClosed<W> {
        UntilClosed { inner, closed: false }
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        match self.inner.write(bytes) {
            Err(error) if is_closed(&error) => {
                self.closed = true;
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed { Err(io::ErrorKind::BrokenPipe.into()) } else { self.inner.flush() }
    }
}

/// Whether this is the reader's leave.
pub fn is_closed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// `result`, with the reader's leave as a success.
///
/// # Errors
///
/// All other errors.
pub fn or_closed(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| if is_closed(&error) { Ok(()) } else { Err(error) })
}
