//! `springload import`: makes a list of requests from a browser's recording.

mod har;
mod line;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::print::print;
use crate::files;
use crate::op::plain;
use crate::plan::Invalid;
use har::{Entry, Har};
use line::{LineParts, spelled};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use url::Url;

/// The most servers and requests that are named in a comment.
const NAMED: usize = 10;

/// `springload import`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Import {
    /// A recording of a browser or a proxy: a HAR file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Include the requests to this server [default: only those to the first server]
    #[arg(long = "server", value_name = "URL", value_parser = origin)]
    servers: Vec<String>,
}

impl Verb for Import {
    const NAME: &'static str = "import";
    const ABOUT: &'static str = "Make a list of requests from a browser's recording (HAR)";
    const FAMILY: Family = Family::Tools;
    const EXAMPLES: [Example; 3] = [
        ("The requests of a session in the browser", "import session.har > urls.txt"),
        ("Put them on the server as load", "http -f urls.txt -c 20 -d 1m"),
        (
            "With those to a second server",
            "import session.har --server https://shop.example --server https://api.shop.example",
        ),
    ];

    fn carry_out(self, _: &Call<'_>) -> Result<Exit, Trouble> {
        let name = self.file.display().to_string();
        let wrong = |problem: String| {
            let cure = "give a HAR file: in a browser's network tools, \"Save all as HAR\"";
            Invalid::new("FILE", problem, cure)
        };
        let bytes = files::read(&self.file, files::DATA)
            .map_err(|error| wrong(format!("cannot read {name}: {error}")))?;
        let har = Har::parse(&bytes).map_err(|problem| wrong(format!("{name} {problem}")))?;
        let list = ImportedList::of(&har, self.servers);
        if list.lines.is_empty() && list.unspelled.is_empty() {
            if list.elsewhere.is_empty() {
                return Err(wrong(format!("{name} has no request to a server")).into());
            }
            let problem = format!("{name} has no request to {}", list.servers.join(" or "));
            let others: Vec<&str> = list.others().map(|(it, _)| it).take(NAMED).collect();
            let cure = format!("it has some to {}", others.join(", "));
            return Err(Invalid::new("--server", problem, cure).into());
        }
        print(list.text(&name).as_bytes());
        Ok(Exit::Passed)
    }
}

/// Scheme, host and port of a URL.
fn origin(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or("write http://host:port or https://host:port")?;
    Ok(url.origin().ascii_serialization())
}

/// The requests that go into a list, and those that do not.
#[derive(Debug, Default)]
struct ImportedList {
    servers: Vec<String>,
    lines: Vec<String>,
    /// The number of requests to each of the other servers.
    elsewhere: BTreeMap<String, usize>,
    /// The number of requests that the browser answered itself, or that had no response.
    unanswered: usize,
    /// The number of requests to addresses that are not of HTTP.
    not_http: usize,
    /// Requests that a list cannot express, each with the reason.
    unspelled: Vec<String>,
    with_log_in: bool,
}

impl ImportedList {
    /// The requests to these servers, or to the first one in the recording.
    fn of(har: &Har, servers: Vec<String>) -> Self {
        let mut list = Self { servers, ..Self::default() };
        for entry in har.entries() {
            list.add(entry);
        }
        list
    }

    /// The other servers with the number of requests to each, those with most first.
    fn others(&self) -> impl ExactSizeIterator<Item = (&str, usize)> {
        let mut others: Vec<_> = self.elsewhere.iter().collect();
        others.sort_by_key(|(server, count)| (std::cmp::Reverse(**count), *server));
        others.into_iter().map(|(server, count)| (server.as_str(), *count))
    }

    fn add(&mut self, entry: &Entry) {
        let Ok(origin) = origin(&entry.request.url) else {
            self.not_http += 1;
            return;
        };
        if !entry.reached_the_server() {
            self.unanswered += 1;
            return;
        }
        if self.servers.is_empty() {
            self.servers.push(origin.clone());
        }
        let Some(place) = self.servers.iter().position(|server| *server == origin) else {
            *self.elsewhere.entry(origin).or_default() += 1;
            return;
        };
        self.with_log_in |= entry.has_log_in();
        match spelled(&entry.request) {
            Ok(LineParts { target, rest }) => {
                self.lines.push(format!("$({}){target}{rest}", variable(place)));
            }
            Err(reason) => {
                let path = Url::parse(&entry.request.url).map(|url| url.path().to_owned());
                let (method, path) = (&entry.request.method, path.unwrap_or_default());
                self.unspelled.push(format!("{method} {origin}{path}: {reason}"));
            }
        }
    }

    /// The list as a file for `springload http -f`.
    fn text(&self, name: &str) -> String {
        let mut out = String::new();
        let mut note = |words: String| {
            let _ = writeln!(out, "# {}", words.chars().map(plain).collect::<String>());
        };
        note(format!("{} from {name}.", requests(self.lines.len())));
        if !self.elsewhere.is_empty() {
            let sum = self.elsewhere.values().sum();
            note(format!("Left out: {} to other servers, which --server adds:", requests(sum)));
            named(self.others().map(|(server, count)| format!("{server} ({count})")), &mut note);
        }
        if self.unanswered > 0 {
            let count = requests(self.unanswered);
            note(format!("Left out: {count} from the browser's cache, or without an answer."));
        }
        if self.not_http > 0 {
            let count = requests(self.not_http);
            note(format!("Left out: {count} to addresses that are not of HTTP."));
        }
        if !self.unspelled.is_empty() {
            let count = requests(self.unspelled.len());
            note(format!("Left out: {count} that a list has no words for:"));
            named(self.unspelled.iter().cloned(), &mut note);
        }
        if self.with_log_in {
            note("Log-ins are left out: give cookies, tokens and passwords to springload.".into());
        }
        note("Headers of the browser are left out: -H adds one to all requests.".to_owned());
        note("Look for passwords in what follows before you share it.".to_owned());
        out.push('\n');
        for (place, server) in self.servers.iter().enumerate() {
            let _ = writeln!(out, "{} = {server}", variable(place));
        }
        out.push('\n');
        for line in &self.lines {
            let _ = writeln!(out, "{line}");
        }
        out
    }
}

/// The variable for a server.
fn variable(place: usize) -> String {
    if place == 0 { "URL".to_owned() } else { format!("URL{}", place + 1) }
}

fn requests(count: usize) -> String {
    if count == 1 { "1 request".to_owned() } else { format!("{count} requests") }
}

/// Notes the first few, and the number of the others.
fn named(all: impl ExactSizeIterator<Item = String>, note: &mut impl FnMut(String)) {
    let more = all.len().saturating_sub(NAMED);
    all.take(NAMED).for_each(|it| note(format!("    {it}")));
    if more > 0 {
        note(format!("    and {more} more"));
    }
}
