//! `springload serve`: the stand-in alone.

mod faults;
mod log;
mod nodes;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::listen::is_public;
use crate::cli::pipeline::ending::Ending;
use crate::cli::pipeline::signals;
use crate::clock::Clock;
use crate::driver::strike_secrets;
use crate::embedded::{Fault, Mode, Options, StandIn};
use crate::plan::{Invalid, duration_ns};
use std::path::PathBuf;
use std::time::Duration;

/// `springload serve`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Serve {
    /// The address to listen on; port 0 takes a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5984")]
    listen: String,
    /// Require this user and password
    #[arg(long, value_name = "USER:PASSWORD")]
    admin: Option<String>,
    /// Let other machines in without a password
    #[arg(long)]
    public: bool,
    /// How long a session cookie is valid, such as 2s
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration_ns)]
    session: u64,
    /// Number of threads
    #[arg(short, long, value_name = "N", default_value = "1")]
    threads: usize,
    /// Store nothing and answer everything with success
    ///
    /// Store nothing and answer every request with success: the fastest server to measure a
    /// client against
    #[arg(long)]
    null: bool,
    /// Log when each request arrived and was answered
    ///
    /// Log a line for each request: when it arrived and when it was answered, by the server's
    /// clock, in microseconds after the first; an existing file is overwritten
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    #[command(flatten)]
    nodes: nodes::NodeArgs,
    #[command(flatten)]
    faults: faults::FaultArgs,
}

impl Verb for Serve {
    const NAME: &'static str = "serve";
    const ABOUT: &'static str = "Run the embedded stand-in for CouchDB on its own";
    const FAMILY: Family = Family::Machines;
    const OFTEN: bool = true;
    const BRIEF: &'static str = "listen admin threads null capacity delay stall drop slow fault";
    const EXAMPLES: [Example; 3] = [
        ("A CouchDB to try things on", "serve --listen 127.0.0.1:5984"),
        ("One that freezes for 2 s, 5 s after the first request", "serve --stall 2s@5s"),
        (
            "One that is slow for one request in a hundred, and requires a password",
            "serve --slow 500ms@1% --admin ann:secret",
        ),
    ];
    const EXITS: Statuses = Exit::PLAIN;

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let admin = self.admin()?;
        let alone = |flag, problem| Invalid::new(flag, problem, "leave one of them out");
        if self.null && admin.is_some() {
            return Err(alone("--admin", "--null never checks passwords").into());
        }
        let place = strike_secrets(&self.listen);
        if is_public(&self.listen) && admin.is_none() && !self.public {
            let problem = format!("other machines could use {place} without a password");
            let cure = "give --admin USER:PASSWORD, or --public to allow it";
            return Err(Invalid::new("--listen", problem, cure).into());
        }
        let faults = self.faults.read()?;
        if self.null && faults.named.iter().any(|it| matches!(it.fault, Fault::Lie(_))) {
            return Err(alone("--fault", "--null stores nothing to lie about").into());
        }
        let course = self.nodes.course()?;
        let unheard = |error| {
            let problem = format!("cannot listen on {place}: {error}");
            Invalid::new("--listen", problem, "give another host:port")
        };
        let listeners = self.nodes.bind(&self.listen).map_err(unheard)?;
        // Not earlier: the file may belong to a server that is already listening there.
        let mut log = log::LogFile::open(self.log.as_deref())?;
        let mode = if self.null { Mode::Null } else { Mode::Couch };
        let options = Options {
            admin,
            session_ns: self.session,
            threads: self.threads.max(1),
            mode,
            faults,
            log: log.of_server(),
            ..Options::default()
        };
        let stand_in = StandIn::start_nodes(listeners, options).map_err(unheard)?;
        let ending = signals::listen(true)?;
        self.tell(&stand_in);
        attend(&stand_in, course, &ending, &mut log);
        stand_in.stop();
        Ok(Exit::Passed.if_written(log.finish()))
    }
}

impl Serve {
    /// User and password of the only user.
    ///
    /// # Errors
    /// Fails if only one of them is given.
    fn admin(&self) -> Result<Option<(String, String)>, Invalid> {
        let Some(text) = &self.admin else { return Ok(None) };
        match text.split_once(':') {
            Some((user, password)) if !user.is_empty() => {
                Ok(Some((user.to_owned(), password.to_owned())))
            }
            _ => Err(Invalid::new("--admin", "not a user and password", "give USER:PASSWORD")),
        }
    }

    fn tell(&self, stand_in: &StandIn) {
        let (name, keeps) = if self.null {
            ("null responder", "nothing is stored")
        } else {
            ("stand-in", "everything stays in memory")
        };
        let places = stand_in.urls().join(" ");
        println!("{name} listening on {places}; {keeps}; press Ctrl-C to stop");
    }
}

/// Changes the state of nodes when it is due, until the user stops the server.
fn attend(stand_in: &StandIn, course: Vec<nodes::Turn>, ending: &Ending, log: &mut log::LogFile) {
    let (clock, mut due) = (Clock::system(), course.into_iter().peekable());
    let began = clock.now();
    while ending.reason().is_none() {
        std::thread::sleep(Duration::from_millis(if due.peek().is_some() { 10 } else { 100 }));
        let now = clock.now() - began;
        while let Some(turn) = due.next_if(|turn| turn.at_ns <= now) {
            stand_in.set_node(turn.node, turn.state);
        }
        log.check();
    }
}
