//! Prints rows of text in aligned columns.

/// Rows with their cells aligned in columns, each on a line that begins with an indent.
pub fn columns<R: AsRef<[String]>>(indent: &str, rows: &[R]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows.iter().map(AsRef::as_ref) {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths);
        let line = cells.fold(indent.to_owned(), |line, (cell, width)| {
            format!("{line}{cell:width$}  ")
        });
        text += line.trim_end();
        text += "\n";
    }
    text
}
