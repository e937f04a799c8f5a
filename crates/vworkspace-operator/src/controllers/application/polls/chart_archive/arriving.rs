//! A download as something to read from, outside the asynchronous world.

use std::io::{self, Read};

use hyper::body::{Buf, Bytes};
use tokio::sync::mpsc;

/// Waits for each piece; ends when nobody sends any more.
pub(super) struct Arriving {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Arriving {
    pub(super) fn new(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self { pieces, piece: Bytes::new() }
    }
}

impl Read for Arriving {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(piece) = self.pieces.blocking_recv() else { return Ok(0) };
            self.piece = piece;
        }
        (&mut self.piece).reader().read(buffer)
    }
}
