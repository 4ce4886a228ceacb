//! YCSB's replay of traces: requests for the URLs in four files, one for each kind of operation.
//!
//! The requests of a connection follow from the seed, its number and the number of connections.

mod config;

pub use config::{RestConfig, Trace};

use super::choose::{Action, Actions};
use super::config::{CoreConfig, RequestSpec};
use super::lengths::{LengthSpec, Lengths};
use super::values::random_text;
use crate::generate::{Exponential, Hotspot, Stream, Uniform, Zipfian, mix};
use crate::op::{Answered, Failure, Fields, Op, OpKind, Pen, Reply};
use crate::{Check, Next, Workload};
use std::sync::Arc;

/// Separates the streams of requests and of bodies from other uses of the same seed.
const REQUESTS: u64 = u64::from_be_bytes(*b"rest url");
const BODIES: u64 = u64::from_be_bytes(*b"restbody");

/// What all connections of a replay share.
#[derive(Debug)]
pub struct Rest {
    config: RestConfig,
    actions: Option<Actions>,
    /// One per trace; `None` if it has no URLs.
    pickers: [Option<Picker>; 4],
    lengths: Sizes,
    seed: u64,
}

/// Draws indices into a trace.
#[derive(Debug)]
enum Picker {
    Uniform(Uniform),
    Zipfian(Zipfian),
    Hotspot(Hotspot),
    Exponential(Exponential, u64),
}

/// Draws lengths of bodies.
#[derive(Debug)]
enum Sizes {
    Core(Lengths),
    Zipfian(Zipfian),
}

/// One connection's part of a replay.
#[derive(Debug)]
pub struct RestLane {
    rest: Arc<Rest>,
    left: u64,
    stream: Stream,
    text: Stream,
}

impl Picker {
    fn new(requests: &RequestSpec, trace: &Trace) -> Option<Self> {
        let urls = trace.lines.len() as u64;
        Some(match *requests {
            _ if urls == 0 => return None,
            RequestSpec::Zipfian if urls > 1 => Self::Zipfian(Zipfian::new(urls, trace.exponent)),
            RequestSpec::Hotspot { data, operations } => {
                Self::Hotspot(Hotspot::new(0, urls, data, operations))
            }
            RequestSpec::Exponential { percentile, fraction } => {
                Self::Exponential(Exponential::new(percentile, urls as f64 * fraction), urls)
            }
            _ => Self::Uniform(Uniform::new(0, urls)),
        })
    }

    fn draw(&self, stream: &mut Stream) -> usize {
        let place = match self {
            Self::Uniform(uniform) => uniform.draw(stream),
            Self::Zipfian(zipfian) => zipfian.draw(stream),
            Self::Hotspot(hotspot) => hotspot.draw(stream),
            // A number beyond the last URL is drawn again.
            Self::Exponential(exponential, urls) => loop {
                let place = exponential.draw(stream);
                if place < *urls {
                    break place;
                }
            },
        };
        place as usize
    }
}

impl Rest {
    /// The replay for these configurations.
    pub fn new(core: &CoreConfig, config: &RestConfig, seed: u64) -> Self {
        let lengths = match core.fields.length {
            LengthSpec::Zipfian { max, .. } if max > 1 => {
                Sizes::Zipfian(Zipfian::new(max, config.size_exponent))
            }
            ref other => Sizes::Core(Lengths::new(other)),
        };
        Self {
            actions: Actions::new(&core.proportions),
            pickers: [0, 1, 2, 3].map(|i| Picker::new(&core.requests, &config.traces[i])),
            lengths,
            config: config.clone(),
            seed,
        }
    }

    /// Connection `k`, with this many operations to do; `None` for no limit.
    pub fn run(self: &Arc<Self>, k: u64, operations: Option<u64>) -> RestLane {
        RestLane {
            left: operations.unwrap_or(u64::MAX),
            stream: Stream::new(mix(self.seed, REQUESTS, k), 0),
            text: Stream::new(mix(self.seed, BODIES, k), 0),
            rest: self.clone(),
        }
    }

    /// Writes the body of a request, and the line that `BasicDB` prints, without a table.
    fn write<P: Pen>(&self, verb: &str, url: &str, stream: &mut Stream, pen: &mut P) {
        let writes = matches!(verb, "INSERT" | "UPDATE");
        if writes {
            pen.document(None, Text(self, &mut *stream));
        }
        pen.line(|line| {
            let fields = if verb == "READ" { " [ <all fields>]" } else { "" };
            for part in [verb, " null ", url, fields] {
                line.extend_from_slice(part.as_bytes());
            }
            if writes {
                line.extend_from_slice(b" [ data=");
                Text(self, stream).write(b"", line);
                line.extend_from_slice(b" ]");
            }
        });
    }

    fn length(&self, stream: &mut Stream) -> usize {
        let length = match &self.lengths {
            Sizes::Core(lengths) => lengths.draw(stream),
            Sizes::Zipfian(zipfian) => 1 + zipfian.draw(stream),
        };
        length as usize
    }
}

/// A body: random text.
struct Text<'a>(&'a Rest, &'a mut Stream);

impl Fields for Text<'_> {
    fn write(self, _: &[u8], out: &mut Vec<u8>) {
        random_text(self.0.length(self.1), self.1, out);
    }
}

impl RestLane {
    fn request<P: Pen>(&mut self, pen: &mut P) -> Option<Op> {
        self.left = self.left.checked_sub(1)?;
        // The driver's requests are in the order of the traces.
        let (trace, kind, verb) = match self.rest.actions?.draw(&mut self.stream) {
            Action::Insert => (1, OpKind::Create, "INSERT"),
            Action::Update => (2, OpKind::Update, "UPDATE"),
            Action::Delete => (3, OpKind::Delete, "DELETE"),
            Action::Read | Action::Scan | Action::ReadModifyWrite => (0, OpKind::Read, "READ"),
        };
        let place = self.rest.pickers[trace].as_ref()?.draw(&mut self.stream);
        let (url, target) = &self.rest.config.traces[trace].lines[place];
        pen.entry(trace);
        pen.name().extend_from_slice(target.as_bytes());
        self.rest.write(verb, url, &mut self.text, pen);
        Some(Op::single(kind, trace as u64, None))
    }
}

impl Workload for RestLane {
    const LISTED: bool = true;

    fn next<P: Pen>(&mut self, pen: &mut P) -> Next {
        self.request(pen).into()
    }

    fn observe(&mut self, _: &Op, _: Result<Reply, Failure>, _: &Answered<'_>) -> Check {
        Check::Unchecked
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
