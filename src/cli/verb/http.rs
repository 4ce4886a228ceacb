//! `springload http`: load on any HTTP server, with the flags of the native verbs.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::client::{ClientArgs, drawn_seed};
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::gate::GateArgs;
use crate::cli::flags::load::{Connections, LoadArgs, connections};
use crate::cli::flags::output::{OutputArgs, VerboseArgs};
use crate::cli::flags::requesters::Requesters;
use crate::cli::flags::target::named;
use crate::cli::habits::is_number;
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::cli::verb::baseline::gated;
use crate::driver::SPEAKS_HTTP2;
use crate::mistake::BadValue;
use crate::plan::{
    self, Http2Plan, HttpFlags, HttpLoad, HttpPlan, HttpSpec, Invalid, Retry, UrlSource,
    check_http_as,
};
use crate::workload::UrlOrder;
use clap::builder::PossibleValuesParser;
use std::error::Error;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// `springload http`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(in crate::cli) struct Http {
    /// Addresses to request in turn
    ///
    /// 'http://[user:password@]host/path [METHOD [body | < FILE]]'; several are requested in turn
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// A file with one such URL per line
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Concurrent users
    ///
    /// Concurrent users, each with its own connection to each server; auto: 50, or with a rate, as
    /// many as needed
    #[arg(short, long, value_name = "N", default_value = "auto", value_parser = connections)]
    connections: Connections,
    /// Total number of requests
    #[arg(short = 'n', long, value_name = "N", value_parser = plan::count)]
    ops: Option<u64>,
    /// How long to send requests [default: 15s]
    ///
    /// How long to send requests [default: 15s, unless --ops or --stages is given]
    #[arg(short, long, value_name = "TIME", value_parser = plan::duration_ns)]
    duration: Option<u64>,
    /// How long to send requests before measuring
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = plan::duration_ns)]
    warmup: u64,
    /// Pick URLs at random instead of in order
    #[arg(long)]
    random: bool,
    /// The method for URLs without one
    ///
    /// The method for URLs without one [default: GET; with --body, POST]
    #[arg(short = 'X', long, value_name = "METHOD")]
    #[arg(value_parser = PossibleValuesParser::new(plan::METHODS))]
    request: Option<String>,
    /// The body for URLs without one, or @FILE to read it from a file
    #[arg(id = "data", long = "body", value_name = "TEXT|@FILE")]
    body: Option<String>,
    /// The content type of bodies that have none in the file
    #[arg(short = 'T', long, value_name = "TYPE")]
    content_type: Option<String>,
    /// A list that {{NAME}} takes values of
    ///
    /// A list that {{NAME}} in a URL or body takes values of: NAME=VALUE,VALUE, or NAME={...} with
    /// a CSV file and its column
    #[arg(id = "lists", long = "data", value_name = "NAME=VALUES")]
    lists: Vec<String>,
    /// Send {{...}} literally
    #[arg(long)]
    literal: bool,
    /// Count redirects as answers instead of following them
    #[arg(long)]
    no_follow: bool,
    /// Ignore cookies
    #[arg(long)]
    no_cookies: bool,
    /// Decode compressed answers (gzip, deflate), and count damaged ones as failed
    #[arg(long)]
    decode: bool,
    /// Open a new connection for each request
    #[arg(long)]
    close: bool,
    /// Speak HTTP/2
    ///
    /// Speak HTTP/2: over TLS if the server agrees, with http:// from the first byte (h2c)
    #[arg(long)]
    http2: bool,
    /// Users that share a connection, with --http2
    ///
    /// How many users share a connection with --http2: concurrent requests per connection
    #[arg(long, value_name = "N", requires = "http2", value_parser = streams)]
    streams: Option<NonZeroU32>,
    /// Resend any request whose connection closes without an answer, even one that the server might
    /// carry out twice, such as a POST
    #[arg(long, conflicts_with = "no_retry")]
    retry: bool,
    /// Never resend a request, not even a GET
    #[arg(long)]
    no_retry: bool,
    /// Number of threads; they share the users [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    #[command(flatten)]
    credentials: CredentialArgs,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    gate: GateArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    show: VerboseArgs,
}

/// The number of users that share a connection.
fn streams(text: &str) -> Result<NonZeroU32, Box<dyn Error + Send + Sync>> {
    if !SPEAKS_HTTP2 {
        let cure = "build it with --features http2";
        return Err(BadValue::new("this springload was built without HTTP/2", cure).into());
    }
    let count = u32::try_from(plan::count(text)?).ok().and_then(NonZeroU32::new);
    count.ok_or_else(|| "give at least 1".into())
}

