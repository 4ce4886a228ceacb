//! The answers to the commands of an operation.

use crate::call::CallError;
use crate::op::Failure;

/// The answers to the commands of an operation, or the reason why some are missing.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    text: Vec<u8>,
    /// Where each answer begins and ends in `text`; an empty range if it is lost.
    places: Vec<(usize, usize)>,
    /// Why some are lost.
    lost: Option<CallError>,
}

impl Answers {
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

    /// Expects answers to this many commands, in any order.
    pub(crate) fn expect(&mut self, commands: usize) {
        self.clear();
        self.places.resize(commands, (0, 0));
    }

    pub(crate) fn forget(&mut self, command: usize) {
        self.places[command] = (0, 0);
    }

    /// Notes why some answers are lost. A loss after which a command may have been carried out
    /// takes precedence over one where nothing was sent.
    pub(crate) fn lose(&mut self, lost: CallError) {
        if self.lost.as_ref().is_none_or(|known| known.failure.refuses()) {
            self.lost = Some(lost);
        }
    }

    /// The reason why there is no answer at all, if that is the case.
    pub(crate) fn all_lost(&self) -> Option<&CallError> {
        self.lost.as_ref().filter(|_| self.is_empty())
    }

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
    /// Fails with the reason if it is lost.
    pub(crate) fn get(&self, command: usize) -> Result<&[u8], CallError> {
        let (start, end) = self.places.get(command).copied().unwrap_or_default();
        let lost = || self.lost.clone().unwrap_or(Failure::Protocol.into());
        if start == end { Err(lost()) } else { Ok(&self.text[start..end]) }
    }

    fn is_empty(&self) -> bool {
        self.places.iter().all(|(start, end)| start == end)
    }

    /// The reason why some answers are missing, if others have arrived.
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
        for order in [
            [Failure::Reset, Failure::Connect],
            [Failure::Connect, Failure::Reset],
            [Failure::Reset, Failure::TooManyRequests],
            [Failure::TooManyRequests, Failure::Reset],
        ] {
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
