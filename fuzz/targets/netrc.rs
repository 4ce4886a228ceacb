//! A netrc of arbitrary text: reading it never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use springload::properties::netrc;

fuzz_target!(|text: &str| {
    if let Ok(entries) = netrc::parse(text) {
        let _ = netrc::find(&entries, "host", Some("user"));
    }
});
