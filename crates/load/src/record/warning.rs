//! Warnings: what to know before trusting the numbers. Derived once from the record.

use super::begun::{LASTED, not_all_begun};
use super::blame::{disturbed, pause_words, verdict_and_outages};
use super::code::{Code, DATA_WRONG, Warning};
use super::unanswered::{AuditedWrites, unanswered};
use super::{RunRecord, ServerRecord, StageRecord, beside, drilled, fleet};
use crate::driver::Nouns;
use crate::measure::OperationSummary;
use crate::op::{Failure, Finding, OpKind, grouped};
use crate::plan::Purpose;

/// The share of the time between requests and their responses that may be spent outside the
/// binding.
const MOST_OUTSIDE: f64 = 0.10;

pub(super) fn all(record: &RunRecord) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut run = |when: bool, code, message: &str| {
        if when {
            warnings.push(Warning { code, stage: None, message: message.to_owned() });
        }
    };
    let ended = record.ended.as_ref();
    let early = ended.map_or_else(|| record.cut_short(), |it| it.message.clone());
    run(record.partial, Code::Partial, &format!("{early}: this is a partial result"));
    run(
        record.environment.debug_build,
        Code::DebugBuild,
        "springload was built without optimization; measure with cargo build --release",
    );
    let own = own_server(&record.server);
    run(own.is_some(), Code::StandIn, &own.unwrap_or_default());
    run(
        record.server.same_machine && !record.server.stand_in,
        Code::SameMachine,
        "client and server share this machine and compete for its processors",
    );
    run(
        record.plan.target.accepts_any_certificate(),
        Code::Insecure,
        "INSECURE: --insecure accepted any certificate: someone else may have answered as the \
         server, and read everything that was sent, including passwords",
    );
    run(
        record.plan.target.proves_each_request(),
        Code::BasicAuth,
        "Basic authentication: the server checks the password in every request",
    );
    super::baseline::warnings(record, &mut warnings);
    let (nouns, audited) = (record.nouns(), AuditedWrites::of(record));
    of_databases(record, &mut warnings);
    if let Some(message) = not_audited(record) {
        warnings.push(Warning { code: Code::AuditIncomplete, stage: None, message });
    }
    if let Some(extra @ 1..) = record.extra_documents {
        let documents = if extra == 1 { nouns.one } else { nouns.many };
        let extra = grouped(extra);
        let message = format!("{DATA_WRONG}{extra} {documents} that this run did not write");
        warnings.push(Warning { code: Code::DataWrong, stage: None, message });
    }
    fleet::of_run(record, &mut warnings);
    for stage in &record.stages {
        fleet::of_stage(record, stage, &mut warnings);
        beside::of_stage(stage, &mut warnings);
        drilled::warnings(record, stage, &mut warnings);
        let accepted = record.plan.target.accepted_words();
        of_stage(stage, record.created(), nouns, accepted, audited, &mut warnings);
        beside::of_evictions(record, stage, &mut warnings);
        of_server(stage, &mut warnings);
        of_hints(stage, &mut warnings);
        for (code, message) in [
            (Code::NotAllBegun, not_all_begun(record, stage)),
            (Code::FillTimedOut, record.fill_advice(stage)),
        ] {
            let stage = Some(stage.name.clone());
            warnings.extend(message.map(|message| Warning { code, stage, message }));
        }
        let planned = record.plan_of(stage);
        if let Some(length_ns) = planned.and_then(|planned| planned.length_ns)
            && !record.partial
            && record.lost_by(stage).is_empty()
        {
            ran_dry(stage, length_ns as f64 / 1e9, nouns, &mut warnings);
        }
    }
    warnings
}

/// Why the audit of a run does not say what became of its writes; `None`: nothing is missing but
/// what the audit itself could not find out.
fn not_audited(record: &RunRecord) -> Option<String> {
    if let Some(why) = &record.journal_broken {
        return Some(format!("audit incomplete: notes of writes are missing: {why}"));
    }
    let begun = record.stages.iter().any(|stage| stage.purpose() == Purpose::Audit);
    if record.ended.is_none() || !record.plan.audit || begun {
        return None;
    }
    let cure = if record.server.deleted {
        format!("the {} was removed; --keep keeps it", record.nouns().place)
    } else {
        "audit later with springload audit RUN".to_owned()
    };
    Some(format!("audit incomplete: the run ended before its audit; {cure}"))
}

