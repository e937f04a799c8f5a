//! Colour, where a person at a terminal did not ask for none.

use std::io::IsTerminal;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Busy,
    Bad,
    Dim,
    Strong,
}

/// Whether output may carry escape codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Never,
    Always,
}

impl Colour {
    /// On a terminal, unless `NO_COLOR` is set to anything but nothing (no-color.org) or `TERM` is `dumb`.
    pub(super) fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !refused && !dumb { Self::Always } else { Self::Never }
    }

    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::Never, _) => return text.to_owned(),
            (Self::Always, Tone::Good) => "32",
            (Self::Always, Tone::Busy) => "33",
            (Self::Always, Tone::Bad) => "31",
            (Self::Always, Tone::Dim) => "2",
            (Self::Always, Tone::Strong) => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
