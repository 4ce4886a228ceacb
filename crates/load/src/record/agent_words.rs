//! The names of a run's agents in words.

use super::{AgentRecord, RunRecord};

/// Agent numbers in words: `3, 5–9 and 12`. They must be in ascending order.
pub fn numbers(agents: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &agent in agents {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == agent => *last = agent,
            _ => ranges.push((agent, agent)),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for (first, last) in ranges {
        match last - first {
            0 => words.push(first.to_string()),
            1 => words.extend([first.to_string(), last.to_string()]),
            _ => words.push(format!("{first}–{last}")),
        }
    }
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// `agent 3 was` or `agents 3 and 5 were`; `None`: there are none.
pub(super) fn named(agents: &[&AgentRecord]) -> Option<String> {
    let all: Vec<usize> = agents.iter().map(|agent| agent.index).collect();
    let numbers = numbers(&all);
    match all.len() {
        0 => None,
        1 => Some(format!("agent {numbers} was")),
        _ => Some(format!("agents {numbers} were")),
    }
}

/// Names one agent with its machine and process, or several by their numbers, and the total.
pub(super) fn who(record: &RunRecord, agents: &[&AgentRecord]) -> String {
    let of = record.agents.len();
    match agents {
        [one] => format!("agent {} of {of} (host {}, pid {})", one.index, one.host, one.pid),
        all if all.len() == of => format!("all {of} agents"),
        all => {
            let indices: Vec<usize> = all.iter().map(|agent| agent.index).collect();
            format!("agents {} of {of}", numbers(&indices))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_ranges() {
        for (agents, words) in [
            (&[][..], ""),
            (&[3], "3"),
            (&[3, 4], "3 and 4"),
            (&[0, 1, 2], "0–2"),
            (&[3, 5, 6, 7, 8, 9, 12], "3, 5–9 and 12"),
        ] {
            assert_eq!(numbers(agents), words);
        }
    }
}
