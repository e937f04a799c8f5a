//! The few styles we use, named by what they say. They are always written; `anstream` takes them out where no person at a
//! terminal reads them, or one who did not ask for colour (`NO_COLOR`, `TERM=dumb`), unless `CLICOLOR_FORCE` asks for them.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// As it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Under way.
pub const BUSY: Style = AnsiColor::Yellow.on_default();
/// Wrong.
pub const BAD: Style = AnsiColor::Red.on_default();
/// Of lesser interest.
pub const DIM: Style = Style::new().dimmed();
/// A heading.
pub const STRONG: Style = Style::new().bold();

/// `text` in `style`.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
