//! Texts of others in our messages: on one line, and not too long.

/// The text on one line; what is longer than `limit` characters is cut.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        // One more than there may be shows that something is cut.
        line.extend(word.chars().take(limit + 1));
        if let Some((end, _)) = line.char_indices().nth(limit) {
            line.truncate(end);
            return line + "...";
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_line_of_bounded_length() {
        let table = [
            ("", ""),
            (" a\n  b\t\u{1b}[31m c ", "a b [31m c"),
            ("exactly 10", "exactly 10"),
            ("exactly 11!", "exactly 11..."),
            ("üüüüüüüüüüü", "üüüüüüüüüü..."),
        ];
        for (text, expected) in table {
            assert_eq!(one_line(text, 10), expected);
        }
    }
}
