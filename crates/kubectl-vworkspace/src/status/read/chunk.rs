//! Cutting a file at its `---` and `...` lines. YAML has no other meaning for one that starts a line, and valid JSON has
//! none at all, so this needs to understand neither.

/// A part of a file between two such lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    /// The text, with the `---` line that opens it if something else is on that line.
    pub(super) text: &'a [u8],
    /// How many lines of the file come before it.
    pub(super) lines_before: usize,
}

/// How a chunk is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Nothing but blanks, comments and directives.
    Blank,
    /// One JSON value or several, one after the other.
    Json,
    /// One YAML document.
    Yaml,
}

/// The chunks of `bytes`, in order.
pub(super) fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut rest = Some(Chunk { text: bytes, lines_before: 0 });
    std::iter::from_fn(move || {
        let chunk = rest?;
        let Some((end, lines, next)) = separator(chunk.text) else {
            rest = None;
            return Some(chunk);
        };
        rest = Some(Chunk { text: next, lines_before: chunk.lines_before + lines });
        Some(Chunk { text: chunk.text.get(..end).unwrap_or_default(), ..chunk })
    })
}

/// Where the chunk ends, how many lines until the next starts, and the rest of the file.
fn separator(text: &[u8]) -> Option<(usize, usize, &[u8])> {
    let mut start = 0;
    for (number, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let end = start + line.len();
        match line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"...")) {
            // The content of `--- content` belongs to what follows; at the very start it has been cut already.
            Some(after) if is_blank(after) => return Some((start, number + 1, text.get(end..)?)),
            Some([b' ' | b'\t', ..]) if start > 0 => return Some((start, number, text.get(start..)?)),
            _ => start = end,
        }
    }
    None
}

/// Nothing, or a comment.
fn is_blank(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.is_empty() || line.starts_with(b"#")
}

impl Chunk<'_> {
    /// By the first characters that mean something.
    pub(super) fn syntax(&self) -> Syntax {
        let text = self.text.trim_ascii_start();
        match text.split_first() {
            None => Syntax::Blank,
            Some((b'{', rest)) if starts_with_any(rest, b"\"}") => Syntax::Json,
            Some((b'[', rest)) if starts_with_any(rest, b"{[]\"") => Syntax::Json,
            Some((b'#' | b'%', _)) if self.text.split(|byte| *byte == b'\n').all(is_insignificant) => {
                Syntax::Blank
            }
            Some(_) => Syntax::Yaml,
        }
    }
}

fn starts_with_any(text: &[u8], accepted: &[u8]) -> bool {
    text.trim_ascii_start().first().is_none_or(|first| accepted.contains(first))
}

fn is_insignificant(line: &[u8]) -> bool {
    is_blank(line) || line.starts_with(b"%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(&str, usize)> {
        let part =
            |chunk: Chunk<'_>| (std::str::from_utf8(chunk.text).unwrap().to_owned(), chunk.lines_before);
        let parts: Vec<_> = chunks(text.as_bytes()).map(part).collect();
        parts.into_iter().map(|(text, line)| (&*text.leak(), line)).collect()
    }

    #[test]
    fn documents_end_where_a_line_starts_with_three_dashes() {
        assert_eq!(parts("a\n---\nb\n"), [("a\n", 0), ("b\n", 2)]);
        assert_eq!(parts("---\na\n--- # note\r\nb"), [("", 0), ("a\n", 1), ("b", 3)]);
        assert_eq!(parts("a: |\n  ---\n----\n---x\n"), [("a: |\n  ---\n----\n---x\n", 0)]);
        assert_eq!(parts("a\n--- {b: c}\nd"), [("a\n", 0), ("--- {b: c}\nd", 1)]);
        assert_eq!(parts("--- a\n--- b"), [("--- a\n", 0), ("--- b", 1)]);
        assert_eq!(parts(""), [("", 0)]);
    }

    #[test]
    fn documents_end_where_a_line_starts_with_three_dots() {
        assert_eq!(parts("a\n...\nb\n"), [("a\n", 0), ("b\n", 2)]);
        assert_eq!(parts("a\n... # end\r\n---\nb"), [("a\n", 0), ("", 2), ("b", 3)]);
        assert_eq!(parts("a\n..."), [("a\n", 0), ("", 2)]);
        assert_eq!(parts("a: |\n  ...\n....\n...x\n"), [("a: |\n  ...\n....\n...x\n", 0)]);
    }

    #[test]
    fn syntax_shows_in_the_first_characters() {
        let syntax = |text: &str| Chunk { text: text.as_bytes(), lines_before: 0 }.syntax();
        assert_eq!(syntax(" \n{ \"a\": 1}"), Syntax::Json);
        assert_eq!(syntax("{"), Syntax::Json);
        assert_eq!(syntax("[{}]"), Syntax::Json);
        assert_eq!(syntax("{a: 1}"), Syntax::Yaml);
        assert_eq!(syntax("# c\na: 1"), Syntax::Yaml);
        assert_eq!(syntax("%YAML 1.2\n# c\n\n"), Syntax::Blank);
        assert_eq!(syntax("\n \n"), Syntax::Blank);
    }
}
