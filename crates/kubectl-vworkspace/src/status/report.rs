//! From rows to output and exit code.

use std::io::{self, Write};

use kstatus::Status;

use super::args::Output;
use super::row::Row;
use super::table;
use crate::exit::Exit;

/// How results are shown.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    /// The format.
    pub output: Output,
}

impl Report {
    /// All rows at once.
    pub fn write(&self, rows: &[Row], out: &mut impl Write) -> io::Result<()> {
        match self.output {
            Output::Table => table::write(rows, table::Width::Narrow, out),
            Output::Wide => table::write(rows, table::Width::Wide, out),
            Output::Json => {
                serde_json::to_writer_pretty(&mut *out, rows)?;
                writeln!(out)
            }
            Output::Yaml => {
                let text = serde_saphyr::to_string(&rows).map_err(io::Error::other)?;
                out.write_all(text.as_bytes())
            }
        }
    }

    /// All rows, and the exit code with what was `refused` beside them. Programs want a document even if nothing could
    /// be read; people have the problems.
    pub fn write_found(&self, rows: &[Row], refused: Exit, out: &mut impl Write) -> io::Result<Exit> {
        if refused == Exit::AllCurrent || !rows.is_empty() || self.output.is_for_programs() {
            self.write(rows, out)?;
        }
        Ok(exit(rows).max(refused))
    }

    /// What goes before the rows of a stream.
    pub fn write_heading(&self, out: &mut impl Write) -> io::Result<()> {
        match self.output {
            Output::Table => table::write_heading(table::Width::Narrow, out),
            Output::Wide => table::write_heading(table::Width::Wide, out),
            Output::Json | Output::Yaml => Ok(()),
        }
    }

    /// One row for people, without a line break.
    pub fn line(&self, row: &Row) -> String {
        table::line(row)
    }

    /// One row of a stream, without a heading: one line for tables and JSON, a document for YAML.
    pub fn write_change(&self, row: &Row, out: &mut impl Write) -> io::Result<()> {
        match self.output {
            Output::Table => table::write_line(row, table::Width::Narrow, out)?,
            Output::Wide => table::write_line(row, table::Width::Wide, out)?,
            Output::Json => {
                serde_json::to_writer(&mut *out, row)?;
                writeln!(out)?;
            }
            Output::Yaml => {
                let text = serde_saphyr::to_string(row).map_err(io::Error::other)?;
                write!(out, "---\n{text}")?;
            }
        }
        out.flush()
    }
}

/// The worst row decides.
pub fn exit(rows: &[Row]) -> Exit {
    rows.iter().map(exit_of).max().unwrap_or_default()
}

fn exit_of(row: &Row) -> Exit {
    match row.status {
        _ if row.error.is_some() => Exit::Refused,
        Status::Current => Exit::AllCurrent,
        Status::Failed => Exit::Failed,
        Status::InProgress | Status::Terminating | Status::NotFound | Status::Unknown => Exit::NotYetCurrent,
    }
}
