//! The results of the changes, by room.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::trial::Fate;

/// The reason for leaving out a change that does not compile.
pub const UNVIABLE: &str = "does not compile";

/// The changes of a room.
#[derive(Clone, Debug, Default)]
pub struct Row {
    caught: usize,
    missed: usize,
    not_reached: usize,
    left_out: BTreeMap<&'static str, usize>,
}

impl Row {
    pub fn add(&mut self, left_out: Option<&'static str>, fate: Option<Fate>) {
        match (left_out, fate) {
            (Some(why), _) => *self.left_out.entry(why).or_default() += 1,
            (None, Some(Fate::Caught)) => self.caught += 1,
            (None, Some(Fate::Missed)) => self.missed += 1,
            (None, Some(Fate::NotReached)) => self.not_reached += 1,
            (None, None) => {}
        }
    }

    fn tried(&self) -> usize {
        self.caught + self.missed + self.not_reached
    }

    fn percent(&self) -> f64 {
        self.caught as f64 * 100.0 / self.tried() as f64
    }

    /// Whether 90 % are caught.
    pub fn enough(&self) -> bool {
        self.tried() > 0 && self.caught * 10 >= self.tried() * 9
    }
}

/// A line per room, and a total of what was left out.
pub fn table(rooms: &BTreeMap<String, Row>, total: &Row) -> String {
    let mut out = format!(
        "{:<20}{:>8}{:>8}{:>13}{:>10}{:>11}{:>18}\n",
        "room", "caught", "missed", "not reached", "% caught", "not woven", "does not compile"
    );
    let line = |out: &mut String, room: &str, row: &Row| {
        let unviable = row.left_out.get(UNVIABLE).copied().unwrap_or(0);
        let not_woven = row.left_out.values().sum::<usize>() - unviable;
        let (caught, percent) = (row.caught, row.percent());
        let _ = writeln!(
            out,
            "{room:<20}{caught:>8}{:>8}{:>13}{percent:>10.1}{not_woven:>11}{unviable:>18}",
            row.missed, row.not_reached
        );
    };
    for (room, row) in rooms {
        line(&mut out, room, row);
    }
    line(&mut out, "all", total);
    for (why, count) in &total.left_out {
        let _ = writeln!(out, "left out: {count} {why}");
    }
    let (caught, tried) = (total.caught, total.tried());
    let _ = write!(out, "{caught} of {tried} changes caught");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_are_enough_and_what_nobody_reaches_is_missed() {
        let mut row = Row::default();
        assert!(!row.enough(), "nothing was tried");
        for _ in 0..9 {
            row.add(None, Some(Fate::Caught));
        }
        row.add(Some(UNVIABLE), None);
        row.add(None, None);
        row.add(None, Some(Fate::Missed));
        assert!(row.enough());
        row.add(None, Some(Fate::NotReached));
        assert!(!row.enough());
        let table = table(&BTreeMap::from([("core/a".to_owned(), row.clone())]), &row);
        assert!(table.contains("9 of 11 changes caught"), "{table}");
    }
}
