//! A drill beside its stage, the mode of a node before and after, and the audits at the end.

use super::*;
use crate::clock::wall_ns;
use crate::measure::Served;
use crate::op::OpKind;
use crate::plan::{DrillSpec, PlanSpec, SchemaPlan};
use crate::record::ServerRecord;
use crate::run::ending::begun;
use crate::run::fixture_tests::{Plain, at_once, planned, spec, take_down};
use crate::run::opening;
use crate::run::scratch::Scratch;
use springload_embedded::{NodeState, Options, StandIn, bind};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

/// The shortest drill of commands that nothing depends on.
fn asked() -> DrillSpec {
    let times = DrillTimes {
        before_ns: 5 * SECOND_NS,
        broken_ns: SECOND_NS,
        after_ns: 6 * SECOND_NS,
        settle_ns: 0,
        limit_ns: 60 * SECOND_NS,
    };
    DrillSpec {
        stop: Some("true".to_owned()),
        start: Some("true".to_owned()),
        maintenance: None,
        partition: None,
        times,
        audits: false,
    }
}

fn drilled(drill: DrillSpec) -> Plan {
    planned(&PlanSpec { drill: Some(drill), ..spec(60, None) })
}

/// A stage that began this long ago.
fn began_before(seconds: u64) -> Arc<Start> {
    Arc::new(Start::made(Clock::system().now().saturating_sub(seconds * SECOND_NS)))
}

#[test]
fn a_drill_goes_on_beside_the_main_stage_with_the_relay_of_the_run() {
    assert!(relay(&drilled(asked())).unwrap().is_none(), "nothing is to be cut");
    let partition = Some("1".to_owned());
    let plan = drilled(DrillSpec { stop: None, start: None, partition, ..asked() });
    let (cut_off, detour) = relay(&plan).unwrap().expect("a node is to be cut off");
    assert_eq!((detour.node, detour.relay), (0, cut_off.address()));
    let (target, stop) = (at_once(), Arc::default());
    let bench = Bench { relay: Some(cut_off), ..Bench::new(&plan, &target, &stop, [0, 0]) };
    let start = began_before(9);
    assert!(Drilling::begin(&bench, &plan.stages[0], &start).unwrap().is_none(), "a fill");
    let begun = Drilling::begin(&bench, &plan.stages[1], &start).unwrap();
    let (drilling, news) = begun.expect("the main stage");
    for act in ["broken after ", "mended after "] {
        let message = news.recv().unwrap();
        assert!(message.starts_with(act), "{message}");
    }
    for step in steps(drilling.finish()) {
        assert_eq!(step.problem, None);
        assert!(step.from_s >= 9.0, "from the start of the stage: {step:?}");
    }
}

/// If the stage ends with an error, nobody asks for the record of the drill.
#[test]
fn what_was_broken_is_mended_when_the_stage_ends_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken");
    let mut drill = asked();
    drill.times.broken_ns = 600 * SECOND_NS;
    drill.stop = Some(format!("touch {}", path.display()));
    drill.start = Some(format!("rm {}", path.display()));
    let plan = drilled(drill);
    let (target, stop) = (at_once(), Arc::default());
    let bench = Bench::new(&plan, &target, &stop, [0, 0]);
    let begun = Drilling::begin(&bench, &plan.stages[1], &began_before(6)).unwrap();
    let (drilling, news) = begun.expect("the main stage");
    let message = news.recv().unwrap();
    assert!(message.starts_with("broken after ") && path.exists(), "{message}");
    drop(drilling);
    assert!(!path.exists(), "it was mended");
}

