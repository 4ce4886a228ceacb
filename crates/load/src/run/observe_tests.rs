//! Who is asked what, and how often, with servers that answer by a script.

use super::*;
use crate::driver::Local;
use crate::engine::Stop;
use crate::observed::{Meter, Reading};
use crate::plan::{ObserveSpec, PlanSpec};
use crate::run::block_on;
use crate::run::fixture_tests::{at_once, planned, spec};
use std::collections::BTreeMap;

const MS: Nanos = 1_000_000;

type Answer = fn() -> Result<Reading, NoReading>;

/// Which questions were asked, in order.
type AskedQuestions = Rc<RefCell<Vec<usize>>>;

struct Fake {
    name: &'static str,
    questions: Vec<Question>,
    /// The answers to each question; the last one again and again.
    answers: Vec<Vec<Answer>>,
    asked: AskedQuestions,
    settings: &'static str,
}

impl Monitor for Fake {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn url(&self) -> Option<String> {
        (self.name == "exporter").then(|| "http://exporter/metrics".to_owned())
    }

    fn questions(&self) -> Vec<Question> {
        self.questions.clone()
    }

    fn ask(&mut self, question: usize) -> Local<'_, Result<Reading, NoReading>> {
        self.asked.borrow_mut().push(question);
        let answers = &mut self.answers[question];
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0] };
        Box::pin(async move { answer() })
    }

    fn settings(&mut self) -> Local<'_, BTreeMap<String, String>> {
        let settings = BTreeMap::from([("of".to_owned(), self.settings.to_owned())]);
        Box::pin(async { settings })
    }
}

const ANSWERED: Answer = || {
    let values = vec![(Meter::gauge("a", "a", "", "a"), 1.0)];
    Ok(Reading { values, ..Reading::default() })
};
const MISSED: Answer = || Err(NoReading::Missed("no answer".to_owned()));
const REFUSED: Answer = || Err(NoReading::Refused("not you".to_owned()));
const UNKNOWN: Answer = || Err(NoReading::Unknown);

/// A question that is asked every `every_ms`; `of_all`: one server is enough.
const fn question(every_ms: u64, of_all: bool) -> Question {
    Question { every_ns: every_ms * MS, of_all }
}

fn server(
    name: &'static str,
    questions: &[Question],
    answers: &[&[Answer]],
) -> (Box<dyn Monitor>, AskedQuestions) {
    let asked = AskedQuestions::default();
    let fake = Fake {
        name,
        questions: questions.to_vec(),
        answers: answers.iter().map(|it| it.to_vec()).collect(),
        asked: asked.clone(),
        settings: name,
    };
    (Box::new(fake), asked)
}

/// Observes these until that is enough; `machine` is the number of the machine among them.
fn observe(
    monitors: Vec<Box<dyn Monitor>>,
    machine: Option<usize>,
    is_enough: impl Fn() -> bool,
) -> Observed {
    let (end, over) = watch::channel(false);
    let shared = SharedLog { over, log: Arc::default(), began: Clock::system().now() };
    let (started, ready) = mpsc::sync_channel(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        begin_log(&monitors, machine, &shared);
        let asking = spawn_local(carry_out(monitors, shared.clone(), started));
        while !is_enough() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        ready.try_recv().expect("all were asked once");
        end.send_replace(true);
        asking.await.unwrap();
    });
    shared.log.lock().unwrap().so_far()
}

fn counts(asked: &AskedQuestions, question: usize) -> usize {
    asked.borrow().iter().filter(|it| **it == question).count()
}

#[test]
fn each_question_is_asked_as_often_as_it_should_be_and_a_last_time() {
    let questions = [question(20, false), question(60_000, false)];
    let (one, asked) = server("one", &questions, &[&[ANSWERED], &[ANSWERED]]);
    let (exporter, _) = server("exporter", &questions, &[&[ANSWERED], &[ANSWERED]]);
    let began = Clock::system().now();
    let observed = observe(vec![one, exporter], Some(0), || counts(&asked, 0) > 4);
    assert_eq!(counts(&asked, 1), 2, "at the beginning and at the end");
    let (often, took_ns) = (counts(&asked, 0), Clock::system().now() - began);
    assert!(often as u64 <= took_ns / (20 * MS) + 2, "{often} in {took_ns} ns");
    let source = &observed.sources[0];
    assert_eq!((source.name.as_str(), source.missed, source.machine), ("one", 0, true));
    assert_eq!(source.polls, asked.borrow().len() as u64);
    assert_eq!(observed.sources[1].url.as_deref(), Some("http://exporter/metrics"));
    assert!(!observed.sources[1].machine && observed.sources[0].url.is_none());
    assert_eq!(observed.settings["of"], "one");
    let at_s = &source.tables[0].at_s;
    assert!(at_s.iter().all(|at| (0.0..60.0).contains(at)), "{at_s:?}");
}

/// Other servers are not asked for what one says about all of them, as long as it answers.
#[test]
fn one_server_answers_for_all_and_another_one_when_it_is_silent() {
    let questions = [question(20, false), question(20, true)];
    for (first, silent) in [(ANSWERED, false), (MISSED, true)] {
        let (one, _) = server("one", &questions, &[&[first], &[first]]);
        let (two, asked) = server("two", &questions, &[&[ANSWERED], &[ANSWERED]]);
        let observed = observe(vec![one, two], None, || counts(&asked, usize::from(silent)) > 3);
        assert!(counts(&asked, 0) > 1);
        assert_eq!(counts(&asked, 1) > 2, silent, "{asked:?}");
        assert_eq!(counts(&asked, 1) == 0, !silent, "{asked:?}");
        assert_eq!(observed.settings["of"], if silent { "two" } else { "one" });
        assert_eq!(observed.sources[0].missed > 0, silent);
        let reason = observed.sources[0].reason.as_deref();
        assert_eq!(reason, silent.then_some("no answer"));
    }
}

