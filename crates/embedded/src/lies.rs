//! Lies about data: what a stand-in acknowledges without carrying it out, or returns although
//! something else is stored.
//!
//! Knows nothing about HTTP or documents; `couch::store` tells the lies.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::catalogue::{Fault, Lie};
use super::faults::chance;
use super::turnstile::Gate;

/// Decides which lies are told about one database.
#[derive(Debug)]
pub(super) struct Liar {
    gate: Arc<Gate>,
    random: Xoshiro256PlusPlus,
}

impl Liar {
    /// A liar for the lies among the gate's faults.
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(gate.faults().seed);
        Self { gate, random }
    }

    /// Whether this lie is ever told.
    pub(super) fn knows(&self, lie: Lie) -> bool {
        self.gate.faults().named.iter().any(|it| it.fault == Fault::Lie(lie))
    }

    /// Whether this lie is told now.
    pub(super) fn tells(&mut self, lie: Lie) -> bool {
        let gate = Arc::clone(&self.gate);
        let mut tells = false;
        for it in gate.faults().named.iter().filter(|it| it.fault == Fault::Lie(lie)) {
            tells |= it.is_due(gate.elapsed_ns()) && chance(&mut self.random, it.fraction);
        }
        // A deletion that will be undone is counted when it is undone.
        if tells && lie != Lie::UndoDelete {
            self.count(lie);
        }
        tells
    }

    pub(super) fn count(&self, lie: Lie) {
        self.gate.happened.count(Fault::Lie(lie));
    }
}

/// The members of a document, without braces, with one value changed.
pub(super) fn altered(body: &str) -> String {
    let mut bytes = body.as_bytes().to_vec();
    let last = bytes.iter().rposition(|byte| !matches!(byte, b'}' | b']' | b'"'));
    match last.map(|at| (at, bytes[at])) {
        Some((at, digit @ b'0'..=b'9')) => bytes[at] = b'0' + (digit - b'0' + 1) % 10,
        Some((at, letter)) if letter.is_ascii_alphabetic() && bytes.get(at + 1) == Some(&b'"') => {
            bytes[at] = if letter == b'x' { b'y' } else { b'x' };
        }
        Some(_) => return format!("\"springload_wrong\":true,{body}"),
        None => return "\"springload_wrong\":true".to_owned(),
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_altered_is_still_json_and_something_else() {
        for body in [r#""a":1"#, r#""a":9"#, r#""a":"bc""#, r#""a":"x""#, r#""a":true"#, ""] {
            let text = |body: &str| format!("{{{body}}}");
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            let altered = text(&altered(body));
            assert_ne!(value(&altered), value(&text(body)), "{altered}");
        }
        for body in [r#""a":[{"b":[1]}]"#, r#""a":{"b":"c"}"#, r#""a":"""#, r#""a":"ü""#] {
            let altered = format!("{{{}}}", altered(body));
            assert!(serde_json::from_str::<serde_json::Value>(&altered).is_ok(), "{altered}");
        }
    }
}