#[test]
fn nothing_is_broken_before_the_stage_has_begun() {
    let (mut waiting, news) = work(commands("true", "true"), 60 * SECOND_NS);
    let start = Arc::new(Start::new(1));
    waiting.start = start.clone();
    let drilling = std::thread::spawn(move || waiting.carry_out());
    std::thread::sleep(10 * STEP);
    assert!(news.try_recv().is_err());
    start.place().wait(Clock::system());
    let [stop, _] = steps(drilling.join().unwrap());
    assert!(stop.from_s >= 0.1, "{stop:?}");
    // A stage that never begins ends all the same.
    let (mut never, _news) = work(commands("true", "true"), 60 * SECOND_NS);
    never.start = Arc::new(Start::new(1));
    never.over.store(true, Ordering::Relaxed);
    assert_eq!(never.carry_out(), DrillRecord::default());
}

#[test]
fn servers_settle_before_the_first_audit_and_only_then() {
    for (settle_ns, news) in [
        (300 * MS, &["waiting 0.3 s for the servers to settle before the audit"][..]),
        (0, &[][..]),
    ] {
        let mut drill = asked();
        (drill.times.settle_ns, drill.audits) = (settle_ns, true);
        let plan = drilled(drill);
        let (target, stop) = (at_once(), Arc::default());
        let bench = Bench::new(&plan, &target, &stop, [0, 0]);
        let (clock, mut observer) = (Clock::system(), Plain::default());
        let began = clock.now();
        plan.stages.iter().for_each(|stage| settle(&bench, stage, &mut observer));
        assert_eq!(observer.news, news);
        assert!(clock.now() - began >= settle_ns);
        assert!(plan.stages.last().is_some_and(|it| it.work.traits().audits), "{plan:?}");
    }
}

/// The method and the body of each request to set or read a node's mode.
type AskedModes = Arc<Mutex<Vec<String>>>;

type Answers = &'static [(u16, &'static str)];

/// A node that answers all but its welcome with these in turn, and with the last one again and
/// again.
fn node(answers: Answers) -> (String, AskedModes) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = AskedModes::default();
    let heard = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), answers, &heard);
        }
    });
    (url, asked)
}

/// Answers the only request on a connection.
fn answer(mut stream: TcpStream, answers: Answers, asked: &AskedModes) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let before = head.len();
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
        let line = head[before..].trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let (status, text) = if head.starts_with("GET / ") {
        (200, r#"{"couchdb":"Welcome","version":"3.4.2"}"#)
    } else {
        let mut asked = asked.lock().unwrap();
        let method = head.split(' ').next().unwrap();
        asked.push(format!("{method} {}", String::from_utf8(body).unwrap()));
        answers[(asked.len() - 1).min(answers.len() - 1)]
    };
    let length = text.len();
    let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{text}");
    stream.write_all(answer.as_bytes()).unwrap();
}

/// The steps of a drill that puts this node into maintenance mode, and what the node was asked.
fn maintained(answers: Answers, limit_ns: Nanos) -> ([DrillStep; 2], AskedModes) {
    let (steps, asked, _) = counted(answers, limit_ns);
    (steps, asked)
}

/// The same with the requests that the drill has counted.
fn counted(answers: Answers, limit_ns: Nanos) -> ([DrillStep; 2], AskedModes, Served) {
    let (url, asked) = node(answers);
    let (mut work, _news) = work(Breaks::Maintenance { node: 0, url: url.clone() }, limit_ns);
    let target = serde_json::json!({
        "server": url, "user": null, "auth": "cookie", "tls_ca": null,
        "database": {"kind": "existing", "name": "db"},
    });
    work.target = serde_json::from_value(target).unwrap();
    let beside = work.beside.clone();
    let steps = steps(work.carry_out());
    (steps, asked, beside.to(url.trim_start_matches("http://")))
}

