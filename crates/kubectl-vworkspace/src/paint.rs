//! Colour, when the reader is a person at a terminal who did not ask for none.

use std::fmt::{Display, Formatter, Result};
use std::io::IsTerminal;

/// Whether output may carry escape codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI colours.
    Always,
}

/// The few colours we use, named by what they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Under way.
    Busy,
    /// Wrong.
    Bad,
    /// Of lesser interest.
    Dim,
    /// A heading.
    Strong,
}

impl Colour {
    /// Colour on a terminal, unless `NO_COLOR` is set to anything but nothing (no-color.org) or `TERM` is `dumb`.
    pub fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !refused && !dumb { Colour::Always } else { Colour::Never }
    }

    /// `text` in `tone`, or as it is.
    pub fn paint<T: Display>(self, tone: Tone, text: T) -> Painted<T> {
        Painted { colour: self, tone, text }
    }
}

/// Text with a tone; see [`Colour::paint`].
#[derive(Debug, Clone, Copy)]
pub struct Painted<T> {
    colour: Colour,
    tone: Tone,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let code = match (self.colour, self.tone) {
            (Colour::Never, _) => return self.text.fmt(f),
            (Colour::Always, Tone::Good) => "32",
            (Colour::Always, Tone::Busy) => "33",
            (Colour::Always, Tone::Bad) => "31",
            (Colour::Always, Tone::Dim) => "2",
            (Colour::Always, Tone::Strong) => "1",
        };
        write!(f, "\x1b[{code}m")?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}
