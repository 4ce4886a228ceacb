//! `springload serve`: the stand-in alone.

mod faults;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, refuse};
use crate::cli::flags::listen::is_public;
use crate::cli::pipeline::signals;
use crate::driver::strike_secrets;
use crate::embedded::{Fault, Mode, Options, StandIn, bind};
use crate::plan::{Invalid, duration_ns};
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
    #[command(flatten)]
    faults: faults::FaultArgs,
}

impl Verb for Serve {
    const NAME: &'static str = "serve";
    const ABOUT: &'static str = "Run the embedded stand-in for CouchDB on its own";
    const FAMILY: Family = Family::Machines;
    const BRIEF: &'static [&'static str] = &[
        "listen", "admin", "threads", "null", "capacity", "delay", "stall", "drop", "slow", "fault",
    ];
    const EXAMPLES: [Example; 3] = [
        ("A CouchDB to try things on", "serve --listen 127.0.0.1:5984"),
        ("That stands still for 2 s, 5 s after the first request", "serve --stall 2s@5s"),
        (
            "That is slow for one request in a hundred, and wants a password",
            "serve --slow 500ms@1% --admin ann:secret",
        ),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Exit {
        let admin = match self.admin.as_deref().map(|text| text.split_once(':')) {
            None => None,
            Some(Some((user, password))) if !user.is_empty() => {
                Some((user.to_owned(), password.to_owned()))
            }
            Some(_) => {
                eprintln!("error: --admin: not a user and password; give USER:PASSWORD");
                return Exit::Usage;
            }
        };
        if self.null && admin.is_some() {
            eprintln!("error: --admin: --null never checks passwords; leave one of them out");
            return Exit::Usage;
        }
        let place = strike_secrets(&self.listen);
        if is_public(&self.listen) && admin.is_none() && !self.public {
            let problem = format!("other machines could use {place} without a password");
            let cure = "give --admin USER:PASSWORD, or --public if they may";
            return refuse(&[Invalid::new("--listen", problem, cure)]);
        }
        let faults = match self.faults.read() {
            Ok(faults) => faults,
            Err(error) => {
                eprintln!("error: {error}");
                return Exit::Usage;
            }
        };
        if self.null && faults.named.iter().any(|it| matches!(it.fault, Fault::Lie(_))) {
            eprintln!("error: --fault: --null stores nothing to lie about; leave one of them out");
            return Exit::Usage;
        }
        let mode = if self.null { Mode::Null } else { Mode::Couch };
        let options = Options {
            admin,
            session_ns: self.session,
            threads: self.threads.max(1),
            mode,
            faults,
            ..Options::default()
        };
        let stand_in = match bind(&self.listen).and_then(|it| StandIn::start(it, options)) {
            Ok(stand_in) => stand_in,
            Err(error) => {
                let problem = format!("cannot listen on {place}: {error}");
                return refuse(&[Invalid::new("--listen", problem, "give another host:port")]);
            }
        };
        let ending = match signals::listen(true) {
            Ok(ending) => ending,
            Err(exit) => return exit,
        };
        let (name, keeps) = if self.null {
            ("null responder", "nothing is stored")
        } else {
            ("stand-in", "everything stays in memory")
        };
        println!("{name} listening on {}; {keeps}; press Ctrl-C to stop", stand_in.url());
        while ending.reason().is_none() {
            std::thread::sleep(Duration::from_millis(100));
        }
        stand_in.stop();
        Exit::Passed
    }
}
