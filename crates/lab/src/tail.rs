//! The end of a log file.

use std::fs;
use std::path::Path;

/// The last lines of a file, indented for a message; what cannot be read is said instead.
pub(crate) fn of(path: &Path, lines: usize) -> String {
    match fs::read(path) {
        Ok(bytes) => last_lines(&String::from_utf8_lossy(&bytes), lines),
        Err(error) => format!("  ({}: {error})", path.display()),
    }
}

fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    let last = all.get(all.len().saturating_sub(lines)..).unwrap_or_default();
    last.iter().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_shown() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "  b\n  c\n");
        assert_eq!(last_lines("a\n", 5), "  a\n");
        assert_eq!(last_lines("", 5), "");
    }
}
