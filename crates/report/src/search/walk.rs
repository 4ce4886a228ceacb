//! The course of a search: doubling until a level is missed, then halving the bracket on a log
//! scale, then a longer run of the winner; and all of that several times.

use crate::generate::{Stream, mix, unit};
use serde::{Deserialize, Serialize};

/// Nothing is tried between two levels whose ratio is no more than this.
const PRECISION: f64 = 1.05;
/// How much longer an undecided step may become.
const LONGER: u32 = 4;
/// The winner is repeated for at least this many times as long.
const CONFIRMS: u32 = 3;
/// The most lengths that a step may have, except for a winner's.
const MOST_LENGTHS: u32 = 40;
/// If a miss is followed by this many steps that held, and by no other miss, the server may not
/// have been warm at the time: its level is tried again.
const HELD_SINCE: u32 = 2;
/// More steps than any search needs.
const MOST_STEPS: u32 = 50;

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The level is sustained.
    Held,
    /// The level is not sustained.
    Missed,
    /// The step was too short to tell.
    Undecided,
}

/// The bounds of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// The first level to try.
    pub from: f64,
    /// The highest level to try.
    pub to: f64,
    /// How often the search is repeated.
    pub searches: u32,
    /// The seed for the starting points of repetitions.
    pub seed: u64,
}

/// A step to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// The search it belongs to, from 1.
    pub search: u32,
    /// The level: a whole number.
    pub level: f64,
    /// Its length, as a multiple of the shortest step.
    pub lengths: u32,
    /// Whether this is the winner, tried again.
    pub confirms: bool,
}

#[derive(Clone, Copy, Debug)]
struct Miss {
    level: f64,
    /// How many steps of the search have held since then.
    held_since: u32,
    /// Whether the miss is certain, because the level was tried for longer.
    sure: bool,
}

/// A series of searches, one after another.
#[derive(Clone, Debug)]
pub struct Walk {
    within: Within,
    found: Vec<f64>,
    hopeless: bool,
    /// Levels that held in this search, each with the lengths of the step that showed it.
    held: Vec<(f64, u32)>,
    /// Levels that were missed, in the order of the steps.
    missed: Vec<Miss>,
    factor: f64,
    steps: u32,
    /// How many lengths a step at level 1 needs for enough responses to decide; higher levels have
    /// them sooner.
    takes: f64,
    ask: Ask,
}

impl Walk {
    /// A walk before its first step.
    pub fn new(within: Within) -> Self {
        let ask = Ask { search: 1, level: 0.0, lengths: 1, confirms: false };
        let mut walk = Self {
            within,
            found: Vec::new(),
            hopeless: false,
            held: Vec::new(),
            missed: Vec::new(),
            factor: 2.0,
            steps: 0,
            takes: 0.0,
            ask,
        };
        walk.ask.level = within.from.min(within.to).round().max(1.0);
        walk
    }

    /// The next step to try. `None`: the walk is over.
    pub fn next(&self) -> Option<Ask> {
        let over = self.hopeless || self.found.len() as u32 >= self.within.searches;
        (!over).then_some(self.ask)
    }

    /// The level found by each complete search.
    pub fn found(&self) -> &[f64] {
        &self.found
    }

    /// Takes the outcome of the current step, and how many times as long it has to be for enough
    /// responses to decide (0: it does not depend on that).
    pub fn tell(&mut self, outcome: StepOutcome, takes: f64) {
        let Ask { level, lengths, confirms, .. } = self.ask;
        self.steps += 1;
        self.takes = takes * f64::from(lengths) * level;
        let least = self.least(level);
        let longest = (least * if confirms { 2 * CONFIRMS } else { LONGER }).min(MOST_LENGTHS);
        match outcome {
            StepOutcome::Undecided if lengths < least || lengths * 2 <= longest => {
                self.ask.lengths = least.max(lengths * 2);
                return;
            }
            StepOutcome::Held if confirms => return self.end(level),
            StepOutcome::Held => {
                self.missed.retain(|miss| miss.level > level);
                self.missed.iter_mut().for_each(|miss| miss.held_since += 1);
                self.held.push((level, lengths));
            }
            // A level that cannot be shown to hold in that time is not reported as sustained.
            StepOutcome::Missed | StepOutcome::Undecided => {
                self.missed.retain(|miss| miss.level > level);
                let sure = confirms || outcome == StepOutcome::Undecided;
                self.missed.push(Miss { level, held_since: 0, sure });
                self.held.retain(|(held, _)| *held < level);
            }
        }
        if self.steps >= MOST_STEPS {
            self.hopeless = true;
            return;
        }
        self.choose();
    }

