//! The description of a driver, known before anything is planned. Knows no driver by name.

use crate::mistake::Invalid;
use crate::op::{Feature, Kinds, OpKind};
use crate::words::Word;
use crate::{Nouns, Setting};

/// The description of a driver, known before anything is planned.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, read by name")]
pub struct Card {
    /// The name in plans and records.
    pub name: &'static str,
    /// The schemes of its addresses. The driver's name alone is an address, too: of no server, or
    /// of one that the driver starts itself.
    pub schemes: &'static [&'static str],
    /// What kind of server it speaks to, for help texts.
    pub summary: &'static str,
    /// What an address looks like, for messages.
    pub address: &'static str,
    /// The operations that it can do.
    pub operations: Kinds,
    /// Whether it returns the documents that are read, so that their content can be compared.
    pub documents: bool,
    /// Whether a server has named databases, one of which is the target.
    pub databases: bool,
    /// Whether there is a server. Without one, springload itself is measured.
    pub server: bool,
    /// Whether it marks when a request is sent and when its answer begins. Without these marks only
    /// the service time of an operation is known, not its phases.
    pub phases: bool,
    /// The settings of a target that it supports; all others are refused.
    pub heeds: &'static [Setting],
    /// The terms for what it stores.
    pub nouns: Nouns,
    /// What its operations can do beyond their kinds; all else is refused.
    pub can: &'static [Feature],
    /// The words with which a plan can spell operations of its own.
    pub words: &'static [Word],
}

/// The name of the only table if a server has no databases: YCSB's default.
pub const ONLY_TABLE: &str = "usertable";

impl Card {
    /// Whether a table of this name is passed to the target. If there is only one table, any other
    /// name is passed on, so that the driver can refuse it.
    pub fn takes_table(&self, table: &str) -> bool {
        self.databases || self.server && table != ONLY_TABLE
    }

    /// Refuses operations that the driver does not support; `done` selects those that are planned.
    pub fn refusal(&self, flag: &str, done: impl Fn(OpKind) -> bool) -> Option<Invalid> {
        let refused = |kind: &OpKind| kind.is_request() && !self.operations.contains(*kind);
        let kinds: Vec<_> =
            OpKind::BUILT_IN.into_iter().filter(|kind| refused(kind) && done(*kind)).collect();
        let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
        (!names.is_empty()).then(|| {
            let problem = format!("{} does not support {}", self.summary, names.join(" or "));
            Invalid::new(flag, problem, "leave these operations out, or give another target")
        })
    }

    /// Refuses a needed feature that the driver's operations lack.
    pub fn lack(&self, flag: &str, feature: Feature) -> Option<Invalid> {
        const SERIES: &str = "give another target for time series";
        let (flag, problem, cure) = match feature {
            _ if self.can.contains(&feature) => return None,
            Feature::Ranges => (flag, "cannot read ranges of keys", SERIES),
            Feature::Overwriting => (flag, "cannot insert over a document that exists", SERIES),
            Feature::Conditions => {
                ("--conditional", "does not support conditional reads", "leave it out")
            }
            Feature::Settling => (
                "--wait-for-server",
                "cannot tell which documents of a lost request were stored",
                "leave it out, or give another target",
            ),
            Feature::Saving => (flag, "cannot save values from answers", "leave save out"),
            Feature::Changes => ("--follow", "has no changes to follow", "leave it out"),
            Feature::Replication => {
                (flag, "does not replicate single databases", "give CouchDB servers")
            }
            Feature::Designs => ("--ddocs", "has no design documents", "leave it out"),
            // Documents are handled one at a time instead.
            Feature::Several => return None,
        };
        Some(Invalid::new(flag, format!("{} {problem}", self.summary), cure))
    }
}

#[cfg(test)]
mod tests {
    use crate::CARDS;
    use crate::op::{Feature, OpKind};

    #[test]
    fn an_operation_that_a_driver_lacks_is_refused_by_name() {
        let http = CARDS.iter().find(|card| card.name == "http").unwrap();
        let message = http.refusal("TARGET", |kind| kind == OpKind::Scan).unwrap().to_string();
        assert!(message.starts_with("TARGET: ") && message.contains("scan"), "{message}");
        assert_eq!(http.refusal("TARGET", |kind| kind == OpKind::Read), None);
        // Operations that are derived from requests or their results are not up to the driver to
        // refuse.
        assert_eq!(http.refusal("TARGET", |kind| kind == OpKind::Verify), None);
    }

    #[test]
    fn every_driver_can_do_what_is_needed_or_refuses_it_by_its_flag() {
        for card in CARDS {
            for feature in Feature::ALL {
                let (can, refusal) = (card.can.contains(&feature), card.lack("TARGET", feature));
                assert_eq!(refusal.is_none(), can || feature == Feature::Several, "{}", card.name);
                let Some(message) = refusal.map(|it| it.to_string()) else { continue };
                let flags = ["TARGET", "--conditional", "--wait-for-server", "--ddocs", "--follow"];
                let named = flags.iter().any(|flag| message.starts_with(&format!("{flag}: ")));
                assert!(named && message.contains(card.summary), "{message}");
            }
        }
    }

    /// Drivers whose inserts overwrite have no conflict to settle; of the others, only CouchDB's
    /// checks who wrote the existing document.
    #[test]
    fn only_drivers_that_look_or_overwrite_settle_what_a_lost_request_stored() {
        for card in CARDS {
            let settles = card.can.contains(&Feature::Settling);
            let refusal = card.lack("TARGET", Feature::Settling).map(|it| it.to_string());
            assert_eq!(refusal.is_some(), !settles, "{}", card.name);
            let guesses = ["mongodb", "line", "ycsb_java", "http"].contains(&card.name);
            assert_eq!(settles, !guesses, "{}: {refusal:?}", card.name);
        }
    }

    #[test]
    fn the_readme_says_what_each_driver_can_do() {
        let readme = include_str!("../../../README.md");
        let head = readme.lines().find(|line| line.starts_with("| address | ")).unwrap();
        let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).skip(1);
        for card in CARDS.iter().filter(|card| !card.schemes.is_empty()) {
            let starts = ["://", ":"].map(|end| format!("| `{}{end}` ", card.schemes[0]));
            let is_its = |line: &&str| starts.iter().any(|start| line.starts_with(start));
            let row = readme.lines().find(is_its);
            let row = row.unwrap_or_else(|| panic!("README.md has no row {starts:?}"));
            for (name, cell) in cells(head).zip(cells(row)) {
                let kind = OpKind::BUILT_IN.into_iter().find(|kind| kind.name() == name).unwrap();
                let can = if card.operations.contains(kind) { "yes" } else { "no" };
                assert_eq!(cell, can, "{}: {kind}", card.name);
            }
        }
    }
}
