//! The table for people.

use std::io::{self, Write};

use kstatus::Status;

use super::row::Row;
use crate::columns::{one_line, widths, write_cells};
use crate::style::{BAD, BUSY, GOOD, STRONG, styled};
use anstyle::Style;

/// How much the table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// Namespace, name, status, message.
    Narrow,
    /// Also reason and evidence.
    Wide,
}

/// All rows, columns aligned. The last column is not padded.
pub(super) fn write(rows: &[Row], width: Width, out: &mut impl Write) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(out, "No objects found.");
    }
    let headings = headings(width);
    let lines: Vec<Vec<String>> = rows.iter().map(|row| cells(row, width)).collect();
    let widths = widths(headings, &lines);
    let headings = headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<_>>();
    write_cells(&headings, &widths, out, |_, cell| styled(STRONG, cell))?;
    for (row, line) in rows.iter().zip(&lines) {
        write_cells(line, &widths, out, |column, cell| match column {
            STATUS => styled(style(row), cell),
            _ => cell,
        })?;
    }
    Ok(())
}

/// The heading of a stream.
pub(super) fn write_heading(width: Width, out: &mut impl Write) -> io::Result<()> {
    let headings = headings(width).iter().map(|heading| (*heading).to_owned()).collect::<Vec<_>>();
    write_cells(&headings, &USUAL, out, |_, cell| styled(STRONG, cell))?;
    out.flush()
}

/// One row on its own.
pub(super) fn line(row: &Row) -> String {
    let title = one_line(&row.title());
    let place =
        if row.namespace.is_empty() { title } else { format!("{}/{title}", one_line(&row.namespace)) };
    format!("{place}  {}  {}", styled(style(row), row.status), one_line(&row.text()))
}

/// Widths of columns when what is to come is not known.
const USUAL: [usize; 5] = [12, 32, 11, 24, 40];

/// One row of a stream: columns are as wide as is usual.
pub(super) fn write_line(row: &Row, width: Width, out: &mut impl Write) -> io::Result<()> {
    write_cells(&cells(row, width), &USUAL, out, |column, cell| match column {
        STATUS => styled(style(row), cell),
        _ => cell,
    })
}

/// Which column has the status.
const STATUS: usize = 2;

fn headings(width: Width) -> &'static [&'static str] {
    match width {
        Width::Narrow => &["NAMESPACE", "NAME", "STATUS", "MESSAGE"],
        Width::Wide => &["NAMESPACE", "NAME", "STATUS", "REASON", "MESSAGE", "EVIDENCE"],
    }
}

fn cells(row: &Row, width: Width) -> Vec<String> {
    let or_dash = |text: &str| {
        if text.is_empty() { "-".to_owned() } else { one_line(text) }
    };
    let mut cells = vec![or_dash(&row.namespace), one_line(&row.title()), row.status.to_string()];
    if width == Width::Wide {
        cells.push(or_dash(row.reason()));
    }
    cells.push(or_dash(&row.text()));
    if width == Width::Wide {
        let evidence: Vec<String> = row.evidence.iter().map(ToString::to_string).collect();
        cells.push(or_dash(&evidence.join(", ")));
    }
    cells
}

fn style(row: &Row) -> Style {
    match row.status {
        Status::Current => GOOD,
        Status::InProgress | Status::Terminating => BUSY,
        Status::Failed | Status::Unknown | Status::NotFound => BAD,
    }
}
