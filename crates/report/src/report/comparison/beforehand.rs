//! How many pairs a comparison takes, judging by how much earlier runs varied.

use crate::plan::Quantity;
use crate::report::number::decimal;
use crate::report::table::align;
use crate::statistics::{size_for, values_for};

/// The changes for which the number of pairs is shown.
const CHANGES_PERCENT: [f64; 2] = [5.0, 2.0];
/// Higher numbers of pairs are not shown.
const MOST: f64 = 999.0;

/// What `pairs` pairs of runs can detect, for each quantity, given the standard deviation of its
/// logarithm over `runs` earlier runs.
pub fn beforehand_text(runs: usize, pairs: u64, variations: &[(Quantity, f64)]) -> String {
    let of_pairs =
        if pairs == 1 { "1 pair finds".to_owned() } else { format!("{pairs} pairs find") };
    let wanted = CHANGES_PERCENT.map(|percent| format!("for {percent} %"));
    let [first, second] = &wanted;
    let head = ["", "runs vary by", &of_pairs, first, second].map(str::to_owned);
    let row = |(metric, deviation): &(Quantity, f64)| {
        let percent = |log: f64| format!("{} %", decimal(log.exp_m1() * 100.0, 1));
        let needed = |change: f64| {
            let needed = values_for(*deviation, (change / 100.0).ln_1p());
            if needed > MOST { format!(">{MOST} pairs") } else { format!("{needed} pairs") }
        };
        let found = size_for(*deviation, pairs as f64).map_or_else(|| "-".to_owned(), percent);
        let name = metric.to_string().replacen('.', " ", 1);
        let [first, second] = CHANGES_PERCENT.map(needed);
        vec![name, percent(*deviation), found, first, second]
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(head.to_vec()).chain(variations.iter().map(row)).collect();
    format!(
        "{runs} saved runs of A's plan; a change is found in four out of five comparisons:\n{}",
        align(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_by_what_runs_vary() {
        let rows = [("throughput", 0.021), ("p99", 0.063), ("read.p50", 0.9)];
        let rows = rows.map(|(name, deviation)| (name.parse().unwrap(), deviation));
        let text = beforehand_text(12, 8, &rows);
        let wanted = "12 saved runs of A's plan; a change is found in four out of five \
comparisons:
                  runs vary by  8 pairs find   for 5 %     for 2 %
  all \
throughput         2.1 %         3.5 %   5 pairs    20 pairs
  all p99                6.5 %        \
10.7 %  29 pairs   161 pairs
  read p50             146.0 %       328.8 %  >999 pairs  >999 pairs
";
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&text), words(wanted));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let few = beforehand_text(4, 2, &rows[..1]);
        assert!(few.contains("2 pairs find") && few.contains(" -  "), "{few}");
    }
}
