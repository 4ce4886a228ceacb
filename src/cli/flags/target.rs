//! What can be a target, and the flags about one.

use crate::driver::CARDS;

/// Flags of verbs that measure a server, or the nodes of a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cli) struct TargetArgs {
    /// Server, database or nodes [default: the stand-in]
    #[arg(long_help = addresses())]
    pub(in crate::cli) target: Vec<String>,
    /// Keep each connection on its node
    ///
    /// With several nodes, keep each connection on its own: by default, those of a node that does
    /// not answer move to others until it does
    #[arg(long)]
    pub(in crate::cli) pin: bool,
}

impl TargetArgs {
    /// The first address.
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
    let own = "The address of a server, such as http://host:port, or of a database on it \
               [default: the embedded stand-in]. Several are nodes of one CouchDB cluster, over \
               which connections are spread. 'http://host:port?q=8&n=1' makes the database with \
               eight shards and one copy. Addresses begin with:\n";
    // A driver whose addresses have no scheme has its own verbs instead.
    let targets = CARDS.iter().filter(|card| card.name == card.address || !card.schemes.is_empty());
    let lines = targets.map(|card| {
        // The rest of an address is in the documentation of each database.
        let scheme = card.address.find("://").map_or(card.address, |at| &card.address[..at + 3]);
        let scheme = scheme.split_once('?').map_or(scheme, |(before, _)| before);
        format!("\n{}  {}", scheme.trim_end_matches('['), card.summary)
    });
    own.to_owned() + &lines.collect::<String>()
}
