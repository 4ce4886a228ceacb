//! Says who was at fault: verdicts, outages of the server, and time lost by springload itself.

use super::{AgentClient, AgentStage, Code, Hindrance, StageRecord, Sureness, Verdict, fleet};
use crate::account::Range;
use crate::measure::Span;
use crate::op::grouped;
use std::fmt::Write as _;

/// A client pause of this length, in seconds, is reported ...
const LONG_PAUSE_S: f64 = 0.1;
/// ... and so are shorter ones that together reach it, and this share of the time.
const MUCH_PAUSED: f64 = 0.01;

/// More threads help if one of them computes for at least this share of the time.
const BUSY: f64 = 0.5;

/// The reason a stage cannot be trusted; `None`: it can.
pub(super) fn of_verdict(stage: &StageRecord) -> Option<(Code, String)> {
    Some(match stage.verdict {
        Verdict::ClientBound { busiest_thread, by, .. } => {
            let guilty = fleet::guilty(stage, by);
            let words = format!(
                "client-bound: springload{} {}{}; use {}{}",
                fleet::on(stage, &guilty),
                hindered(by, busiest_thread),
                kept_waiting(stage, &guilty),
                if busiest_thread >= BUSY { "more --threads, " } else { "" },
                if stage.agents.is_empty() {
                    "a quieter machine, or another one"
                } else {
                    "quieter machines, or more of them"
                },
            );
            (Code::ClientBound, words)
        }
        Verdict::NotSustained { offered_per_s, served_per_s, backlog_per_s } => {
            let [offered, served] = [offered_per_s, served_per_s].map(whole);
            let offered = format!("offered {offered}/s, served {served}/s");
            let missing = missing_words(stage, backlog_per_s);
            (Code::NotSustained, format!("not sustained: {offered}{missing}"))
        }
        Verdict::BoundByConnections { connections, needed } => (
            Code::BoundByConnections,
            format!(
                "{}; {}/s is what they carry, not what the server can do",
                bound_words(connections, needed),
                whole(stage.load.served_per_s),
            ),
        ),
        Verdict::Degraded { failed_share, outage_s } => {
            let percent = failed_share * 100.0;
            let failed = format!(
                "{percent:.1} % of the operations failed through the server's \
                fault"
            );
            let mut words = format!("degraded: {failed}");
            if stage.verdict.is_outage() {
                words = format!("degraded: {}", away_in_all_words(stage, outage_s));
                if percent >= 0.1 {
                    let _ = write!(words, ", {failed}");
                }
                if !stage.load.open {
                    words.push_str(
                        "; a closed loop sends little during an outage, so counts and \
                        percentiles understate it",
                    );
                }
            }
            (Code::Degraded, words)
        }
        // Lost agents have their own warnings.
        Verdict::AgentsLost { .. }
        | Verdict::Empty
        | Verdict::Sustained
        | Verdict::Closed
        | Verdict::Drilled
        | Verdict::TooShort
        | Verdict::Unfinished => return None,
    })
}

/// Says that there were too few connections.
pub fn bound_words(connections: u64, needed: u64) -> String {
    let plural = if connections == 1 { "" } else { "s" };
    let (connections, about) = (grouped(connections), grouped(needed));
    format!("bound by {connections} connection{plural}; about {about} needed (-c {needed})")
}

/// The share of the time that threads waited for a processor or were paused, if it is large: the
/// threads of these agents, if there are any.
fn kept_waiting(stage: &StageRecord, agents: &[&AgentStage]) -> String {
    let clients = agents.iter().filter_map(|agent| agent.client.as_ref());
    let most = |of: fn(&AgentClient) -> f64| clients.clone().map(of).reduce(f64::max);
    let waited = most(|it| it.waited_thread).unwrap_or(stage.client.waited_thread);
    let paused = most(|it| it.paused_thread).unwrap_or(stage.client.paused_thread);
    let mut words = String::new();
    if waited >= 0.05 {
        let _ = write!(words, "waited {:.0} %", waited * 100.0);
    }
    if paused >= 0.01 {
        let and = if words.is_empty() { "" } else { ", " };
        let _ = write!(words, "{and}stood still {:.0} %", paused * 100.0);
    }
    if words.is_empty() { words } else { format!(" (not enough CPU: {words} of the time)") }
}

