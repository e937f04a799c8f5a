//! What is wrong with an input, and where.

use std::fmt;

/// Line and column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line of the file.
    pub line: usize,
    /// Column of the line.
    pub column: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    source: String,
    document: Option<usize>,
    item: Option<usize>,
    place: Option<Place>,
    text: String,
}

impl Problem {
    pub(super) fn new(text: impl Into<String>) -> Problem {
        Problem { source: String::new(), document: None, item: None, place: None, text: text.into() }
    }

    pub(super) fn of_source(source: &str, text: impl Into<String>) -> Problem {
        Problem { source: source.to_owned(), ..Problem::new(text) }
    }

    pub(super) fn at(self, place: Place) -> Problem {
        Problem { place: Some(place), ..self }
    }

    pub(super) fn of_item(self, item: usize) -> Problem {
        Problem { item: Some(item), ..self }
    }

    pub(super) fn located(self, source: &str, document: usize) -> Problem {
        Problem { source: source.to_owned(), document: Some(document), ..self }
    }
}

/// `app.yaml: document 2, line 14, column 3: ...`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.source)?;
        if let Some(document) = self.document {
            write!(f, "document {document}")?;
            if let Some(item) = self.item {
                write!(f, ", items[{item}]")?;
            }
            if let Some(Place { line, column }) = self.place {
                write!(f, ", line {line}, column {column}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.text)
    }
}
