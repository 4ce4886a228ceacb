//! Columns of text, the first aligned left and the others right; and paragraphs.

/// Rows of cells, padded so that columns line up; each line is indented by two spaces.
pub(super) fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line.push_str("  ");
            let pad = " ".repeat(width - cell.chars().count());
            let (before, after) = if column == 0 { ("", &pad[..]) } else { (&pad[..], "") };
            line.push_str(before);
            line.push_str(cell);
            line.push_str(after);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Breaks a line at 80 columns; what follows is indented.
pub(super) fn wrapped(out: &mut String, line: &str) {
    let mut column = 0;
    for (place, word) in line.split_whitespace().enumerate() {
        let length = word.chars().count();
        if place > 0 {
            if column + 1 + length > 80 {
                out.push_str("\n  ");
                column = 2;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}