/// The URLs of a command line; those from the file come first.
pub(in crate::cli) fn sources(file: Option<PathBuf>, urls: Vec<String>) -> Vec<UrlSource> {
    let file = file.map(|path| UrlSource::File { flag: "--file", path });
    let line = |text| UrlSource::Line { place: "URL".to_owned(), text };
    file.into_iter().chain(urls.into_iter().map(line)).collect()
}

impl Verb for Http {
    const NAME: &'static str = "http";
    const ABOUT: &'static str =
        "Request a list of URLs, as fast as the server answers or at a rate";
    const FAMILY: Family = Family::Measure;
    const OFTEN: bool = true;
    const BRIEF: &'static str =
        "urls file request data header user connections rate duration ops fail_if output";
    const EXAMPLES: [Example; 3] = [
        ("As fast as the server answers, for 15 s", "http http://localhost:5984/"),
        (
            "A list of URLs, 500 requests per second",
            "http -f urls.txt -r 500 -d 1m --fail-if 'request.p99 > 50ms'",
        ),
        (
            "A new document with each request",
            "http 'http://localhost:5984/db/{{uuid}} PUT {\"n\":{{seq}}}'",
        ),
    ];

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        if let Some(number) = self.urls.iter().find(|word| is_number(word)) {
            let problem = format!("{number:?} is a number, not an address");
            let cure = "leave it out, or write http:// before it if it is an address";
            return Err(Invalid::new("URL", problem, cure).into());
        }
        let (mut sources, mut line) = (sources(self.file, self.urls), call.line.to_owned());
        let named = named(None);
        if let (true, Some(text)) = (sources.is_empty(), named.address.clone()) {
            sources.push(UrlSource::Line { place: named.flag.to_owned(), text });
            line = named.on(&line);
        }
        let token = self.credentials.token_of_list()?;
        if let Some(mistake) = self.load.mistake(self.connections) {
            return Err(mistake.into());
        }
        let (load, default_ns) = self.load.read(self.connections, self.ops.is_none());
        let (output, show) = (self.output, self.show);
        let streams = self.streams.unwrap_or(NonZeroU32::MIN);
        let spec = HttpSpec {
            command: line,
            urls: sources,
            flags: HttpFlags::NATIVE,
            log_in: Vec::new(),
            user: None,
            settings: HttpPlan {
                headers: self.client.header.into_iter().chain(token.clone()).collect(),
                follow: !self.no_follow,
                keep_alive: !self.close,
                cookies: !self.no_cookies,
                decode: self.decode,
                http2: self.http2.then_some(Http2Plan { streams }),
                retry: match (self.retry, self.no_retry) {
                    (true, _) => Retry::All,
                    (_, true) => Retry::None,
                    _ => Retry::Idempotent,
                },
                ..HttpPlan::default()
            },
            content_type: self.content_type,
            literal: self.literal,
            data: self.lists,
            order: if self.random { UrlOrder::Random } else { UrlOrder::Sequential },
            tls: self.client.tls.options(),
            method: self.request,
            body: self.body,
            users: self.connections.first(),
            threads: self.threads,
            seed: self.client.seed.unwrap_or_else(drawn_seed),
            timeout_ns: self.client.timeout,
            give_up_ns: self.client.patience.give_up,
            max_answer: self.client.max_answer,
            once: false,
            operations: self.ops,
            duration_ns: self.duration.or(default_ns),
            warmup_ns: self.warmup,
            load: HttpLoad::Steady(load),
            thresholds: output.fail_if.clone(),
        };
        let mut requesters = Requesters::new(&self.credentials, token.is_some());
        let plan = check_http_as(&spec, &mut |it| requesters.of(&it.server, it.user.clone()));
        let plan = gated(plan, &self.gate, output.quiet);
        let job = Job { plan, mistakes: Vec::new(), noise: Self::FAMILY.noise(), output: &output };
        carry_out(job, |_| Ok(Printed::native(show)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_http2_says_so_of_its_streams() {
        let refused = streams("4").err();
        assert_eq!(refused.is_none(), SPEAKS_HTTP2, "{refused:?}");
        let tells = |it: Box<dyn Error + Send + Sync>| it.to_string();
        assert!(refused.map(tells).is_none_or(|it| it.contains("built without HTTP/2; build it")));
    }
}
