//! The styles of the demo, named by what they say. They are always written; `anstream` takes them out where nobody wants them.

use anstyle::{AnsiColor, Style};

pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BUSY: Style = AnsiColor::Yellow.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const STRONG: Style = Style::new().bold();

/// `text` in `style`.
pub(super) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