/// Adds warnings about databases that have too many shards, or could not be removed.
fn of_databases(record: &RunRecord, warnings: &mut Vec<Warning>) {
    let shards = record.server.open_shards.and_then(|it| it.warning());
    let left = record.server.left_words(record.nouns());
    for (code, message) in [(Code::OpenShards, shards), (Code::NotRemoved, left)] {
        warnings.extend(message.map(|message| Warning { code, stage: None, message }));
    }
}

/// The warning about springload's own servers; `None`: the server is not one of them.
fn own_server(server: &ServerRecord) -> Option<String> {
    let own = server.own()?;
    let place = if server.stand_in { ", in this process" } else { "" };
    Some(format!(
        "the server is springload's own {own}{place}: these numbers say nothing about CouchDB"
    ))
}

/// Adds warnings about what differs from what was written, or could not be checked.
///
/// `created` is the number of documents that the run is known to have created.
fn verified(
    stage: &StageRecord,
    created: u64,
    operation: &OperationSummary,
    nouns: Nouns,
    add: &mut impl FnMut(Code, String),
) {
    let count = |wrong: bool| -> (u64, Vec<String>) {
        let classes = operation.failures.iter().filter(|(class, _)| class.is_wrong_data() == wrong);
        let words =
            |(class, count): (&Failure, &u64)| format!("{} {}", grouped(*count), class.words());
        (classes.clone().map(|(_, count)| count).sum(), classes.map(words).collect())
    };
    let (all, audit) = (grouped(operation.looked_for()), stage.purpose() == Purpose::Audit);
    let (wrong, classes) = count(true);
    if wrong > 0 {
        let looked = if audit { "looked for" } else { "read" };
        let classes = classes.join(", ");
        add(Code::DataWrong, format!("{DATA_WRONG}{classes}, of {all} {} {looked}", nouns.many));
        if let Some(Finding { class, id, expected, found }) = operation.findings.first() {
            let first = class.words();
            let message = format!("the first, {first}: {id} should be {expected}, but was {found}");
            add(Code::DataWrong, message);
        }
    }
    let (unread, classes) = count(false);
    if unread > 0 {
        let (classes, many) = (classes.join(", "), nouns.many);
        // An audit ends when nothing answers any more.
        let others = match created.saturating_sub(operation.looked_for()) {
            others if audit && others > 0 => {
                format!(", and at least {} others were not looked for", grouped(others))
            }
            _ => String::new(),
        };
        let message = format!(
            "audit incomplete: {} of {all} {many} could not be read ({classes}){others}; \
             audit again with springload audit",
            grouped(unread),
        );
        add(Code::AuditIncomplete, message);
    }
}

fn of_stage(
    stage: &StageRecord,
    created: u64,
    nouns: Nouns,
    accepted: &str,
    audited: AuditedWrites,
    warnings: &mut Vec<Warning>,
) {
    let mut add = |code, message| {
        warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
    };
    if let Some(words) = disturbed(stage).filter(|_| stage.purpose().is_measured()) {
        add(Code::Disturbed, words);
    }
    for (code, message) in verdict_and_outages(stage) {
        add(code, message);
    }
    if let Some(words) = pause_words(stage) {
        add(Code::ClientPaused, words);
    }
    for operation in stage.operations.iter().filter(|it| it.kind == OpKind::Verify) {
        verified(stage, created, operation, nouns, &mut add);
    }
    if stage.purpose() == Purpose::Audit {
        // An audit also asks for missing documents, and repeats requests without a response.
        return;
    }
    for operation in stage.requests() {
        let (kind, issued) = (operation.kind, grouped(operation.issued));
        let failed = operation.failed();
        if failed > 0 {
            let (failed, words) = (grouped(failed), operation.failure_words());
            let message = format!("{failed} of {issued} {kind} operations failed: {words}");
            add(Code::Failures, message);
        }
        if let Some(words) = unanswered(operation, audited) {
            add(Code::Unanswered, format!("{kind} {words}"));
        }
        if operation.unfinished > 0 {
            let count = grouped(operation.unfinished);
            let message = format!("{count} of {issued} {kind} operations had no answer at the end");
            add(Code::Unfinished, message);
        }
        if operation.accepted > 0 {
            let (count, ok) = (grouped(operation.accepted), grouped(operation.ok));
            let message = format!("{count} of {ok} {kind} operations {accepted}");
            add(Code::Accepted, message);
        }
        if operation.wire.resent > 0 {
            let count = grouped(operation.wire.resent);
            let message = format!(
                "{count} {kind} operations were resent: the server had closed the connection"
            );
            add(Code::Resent, message);
        }
    }
    if let Some(share) = outside(stage).filter(|share| *share > MOST_OUTSIDE) {
        let percent = (share * 100.0).round();
        let message = format!(
            "{percent} % of the time between requests and answers was spent outside the binding, \
             on the way to its process and back: service times exclude it, response times include \
             it, and it slows down a closed loop by as much"
        );
        add(Code::Outside, message);
    }
    let unsolicited: u64 = stage.requests().map(|operation| operation.wire.unsolicited).sum();
    if unsolicited > 0 {
        let message = format!(
            "{} times the server sent data that was not requested; it was discarded and \
            the connection closed, but data that arrives just after a request was sent cannot be \
            distinguished from its answer",
            grouped(unsolicited),
        );
        add(Code::Unsolicited, message);
    }
}

