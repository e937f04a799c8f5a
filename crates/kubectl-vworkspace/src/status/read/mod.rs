//! From files to rows: YAML or JSON, one document or many, Lists flattened.
//!
//! A file is cut into chunks (`chunk`), each is read on its own (`json`, `yaml`), so that a broken document does not
//! take the others with it. An object is judged as soon as it is read and then dropped: memory holds the file and
//! the answers, never all objects.

mod chunk;
mod document;
mod json;
mod object;
mod problem;
mod yaml;

use std::io::Read;
use std::path::{Path, PathBuf};

use kstatus::Options;

use super::row::Row;
use chunk::Syntax;
use document::Draft;
pub use problem::{Place, Problem};

/// What was read so far.
#[derive(Debug)]
pub struct Rows {
    options: Options,
    /// Answers, in input order.
    pub rows: Vec<Row>,
    /// What could not be read, in input order.
    pub problems: Vec<Problem>,
}

impl Rows {
    /// Nothing yet.
    pub fn new(options: Options) -> Rows {
        Rows { options, rows: Vec::new(), problems: Vec::new() }
    }
}

/// Reads `path`: a file, a directory of them, or `-` for standard input.
pub fn file(path: &Path, rows: &mut Rows) {
    if path.is_dir() {
        return directory(path, rows);
    }
    let (source, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        ("standard input".to_owned(), read.map(|_| bytes))
    } else {
        (path.display().to_string(), std::fs::read(path))
    };
    match bytes {
        Ok(bytes) => text(&source, &bytes, rows),
        Err(error) => rows.problems.push(Problem::of_source(&source, format!("failed to read: {error}"))),
    }
}

fn directory(path: &Path, rows: &mut Rows) {
    let source = path.display().to_string();
    let entries = std::fs::read_dir(path).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<std::io::Result<Vec<PathBuf>>>()
    });
    let mut paths = match entries {
        Ok(paths) => paths,
        Err(error) => {
            return rows.problems.push(Problem::of_source(&source, format!("failed to read: {error}")));
        }
    };
    paths.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file()
    });
    paths.sort();
    if paths.is_empty() {
        let text = "expected files that end in .yaml, .yml or .json, found none";
        rows.problems.push(Problem::of_source(&source, text));
    }
    for path in paths {
        file(&path, rows);
    }
}

/// Reads text that was already loaded; `source` names it in problems.
pub fn text(source: &str, bytes: &[u8], rows: &mut Rows) {
    let mut documents = Documents { source, rows, count: 0 };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    for chunk in chunk::chunks(bytes) {
        match chunk.syntax() {
            Syntax::Blank => {}
            Syntax::Json => json::read(&chunk, &mut documents),
            Syntax::Yaml => yaml::read(&chunk, &mut documents),
        }
    }
    if documents.count == 0 {
        let text = "expected at least one object in YAML or JSON, found nothing";
        rows.problems.push(Problem::of_source(source, text));
    }
}

/// The documents of one source, one after the other.
#[derive(Debug)]
struct Documents<'r> {
    source: &'r str,
    rows: &'r mut Rows,
    count: usize,
}

impl Documents<'_> {
    /// Takes one document. `read` fills the draft; what it got before it broke still counts.
    fn add(&mut self, read: impl FnOnce(&mut Draft) -> Result<(), Problem>) -> Result<(), ()> {
        let mut draft = Draft::new(self.rows.options);
        let result = read(&mut draft);
        let broken = result.is_err();
        // Null is what an empty document means.
        if draft.is_empty() && !broken {
            return Ok(());
        }
        self.count += 1;
        let found = draft.finish(result.err());
        self.rows.rows.extend(found.rows);
        let (source, document) = (self.source, self.count);
        self.rows
            .problems
            .extend(found.problems.into_iter().map(|problem| problem.located(source, document)));
        if broken { Err(()) } else { Ok(()) }
    }

    /// Text that is no document at all.
    fn refuse(&mut self, problem: Problem) {
        self.count += 1;
        self.rows.problems.push(problem.located(self.source, self.count));
    }
}
