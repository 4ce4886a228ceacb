//! Third-party files in the program match `crates/report/assets/README.md`.

use ring::digest::{SHA256, digest};
use std::path::Path;

#[test]
fn assets_are_the_files_that_are_named() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/report/assets");
    let readme = std::fs::read_to_string(folder.join("README.md")).expect("a list of assets");
    let mut checked = 0;
    for row in readme.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let (name, license, sum) = (cells[1], cells[3], cells[4]);
        let bytes = std::fs::read(folder.join(name)).expect("the file is there");
        let found = const_hex::encode(digest(&SHA256, &bytes));
        assert_eq!(found, sum, "{name}");
        let (_, license) = license.split_once('(').expect("a link to the license");
        assert!(folder.join(license.trim_end_matches(')')).is_file(), "{license}");
        checked += 1;
    }
    assert_eq!(checked, 2);
}
