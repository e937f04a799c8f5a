//! JSON: one value, several one after the other, or one to a line.

use serde::de::DeserializeSeed;

use super::Documents;
use super::chunk::Chunk;
use super::object::Numbers;
use super::problem::{Place, Problem};

/// A file with more broken values than this is no file of objects, and looking for more takes ever longer.
const MOST_BROKEN: usize = 1000;

/// Reads all values of a chunk. After a broken one the text behind its last brace is tried, or the next line that
/// starts with `{` or `[`, whichever comes first.
pub(super) fn read(chunk: &Chunk<'_>, documents: &mut Documents<'_>) {
    let mut cursor = Cursor { text: chunk.text, at: 0, line: chunk.lines_before + 1, column: 1 };
    let mut recovering = false;
    let mut broken = 0;
    while cursor.skip_blanks() {
        let (place, rest) = (cursor.place(), cursor.rest());
        if broken > MOST_BROKEN {
            let text =
                format!("gave up after {MOST_BROKEN} broken JSON documents; what follows was not read");
            return documents.refuse(Problem::new(text).at(place));
        }
        let is_start = rest.starts_with(b"{") || rest.starts_with(b"[");
        if is_start && documents.add(|draft| parse(rest, place, draft)).is_ok() {
            recovering = false;
            cursor.advance(end_of_value(rest));
            continue;
        }
        if !is_start && !recovering {
            documents.refuse(Problem::new(expected_object(rest)).at(place));
        }
        recovering = true;
        broken += 1;
        cursor.skip_to_next_start();
    }
}

/// Reads the value that `text` starts with.
fn parse(text: &[u8], place: Place, draft: &mut super::Draft) -> Result<(), Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    draft.seed(Numbers::AsWritten).deserialize(&mut deserializer).map_err(|error| {
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

/// Length of the value that `text` starts with, by its braces; all of it if they do not balance.
fn end_of_value(text: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut bytes = text.iter().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    text.len()
}

fn skip_string<'a>(bytes: &mut impl Iterator<Item = (usize, &'a u8)>) {
    while let Some((_, byte)) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
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

    /// Behind the broken value here, to the next line that may start a value, or to the end.
    fn skip_to_next_start(&mut self) {
        let rest = self.rest();
        let starts = |pair: &[u8]| matches!(pair, [b'\n', b'{' | b'[']);
        let next = rest.windows(2).position(starts).map_or(rest.len(), |index| index + 1);
        let broken = rest.get(..next).unwrap_or_default();
        let is_value = broken.starts_with(b"{") || broken.starts_with(b"[");
        self.advance(if is_value { end_of_value(broken) } else { next });
    }
}