/// Adds the server's own warnings.
fn of_server(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    for operation in stage.requests().filter(|operation| operation.warned > 0) {
        let (kind, count) = (operation.kind, grouped(operation.warned));
        let requests = grouped(operation.requests);
        let message = format!(
            "the server added a warning to {count} of {requests} answers to {kind}; with find, \
             that no index matches the selector, or not the one that was asked for"
        );
        let stage = Some(stage.name.clone());
        warnings.push(Warning { code: Code::ServerWarned, stage, message });
    }
    for operation in stage.requests().filter(|operation| operation.outdated > 0) {
        let (kind, count) = (operation.kind, grouped(operation.outdated));
        let ok = grouped(operation.ok);
        let message = format!(
            "{count} of {ok} answers to {kind} were outdated: without the last write of the \
             document that was asked for{}",
            behind(operation)
        );
        let stage = Some(stage.name.clone());
        warnings.push(Warning { code: Code::Outdated, stage, message });
    }
}

/// Adds the warnings about what responses say about their origin.
fn of_hints(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let mut add = |code, count: u64, all: u64, words: &str| {
        if count > 0 {
            let message = format!("{} of {} {words}", grouped(count), grouped(all));
            warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
        }
    };
    for operation in stage.requests() {
        let (kind, wire) = (operation.kind, &operation.wire);
        let requests = wire.requests.unwrap_or(operation.requests);
        let words = format!(
            "answers to {kind} came from a cache on the way (Age, Cache-Status, X-Cache): their \
             times say nothing about the server; docs/http.md has a way past most caches"
        );
        add(Code::FromCache, wire.from_cache, requests, &words);
        let words = format!(
            "answers to {kind} asked to wait before the next request (Retry-After), which \
             springload does not do: it sends what the plan says"
        );
        add(Code::RetryAfter, wire.retry_after, requests, &words);
    }
}

/// Says how far an index was behind.
fn behind(operation: &OperationSummary) -> String {
    let Some(ages) = &operation.behind else { return String::new() };
    let ms = |us: f64| format!("{:.0} ms", us / 1e3);
    let half = ages.p50_us.map_or_else(String::new, |us| {
        format!("half of these writes were more than {} old, ", ms(us))
    });
    format!("; {half}the oldest {}", ms(ages.max_us))
}

/// The share of the time between requests and their responses that was spent outside the binding;
/// `None`: nothing was measured.
fn outside(stage: &StageRecord) -> Option<f64> {
    let outside_ns: u64 = stage.requests().map(|operation| operation.wire.outside_ns).sum();
    let inside_ns = stage.requests().flat_map(|operation| {
        let failed = operation.failed_times.values().map(|times| &times.service);
        let all = failed.chain([&operation.service.histogram]);
        all.map(|times| times.mean() * times.len() as f64)
    });
    let all_ns = outside_ns as f64 + inside_ns.sum::<f64>();
    (all_ns > 0.0).then(|| outside_ns as f64 / all_ns)
}

