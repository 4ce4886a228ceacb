//! Decides on a claim by its measurements, and by what else the machine did meanwhile.

use super::Measured;
use super::noise::{Bears, Noise};

/// How often a claim that failed in noise is measured, at most.
const ATTEMPTS: u32 = 3;

/// The result of one claim.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its outcome.
    pub outcome: Outcome,
    /// What was measured last.
    pub measured: String,
    /// What the machine did meanwhile.
    pub noise: Noise,
    /// How often it was measured.
    pub attempts: u32,
}

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not hold, and the machine is not the reason.
    Fails,
    /// It did not hold, and this noise on the machine may be the reason.
    CannotTell(String),
}

impl Outcome {
    /// The outcome of one measurement. A claim with `None` is about counts: if these are wrong, the
    /// machine is never the reason.
    fn of(held: bool, bears: Option<Bears>, noise: &Noise) -> Self {
        if held {
            return Self::Holds;
        }
        let reason = bears.and_then(|bears| noise.explains(bears));
        reason.map_or(Self::Fails, Self::CannotTell)
    }
}

impl Finding {
    /// Measures until the outcome is clear, or `ATTEMPTS` times.
    pub(super) fn settle(
        bears: Option<Bears>,
        mut measure: impl FnMut() -> (Result<Measured, String>, Noise),
    ) -> Self {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (result, noise) = measure();
            let (outcome, measured) = match result {
                Ok(Measured { text, held }) => (Outcome::of(held, bears, &noise), text),
                Err(why) => (Outcome::Fails, format!("not measured: {why}")),
            };
            if attempts == ATTEMPTS || !matches!(outcome, Outcome::CannotTell(_)) {
                return Self { outcome, measured, noise, attempts };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selftest::noise::{MEAN, MEDIAN, PAUSE, SCHEDULE, STARVED, TAIL};

    /// Whether the claim held, and the noise meanwhile.
    type Attempt = (bool, fn() -> Noise);

    fn quiet() -> Noise {
        let mut noise = Noise { others: Some(0.05), ..Noise::default() };
        noise.hiccups.late.record_many(120_000, 2_000);
        noise
    }

    fn loud() -> Noise {
        let mut noise = quiet();
        noise.hiccups.late.record_many(12_000_000, 3_000);
        noise
    }

    #[test]
    fn what_does_not_hold_is_excused_by_a_loud_machine_alone() {
        for bears in [PAUSE, SCHEDULE, TAIL, MEDIAN, MEAN] {
            assert_eq!(Outcome::of(true, Some(bears), &loud()), Outcome::Holds);
            assert_eq!(Outcome::of(true, Some(bears), &quiet()), Outcome::Holds);
            assert_eq!(Outcome::of(false, Some(bears), &quiet()), Outcome::Fails, "{bears:?}");
            let nothing_seen = Outcome::of(false, Some(bears), &Noise::default());
            assert_eq!(nothing_seen, Outcome::Fails, "{bears:?}");
            let outcome = Outcome::of(false, Some(bears), &loud());
            let Outcome::CannotTell(why) = outcome else { panic!("{bears:?}: {outcome:?}") };
            assert!(why.starts_with("this machine stalled for 12.0 ms"), "{why}");
        }
        // A claim that starves the client causes hiccups itself.
        assert_eq!(Outcome::of(false, Some(STARVED), &loud()), Outcome::Fails);
        let busy = Noise { others: Some(0.6), ..quiet() };
        let why = Outcome::CannotTell("others used 60 % of a processor".to_owned());
        assert_eq!(Outcome::of(false, Some(STARVED), &busy), why);
    }

    #[test]
    fn wrong_counts_are_never_excused() {
        let loudest = Noise { others: Some(2.0), ..loud() };
        assert_eq!(Outcome::of(false, None, &loudest), Outcome::Fails);
        let finding =
            Finding::settle(None, || (Ok(Measured::new(false, "1 lost")), loudest.clone()));
        assert_eq!((finding.outcome, finding.attempts), (Outcome::Fails, 1));
        let finding =
            Finding::settle(Some(PAUSE), || (Err("no socket".to_owned()), loudest.clone()));
        assert_eq!((finding.outcome, finding.attempts), (Outcome::Fails, 1));
        assert_eq!(finding.measured, "not measured: no socket");
    }

    #[test]
    fn a_claim_is_measured_again_while_the_machine_may_be_why_it_failed() {
        let settle = |course: &[Attempt]| {
            let mut course = course.iter();
            let finding = Finding::settle(Some(SCHEDULE), || {
                let (held, noise) = course.next().expect("no more than so often");
                (Ok(Measured::new(*held, "late")), noise())
            });
            assert_eq!(course.len(), 0, "it stopped too early");
            finding.outcome
        };
        assert_eq!(settle(&[(true, loud)]), Outcome::Holds);
        assert_eq!(settle(&[(false, loud), (true, loud)]), Outcome::Holds);
        assert_eq!(settle(&[(false, loud), (false, quiet)]), Outcome::Fails);
        assert_eq!(settle(&[(false, quiet)]), Outcome::Fails);
        let outcome = settle(&[(false, loud), (false, loud), (false, loud)]);
        assert!(matches!(outcome, Outcome::CannotTell(_)), "{outcome:?}");
    }
}
