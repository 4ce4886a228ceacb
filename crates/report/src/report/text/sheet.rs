//! A text of a given width: lines that are cut, broken or aligned to fit, in tones.

use crate::report::look::{Look, shown};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeSet;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The style of a text, if there are colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
    Doubtful,
}

impl Tone {
    fn style(self) -> Style {
        let strong = |color: AnsiColor| Style::new().fg_color(Some(color.into())).bold();
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Good => strong(AnsiColor::Green),
            Self::Bad => strong(AnsiColor::Red),
            Self::Doubtful => strong(AnsiColor::Yellow),
        }
    }
}

/// A text being built.
pub(super) struct Sheet {
    pub(super) look: Look,
    out: String,
}

pub(super) type Cell = (String, Tone);

impl Sheet {
    pub(super) const fn new(look: Look) -> Self {
        Self { look, out: String::new() }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Adds an empty line, unless there is one already.
    pub(super) fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Adds one line: a lead in its tone, and the rest, which is cut to the width.
    pub(super) fn line(&mut self, lead: &str, tone: Tone, text: &str) {
        let lead = self.shown(lead);
        let lead = self.cut(&lead, self.look.width);
        let text = self.shown(text);
        let text = self.cut(&text, self.look.width.saturating_sub(lead.width()));
        let lead = self.toned(&lead, tone);
        self.push(&format!("{lead}{text}"));
    }

    /// Adds one line with a toned part in the middle, cut to the width.
    pub(super) fn toned_inside(&mut self, before: &str, mid: &str, tone: Tone, after: &str) {
        let mut room = self.look.width;
        let parts = [before, mid, after].map(|text| {
            let text = self.cut(&self.shown(text), room);
            room = room.saturating_sub(text.width());
            text
        });
        let middle = self.toned(&parts[1], tone);
        self.push(&format!("{}{middle}{}", parts[0], parts[2]));
    }

    /// Adds a text of several lines, broken between words; all but the first are indented by the
    /// width of the lead.
    pub(super) fn paragraph(&mut self, lead: &str, tone: Tone, text: &str, most: usize) {
        let words = self.shown(text);
        let pieces = words.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
        self.flow(lead, tone, pieces, " ", most);
    }

    /// Adds parts with a dot between them. Lines are broken between parts, and within a part only
    /// if it is too long for a line.
    pub(super) fn parts(&mut self, lead: &str, tone: Tone, parts: &[String]) {
        let parts: Vec<String> = parts.iter().map(|part| self.shown(part)).collect();
        let between = self.shown(" · ");
        let room = self.room(&self.shown(lead)).1;
        let pieces = parts.iter().flat_map(|part| broken(part, room));
        self.flow(lead, tone, pieces, &between, usize::MAX);
    }

    /// The indentation of all lines but the first, and the width available to each.
    fn room(&self, lead: &str) -> (usize, usize) {
        let indent = lead.width().min(self.look.width / 2);
        (indent, self.look.width.saturating_sub(indent).max(1))
    }

    /// Adds pieces one after another, in at most `most` lines.
    fn flow(
        &mut self,
        lead: &str,
        tone: Tone,
        pieces: impl IntoIterator<Item = String>,
        between: &str,
        most: usize,
    ) {
        let lead = self.shown(lead);
        let (indent, room) = self.room(&lead);
        let mut lines: Vec<String> = Vec::new();
        for piece in pieces {
            match lines.last_mut() {
                Some(line) if line.width() + between.width() + piece.width() <= room => {
                    line.push_str(between);
                    line.push_str(&piece);
                }
                _ => lines.push(piece),
            }
        }
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                last.push_str(&shown("…", self.look.ascii));
            }
        }
        for (number, line) in lines.iter().enumerate() {
            let line = self.cut(line, room);
            let before = if number == 0 { self.toned(&lead, tone) } else { " ".repeat(indent) };
            self.push(&format!("{before}{line}"));
        }
    }

    /// Adds rows in columns, the first aligned left and the others right. If they are too wide,
    /// columns are left out in the order of `spare`, then names are cut, so that they still differ.
    pub(super) fn table(&mut self, rows: &[Vec<Cell>], spare: &[usize]) {
        let mut rows: Vec<Vec<Cell>> = rows
            .iter()
            .map(|row| row.iter().map(|(text, tone)| (self.shown(text), *tone)).collect())
            .collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.0.width()).max()
        };
        let mut widths: Vec<usize> = (0..columns).map(|it| widest(it).unwrap_or(0)).collect();
        let mut kept: Vec<usize> = (0..columns).collect();
        let all = |kept: &[usize], widths: &[usize]| -> usize {
            kept.iter().map(|&column| widths[column] + 2).sum()
        };
        for column in spare {
            if all(&kept, &widths) > self.look.width {
                kept.retain(|it| it != column);
            }
        }
        let over = all(&kept, &widths).saturating_sub(self.look.width);
        if let Some(first) = widths.first_mut() {
            *first = first.saturating_sub(over).max(1);
            self.tell_apart(&mut rows, *first);
        }
        for row in &rows {
            let mut line = String::new();
            for &column in &kept {
                let Some((text, tone)) = row.get(column) else { continue };
                let text = self.cut(text, widths[column]);
                let pad = " ".repeat(widths[column].saturating_sub(text.width()));
                let text = self.toned(&text, *tone);
                line.push_str("  ");
                line.push_str(&if column == 0 { text + &pad } else { pad + &text });
            }
            let line = line.trim_end();
            self.push(line);
        }
    }

    /// Names that would look alike with their ends cut lose what they have in common at their start
    /// instead, or as much of it as is needed. The first row has no name.
    fn tell_apart(&self, rows: &mut [Vec<Cell>], width: usize) {
        let names = rows.iter().skip(1).filter_map(|row| row.first());
        let mut long: Vec<String> =
            names.map(|(name, _)| name.clone()).filter(|name| name.width() > width).collect();
        long.sort_unstable();
        long.dedup();
        let cut = |name: &String| self.cut(name, width);
        let differ = |names: &[String]| {
            names.iter().map(cut).collect::<BTreeSet<String>>().len() == names.len()
        };
        if differ(&long) {
            return;
        }
        let mut shorter = self.without_start(&long, width);
        if !differ(&shorter) {
            // What all have in common is too little: another name begins differently.
            let alike = long.chunk_by(|one, other| cut(one) == cut(other));
            shorter = alike.flat_map(|names| self.without_start(names, width)).collect();
        }
        for (name, _) in rows.iter_mut().skip(1).filter_map(|row| row.first_mut()) {
            if let Ok(place) = long.binary_search(name) {
                name.clone_from(&shorter[place]);
            }
        }
    }

    /// Sorted names that are wider than `width`, without what they have in common at their start,
    /// or as much of it as is too wide.
    fn without_start(&self, names: &[String], width: usize) -> Vec<String> {
        let [first, .., last] = names else { return names.to_vec() };
        // They are sorted, so no two of them have less in common.
        let common = first.chars().zip(last.chars()).take_while(|(one, other)| one == other);
        let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let dropped = common.count().min(widest + 1 - width);
        if dropped < 2 {
            return names.to_vec();
        }
        let rest = |name: &String| name.chars().skip(dropped).collect::<String>();
        names.iter().map(|name| self.shown("…") + &rest(name)).collect()
    }

    /// Adds a name, a curve made of columns, and its scale.
    pub(super) fn curve(&mut self, name: &str, columns: &str, scale: &str) {
        let columns = self.shown(columns);
        let room = self.look.width.saturating_sub(name.width() + columns.width());
        let scale = self.cut(&self.shown(scale), room);
        let scale = self.toned(&scale, Tone::Faint);
        self.push(&format!("{name}{columns}{scale}"));
    }

    /// Adds text that is already aligned, however wide.
    pub(super) fn block(&mut self, text: &str) {
        for line in text.lines() {
            let line = self.shown(line);
            self.push(&line);
        }
    }

    pub(super) fn shown(&self, text: &str) -> String {
        shown(text, self.look.ascii)
    }

    fn toned(&self, text: &str, tone: Tone) -> String {
        if !self.look.color || text.is_empty() || tone == Tone::Plain {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// At most `width` columns of `text`; a cut is marked.
    pub(super) fn cut(&self, text: &str, width: usize) -> String {
        if text.width() <= width {
            return text.to_owned();
        }
        let (mut out, mut used) = (String::new(), 0);
        for c in text.chars() {
            used += c.width().unwrap_or(0);
            if used >= width {
                break;
            }
            out.push(c);
        }
        if width > 0 {
            out.push_str(&shown("…", self.look.ascii));
        }
        out
    }

    fn push(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

/// Splits a text into lines of at most `room` columns, broken between words.
fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(width: usize, write: impl FnOnce(&mut Sheet)) -> String {
        let mut sheet = Sheet::new(Look { width, ..Look::default() });
        write(&mut sheet);
        sheet.finish()
    }

    fn cells(row: &[&str]) -> Vec<Cell> {
        row.iter().map(|text| ((*text).to_owned(), Tone::Plain)).collect()
    }

    #[test]
    fn lines_are_cut_and_paragraphs_broken() {
        let parts = ["one two".to_owned(), "three four five".to_owned(), "six".to_owned()];
        let parts = sheet(14, |it| it.parts("", Tone::Plain, &parts));
        assert_eq!(parts, "one two\nthree four\nfive · six\n");
        let cut = sheet(12, |it| it.line("! ", Tone::Bad, "a line of text"));
        assert_eq!(cut, "! a line of…\n");
        let text = "a line of text, averylongword";
        let broken = sheet(12, |it| it.paragraph("! ", Tone::Bad, text, 9));
        assert_eq!(broken, "! a line of\n  text,\n  averylong…\n");
        let two = sheet(12, |it| it.paragraph("! ", Tone::Bad, "one two three four five", 1));
        assert_eq!(two, "! one two…\n");
        let wide = sheet(7, |it| it.line("", Tone::Plain, "日本語日本語"));
        assert_eq!(wide, "日本語…\n", "each is two columns wide");
    }

    #[test]
    fn parts_stay_whole() {
        let parts = ["first".to_owned(), "second one".to_owned(), "third".to_owned()];
        let set = sheet(22, |it| it.parts("mixed  ", Tone::Strong, &parts));
        assert_eq!(set, "mixed  first\n       second one\n       third\n");
        let set = sheet(40, |it| it.parts("mixed  ", Tone::Strong, &parts));
        assert_eq!(set, "mixed  first · second one · third\n");
    }

    #[test]
    fn a_table_leaves_out_what_can_be_spared() {
        let rows = [cells(&["name", "a", "bb"]), cells(&["create", "1", "22"])];
        assert_eq!(sheet(80, |it| it.table(&rows, &[1])), "  name    a  bb\n  create  1  22\n");
        assert_eq!(sheet(13, |it| it.table(&rows, &[1])), "  name    bb\n  create  22\n");
        assert_eq!(sheet(9, |it| it.table(&rows, &[1])), "  na…  bb\n  cr…  22\n");
    }

    #[test]
    fn names_that_are_cut_can_still_be_told_apart() {
        let cut = |width: usize, names: &[&str]| -> Vec<String> {
            let rows = names.iter().map(|name| cells(&[*name, "1"]));
            let rows: Vec<_> =
                std::iter::once(cells(&["the name of it", "n"])).chain(rows).collect();
            let text = sheet(width, |it| it.table(&rows, &[]));
            let name = |line: &str| line.trim_end_matches('1').trim().to_owned();
            text.lines().skip(1).map(name).collect()
        };
        let ports = ["_changes at 10.0.0.1:5984", "_changes at 10.0.0.1:6984", "all"];
        assert_eq!(cut(16, &ports), ["…0.0.1:5984", "…0.0.1:6984", "all"]);
        // No more is dropped than they have in common.
        let hosts = ["_changes at a1.example.com:5984", "_changes at a2.example.com:5984"];
        assert_eq!(cut(16, &hosts), ["…1.example…", "…2.example…"]);
        let links = ["a:5984 #1 → a:5984 #2", "a:5984 #1 → a:5984 #3", "a:5984 #2 → a:5984 #1"];
        let shown = ["…4 #1 → a:5984 #2", "…4 #1 → a:5984 #3", "…4 #2 → a:5984 #1"];
        assert_eq!(cut(22, &links), shown);
        // Another name that begins differently, or nearly the same, is none of their business.
        for other in ["from the node 10.0.0.1:5984", "_c from the node 10.0.0.1"] {
            let start = format!("{}…", &other[..10]);
            let shown = ["…0.0.1:5984", "…0.0.1:6984", start.as_str()];
            assert_eq!(cut(16, &[ports[0], ports[1], other]), shown);
        }
        let (one, two) = ("every document of the database".repeat(4), "all documents".repeat(8));
        let ends = [4, 5].map(|port| format!("{one} at a:598{port}"));
        let shown = cut(80, &[&ends[0], &ends[1], &two]);
        assert!(shown[0].ends_with("at a:5984") && shown[1].ends_with("at a:5985"), "{shown:?}");
        assert!(shown[2].starts_with("all documents"), "{shown:?}");
        // Names that differ at their start, and names of rows that are the same, keep it.
        assert_eq!(cut(13, &["create documents", "update documents"]), ["create …", "update …"]);
        assert_eq!(cut(13, &["create documents", "create documents"]), ["create …", "create …"]);
    }

    #[test]
    fn the_header_and_names_that_fit_keep_their_start() {
        let rows = [
            cells(&["the name of it", "n"]),
            cells(&["_changes at 10.0.0.1:5984", "1"]),
            cells(&["_changes at 10.0.0.1:6984", "1"]),
            // Exactly as wide as there is room.
            cells(&["_changes 11", "1"]),
        ];
        let lines = [
            "  the name o…  n\n",
            "  …0.0.1:5984  1\n",
            "  …0.0.1:6984  1\n",
            "  _changes 11  1\n",
        ];
        assert_eq!(sheet(16, |it| it.table(&rows, &[])), lines.concat());
    }

    #[test]
    fn colors_take_no_room() {
        let look = Look { color: true, width: 12, ..Look::default() };
        let mut sheet = Sheet::new(look);
        sheet.line("✗ ", Tone::Bad, "a line of text");
        sheet.table(&[vec![("x".to_owned(), Tone::Faint), ("1".to_owned(), Tone::Plain)]], &[]);
        let (red, dim, off) = ("\u{1b}[1m\u{1b}[31m", "\u{1b}[2m", "\u{1b}[0m");
        assert_eq!(sheet.finish(), format!("{red}✗ {off}a line of…\n  {dim}x{off}  1\n"));
    }
}