/// Describes what made springload the limit.
fn hindered(by: Hindrance, busiest_thread: f64) -> String {
    match by {
        Hindrance::Unknown => format!("was busy {:.0} % of the time", busiest_thread * 100.0),
        Hindrance::Computed(share) => {
            format!("kept its busiest thread busy {:.0} % of the time", share * 100.0)
        }
        Hindrance::Waited(share) => {
            format!("waited for CPU {:.0} % of the time", share * 100.0)
        }
        Hindrance::Held(share) => {
            format!("itself took {:.0} % of the response times", share * 100.0)
        }
        Hindrance::Late(us) => format!("began operations up to {:.1} ms late (p99)", us / 1e3),
    }
}

/// Describes what springload has changed in numbers that are otherwise the server's.
pub(super) fn disturbed(stage: &StageRecord) -> Option<String> {
    let account = stage.account.as_ref().filter(|_| stage.verdict.trustworthy())?;
    let of = |name: &str, range: Option<Range>| {
        let range = range.filter(Range::is_disturbed)?;
        let ms = |us: f64| us / 1e3;
        Some(format!("{name} is between {:.1} and {:.1} ms", ms(range.low), ms(range.high)))
    };
    let times = [("p50", account.p50_us), ("p90", account.p90_us), ("p99", account.p99_us)];
    let mut words: Vec<_> = times.into_iter().filter_map(|(name, us)| of(name, us)).collect();
    if account.trust.throughput == Sureness::Disturbed && !stage.load.open {
        let percent = account.client_share * 100.0;
        words.insert(0, format!("throughput may be about {percent:.0} % too low"));
    }
    if words.is_empty() {
        return None;
    }
    let why = fleet::disturber(stage);
    Some(format!("disturbed: {why}; {}", words.join(", ")))
}

/// What became of the operations that were due but not served.
fn missing_words(stage: &StageRecord, backlog_per_s: f64) -> String {
    match stage.load.dropped {
        0 => format!(
            ", the backlog grew by {}/s; response percentiles depend on the length of the run",
            whole(backlog_per_s)
        ),
        // They wait for nothing.
        dropped => format!(
            "; {} of {} were dropped, and have no response times",
            grouped(dropped),
            grouped(stage.load.offered)
        ),
    }
}

/// A rate as a whole number.
fn whole(per_s: f64) -> String {
    grouped(per_s.round() as u64)
}

/// Outages of this total length, in seconds: their number, and the longest of them, with the
/// silences that are part of them.
pub fn away_in_all_words(stage: &StageRecord, total_s: f64) -> String {
    let away = stage.away();
    let longest = away.iter().max_by(|a, b| a.span.length_s.total_cmp(&b.span.length_s));
    let Some(longest) = longest else {
        return format!("nothing succeeded for {}", length_words(total_s));
    };
    let (what, span) = (longest.what(), longest.span);
    let total = length_words(stage.away_in_all_s(total_s));
    let (longest, from_s) = (length_words(span.length_s), span.from_s);
    match away.len() {
        1 => format!("{what} for {total} from {from_s:.1} s on"),
        count => {
            let cut = stage.outage.spans.len() >= Span::MOST_LISTED;
            let more = if cut { " or more" } else { "" };
            let several = format!("{count}{more} outages");
            format!("{what} for {total} in {several}, the longest {longest} from {from_s:.1} s on")
        }
    }
}

/// The outages of a stage, if there were any.
pub(super) fn outage_words(stage: &StageRecord) -> Option<String> {
    stage.outage.longest().map(|_| away_in_all_words(stage, stage.outage.total_s))
}

/// The verdict on a stage that cannot be trusted, and its outages. One event has one warning: a
/// stage that is degraded is so with its outages.
pub(super) fn verdict_and_outages(stage: &StageRecord) -> Vec<(Code, String)> {
    // The times of an audit do not matter.
    let verdict = of_verdict(stage).filter(|_| !stage.purpose().is_news());
    match (verdict, outage_words(stage)) {
        (Some((Code::Degraded, words)), Some(_)) if stage.verdict.is_outage() => {
            vec![(Code::Degraded, words)]
        }
        (Some((Code::Degraded, words)), Some(outage)) => {
            vec![(Code::Degraded, format!("{words}; {outage}"))]
        }
        (verdict, outage) => {
            let outage = outage.map(|words| (Code::Outage, words));
            verdict.into_iter().chain(outage).collect()
        }
    }
}

