//! What can be a target, for help texts.

use crate::driver::CARDS;

/// All addresses that this program understands, one to a line.
pub(in crate::cli) fn addresses() -> String {
    let own = "The server, and perhaps the database [default: the embedded stand-in]:\n";
    // Without a scheme of its own, what a driver is sent has verbs of its own.
    let targets = CARDS.iter().filter(|card| card.name == card.address || !card.schemes.is_empty());
    let lines = targets.map(|card| format!("\n{}\n    {}", card.address, card.summary));
    own.to_owned() + &lines.collect::<String>()
}
