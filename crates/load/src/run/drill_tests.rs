//! What a drill does when, and what it reports about commands, relays and nodes.

use super::*;
use crate::plan::DrillTimes;
use serde_json::json;

const MS: Nanos = 1_000_000;

/// A drill that breaks after 100 ms and mends 100 ms later, in a stage that goes on.
fn work(breaks: Breaks, limit_ns: Nanos) -> (DrillWork, Receiver<String>) {
    let (before_ns, broken_ns) = (100 * MS, 100 * MS);
    let times = DrillTimes { before_ns, broken_ns, after_ns: 0, settle_ns: 0, limit_ns };
    let target = json!({
        "server": "http://127.0.0.1:1", "user": null, "auth": "cookie", "tls_ca": null,
        "database": {"kind": "existing", "name": "db"},
    });
    let (news, receiver) = channel();
    let work = DrillWork {
        plan: DrillPlan { breaks, times },
        target: serde_json::from_value(target).unwrap(),
        max_answer: 1_000,
        beside: SentBeside::default(),
        cutter: None,
        start: Arc::new(Start::made(Clock::system().now())),
        over: Arc::default(),
        stop: Arc::default(),
        news,
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
    };
    (work, receiver)
}

fn commands(stop: &str, start: &str) -> Breaks {
    Breaks::Commands { stop: stop.to_owned(), start: start.to_owned() }
}

fn steps(record: DrillRecord) -> [DrillStep; 2] {
    [record.stop.expect("it was broken"), record.start.expect("it was mended")]
}

#[test]
fn something_is_broken_and_mended_when_it_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken");
    let (touch, remove) =
        (format!("touch {}; echo done", path.display()), format!("rm {}", path.display()));
    let (work, receiver) = work(commands(&touch, &remove), 60 * SECOND_NS);
    let [stop, start] = steps(work.carry_out());
    for (step, command, from_s) in [(&stop, &touch, 0.1), (&start, &remove, 0.2)] {
        assert_eq!((&step.command, &step.problem, &step.output), (command, &None, &None));
        assert!(step.from_s >= from_s && step.to_s >= step.from_s && step.to_s < 30.0, "{step:?}");
    }
    assert!(!path.exists(), "it was mended");
    let messages: Vec<_> = receiver.iter().collect();
    assert!(
        messages[0].starts_with("broken after ") && messages[0].ends_with(&touch),
        "{messages:?}"
    );
    assert!(
        messages[1].starts_with("mended after ") && messages[1].ends_with(&remove),
        "{messages:?}"
    );
    assert_eq!(messages.len(), 2);
}

#[test]
fn a_command_that_fails_or_does_not_end_is_reported_with_what_it_said() {
    let (failing, said) = ("echo no; echo way >&2; exit 3", Some("no\nway"));
    let stop_late = "--stop had not ended after 0.3 s and was killed";
    let start_late = "--start had not ended after 0.3 s; it was left running";
    for (limit_ms, stop, start, problems, output) in [
        (60_000, failing, "true", [Some("--stop ended with exit status: 3"), None], said),
        (60_000, "true", "exit 4", [None, Some("--start ended with exit status: 4")], None),
        (300, "sleep 3", "sleep 1", [Some(stop_late), Some(start_late)], None),
    ] {
        let (work, receiver) = work(commands(stop, start), limit_ms * MS);
        let [stop, start] = steps(work.carry_out());
        assert_eq!([stop.problem.as_deref(), start.problem.as_deref()], problems);
        assert_eq!(stop.output.as_deref(), output);
        let messages: Vec<_> = receiver.iter().collect();
        for (message, problem) in messages.iter().zip(problems) {
            assert!(problem.is_none_or(|it| message.starts_with(it)), "{message}, not {problem:?}");
        }
        let words = output.map_or_else(String::new, |it| format!(": {it}"));
        assert!(messages[0].ends_with(&words), "{messages:?}");
    }
}

/// However a stage ends, a broken node is mended, and one not yet broken stays as it is.
#[test]
fn a_stage_that_ends_early_is_mended_at_once_or_left_alone() {
    let far = |work: &mut DrillWork| work.plan.times.broken_ns = 60 * SECOND_NS;
    let (mut early, _receiver) = work(commands("true", "true"), SECOND_NS);
    early.over.store(true, Ordering::Relaxed);
    far(&mut early);
    assert_eq!(early.carry_out(), DrillRecord::default(), "nothing was broken");
    for by_user in [true, false] {
        let (mut work, receiver) = work(commands("true", "true"), SECOND_NS);
        far(&mut work);
        let (over, stop) = (work.over.clone(), work.stop.clone());
        let drilling = std::thread::spawn(move || work.carry_out());
        assert!(receiver.recv().unwrap().starts_with("broken after "));
        if by_user {
            stop.raise(StopReason::Interrupted);
        } else {
            over.store(true, Ordering::Relaxed);
        }
        let [_, start] = steps(drilling.join().unwrap());
        assert!(start.problem.is_none() && start.from_s < 30.0, "{start:?}");
    }
    // A user who asked twice to stop does not wait for a command that breaks something.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("begun");
    let slow = format!("touch {}; sleep 20", path.display());
    let (work, receiver) = work(commands(&slow, "true"), 60 * SECOND_NS);
    let (stop, clock) = (work.stop.clone(), Clock::system());
    let drilling = std::thread::spawn(move || work.carry_out());
    while !path.exists() {
        std::thread::sleep(STEP);
    }
    let began = clock.now();
    stop.raise(StopReason::Aborted);
    drilling.join().unwrap();
    assert!(clock.now() - began < 15 * SECOND_NS);
    assert!(receiver.recv().unwrap().ends_with(" and was killed"));
}

#[test]
fn a_relay_is_cut_and_joined_and_without_one_that_is_reported() {
    let url = || "http://a:1".to_owned();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = Relay::begin(vec![listener.local_addr().unwrap()]).unwrap();
    let (work_, receiver) = work(Breaks::Partition { node: 0, url: url() }, SECOND_NS);
    let with_relay = DrillWork { cutter: Some(relay.cutter()), ..work_ };
    let [stop, start] = steps(with_relay.carry_out());
    assert_eq!((stop.problem, start.problem), (None, None));
    assert_eq!(stop.command, "cut the load off from http://a:1");
    assert_eq!(start.command, "let the load through to http://a:1 again");
    assert_eq!(receiver.iter().count(), 2);
    let (without, _receiver) = work(Breaks::Partition { node: 0, url: url() }, SECOND_NS);
    let [stop, start] = steps(without.carry_out());
    let problem = Some("--partition: there is no relay".to_owned());
    assert_eq!((&stop.problem, &start.problem), (&problem, &problem));
}

/// A node that cannot be asked is not put into maintenance mode, and so needs no mending.
#[test]
fn a_node_that_was_not_reached_is_not_mended() {
    let url = "http://127.0.0.1:1".to_owned();
    let (work, _receiver) = work(Breaks::Maintenance { node: 0, url: url.clone() }, SECOND_NS);
    let [stop, start] = steps(work.carry_out());
    let problem = stop.problem.unwrap();
    assert!(problem.starts_with("--maintenance: cannot reach 127.0.0.1:1: "), "{problem}");
    assert_eq!((start.problem, start.output), (None, None));
    assert_eq!(stop.command, format!("put {url} into maintenance mode"));
    assert_eq!(start.command, format!("put {url} out of maintenance mode"));
}

#[path = "drill_course_tests.rs"]
mod course;