    /// How many lengths a step at a level needs to decide anything.
    fn least(&self, level: f64) -> u32 {
        (self.takes / level).ceil().clamp(1.0, MOST_LENGTHS.into()) as u32
    }

    /// Chooses the next level, or the winner once more.
    fn choose(&mut self) {
        let low = self.held.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
        let miss = self.missed.iter().copied().min_by(|a, b| a.level.total_cmp(&b.level));
        let next = match (low, miss.map(|it| it.level)) {
            (None, None) => Some(self.within.from),
            (Some((low, _)), None) if low >= self.within.to => None,
            (Some((low, _)), None) => Some((low * self.factor).min(self.within.to)),
            (None, Some(high)) if high <= 1.0 => {
                self.hopeless = true;
                return;
            }
            (None, Some(high)) => Some((high / self.factor).min(high - 1.0)),
            (Some((low, _)), Some(high)) if high / low <= PRECISION || high - low <= 1.0 => {
                miss.filter(|it| !it.sure && it.held_since >= HELD_SINCE).map(|it| it.level)
            }
            (Some((low, _)), Some(high)) => Some((low * high).sqrt()),
        };
        let search = self.ask.search;
        self.ask = match (next, low) {
            (Some(level), _) => {
                let floor = low.map_or(1.0, |(low, _)| low + 1.0);
                let level = level.round().max(floor);
                Ask { search, level, lengths: self.least(level), confirms: false }
            }
            (None, Some((level, lengths))) => {
                let lengths = (CONFIRMS * self.least(level)).max(lengths * 3 / 2);
                Ask { search, level, lengths, confirms: true }
            }
            (None, None) => self.ask,
        };
    }

