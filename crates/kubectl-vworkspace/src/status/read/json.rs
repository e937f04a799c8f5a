//! JSON: one value, several one after the other, or one to a line.

use serde::de::DeserializeSeed;

use super::Documents;
use super::chunk::Chunk;
use super::object::Numbers;
use super::problem::{Place, Problem};

/// Reads all values of a chunk. After a broken one the next line that starts with `{` or `[` is tried.
pub(super) fn read(chunk: &Chunk<'_>, documents: &mut Documents<'_>) {
    let mut cursor = Cursor { text: chunk.text, at: 0, line: chunk.lines_before + 1, column: 1 };
    let mut recovering = false;
    while cursor.skip_blanks() {
        let place = cursor.place();
        let rest = cursor.rest();
        if !rest.starts_with(b"{") && !rest.starts_with(b"[") {
            if !recovering {
                documents.refuse(Problem::new(expected_object(rest)).at(place));
            }
            recovering = true;
            cursor.skip_to_next_start();
            continue;
        }
        let end = end_of_value(rest).unwrap_or(rest.len());
        let value = rest.get(..end).unwrap_or_default();
        if documents.add(|draft| parse(value, place, draft)).is_ok() {
            recovering = false;
            cursor.advance(end);
        } else {
            recovering = true;
            cursor.skip_to_next_start();
        }
    }
}

fn parse(value: &[u8], place: Place, draft: &mut super::Draft) -> Result<(), Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(value);
    let read = draft.seed(Numbers::AsWritten).deserialize(&mut deserializer);
    read.and_then(|()| deserializer.end()).map_err(|error| {
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        let column = if error.line() <= 1 { place.column - 1 + error.column() } else { error.column() };
        let line = place.line + error.line().saturating_sub(1);
        Problem::new(format!("failed to read JSON: {text}")).at(Place { line, column: column.max(1) })
    })
}

fn expected_object(found: &[u8]) -> String {
    let line = found.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let short: String = String::from_utf8_lossy(line).chars().take(30).collect();
    format!("failed to read JSON: expected an object that starts with {{, found {short:?}")
}

/// Length of the value that `text` starts with, by its brackets; `None` if they do not close.
fn end_of_value(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.iter().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            b'"' => loop {
                match bytes.next()?.1 {
                    b'"' => break,
                    b'\\' => {
                        bytes.next()?;
                    }
                    _ => {}
                }
            },
            _ => {}
        }
    }
    None
}

/// A position in a chunk, with its line and column for messages.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn place(&self) -> Place {
        Place { line: self.line, column: self.column }
    }

    fn advance(&mut self, count: usize) {
        let passed = self.rest().get(..count).unwrap_or_default();
        let breaks = passed.iter().filter(|byte| **byte == b'\n').count();
        self.line += breaks;
        self.column = match passed.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => passed.len() - last,
            None => self.column + passed.len(),
        };
        self.at += passed.len();
    }

    /// Whether anything is left.
    fn skip_blanks(&mut self) -> bool {
        let rest = self.rest();
        let blanks = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.advance(blanks);
        !self.rest().is_empty()
    }

    /// To the next line that may start a value, or to the end.
    fn skip_to_next_start(&mut self) {
        let rest = self.rest();
        let starts = |pair: &[u8]| matches!(pair, [b'\n', b'{' | b'[']);
        let next = rest.windows(2).position(starts).map_or(rest.len(), |index| index + 1);
        self.advance(next);
    }
}
