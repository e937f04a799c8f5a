//! Tables for people: cells in columns of equal width.

use std::io::{self, Write};

const BETWEEN: &str = "   ";

/// How wide each column has to be.
pub(crate) fn widths(headings: &[&str], lines: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.len()).collect();
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

/// One line. The last column is not padded; `paint` gets the column and the padded cell.
pub(crate) fn write_cells(
    cells: &[String],
    widths: &[usize],
    out: &mut impl Write,
    paint: impl Fn(usize, String) -> String,
) -> io::Result<()> {
    for (column, cell) in cells.iter().enumerate() {
        if column + 1 == cells.len() {
            return writeln!(out, "{}", paint(column, cell.clone()));
        }
        let width = widths.get(column).copied().unwrap_or_default();
        let padded = format!("{cell:width$}");
        write!(out, "{}{BETWEEN}", paint(column, padded))?;
    }
    Ok(())
}

/// Objects are written by others: no line breaks, and nothing that a terminal would obey.
pub(crate) fn one_line(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