    /// Ends one search, and begins the next a little below the level found.
    fn end(&mut self, level: f64) {
        self.found.push(level);
        let search = self.found.len() as u32 + 1;
        let mut draws = Stream::new(mix(self.within.seed, 0x5ea7, u64::from(search)), 0);
        let from = self.found[0] * (0.75 + 0.2 * unit(draws.draw()));
        (self.held, self.missed, self.steps, self.factor) = (Vec::new(), Vec::new(), 0, 1.25);
        let level = from.round().max(1.0);
        self.ask = Ask { search, level, lengths: self.least(level), confirms: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Within = Within { from: 100.0, to: 1e6, searches: 3, seed: 42 };

    /// Walks with a server that sustains up to `most`; `sure` is the number of lengths that a step
    /// near it needs to decide.
    fn walked(within: Within, most: f64, sure: u32) -> (Walk, Vec<Ask>) {
        let (mut walk, mut asked) = (Walk::new(within), Vec::new());
        while let Some(ask) = walk.next() {
            asked.push(ask);
            assert!(asked.len() < 500, "{asked:?}");
            let near = (ask.level / most).ln().abs() < 0.1;
            let outcome = match ask.level <= most {
                _ if near && ask.lengths < sure => StepOutcome::Undecided,
                true => StepOutcome::Held,
                false => StepOutcome::Missed,
            };
            walk.tell(outcome, 0.0);
        }
        (walk, asked)
    }

    #[test]
    fn the_level_is_found_to_five_percent_whatever_it_is() {
        for most in [1.0, 2.0, 7.0, 99.0, 100.0, 101.0, 2_000.0, 23_456.0, 999_999.0] {
            for sure in [1, 2, 4] {
                let (walk, asked) = walked(WITHIN, most, sure);
                assert_eq!(walk.found().len(), 3, "{most}");
                for found in walk.found() {
                    let close = *found <= most && (most / found <= PRECISION || most - found < 1.0);
                    assert!(close, "{most}: {found}");
                }
                assert!(asked.iter().all(|ask| ask.level >= 1.0 && ask.level.fract() < 1e-9));
                let confirmed = asked.iter().filter(|ask| ask.confirms);
                assert!(
                    confirmed.clone().count() >= 3 && confirmed.clone().all(|it| it.lengths >= 3)
                );
            }
        }
    }

    #[test]
    fn a_search_takes_as_few_steps_as_it_can() {
        let (_, asked) = walked(WITHIN, 2_000.0, 1);
        let of = |search| asked.iter().filter(move |ask| ask.search == search);
        // 100 to 3,200, four halvings, and the winner.
        assert_eq!(of(1).count(), 11, "{asked:?}");
        assert!(of(2).count() <= 7 && of(3).count() <= 7, "{asked:?}");
        let lengths: u32 = asked.iter().map(|ask| ask.lengths).sum();
        assert!(lengths <= 32, "{lengths}");
        let first = |search| of(search).next().map(|ask| ask.level as u64);
        assert_ne!(first(2), first(3));
        assert_eq!(walked(WITHIN, 2_000.0, 1).1, asked, "the same seed, the same steps");
    }

    #[test]
    fn what_holds_nowhere_is_reported_and_what_holds_everywhere_too() {
        let (walk, asked) = walked(WITHIN, 0.5, 1);
        assert!(walk.found().is_empty(), "{walk:?}");
        assert!(asked.last().unwrap().level <= 1.0);
        let (walk, _) = walked(Within { to: 1_000.0, ..WITHIN }, 1e9, 1);
        assert!(walk.found().iter().all(|it| *it as u64 == 1_000), "{walk:?}");
    }

    #[test]
    fn a_winner_that_does_not_hold_for_longer_is_none() {
        // 1,000 holds in short steps, 700 in long ones.
        let mut walk = Walk::new(Within { searches: 1, ..WITHIN });
        let mut steps = 0;
        while let Some(ask) = walk.next() {
            let most = if ask.lengths >= 3 { 700.0 } else { 1_000.0 };
            walk.tell(if ask.level <= most { StepOutcome::Held } else { StepOutcome::Missed }, 0.0);
            steps += 1;
        }
        let [found] = walk.found()[..] else { panic!("{walk:?}") };
        assert!((600.0..=700.0).contains(&found), "{found}");
        assert!(steps < 40, "{steps} steps");
    }

    #[test]
    fn what_stays_undecided_does_not_go_on_for_ever() {
        let mut walk = Walk::new(WITHIN);
        let mut steps = 0;
        while walk.next().is_some() {
            walk.tell(StepOutcome::Undecided, 0.0);
            steps += 1;
        }
        assert!(steps <= 60 && walk.found().is_empty(), "{steps}");
    }

    /// The steps requested if they have these outcomes.
    fn asked(within: Within, outcomes: &[StepOutcome]) -> Vec<(u64, u32, bool)> {
        let mut walk = Walk::new(within);
        let mut asked = Vec::new();
        for outcome in outcomes {
            let Some(ask) = walk.next() else { break };
            asked.push((ask.level as u64, ask.lengths, ask.confirms));
            walk.tell(*outcome, 0.0);
        }
        let next = walk.next().map(|ask| (ask.level as u64, ask.lengths, ask.confirms));
        asked.into_iter().chain(next).collect()
    }

    #[test]
    fn an_undecided_step_becomes_four_times_as_long_and_a_winner_twice() {
        use StepOutcome::{Held, Missed, Undecided};
        let open = asked(WITHIN, &[Undecided, Undecided, Undecided]);
        let steps = [(100, 1, false), (100, 2, false), (100, 4, false), (50, 1, false)];
        assert_eq!(open, steps);
        // The winner takes half as long again as the step it won by, and at least three lengths.
        let close = Within { from: 100.0, to: 100.0, ..WITHIN };
        let short = asked(close, &[Held, Undecided, Undecided]);
        let steps = [(100, 1, false), (100, 3, true), (100, 6, true), (50, 1, false)];
        assert_eq!(short, steps);
        let long = asked(close, &[Undecided, Undecided, Held, Missed]);
        assert_eq!(long[3], (100, 6, true));
    }

    #[test]
    fn a_bracket_is_halved_on_a_log_scale_and_later_searches_go_in_small_steps() {
        use StepOutcome::{Held, Missed};
        let first = asked(WITHIN, &[Held, Held, Missed]);
        assert_eq!(first.last(), Some(&(283, 1, false)), "of 200 and 400");
        // One level is found and confirmed; the next search begins below it.
        let within = Within { from: 1_000.0, to: 1_000.0, ..WITHIN };
        let later = asked(Within { to: 1e6, ..within }, &[Held, Missed]);
        assert_eq!(later.last(), Some(&(1_414, 1, false)));
        for seed in 0..50 {
            let second = asked(Within { seed, ..within }, &[Held, Held, Held]);
            let [.., (from, ..), (next, ..)] = second[..] else { panic!("{second:?}") };
            let quarter = (from as f64 * 1.25).round() as u64;
            assert!((750..950).contains(&from) && next == quarter.min(1_000), "{second:?}");
        }
    }

    /// Walks with a server that sustains 700, but misses everything up to its step number `cold`.
    fn from_cold(cold: usize) -> (f64, Vec<Ask>) {
        let mut walk = Walk::new(Within { searches: 1, ..WITHIN });
        let mut asked = Vec::new();
        while let Some(ask) = walk.next() {
            asked.push(ask);
            let holds = ask.level <= 700.0 && asked.len() > cold;
            walk.tell(if holds { StepOutcome::Held } else { StepOutcome::Missed }, 0.0);
        }
        (walk.found().first().copied().unwrap_or_default(), asked)
    }

    #[test]
    fn an_early_miss_is_tried_again_when_the_server_is_warm() {
        let (warm, steps) = from_cold(0);
        assert!((665.0..=700.0).contains(&warm), "{warm}");
        for cold in 1..=4 {
            let (found, asked) = from_cold(cold);
            assert!((665.0..=700.0).contains(&found), "{cold}: {found}, {asked:?}");
            assert!(asked.len() < 40, "{cold}: {}", asked.len());
        }
        // Nothing is tried again if misses and holds are consistent.
        let mut levels: Vec<u64> =
            steps.iter().filter(|it| !it.confirms).map(|it| it.level as u64).collect();
        let all = levels.len();
        levels.sort_unstable();
        levels.dedup();
        assert_eq!(levels.len(), all, "{steps:?}");
    }

    #[test]
    fn a_miss_that_is_missed_again_is_believed() {
        use StepOutcome::{Held, Missed, Undecided};
        let close = Within { from: 100.0, to: 1e6, searches: 1, seed: 1 };
        // Held from 50 up to 96, and 100 once more.
        let outcomes = [Missed, Held, Held, Held, Held, Held];
        let cold = asked(close, &outcomes);
        assert_eq!(cold.last(), Some(&(100, 1, false)), "{cold:?}");
        let again = asked(close, &[&outcomes[..], &[Missed]].concat());
        assert_eq!(again.last(), Some(&(96, 3, true)), "{again:?}");
        // A level that stayed undecided has already been tried for long enough.
        let open = [&[Undecided; 3][..], &outcomes[1..]].concat();
        assert_eq!(asked(close, &open).last(), Some(&(96, 3, true)));
        let held = asked(close, &[&outcomes[..], &[Held]].concat());
        assert_eq!(held.last(), Some(&(200, 1, false)), "{held:?}");
    }

    #[test]
    fn winners_that_are_never_confirmed_end_a_search() {
        let mut walk = Walk::new(WITHIN);
        let mut steps = 0;
        while let Some(ask) = walk.next() {
            walk.tell(if ask.confirms { StepOutcome::Missed } else { StepOutcome::Held }, 0.0);
            steps += 1;
        }
        assert!(steps <= MOST_STEPS && walk.found().is_empty(), "{steps}");
    }

    #[test]
    fn a_step_takes_as_long_as_it_takes_for_answers_enough() {
        // Half of the operations are reads, and a p99 needs 368 of them; a length is 3 s.
        let mut walk = Walk::new(Within { from: 100.0, to: 100.0, searches: 1, seed: 1 });
        let mut asked = Vec::new();
        while let Some(ask) = walk.next() {
            let takes = 368.0 / (ask.level * f64::from(ask.lengths) * 1.5);
            asked.push((ask.level as u32, ask.lengths));
            walk.tell(
                match (takes <= 1.0, ask.level > 30.0) {
                    (false, _) => StepOutcome::Undecided,
                    (true, true) => StepOutcome::Missed,
                    (true, false) => StepOutcome::Held,
                },
                takes,
            );
        }
        // After the first step, the length is known in advance.
        assert_eq!(asked[..4], [(100, 1), (100, 3), (50, 5), (25, 10)]);
        assert!(asked[4..].iter().all(|(level, lengths)| lengths * level >= 246), "{asked:?}");
        assert_eq!(asked.last(), Some(&(30, 27)), "the winner, three times as long");
        // It ends eventually: a level that would take longer is not reported as sustained.
        let mut walk = Walk::new(Within { from: 1.0, to: 1.0, searches: 1, seed: 1 });
        let mut lengths = Vec::new();
        while let Some(ask) = walk.next() {
            lengths.push(ask.lengths);
            walk.tell(StepOutcome::Undecided, 1e6 / f64::from(ask.lengths));
        }
        assert_eq!(lengths, [1, 40]);
    }
}