/// Adds a warning if a stage ran out of documents before `length_s`.
fn ran_dry(stage: &StageRecord, length_s: f64, nouns: Nouns, warnings: &mut Vec<Warning>) {
    let elapsed_s = stage.elapsed_s;
    if stage.load.planned.is_none() && elapsed_s < length_s * LASTED {
        let message = format!(
            "ended after {elapsed_s:.1} s of {length_s:.1} s: no {} were left to work on",
            nouns.many
        );
        let stage = Some(stage.name.clone());
        warnings.push(Warning { code: Code::RanDry, stage, message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Account, Verdict};
    use crate::measure::{KindInterval, Wire};
    use crate::record::fixture;

    /// A stage of 1,000 updates: this many were lost, found to be written, and found not to be; and
    /// this many unrequested bytes arrived.
    fn stage([lost, done, not, unsolicited]: [u64; 4]) -> StageRecord {
        let (carried_out, not_carried_out) = (done, not);
        let wire = Wire { unsolicited, carried_out, not_carried_out, ..Wire::default() };
        let (requests, ok) = (1_000, 1_000 - lost);
        let mut part = KindInterval { requests, ok, wire, ..KindInterval::default() };
        part.failures[Failure::Unanswered.index()] = lost;
        fixture::stage("crud", vec![(0, OpKind::Update, part)])
    }

    /// The stand-in is named wherever it runs, and no other server is mistaken for it.
    #[test]
    fn the_stand_in_is_known_by_its_name() {
        let message_for = |name: &str, stand_in: bool| {
            let mut record = fixture::record(&[]);
            (record.server.name, record.server.stand_in) = (name.to_owned(), stand_in);
            let found = all(&record).into_iter().find(|it| it.code == Code::StandIn);
            found.map(|it| it.message)
        };
        let words = |what: &str| {
            format!(
                "the server is springload's own {what}: these numbers say nothing about CouchDB"
            )
        };
        assert_eq!(message_for("couchdb", false), None);
        assert_eq!(message_for("springload stand-in", false), Some(words("stand-in")));
        assert_eq!(message_for("springload null responder", false), Some(words("null responder")));
        let here = Some(words("stand-in, in this process"));
        assert_eq!(message_for("springload stand-in", true), here);
        assert_eq!(message_for("couchdb", true), here, "as older records have it");
    }

    #[test]
    fn what_became_of_lost_answers_is_reported_as_far_as_it_is_known() {
        for (counts, words) in [
            ([0, 0, 0, 0], None),
            ([11, 0, 0, 0], Some("unanswered: 11; it is not known whether they were carried out")),
            ([11, 9, 2, 0], Some("unanswered: 11, of which 9 were carried out")),
            ([11, 0, 11, 0], Some("unanswered: 11, of which 0 were carried out")),
            ([11, 9, 1, 0], Some("unanswered: 11, of which 9 were carried out; unknown: 1")),
            (
                [1_000, 900, 50, 0],
                Some("unanswered: 1,000, of which 900 were carried out; unknown: 50"),
            ),
        ] {
            let stage = stage(counts);
            let (none, mut warnings) = (AuditedWrites::default(), Vec::new());
            assert_eq!(unanswered(&stage.operations[0], none).as_deref(), words);
            of_stage(&stage, 0, Nouns::DOCUMENTS, "were accepted", none, &mut warnings);
            let found = warnings.iter().find(|warning| warning.code == Code::Unanswered);
            let message = found.map(|warning| warning.message.clone());
            assert_eq!(message, words.map(|words| format!("update {words}")));
        }
    }

    #[test]
    fn an_audit_that_ended_early_says_how_much_was_not_looked_for() {
        let mut part = KindInterval { requests: 4, ok: 1, ..KindInterval::default() };
        part.failures[Failure::Connect.index()] = 3;
        part.service.record(1_000);
        let message_of = |part: &KindInterval, name, created| {
            let stage = fixture::stage(name, vec![(0, OpKind::Verify, part.clone())]);
            let (none, mut warnings) = (AuditedWrites::default(), Vec::new());
            of_stage(&stage, created, Nouns::DOCUMENTS, "were accepted", none, &mut warnings);
            let found = warnings.into_iter().find(|it| it.code == Code::AuditIncomplete);
            found.expect("a warning").message
        };
        let (most, again) =
            ("3 of 4 documents could not be read (3 connect)", "; audit again with");
        let message = |name, created| message_of(&part, name, created);
        for (name, created, words) in [
            ("audit", 0, ""),
            ("audit", 4, ""),
            ("audit", 7, ", and at least 3 others were not looked for"),
            // Reads that are checked in passing are not about all documents.
            ("crud", 7, ""),
        ] {
            let message = message(name, created);
            let beginning = format!("audit incomplete: {most}{words}{again}");
            assert!(message.starts_with(&beginning), "{message}");
        }
        let mut many = KindInterval { requests: 191_687, ok: 190_000, ..part.clone() };
        many.failures[Failure::Connect.index()] = 1_687;
        let message = message_of(&many, "audit", 200_000);
        let words = "1,687 of 191,687 documents could not be read (1,687 connect), and at least \
                     8,313 others were not looked for; audit again";
        assert!(message.contains(words), "{message}");
    }

    #[test]
    fn a_long_way_to_the_binding_is_reported() {
        // 1,000 ns in the binding, and this much on the way to it.
        for (outside_ns, expected) in
            [(0, None), (100, None), (125, Some("11 %")), (3_000, Some("75 %"))]
        {
            let wire = Wire { outside_ns, ..Wire::default() };
            let mut part = KindInterval { requests: 1, ok: 1, wire, ..KindInterval::default() };
            part.service.record(1_000);
            let stage = fixture::stage("crud", vec![(0, OpKind::Read, part)]);
            let (none, mut warnings) = (AuditedWrites::default(), Vec::new());
            of_stage(&stage, 0, Nouns::DOCUMENTS, "were accepted", none, &mut warnings);
            let message = warnings.iter().find(|it| it.code == Code::Outside).map(|it| &it.message);
            assert_eq!(message.and_then(|it| it.get(..4)), expected, "{outside_ns}");
        }
    }

    #[test]
    fn lost_answers_and_such_as_nobody_asked_for_degrade_a_stage() {
        for (counts, degraded) in [
            ([100, 100, 0, 0], false),
            ([101, 101, 0, 0], true),
            ([0, 0, 0, 100], false),
            ([0, 0, 0, 101], true),
            ([60, 0, 0, 60], true),
        ] {
            let facts = stage(counts).facts();
            let verdict = Verdict::of(&facts, &Account::of(&facts));
            assert_eq!(matches!(verdict, Verdict::Degraded { .. }), degraded, "{counts:?}");
        }
    }

    #[test]
    fn a_server_on_this_machine_is_reported_unless_it_is_in_this_process() {
        for (same_machine, stand_in, expected) in
            [(true, false, 1), (true, true, 0), (false, false, 0), (false, true, 0)]
        {
            let mut record = fixture::record(&[]);
            (record.server.same_machine, record.server.stand_in) = (same_machine, stand_in);
            let found = all(&record).into_iter().filter(|it| it.code == Code::SameMachine);
            assert_eq!(found.count(), expected, "{same_machine}, {stand_in}");
        }
    }

    #[test]
    fn operations_that_all_succeeded_have_no_warnings() {
        for kind in [OpKind::Update, OpKind::Verify] {
            let part = KindInterval { requests: 4, ok: 4, ..KindInterval::default() };
            let stage = fixture::stage("crud", vec![(0, kind, part)]);
            let (none, mut warnings) = (AuditedWrites::default(), Vec::new());
            of_stage(&stage, 4, Nouns::DOCUMENTS, "were accepted", none, &mut warnings);
            of_server(&stage, &mut warnings);
            of_hints(&stage, &mut warnings);
            assert_eq!(warnings, []);
        }
    }

    #[test]
    fn a_tenth_of_the_time_may_be_spent_outside_the_binding() {
        assert_eq!(outside(&fixture::stage("crud", Vec::new())), None);
        // Four times that the histogram keeps as 288 ns.
        for (outside_ns, is_reported) in [(128, false), (129, true)] {
            let wire = Wire { outside_ns, ..Wire::default() };
            let mut part = KindInterval { requests: 4, ok: 4, wire, ..KindInterval::default() };
            part.service.record_many(260, 4);
            let stage = fixture::stage("crud", vec![(0, OpKind::Read, part)]);
            let (none, mut warnings) = (AuditedWrites::default(), Vec::new());
            of_stage(&stage, 0, Nouns::DOCUMENTS, "were accepted", none, &mut warnings);
            let found = warnings.iter().any(|it| it.code == Code::Outside);
            assert_eq!(found, is_reported, "{outside_ns}");
        }
    }
}
