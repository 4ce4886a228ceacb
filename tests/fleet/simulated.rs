//! Agents that generate no load: they send the messages of real agents, with random measurements.
//! One process can simulate hundreds.

#![allow(dead_code, reason = "each program uses its own part")]

use serde_json::Value;
use springload::clock::{Clock, Nanos, SECOND_NS};
use springload::engine::{LaneResult, LoadCounts, ShardResult, Watched};
use springload::fleet::{Arrived, Broker, Channel, Opened, StageEnd, To};
use springload::generate::Stream;
use springload::measure::{
    ConnectionTimes, FillLog, Hiccups, Interval, Recorder, Sample, Served, Timing,
};
use springload::op::{ByKind, OpKind, Reply};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The kinds of operations in their measurements.
pub(crate) const KINDS: [OpKind; 4] =
    [OpKind::Create, OpKind::Read, OpKind::Update, OpKind::Delete];
/// The pause before a refused message is sent again.
const AGAIN: Duration = Duration::from_millis(20);

/// A second of one agent with `requests` of each kind, in an open loop: service time, response
/// time and lag all differ.
pub(crate) fn second(seed: u64, requests: u64) -> Interval {
    let mut stream = Stream::new(seed, 0);
    // From 0.25 ms to 4 ms, each power of two equally likely, and one in a hundred up to 32 ms.
    let mut times = || {
        let power = if stream.draw().is_multiple_of(100) { 24 } else { 18 + stream.draw() % 4 };
        ((1u64 << power) + stream.draw() % (1 << power), stream.draw() % 100_000)
    };
    let (sink, intervals) = channel();
    let mut recorder = Recorder::new(0, u64::MAX, false, sink);
    for kind in KINDS {
        for _ in 0..requests {
            let (service_ns, lag_ns) = times();
            let timing = Timing::between(0, service_ns);
            let timing = Timing { done: 1, lag_ns, response_ns: service_ns + lag_ns, ..timing };
            recorder.record(&Sample::single(kind, &timing, Ok(Reply::default())));
        }
    }
    recorder.finish();
    intervals.recv().expect("a recorder sends what it has")
}

/// The task of simulated agents.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The run.
    pub(crate) run: String,
    /// The length of each stage, in seconds.
    pub(crate) seconds: Vec<u32>,
    /// Requests of each kind, per agent and second.
    pub(crate) requests: u64,
}

/// Joins the run over `broker` as `agents` agents. Each thread returns an error found by the
/// coordinator, or the reason the agent was lost.
pub(crate) fn play(broker: &Broker, agents: usize, part: &Part) -> Vec<JoinHandle<Option<String>>> {
    // Serialized once, because the agents' own computation is not part of the coordinator's cost.
    let written = |seed| serde_json::to_string(&second(seed, part.requests)).expect("plain data");
    let snapshots: Vec<Arc<str>> = (0..8).map(|seed| written(seed).into()).collect();
    let one = |index: usize| {
        let (broker, part) = (broker.clone(), part.clone());
        let snapshot = snapshots[index % snapshots.len()].clone();
        std::thread::spawn(move || {
            let channel =
                broker.join(&part.run, index, Duration::from_secs(60)).expect("a channel");
            let clock = Clock::system();
            let said = clock.now();
            let number = 0;
            let player = Player {
                channel,
                part,
                index,
                snapshot,
                clock,
                heard: false,
                said,
                number,
                stage: None,
            };
            player.play()
        })
    };
    (0..agents).map(one).collect()
}

struct Player {
    channel: Channel,
    part: Part,
    index: usize,
    snapshot: Arc<str>,
    clock: Clock,
    /// Whether the coordinator has sent it a message.
    heard: bool,
    /// When it last reported that it is alive.
    said: Nanos,
    /// The number of messages sent that must arrive.
    number: u64,
    stage: Option<Stage>,
}

/// A stage in progress.
struct Stage {
    number: u64,
    /// Its start, once that is known.
    moment: Option<Nanos>,
    /// The number of seconds sent.
    sent: u32,
    stopped: bool,
}