/// Pauses of the client, if they are long enough to report.
pub(super) fn pause_words(stage: &StageRecord) -> Option<String> {
    let pauses = &stage.client.pauses;
    let longest = pauses.iter().copied().max_by(|a, b| a.length_s.total_cmp(&b.length_s))?;
    let paused_s = stage.client.paused_thread * stage.rates_over_s();
    let much = longest.length_s >= LONG_PAUSE_S
        || paused_s >= LONG_PAUSE_S && stage.client.paused_thread >= MUCH_PAUSED;
    if much && longest.length_s < LONG_PAUSE_S {
        let longest_ms = longest.length_s * 1e3;
        return Some(format!(
            "springload{} was paused for {paused_s:.1} s in total, up to {longest_ms:.0} ms \
             at a time",
            fleet::paused(stage),
        ));
    }
    let on = fleet::paused(stage);
    much.then(|| format!("springload{on} was paused {}", span_words(longest)))
}

fn span_words(span: Span) -> String {
    format!("for {} from {:.1} s", length_words(span.length_s), span.from_s)
}

fn length_words(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Account, Trust};
    use crate::record::fixture;

    #[test]
    fn words_about_a_client_fit_its_figures() {
        let mut stage = fixture::stage("crud", Vec::new());
        let mut message = |busiest_thread| {
            let by = Hindrance::Computed(busiest_thread);
            stage.verdict = Verdict::ClientBound { busiest_thread, late_p99_us: 0.0, by };
            of_verdict(&stage).unwrap().1
        };
        assert!(message(0.96).ends_with("; use more --threads, a quieter machine, or another one"));
        assert!(message(0.01).ends_with("; use a quieter machine, or another one"));
        let words = |length_s| span_words(Span { from_s: 0.81, length_s });
        assert_eq!(words(0.038), "for 38 ms from 0.8 s");
        assert_eq!(words(14.09), "for 14.1 s from 0.8 s");
    }

    #[test]
    fn large_numbers_are_in_groups_except_where_they_are_to_be_copied() {
        let bound = bound_words(1_000, 12_500);
        assert_eq!(bound, "bound by 1,000 connections; about 12,500 needed (-c 12500)");
        let mut stage = fixture::stage("crud", Vec::new());
        let (offered_per_s, served_per_s, backlog_per_s) = (20_000.4, 18_789.6, 1_210.8);
        stage.verdict = Verdict::NotSustained { offered_per_s, served_per_s, backlog_per_s };
        let words = of_verdict(&stage).unwrap().1;
        let expected = "not sustained: offered 20,000/s, served 18,790/s, the backlog grew by \
                        1,211/s; response percentiles depend on the length of the run";
        assert_eq!(words, expected);
        (stage.load.offered, stage.load.dropped) = (191_687, 1_200);
        let words = of_verdict(&stage).unwrap().1;
        assert!(words.contains("; 1,200 of 191,687 were dropped"), "{words}");
    }

    #[test]
    fn figures_that_springload_changed_by_a_little_are_named() {
        let words = |[p50_us, p99_us]: [Option<Range>; 2], throughput: Sureness, open: bool| {
            let mut stage = fixture::stage("crud", Vec::new());
            let (client_share, trust) = (0.12, Trust { throughput, ..Trust::default() });
            let account = Account { client_share, p50_us, p99_us, trust, ..Account::default() };
            (stage.account, stage.load.open) = (Some(account), open);
            disturbed(&stage)
        };
        let range = |low, high| Some(Range { low, high });
        let too_low = "throughput may be about 12 % too low";
        let longer = [range(5_000.0, 6_500.0), range(9_500.0, 9_600.0)];
        let busy = |words: &str| Some(format!("disturbed: this machine was busy; {words}"));
        assert_eq!(words([None; 2], Sureness::Sound, false), None);
        assert_eq!(words([None; 2], Sureness::Disturbed, false), busy(too_low));
        assert_eq!(words([None; 2], Sureness::Disturbed, true), None, "it came at its own pace");
        let p50 = "p50 is between 5.0 and 6.5 ms";
        assert_eq!(words(longer, Sureness::Sound, true), busy(p50));
        let both = format!("{too_low}, {p50}");
        assert_eq!(words(longer, Sureness::Disturbed, false), busy(&both));
        let mut few = fixture::stage("crud", Vec::new());
        let p90_us = range(24_000.0, 30_000.0);
        few.account = Some(Account { p90_us, ..Account::default() });
        assert_eq!(disturbed(&few), busy("p90 is between 24.0 and 30.0 ms"));
    }
}