#[test]
fn who_may_not_read_the_mode_of_a_node_is_refused_before_the_load() {
    let opening = Opening { timeout_ns: 10 * SECOND_NS, max_answer: 1_000, ..Opening::default() };
    let check = |plan: &Plan| block_on(&Stop::default(), check_mode(plan, &opening));
    let mode = |answers: Answers| {
        let maintenance = Some("1".to_owned());
        let drill = DrillSpec { stop: None, start: None, maintenance, ..asked() };
        let (target, drill) = (Some(format!("{}/db", node(answers).0)), Some(drill));
        check(&planned(&PlanSpec { target, drill, ..spec(60, None) }))
    };
    let refused = mode(&[(403, r#"{"error":"forbidden","reason":"You are not a server admin."}"#)]);
    let message = refused.expect_err("the user is no administrator").to_string();
    assert!(message.starts_with("--maintenance: "), "{message}");
    assert!(message.contains("You are not a server admin"), "{message}");
    mode(&[(404, "{}")]).expect("it is not set");
    mode(&[(200, r#""false""#)]).expect("it is set");
    check(&drilled(asked())).expect("no node is asked for commands");
}

#[test]
fn a_node_gets_back_the_mode_that_it_had() {
    let cases: [(Answers, [&str; 3]); 2] = [
        (
            &[(200, r#""false""#), (200, r#""false""#), (200, r#""true""#)],
            ["GET ", r#"PUT "true""#, r#"PUT "false""#],
        ),
        // It was in none.
        (&[(404, "{}"), (200, r#""""#), (200, r#""true""#)], ["GET ", r#"PUT "true""#, "DELETE "]),
    ];
    for (answers, wanted) in cases {
        let ([stop, start], asked) = maintained(answers, 60 * SECOND_NS);
        assert_eq!((stop.problem, start.problem), (None, None));
        assert!(start.to_s < 30.0, "it took no longer than necessary: {}", start.to_s);
        assert_eq!(*asked.lock().unwrap(), wanted);
    }
}

/// The node counts them like those of the load.
#[test]
fn the_requests_of_a_drill_are_counted_if_they_were_answered() {
    const SET: Answers = &[(404, "{}"), (200, r#""""#), (500, "{}"), (200, r#""true""#)];
    let ([_, start], _, sent) = counted(SET, 60 * SECOND_NS);
    assert_eq!(start.problem, None);
    let methods = [("GET", 5), ("PUT", 1), ("DELETE", 2)].map(|(it, n)| (it.to_owned(), n));
    assert_eq!(sent.methods, methods.into());
    let statuses = [("200", 6), ("404", 1), ("500", 1)].map(|(it, n)| (it.to_owned(), n));
    assert_eq!(sent.statuses, statuses.into());
    // Nothing listens there.
    let url = "http://127.0.0.1:1".to_owned();
    let (away, _news) = work(Breaks::Maintenance { node: 0, url }, SECOND_NS);
    let beside = away.beside.clone();
    let [stop, _] = steps(away.carry_out());
    assert!(stop.problem.is_some());
    assert_eq!(beside.to("127.0.0.1:1"), Served::default());
}

#[test]
fn a_node_that_is_in_another_mode_already_is_left_alone() {
    let ([stop, start], asked) = maintained(&[(200, r#""nolb""#)], 60 * SECOND_NS);
    let problem = r#"--maintenance: the node is in the mode "nolb" already"#;
    assert_eq!((stop.problem.as_deref(), start.problem), (Some(problem), None));
    assert_eq!(*asked.lock().unwrap(), ["GET "]);
}

#[test]
fn a_mode_that_cannot_be_restored_is_tried_again_for_a_while() {
    const BUSY: (u16, &str) = (500, r#"{"reason":"busy"}"#);
    const DONE: (u16, &str) = (200, r#""false""#);
    let ([_, start], asked) = maintained(&[DONE, DONE, BUSY, DONE], 60 * SECOND_NS);
    assert_eq!((start.problem, asked.lock().unwrap().len()), (None, 4));
    let ([_, start], asked) = maintained(&[DONE, DONE, BUSY], 2 * SECOND_NS);
    let problem = start.problem.expect("it is not mended");
    assert!(problem.starts_with("--maintenance: ") && problem.contains("busy"), "{problem}");
    assert!(asked.lock().unwrap().len() > 3, "it was tried again");
}

/// What an audit found through one node.
struct Audited {
    verified: u64,
    wrong: u64,
    unasked: Option<String>,
    began_s: f64,
    nodes: usize,
    /// How many requests it answered before the audit.
    asked_before: u64,
}

/// What becomes of a node before it is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Leaves,
    Returns,
}

/// Inserts sixty documents, and audits them through the second of two nodes. The run began five
/// seconds before, and gives up servers after `give_up_ns`.
fn audited(give_up_ns: Nanos, fate: Fate) -> Audited {
    let listeners = vec![bind("127.0.0.1:0").unwrap(), bind("127.0.0.1:0").unwrap()];
    let server = StandIn::start_nodes(listeners, Options::default()).unwrap();
    let urls = server.urls();
    let plan = planned(&PlanSpec {
        target: Some(format!("{}/db", urls[0])),
        nodes: vec![format!("{}/db", urls[1])],
        drill: Some(DrillSpec { audits: true, ..asked() }),
        give_up_ns: Some(give_up_ns),
        ..spec(60, None)
    });
    let (stop, mut observer) = (Arc::new(Stop::default()), Plain::default());
    let opening = opening(&plan, &mut observer).unwrap();
    let (target, facts) = block_on(&stop, plan.target.open(&opening)).unwrap();
    let record = begun(&plan, wall_ns(), ServerRecord::of(facts, false));
    let notes = Scratch::new().unwrap();
    let began = Clock::system().now().saturating_sub(5 * SECOND_NS);
    let journal = Some(notes.journal());
    let bench = Bench { journal, ..Bench::new(&plan, &target, &stop, [began, wall_ns()]) };
    let documents = Arc::new(SchemaPlan::documents(plan.seed, &plan.schemas).unwrap());
    let mut connections = Connections::new(&bench, documents).unwrap();
    let fill = &plan.stages[0];
    let filled = connections
        .run_stage(&bench, fill, |work| bench.run(fill, work, &mut observer, None))
        .unwrap();
    assert_eq!(filled.requests().map(|it| it.ok).sum::<u64>(), 60);
    let stage = plan.stages.last().expect("an audit");
    assert_eq!(stage.work.traits().node, Some(1));
    let audit = std::thread::scope(|scope| {
        if fate != Fate::Stays {
            take_down(&server, 1);
        }
        if fate == Fate::Returns {
            scope.spawn(|| {
                std::thread::sleep(AGAIN / 2);
                server.set_node(1, NodeState::Up);
            });
        }
        audit_through(&bench, stage, &mut connections, &record, &mut observer).unwrap()
    });
    let verified = audit.operations.iter().find(|it| it.kind == OpKind::Verify);
    Audited {
        verified: verified.map_or(0, |it| it.ok),
        wrong: verified.map_or(0, |it| it.failures.values().sum()),
        unasked: audit.unasked.clone(),
        began_s: audit.began_s,
        nodes: audit.nodes.len(),
        asked_before: bench.beside.to(urls[1].trim_start_matches("http://")).requests(),
    }
}

/// Each node is asked alone for all that was acknowledged, even if that takes a while.
#[test]
fn a_node_that_is_there_or_comes_back_is_audited() {
    for fate in [Fate::Stays, Fate::Returns] {
        let found = audited(60 * SECOND_NS, fate);
        assert_eq!((found.verified, found.wrong, found.unasked), (60, 0, None));
        assert!(found.began_s >= 5.0, "{}", found.began_s);
        assert_eq!(found.nodes, 0, "there is nothing to compare");
        // Its welcome, and the database.
        assert_eq!(found.asked_before, 2);
    }
}

#[test]
fn a_node_that_stays_away_is_not_audited_and_the_record_says_so() {
    let away = audited(SECOND_NS, Fate::Leaves);
    assert_eq!((away.verified, away.wrong, away.nodes), (0, 0, 0));
    let why = away.unasked.expect("it is away");
    assert!(why.starts_with("nothing could be asked of http://127.0.0.1:"), "{why}");
    assert!(away.began_s >= 5.0, "{}", away.began_s);
    assert_eq!(away.asked_before, 0);
}
