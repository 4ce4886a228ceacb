//! Groups the sessions of a shard that share connections: each group consists of sessions made one
//! after the other.

use std::collections::HashMap;
use std::rc::Rc;

/// What each session of a shard shares with others of its group.
#[derive(Debug)]
pub(super) struct Groups<G> {
    /// By the number of the session in the run.
    of_session: HashMap<usize, Rc<G>>,
    /// The last group that was made, and how many sessions are in it.
    last: Option<(Rc<G>, usize)>,
}

impl<G> Default for Groups<G> {
    fn default() -> Self {
        Self { of_session: HashMap::new(), last: None }
    }
}

impl<G> Groups<G> {
    /// The group of a session. Groups have `size` sessions; `make` makes a new one when the last is
    /// full.
    pub(super) fn of(
        &mut self,
        session: usize,
        size: usize,
        make: impl FnOnce() -> Rc<G>,
    ) -> Rc<G> {
        let Self { of_session, last } = self;
        let group = of_session.entry(session).or_insert_with(|| {
            let free = last.take_if(|(_, sessions)| *sessions < size);
            let (group, sessions) = free.unwrap_or_else(|| (make(), 0));
            *last = Some((group.clone(), sessions + 1));
            group
        });
        group.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_as_large_as_they_may_be_and_a_session_stays_in_its_own() {
        let (mut groups, mut made) = (Groups::default(), 0);
        let mut of = |session: usize| {
            *groups.of(session, 3, || {
                made += 1;
                Rc::new(made)
            })
        };
        let first: Vec<_> = (0..7).map(&mut of).collect();
        assert_eq!(first, [1, 1, 1, 2, 2, 2, 3]);
        let again: Vec<_> = [6, 0, 3, 7].map(&mut of).to_vec();
        assert_eq!(again, [3, 1, 2, 3]);
    }
}