impl Player {
    fn play(mut self) -> Option<String> {
        self.hello();
        loop {
            match self.channel.inbox.recv_timeout(self.free_for()) {
                Ok(Arrived::Message(bytes)) => {
                    let message: Value = serde_json::from_slice(&bytes).expect("JSON");
                    if self.obey(&message) {
                        return message["body"]["quit"]["why"].as_str().map(str::to_owned);
                    }
                }
                Ok(Arrived::Closed(why) | Arrived::AgentGone(_, why) | Arrived::Cut(_, why)) => {
                    return Some(why);
                }
                Err(RecvTimeoutError::Disconnected) => return Some("closed".to_owned()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.show_up();
            self.go_on();
        }
    }

    /// How long it has nothing to do unless a message arrives. Hundreds of agents that poll every
    /// few milliseconds would keep the machine busy, and be late themselves.
    fn free_for(&self) -> Duration {
        let shows_up = self.said + SECOND_NS;
        let goes_on = self.stage.as_ref().and_then(|stage| {
            let next = stage.moment? + (u64::from(stage.sent) + 1) * SECOND_NS;
            Some(if stage.stopped { 0 } else { next })
        });
        let due = goes_on.map_or(shows_up, |goes_on| goes_on.min(shows_up));
        Duration::from_nanos(due.saturating_sub(self.clock.now()))
    }

    fn say(&mut self, body: &str) {
        let (run, index) = (&self.part.run, self.index);
        let counts = !["{\"hello", "{\"pong", "\"alive"].iter().any(|it| body.starts_with(it));
        self.number += u64::from(counts);
        let number = self.number;
        let from = format!(r#""run":"{run}","agent":{index},"sender":{index}"#);
        let message = format!(r#"{{{from},"number":{number},"body":{body}}}"#);
        while self.channel.outbox.send(To::All, message.clone().into_bytes()).is_err() {
            std::thread::sleep(AGAIN);
        }
    }

    fn hello(&mut self) {
        let version = env!("CARGO_PKG_VERSION");
        let facts = format!(r#"{{"host":"host-{}","pid":1,"version":"{version}""#, self.index);
        self.say(&format!(r#"{{"hello":{facts},"cores":2}}}}"#));
    }

    /// Reports once a second that it is alive, unless its measurements do.
    fn show_up(&mut self) {
        if self.clock.now() - self.said < SECOND_NS {
            return;
        }
        self.said = self.clock.now();
        let runs = self.stage.as_ref().and_then(|it| it.moment).is_some_and(|at| at < self.said);
        if !self.heard {
            self.hello();
        } else if !runs {
            self.say(r#""alive""#);
        }
    }

    /// Carries out a message of the coordinator. Returns whether it was the last; the message has
    /// the reason.
    fn obey(&mut self, message: &Value) -> bool {
        let body = &message["body"];
        self.heard |= body != "tick";
        if let Some(ping) = body.get("ping") {
            let (id, now) = (&ping["id"], self.clock.now());
            self.say(&format!(r#"{{"pong":{{"id":{id},"at_ns":{now}}}}}"#));
        } else if body.get("assign").is_some() {
            let opened = serde_json::to_string(&Opened::default()).expect("plain data");
            self.say(&format!(r#"{{"opened":{opened}}}"#));
        } else if let Some(prepare) = body.get("prepare") {
            let number = prepare["stage"].as_u64().expect("a number");
            self.stage = Some(Stage { number, moment: None, sent: 0, stopped: false });
            self.say(&format!(r#"{{"ready":{{"stage":{number}}}}}"#));
        } else if let (Some(start), Some(stage)) = (body.get("start"), &mut self.stage) {
            stage.moment = start["agents_ns"][self.index.to_string()].as_u64();
            let number = stage.number;
            self.say(&format!(r#"{{"started":{{"stage":{number}}}}}"#));
        } else if let (Some(_), Some(stage)) = (body.get("stop"), &mut self.stage) {
            stage.stopped = true;
        }
        body.get("quit").is_some()
    }

    /// Sends the measurements of each second, and the end.
    fn go_on(&mut self) {
        let Some(Stage { number, moment: Some(moment), sent, stopped }) = self.stage else {
            return;
        };
        let seconds = self.part.seconds.get(number as usize).copied().unwrap_or_default();
        if self.clock.now() < moment + (u64::from(sent) + 1) * SECOND_NS && !stopped {
            return;
        }
        if sent < seconds && !stopped {
            let interval =
                self.snapshot.replacen(r#""second":0"#, &format!(r#""second":{sent}"#), 1);
            let snapshot = format!(r#"{{"stage":{number},"intervals":[{interval}]}}"#);
            self.say(&format!(r#"{{"snapshot":{snapshot}}}"#));
        }
        if let Some(stage) = &mut self.stage {
            stage.sent += 1;
        }
        if sent + 1 >= seconds || stopped {
            let shards = vec![shard(self.index, u64::from(seconds), self.part.requests)];
            let (stage, hiccups) = (number as usize, Hiccups::default());
            let end = StageEnd { stage, shards, hiccups, stopped: None, noted: None, left: None };
            let end = serde_json::to_string(&end).expect("plain data");
            self.say(&format!(r#"{{"ended":{end}}}"#));
            self.stage = None;
        }
    }
}

/// The end of a stage with one thread and one connection.
fn shard(connection: usize, seconds: u64, requests: u64) -> ShardResult<()> {
    let mut issued = ByKind::default();
    for kind in KINDS {
        *issued.of(kind) = seconds * requests;
    }
    let lane = LaneResult {
        connection,
        workload: (),
        times: ConnectionTimes::default(),
        first_sent_ns: Some(0),
        first_late_ns: Some(0),
        late: false,
        unopened: false,
    };
    ShardResult {
        lanes: vec![Box::new(lane)],
        issued,
        load: LoadCounts::default(),
        watched: Watched::default(),
        fill: FillLog::default(),
        elapsed_ns: seconds * SECOND_NS,
        cpu_ns: 1,
        nodes: Vec::new(),
        sent: Served::default(),
    }
}

/// The resources that a process has used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Processor time, in seconds.
    pub(crate) cpu_s: f64,
    /// Memory that it occupies now, in bytes.
    pub(crate) resident: u64,
}

/// The resources that a process has used, if it exists; on Linux.
pub(crate) fn usage(id: u32) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // After the name, which may contain spaces and brackets: user and system time, in 0.01 s.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || rest.next()?.parse::<f64>().ok();
    let cpu_s = (ticks()? + ticks()?) / 100.0;
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Usage { cpu_s, resident: kib << 10 })
}

/// The command line of a coordinator of simulated agents with a second stage of `seconds`.
pub(crate) fn flags(agents: usize, seconds: u32, run: &str) -> Vec<String> {
    let (agents, seconds) = (agents.to_string(), format!("{seconds}s"));
    let all = ["run", "basic", "-q", "-o", "out", "--run-id", run, "--agents", &agents];
    let all = all.into_iter().chain(["--ready-timeout", "180s"]);
    let rest = ["-c", &agents, "--docs", &agents, "-d", &seconds];
    all.chain(rest).map(str::to_owned).collect()
}
