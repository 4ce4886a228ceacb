//! The answers to the commands of an operation.

use crate::call::CallError;
use crate::op::Failure;

/// What came back: an answer for each command, or why there is none.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    text: Vec<u8>,
    /// Where in `text` each begins and ends; nowhere if it is lost.
    places: Vec<(usize, usize)>,
    /// Why some are lost.
    lost: Option<CallError>,
}

impl Answers {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
        self.lost = None;
    }

    /// The answer to the next command.
    pub(crate) fn push(&mut self, answer: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(answer);
        self.places.push((start, self.text.len()));
    }

    /// Expects answers to so many commands, in any order.
    pub(crate) fn expect(&mut self, commands: usize) {
        self.clear();
        self.places.resize(commands, (0, 0));
    }

    /// Forgets the answer to a command.
    pub(crate) fn forget(&mut self, command: usize) {
        self.places[command] = (0, 0);
    }

    /// Notes why some answers are lost. That a command may have been carried out counts more than
    /// that another was not sent.
    pub(crate) fn lose(&mut self, lost: CallError) {
        if self.lost.as_ref().is_none_or(|known| known.failure.unconnected()) {
            self.lost = Some(lost);
        }
    }

    /// Why there is none at all, if there should be.
    pub(crate) fn all_lost(&self) -> Option<&CallError> {
        self.lost.as_ref().filter(|_| self.is_empty())
    }

    /// Each answer.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|&(start, end)| &self.text[start..end])
    }

    pub(crate) fn put(&mut self, command: usize, answer: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(answer);
        self.places[command] = (start, self.text.len());
    }

    /// How many commands were sent.
    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// The answer to a command.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn get(&self, command: usize) -> Result<&[u8], CallError> {
        let (start, end) = self.places.get(command).copied().unwrap_or_default();
        let lost = || self.lost.clone().unwrap_or(Failure::Protocol.into());
        if start == end { Err(lost()) } else { Ok(&self.text[start..end]) }
    }

    /// Whether none has come.
    fn is_empty(&self) -> bool {
        self.places.iter().all(|(start, end)| start == end)
    }

    /// Why some answers are missing though others have come.
    pub(crate) fn partly_lost(&self) -> Option<&CallError> {
        self.lost.as_ref().filter(|_| !self.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One command may have been carried out, another was not sent.
    #[test]
    fn a_loss_that_may_hide_a_write_counts_more_than_one_that_cannot() {
        for order in [[Failure::Reset, Failure::Connect], [Failure::Connect, Failure::Reset]] {
            let mut answers = Answers::default();
            answers.expect(2);
            for failure in order {
                answers.lose(failure.into());
            }
            assert_eq!(answers.all_lost().map(|lost| lost.failure), Some(Failure::Reset));
            assert_eq!(answers.get(0).map_err(|lost| lost.failure), Err(Failure::Reset));
        }
    }
}
