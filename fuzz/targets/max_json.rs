//! See `max_json` in `checks`.
#![no_main]

#[allow(dead_code, reason = "each target uses its own part of it")]
#[path = "../checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|text: &str| checks::max_json(text));
