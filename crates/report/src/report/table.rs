//! Tables: their columns, each with the text above it and that of its cells; columns of text, the
//! first aligned left and the others right; and paragraphs.

use crate::measure::Statistic;

/// The columns of a table whose rows are made of a `T` each.
pub(super) struct Columns<'a, T>(Vec<Column<'a, T>>);

struct Column<'a, T> {
    head: String,
    cell: Box<dyn Fn(&T) -> String + 'a>,
}

impl<'a, T> Columns<'a, T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// These columns and one more.
    pub(super) fn and(mut self, head: impl Into<String>, cell: impl Fn(&T) -> String + 'a) -> Self {
        self.0.push(Column { head: head.into(), cell: Box::new(cell) });
        self
    }

    /// These columns and, if it is `wanted`, one more.
    pub(super) fn and_if(self, wanted: bool, head: &str, cell: impl Fn(&T) -> String + 'a) -> Self {
        if wanted { self.and(head, cell) } else { self }
    }

    /// These columns and one for each of `all`, such as statistics.
    pub(super) fn each<S: Copy + 'a>(
        self,
        all: impl IntoIterator<Item = S>,
        head: impl Fn(S) -> String,
        cell: impl Fn(&T, S) -> String + Copy + 'a,
    ) -> Self {
        all.into_iter().fold(self, |columns, it| columns.and(head(it), move |row| cell(row, it)))
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.0.iter().map(|column| column.head.clone()).collect()
    }

    pub(super) fn cells(&self, row: &T) -> Vec<String> {
        self.0.iter().map(|column| (column.cell)(row)).collect()
    }

    /// The heads, followed by the cells of each row.
    pub(super) fn table<'t>(&self, rows: impl IntoIterator<Item = &'t T>) -> Vec<Vec<String>>
    where
        T: 't,
    {
        let cells = rows.into_iter().map(|row| self.cells(row));
        std::iter::once(self.heads()).chain(cells).collect()
    }

    /// The same, each with its mark; that of the heads is the default.
    pub(super) fn marked<'t, M: Default>(
        &self,
        rows: impl IntoIterator<Item = &'t T>,
        mark: impl Fn(&T) -> M,
    ) -> Vec<(M, Vec<String>)>
    where
        T: 't,
    {
        let rows = rows.into_iter().map(|row| (mark(row), self.cells(row)));
        std::iter::once((M::default(), self.heads())).chain(rows).collect()
    }
}

/// The head of a column of this statistic in milliseconds.
pub(super) fn in_ms(it: Statistic) -> String {
    format!("{}, ms", it.name())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_its_head_above_its_cells() {
        let with = |wanted| {
            Columns::<'_, u64>::new()
                .and("n", ToString::to_string)
                .and_if(wanted, "odd", |n| (n % 2 == 1).to_string())
                .each([2_u64, 3], |it| format!("times {it}"), |n, it| (n * it).to_string())
        };
        assert_eq!(with(true).heads(), ["n", "odd", "times 2", "times 3"]);
        assert_eq!(with(true).cells(&1), ["1", "true", "2", "3"]);
        assert_eq!(with(false).heads(), ["n", "times 2", "times 3"]);
        assert_eq!(with(false).cells(&7), ["7", "14", "21"]);
    }
}
