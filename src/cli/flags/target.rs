//! What can be a target, the flags about one, and where it was named.

use super::variable;
use crate::cli::secrets::strike_password;
use crate::driver::CARDS;

/// The variable with the target, if none is given.
pub(in crate::cli) const URL_VARIABLE: &str = "SPRINGLOAD_URL";

/// Flags of verbs that measure a server, or the nodes of a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct TargetArgs {
    /// Server, database or nodes [default: the stand-in]
    #[arg(long_help = addresses())]
    pub(in crate::cli) target: Vec<String>,
    /// Keep each connection on its node
    ///
    /// With several nodes, keep each connection on its node: by default, the connections of a node
    /// that does not answer move to others until it answers again
    #[arg(long)]
    pub(in crate::cli) pin: bool,
}

impl TargetArgs {
    pub(in crate::cli) fn first(&self) -> Option<&String> {
        self.target.first()
    }

    /// The addresses of the other nodes.
    pub(in crate::cli) fn others(&self) -> Vec<String> {
        self.target.iter().skip(1).cloned().collect()
    }
}

/// All addresses that this program understands, one to a line.
pub(in crate::cli) fn addresses() -> String {
    let own = "The address of a server, such as http://host:port, or of a database on it [default: \
               the embedded stand-in]. Several addresses are nodes of one CouchDB cluster; \
               connections are spread over them. 'http://host:port?q=8&n=1' creates the database \
               with eight shards and one copy. Addresses begin with:\n";
    // A driver whose addresses have no scheme has its own verbs instead.
    let targets = CARDS.iter().filter(|card| card.name == card.address || !card.schemes.is_empty());
    let lines = targets.map(|card| {
        // The rest of an address is described in each database's documentation.
        let scheme = card.address.find("://").map_or(card.address, |at| &card.address[..at + 3]);
        let scheme = scheme.split_once('?').map_or(scheme, |(before, _)| before);
        format!("\n{}  {}", scheme.trim_end_matches('['), card.summary)
    });
    own.to_owned() + &lines.collect::<String>()
}

/// A target, and where it was named.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::cli) struct Named {
    /// Its address; `None` for the stand-in.
    pub(in crate::cli) address: Option<String>,
    /// The addresses of the other nodes of the cluster.
    pub(in crate::cli) nodes: Vec<String>,
    /// The flag or the environment variable that named it.
    pub(in crate::cli) flag: &'static str,
}

/// The target that was given or, if none was, the one in the environment.
pub(in crate::cli) fn named(given: Option<String>) -> Named {
    named_nodes(given.into_iter().collect())
}

/// The same for several nodes of a cluster.
pub(in crate::cli) fn named_nodes(given: Vec<String>) -> Named {
    let mut given = given.into_iter();
    let (address, nodes) = (given.next(), given.collect());
    match (address, variable(URL_VARIABLE)) {
        (None, Some(address)) => Named { address: Some(address), nodes, flag: URL_VARIABLE },
        (address, _) => Named { address, nodes, flag: "TARGET" },
    }
}

impl Named {
    /// `line` with the address added if the line does not have it; the password is left out.
    pub(in crate::cli) fn on(&self, line: &str) -> String {
        let shown = self.address.as_deref().filter(|_| self.flag == URL_VARIABLE);
        let Some(shown) = shown.map(strike_password) else {
            return line.to_owned();
        };
        let verb = line.match_indices(' ').nth(1).map_or(line.len(), |(end, _)| end);
        let (verb, rest) = line.split_at(verb);
        format!("{verb} {shown}{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_the_target_of_the_environment_without_its_password() {
        let named =
            |flag| Named { address: Some("http://a:secret@h".to_owned()), nodes: Vec::new(), flag };
        let line = "springload run --docs 5";
        assert_eq!(named(URL_VARIABLE).on(line), "springload run http://a:***@h --docs 5");
        assert_eq!(named(URL_VARIABLE).on("springload run"), "springload run http://a:***@h");
        assert_eq!(named("TARGET").on(line), line);
    }
}
