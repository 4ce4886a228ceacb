//! A list of saved runs: one row each, cut to the width.

use super::sheet::{Sheet, Tone};
use super::tone;
use crate::record::ResultKind;
use crate::report::look::Look;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The length of the longest name that springload gives, that of a sweep: it is not cut.
const LONGEST_NAME: usize = 22;

/// One saved run or sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRow {
    /// Its name in other commands. If it has to be cut, its end is kept.
    pub name: String,
    /// How long ago it began, in a few words.
    pub ago: String,
    /// Its label or, without one, what was measured.
    pub what: String,
    /// The kind of result, for colors.
    pub kind: ResultKind,
    /// The mark and the name of the result, such as `✓ PASSED`.
    pub lead: String,
    /// The result in a few words.
    pub words: String,
}

/// The rows with a heading, and a line for each file that is `broken`: its path and what to do.
pub fn saved_text(rows: &[SavedRow], broken: &[(String, &str)], look: Look) -> String {
    let mut sheet = Sheet::new(look);
    if !rows.is_empty() {
        table(rows, &mut sheet);
    }
    for (path, words) in broken {
        let words = format!(": {words}");
        let path = sheet.shown(path);
        let room = look.width.saturating_sub(words.width());
        sheet.line(&cut_front(&path, room, look.ascii), Tone::Plain, &words);
    }
    sheet.finish()
}

fn table(rows: &[SavedRow], sheet: &mut Sheet) {
    let look = sheet.look;
    let widest = |of: fn(&SavedRow) -> &str, head: &str| {
        let widths = rows.iter().map(|row| sheet.shown(of(row)).width());
        widths.chain([head.width()]).max().unwrap_or(0)
    };
    let name = widest(|row| &row.name, "run")
        .min((look.width * 11 / 40).max(LONGEST_NAME.min(look.width / 2)));
    let ago = widest(|row| &row.ago, "ago");
    let what = widest(|row| &row.what, "what").min(look.width / 5);
    let line = |sheet: &Sheet, cells: [&str; 3]| {
        let cells = cells.map(|text| sheet.shown(text));
        let (cut, what_cut) = (cut_front(&cells[0], name, look.ascii), sheet.cut(&cells[2], what));
        let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let before = pad(&cells[1], ago);
        let (first, last) = (pad(&cut, name), pad(&what_cut, what));
        format!("{cut}{first}  {before}{}  {what_cut}{last}  ", cells[1])
    };
    let head = line(sheet, ["run", "ago", "what"]);
    sheet.line(&format!("{head}result"), Tone::Faint, "");
    for row in rows {
        let before = line(sheet, [&row.name, &row.ago, &row.what]);
        let words = if row.words.is_empty() { String::new() } else { format!("  {}", row.words) };
        sheet.toned_inside(&before, &row.lead, tone(row.kind), &words);
    }
}

/// The end of `text`, at most `width` columns.
fn cut_front(text: &str, width: usize, ascii: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut used) = (Vec::new(), 1);
    for c in text.chars().rev() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    let rest: String = kept.into_iter().rev().collect();
    crate::report::shown("…", ascii) + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, what: &str, kind: ResultKind, (lead, words): (&str, &str)) -> SavedRow {
        let (lead, words) = (lead.to_owned(), words.to_owned());
        let (name, what) = (name.to_owned(), what.to_owned());
        SavedRow { name, ago: "3 min".to_owned(), what, kind, lead, words }
    }

    #[test]
    fn rows_fit_whatever_is_in_them() {
        let rows = [
            row("20260302T091501Z", "run stand-in", ResultKind::Passed, ("✓ PASSED", "1 op/s")),
            row(
                "/somewhere/far/away/日本語/results/before",
                "日本語日本語日本語日本語 after",
                ResultKind::Failed,
                ("✗ FAILED", "read p99 640 ms, limit 50 ms, and whatever else is to be said of it"),
            ),
            row("\u{1b}[31mred\u{202e}", "a\nb\u{7}", ResultKind::Stopped, ("■ STOPPED", "")),
        ];
        let far = format!("/somewhere/{}/x/run.json", "far/".repeat(40));
        let broken = [(far, "broken; remove it"), ("\u{1b}\u{202e}".to_owned(), "broken")];
        for width in [40, 80, 120] {
            let text = saved_text(&rows, &broken, Look { width, ..Look::default() });
            assert_eq!(text.lines().count(), 6, "{text}");
            assert!(text.contains("/x/run.json: broken; remove it\n"), "{text}");
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        }
        let text = saved_text(&rows, &[], Look::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "run                       ago  what              result");
        assert_eq!(lines[1], "20260302T091501Z        3 min  run stand-in      ✓ PASSED  1 op/s");
        assert!(lines[2].starts_with("…日本語/results/before  "), "{text}");
        assert!(lines[2].ends_with("  ✗ FAILED  read p99 640 ms, lim…"), "{text}");
        let plain = saved_text(&rows, &[], Look { ascii: true, ..Look::default() });
        assert!(plain.is_ascii(), "{plain}");
        let color = saved_text(&rows[..1], &[], Look { color: true, ..Look::default() });
        assert!(color.contains("\u{1b}[1m\u{1b}[32m✓ PASSED\u{1b}[0m  1 op/s"), "{color:?}");
    }
}
