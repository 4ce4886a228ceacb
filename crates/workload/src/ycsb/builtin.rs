//! The standard workloads A to F and one for time series, so that YCSB's files are not needed.

/// Their property files, named as in YCSB's folder `workloads`.
pub const WORKLOADS: [(&str, &str); 6] = [
    ("workloada", include_str!("workloads/workloada")),
    ("workloadb", include_str!("workloads/workloadb")),
    ("workloadc", include_str!("workloads/workloadc")),
    ("workloadd", include_str!("workloads/workloadd")),
    ("workloade", include_str!("workloads/workloade")),
    ("workloadf", include_str!("workloads/workloadf")),
];

/// The property file of the time series workload.
const SERIES: (&str, &str) = ("tsworkloada", include_str!("workloads/tsworkloada"));

/// The text of the standard workload named by the last part of a path, regardless of the folders:
/// `workloads/workloada`, `workloada`. `None` if there is none with this name.
pub fn named(path: &str) -> Option<&'static str> {
    let name = path.rsplit(['/', '\\']).next()?;
    WORKLOADS.iter().chain([&SERIES]).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    #[test]
    fn found_by_the_last_part_of_a_path() {
        let a = WORKLOADS[0].1;
        for path in ["workloada", "workloads/workloada", "./ycsb\\workloads\\workloada"] {
            assert_eq!(named(path), Some(a));
        }
        assert_eq!(named("workloads/tsworkloada"), Some(SERIES.1));
        for path in ["", "workloada/", "workloadg", "workloads/workloada.properties"] {
            assert_eq!(named(path), None);
        }
    }

    #[test]
    fn mixes_are_those_of_the_table() {
        // ycsb-0.17.0, workloads/: read, update, insert, scan, read-modify-write.
        let table = [
            ["0.5", "0.5", "0", "0", "-"],
            ["0.95", "0.05", "0", "0", "-"],
            ["1", "0", "0", "0", "-"],
            ["0.95", "0", "0.05", "0", "-"],
            ["0", "0", "0.05", "0.95", "-"],
            ["0.5", "0", "0", "0", "0.5"],
        ];
        for ((name, text), row) in WORKLOADS.iter().zip(table) {
            let properties = Properties::parse(text.as_bytes()).unwrap();
            let mix = ["read", "update", "insert", "scan", "readmodifywrite"]
                .map(|kind| properties.get(&format!("{kind}proportion")).unwrap_or("-"));
            assert_eq!(mix, row, "{name}");
        }
    }
}
