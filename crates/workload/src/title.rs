//! Titles of stages for people. Files and metrics keep the stored names.

use super::purpose::REPLICATED;

/// The title of the stage stored under `name`.
pub fn stage_title(name: &str) -> String {
    match name {
        "crud" => "mixed".to_owned(),
        "warm_up" => "warm-up".to_owned(),
        REPLICATED => "with replication".to_owned(),
        "urls" => "URLs".to_owned(),
        _ => name.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_words() {
        for (name, title) in [
            ("bulk_insert", "bulk insert"),
            ("crud", "mixed"),
            ("warm_up", "warm-up"),
            ("burst_write_2", "burst write 2"),
            ("run", "run"),
        ] {
            assert_eq!(stage_title(name), title);
        }
    }
}
