//! What can be a target, for help texts.

use crate::driver::CARDS;

/// All addresses that this program understands, one to a line.
pub(in crate::cli) fn addresses() -> String {
    let own = "The address of a server, such as http://host:port, or of a database on it [default: the \
               embedded stand-in]; addresses begin with:\n";
    // Without a scheme of its own, what a driver is sent has verbs of its own.
    let targets = CARDS.iter().filter(|card| card.name == card.address || !card.schemes.is_empty());
    let lines = targets.map(|card| {
        // The rest of an address is in the documentation of each database.
        let scheme = card.address.find("://").map_or(card.address, |at| &card.address[..at + 3]);
        let scheme = scheme.split_once('?').map_or(scheme, |(before, _)| before);
        format!("\n{}  {}", scheme.trim_end_matches('['), card.summary)
    });
    own.to_owned() + &lines.collect::<String>()
}
