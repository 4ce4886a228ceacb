//! See `exposition` in `checks`.
#![no_main]

#[allow(dead_code, reason = "each target uses its own part of it")]
#[path = "../checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::exposition(bytes));
