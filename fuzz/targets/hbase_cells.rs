//! A cell block of arbitrary bytes: reading it never panics, nothing is read after an invalid cell,
//! and cells that are written and read again are unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springload::driver::hbase::cells::{Cells, write_put};

fuzz_target!(|block: &[u8]| {
    let read: Vec<_> = Cells::of(block).collect();
    assert!(read.iter().rev().skip(1).all(Option::is_some));
    let cells: Vec<_> = read.into_iter().flatten().collect();
    let mut again = Vec::new();
    for cell in &cells {
        write_put((cell.row, cell.family, cell.qualifier), cell.value, &mut again);
    }
    let again: Option<Vec<_>> = Cells::of(&again).collect();
    assert_eq!(again, Some(cells));
});