#[test]
fn a_question_that_has_no_answer_is_not_asked_again() {
    let questions = [question(10, false), question(10, false), question(10, false)];
    let (one, asked) = server("one", &questions, &[&[REFUSED], &[UNKNOWN], &[ANSWERED]]);
    let observed = observe(vec![one], None, || counts(&asked, 2) > 5);
    assert_eq!((counts(&asked, 0), counts(&asked, 1)), (1, 1));
    assert!(counts(&asked, 2) > 2);
    let source = &observed.sources[0];
    assert_eq!((source.refused.as_deref(), source.missed), (Some("not you"), 0));
    assert_eq!(source.polls, counts(&asked, 2) as u64 + 1);
    // One that says nothing at all says nothing of its settings either.
    let (mute, _) = server("mute", &questions[..1], &[&[UNKNOWN]]);
    let (other, asked) = server("other", &questions[..1], &[&[ANSWERED]]);
    let observed = observe(vec![mute, other], None, || counts(&asked, 0) > 1);
    assert_eq!(observed.settings["of"], "other");
}

/// A server that is silent at the beginning keeps nobody waiting with its other questions.
#[test]
fn a_server_that_is_silent_is_asked_one_question_at_the_beginning() {
    let questions = [question(60_000, false), question(60_000, false)];
    let (one, asked) = server("one", &questions, &[&[MISSED, ANSWERED], &[ANSWERED]]);
    let observed = observe(vec![one], None, || asked.borrow().len() > 1);
    assert_eq!(asked.borrow()[..2], [0, 1], "the other one comes when it is due");
    assert_eq!(*asked.borrow(), [0, 1, 0, 1]);
    assert_eq!((observed.sources[0].polls, observed.sources[0].missed), (4, 1));
}

#[test]
fn servers_in_this_process_are_not_disturbed() {
    let asks = |servers, exporters| Asks { servers, machine: false, exporters };
    assert!(asks(true, Vec::new()).with_machine(true).machine);
    assert!(!asks(true, Vec::new()).with_machine(false).machine, "it is not shared");
    assert!(!asks(false, Vec::new()).with_machine(true).machine, "nobody asks the servers");
}

#[test]
fn nothing_is_observed_unless_the_plan_asks_for_it() {
    let of = |servers, pinned| {
        let observe = ObserveSpec { servers, ..ObserveSpec::NOTHING };
        let plan = planned(&PlanSpec { observe, ..spec(60, Some(6)) });
        let asks = block_on(&Stop::default(), Asks::of(&plan, pinned)).unwrap();
        asks.map(|asks| (asks.servers, asks.machine, asks.exporters.len()))
    };
    assert_eq!(of(true, false), Some((true, false, 0)));
    assert_eq!(of(true, true), None, "the server is in this process");
    assert_eq!(of(false, false), None);
}

#[test]
fn what_is_observed_can_be_read_in_between_with_times_of_the_run() {
    let began = Clock::system().now().saturating_sub(50 * SECOND_NS);
    let asks = |machine| Asks { servers: true, machine, exporters: Vec::new() };
    let observing = Observing::begin(asks(true), &at_once(), began).unwrap();
    let observed = observing.so_far().expect("the machine has answered once");
    let [machine] = &observed.sources[..] else { panic!("{observed:?}") };
    assert_eq!((machine.name.as_str(), machine.machine), ("this machine", true));
    let at_s = &machine.tables[0].at_s;
    assert!(!at_s.is_empty() && at_s.iter().all(|at| *at >= 50.0), "{at_s:?}");
    let all = observing.finish().expect("it was asked once more");
    assert!(all.sources[0].polls > machine.polls);
    let nobody = Observing::begin(asks(false), &at_once(), began).unwrap();
    assert_eq!((nobody.so_far(), nobody.finish()), (None, None));
}

/// The values in the answers to the second question.
fn seconds(observed: &Observed) -> Vec<Option<f64>> {
    observed.sources[0].tables[1].columns[0].values.clone()
}

/// Reports then show a gap, for each question that could not be asked.
#[test]
fn what_was_due_while_a_server_was_silent_is_missing_and_nothing_else() {
    let often = [question(20, false), question(60_000, false)];
    let answers: &[&[Answer]] = &[&[ANSWERED, MISSED, ANSWERED], &[ANSWERED]];
    let (one, asked) = server("one", &often, answers);
    let observed = observe(vec![one], None, || counts(&asked, 0) > 3);
    assert_eq!(observed.sources[0].missed, 1);
    assert_eq!(seconds(&observed), [Some(1.0), Some(1.0)], "it was not due");
    let rarely = [question(60_000, false), question(60_000, false)];
    let (one, asked) = server("one", &rarely, &[&[MISSED, ANSWERED], &[ANSWERED]]);
    let observed = observe(vec![one], None, || asked.borrow().len() > 1);
    assert_eq!(seconds(&observed), [None, Some(1.0), Some(1.0)], "it was due at the beginning");
}
