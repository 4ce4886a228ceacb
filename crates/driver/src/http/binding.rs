//! The binding `rest`, which replays traces of URLs. The workload names their server.

use crate::properties::PropertyReader;
use crate::{Binding, Bound};

pub(super) const BINDING: Binding = Binding {
    names: &["rest"],
    classes: &["webservice.rest.RestClient"],
    properties: &["log.enable", "timeout.con", "timeout.exec", "timeout.read"],
    flag: "BINDING",
    site: None,
    read,
};

fn read(read: &mut PropertyReader<'_>) -> Bound {
    let cure = "give seconds above 0, 10 or so";
    let seconds = |text: &str| text.parse().ok().filter(|it| *it > 0.0 && *it <= MOST_S);
    let timeout_ns = read.parsed("timeout.exec", cure, seconds).map(|it: f64| (it * 1e9) as u64);
    Bound { timeout_ns, ..Bound::default() }
}

/// The longest timeout, in seconds: a longer one would overflow.
const MOST_S: f64 = 1e9;
