//! Which change is on: `make mutants` puts this file into the core crate of its copy.
//!
//! `SPRINGLOAD_MUTANT` is read once. A number turns that change on; anything else is a file to
//! which the number of each change is added when it is asked for the first time.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const UNREAD: u32 = u32::MAX;
const TRACED: u32 = u32::MAX - 1;

static ON: AtomicU32 = AtomicU32::new(UNREAD);
static FILE: OnceLock<String> = OnceLock::new();
static ASKED: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether the change with that number is on.
#[inline]
pub fn is(number: u32) -> bool {
    let on = ON.load(Ordering::Relaxed);
    on == number || (on >= TRACED && unusual(number))
}

#[cold]
fn unusual(number: u32) -> bool {
    if ON.load(Ordering::Relaxed) == UNREAD {
        let asked = std::env::var("SPRINGLOAD_MUTANT").unwrap_or_default();
        let on = asked.parse().unwrap_or(if asked.is_empty() { 0 } else { TRACED });
        let _ = FILE.set(asked);
        ON.store(on, Ordering::Relaxed);
        return is(number);
    }
    let (slot, bit) = (number as usize / 64, 1 << (number % 64));
    if ASKED[slot].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        let file = FILE.wait();
        if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(file) {
            let _ = file.write_all(format!("{number}\n").as_bytes());
        }
    }
    false
}
