//! Rows as texts, for requests beside the load.

use super::answer::CqlRows;
use super::types::Type;

/// Rows as texts, with the names of their columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextRows {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl TextRows {
    pub(super) fn of(rows: &CqlRows<'_>) -> Option<Self> {
        let columns = rows.columns.clone().unwrap_or_default();
        let text = |of: &Type, value: &[u8]| {
            if *of == Type::Text {
                return Some(String::from_utf8_lossy(value).into_owned());
            }
            let mut out = Vec::new();
            of.spell(value, &mut out)?;
            Some(String::from_utf8_lossy(&out).trim_matches('"').to_owned())
        };
        let row = |values: Vec<Option<&[u8]>>| {
            let texts = values.iter().zip(&*columns);
            texts
                .map(|(value, it)| text(&it.of, (*value).unwrap_or_default()))
                .map(Option::unwrap_or_default)
                .collect()
        };
        let rows = rows.all()?.into_iter().map(row).collect();
        Some(Self { columns: columns.iter().map(|it| it.name.clone()).collect(), rows })
    }

    /// The value of a column of a row; empty if there is none.
    pub(super) fn get(&self, row: usize, column: &str) -> &str {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| self.rows.get(row)?.get(at)).map_or("", String::as_str)
    }
}
