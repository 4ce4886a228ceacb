//! The settings of a plan file: words of the command line, each with its line in the file.

use crate::plan::Invalid;
use std::ffi::OsString;

/// The settings of a plan file that the command line leaves to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scenario {
    /// The target, or the nodes of a cluster.
    pub(super) target: Vec<String>,
    /// Flags, each in one word.
    pub(super) words: Vec<OsString>,
    /// Each of these flags, or `TARGET`, with its file and line.
    pub(super) places: Vec<(String, String)>,
}

impl Scenario {
    /// A mistake, with its place in the file if the setting comes from there.
    pub(super) fn locate(&self, mistake: Invalid) -> Invalid {
        let place = self.places.iter().find(|(flag, _)| *flag == mistake.flag());
        match place {
            Some((flag, place)) => {
                let key = flag.trim_start_matches('-').to_ascii_lowercase();
                mistake.within(place, &key.replace("op ", "operation.").replace(' ', "."))
            }
            None => mistake,
        }
    }

    pub(super) fn locate_all(&self, mistakes: Vec<Invalid>) -> Vec<Invalid> {
        mistakes.into_iter().map(|mistake| self.locate(mistake)).collect()
    }
}
