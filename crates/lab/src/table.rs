//! Columns that line up.

/// Rows under a head, each column as wide as its widest cell; the last one is not padded.
pub(crate) fn lines(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let all = || std::iter::once(&head).chain(rows);
    let width =
        |column: usize| all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let mut text = String::new();
    for row in all() {
        let cells = row
            .iter()
            .enumerate()
            .map(|(column, cell)| format!("{cell:<0$}", width(column).unwrap_or_default()));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["etcd".to_owned(), "1".to_owned()], vec!["kubelet".to_owned(), "22".to_owned()]];
        assert_eq!(lines(&["NAME", "PID"], &rows), "NAME     PID\netcd     1\nkubelet  22\n");
    }
}
