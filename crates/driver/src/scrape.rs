//! Asks exporters for their metrics beside the load: any server that answers a URL with the text of
//! Prometheus or OpenMetrics. Knows no database.

use super::Local;
use super::login::{CHECK_LOG_IN, LogIn};
use super::monitor::{Monitor, Question, Untold};
use super::opening::TargetError;
use super::secrets::STRUCK;
use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::http1::{Connection, Request};
use crate::measure::Probe;
use crate::net::{Endpoint, ShardContext, TlsOptions, Trouble, mixed_up};
use crate::observed::Reading;
use crate::observed::series::{Choice, Glob};
use crate::op::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use std::sync::Arc;
use url::Url;

/// How often an exporter is asked.
const EVERY_NS: Nanos = 2 * SECOND_NS;
/// How long it may take to answer.
const PATIENCE_NS: Nanos = 2 * SECOND_NS;
/// The format that every exporter has comes first: the other has nothing more that is of use here.
const ACCEPT: &str =
    "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";
/// The longest name of a source, in characters.
const LONGEST_NAME: usize = 64;
const GIVE_LOG_IN: &str = "give user and password as in http://user:password@host/metrics";
const GIVE_URL: &str = "give NAME=URL, such as node=http://localhost:9100/metrics";

/// An exporter that is asked. Stored without its password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScrapePlan {
    /// What the user calls it.
    pub name: String,
    /// Where its metrics are, without user and password.
    pub url: String,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
}

impl ScrapePlan {
    /// What `NAME=URL` asks for.
    ///
    /// # Errors
    /// What is wrong with it, and the cure.
    pub fn of(text: &str) -> Result<Self, (String, &'static str)> {
        let wrong = |problem: &str| Err((format!("{text:?} {problem}"), GIVE_URL));
        let Some((name, address)) = text.split_once('=') else { return wrong("has no name") };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_plain) || name.chars().count() > LONGEST_NAME {
            return wrong("does not begin with a name of letters, digits, and any of -_.");
        }
        let Ok(mut url) = Url::parse(address) else { return wrong("has no URL after its name") };
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return wrong("is not a URL of http or https");
        }
        let login = LogIn::of_url(&url);
        if login.password() == STRUCK {
            let cure = "give it to springload run, or an exporter that wants none";
            return Err((format!("{text:?} was stored without its password"), cure));
        }
        url.set_fragment(None);
        let struck = url.set_username("").and_then(|()| url.set_password(None));
        debug_assert!(struck.is_ok(), "it has a host");
        Ok(Self { name: name.to_owned(), url: url.into(), login })
    }

    /// Whether it is asked over TLS.
    pub fn is_secure(&self) -> bool {
        self.url.starts_with("https:")
    }

    /// What is wrong with it, if it was stored and changed.
    pub fn problem(&self) -> Option<String> {
        match Self::of(&format!("{}={}", self.name, self.url)) {
            Err((problem, _)) => Some(problem),
            Ok(same) if same.url != self.url => Some(format!("{:?} is no URL", self.url)),
            Ok(_) => None,
        }
    }
}

/// An exporter that has answered once.
#[derive(Clone, Debug)]
pub struct Scrape {
    plan: ScrapePlan,
    endpoint: Arc<Endpoint>,
    /// Which of its series are wanted; empty: all.
    series: Vec<Glob>,
}

impl Scrape {
    /// Finds the exporter and asks it once. No more than `max_answer` bytes are read at a time.
    ///
    /// # Errors
    /// Why it cannot be used. One that only lacks the password, which no plan is stored with, can.
    pub async fn open(
        plan: &ScrapePlan,
        series: &[String],
        tls: &TlsOptions,
        max_answer: u64,
    ) -> Result<Self, TargetError> {
        let ScrapePlan { name, url, login } = plan;
        let wrong = |problem: String, cure: &str| {
            Err(TargetError(format!("--observe-url {name}: {url}: {problem}; {cure}")))
        };
        let parsed = Url::parse(url).map_err(|error| TargetError(error.to_string()))?;
        let endpoint = match Endpoint::resolve(&parsed, tls) {
            Ok(endpoint) => Arc::new(endpoint.with_max_answer(max_answer)),
            Err(error) => return Err(TargetError(format!("--observe-url {name}: {error}"))),
        };
        let series = series.iter().map(|text| Glob::new(text)).collect();
        let scrape = Self { plan: plan.clone(), endpoint, series };
        let mut scraper = scrape.monitor();
        let status = match scraper.get().await {
            Ok(status) => status,
            Err(Trouble { problem, cure, .. }) => return wrong(problem, &cure),
        };
        match scraper.understood(status) {
            Err(Untold::Refused(_)) if login.user.is_some() && login.password.is_none() => {}
            Err(Untold::Refused(why)) if login.password.is_some() => {
                return wrong(why, CHECK_LOG_IN);
            }
            Err(Untold::Refused(why)) => return wrong(why, GIVE_LOG_IN),
            Err(Untold::Missed(why)) if status == 200 => return wrong(why, GIVE_URL),
            Err(Untold::Missed(why)) => {
                return wrong(why, "check the path: most exporters have /metrics");
            }
            Err(Untold::Unknown) | Ok(_) => {}
        }
        Ok(scrape)
    }

    /// A connection to it, which is not yet open.
    pub fn monitor(&self) -> Scraper {
        let deadlines = ShardContext::new(Clock::system(), PATIENCE_NS);
        Scraper {
            connection: Connection::new(self.endpoint.clone(), &deadlines),
            endpoint: self.endpoint.clone(),
            deadlines,
            request: self.request(),
            choice: Choice::new(&self.plan.name, self.series.clone()),
            plan: self.plan.clone(),
        }
    }

    fn request(&self) -> Vec<u8> {
        let path = Url::parse(&self.plan.url)
            .map_or_else(|_| "/".to_owned(), |url| url[url::Position::BeforePath..].to_owned());
        let host = self.endpoint.host();
        let LogIn { user, password } = &self.plan.login;
        let login = match (user, password) {
            (user, Some(password)) => {
                let user = user.as_deref().unwrap_or_default();
                let text = BASE64.encode(format!("{user}:{}", password.reveal()));
                format!("Authorization: Basic {text}\r\n")
            }
            (_, None) => String::new(),
        };
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {ACCEPT}\r\n{login}\r\n").into()
    }
}

/// A connection to an exporter.
#[derive(Debug)]
pub struct Scraper {
    connection: Connection,
    endpoint: Arc<Endpoint>,
    deadlines: Rc<ShardContext>,
    request: Vec<u8>,
    choice: Choice,
    plan: ScrapePlan,
}

impl Scraper {
    /// Asks for the metrics. Returns the status of the answer.
    async fn get(&mut self) -> Result<u16, Trouble> {
        let clock = self.deadlines.clock();
        let mut probe = Probe::new(clock, clock.now(), clock.now());
        let exchange = self.connection.exchange(Request::reading(&self.request), &mut probe);
        let answer = tokio::select! {
            answer = exchange => answer,
            () = self.deadlines.clone().sweep() => Err(Failure::Timeout),
        };
        let failure = match answer {
            Ok(answer) => return Ok(answer.status),
            Err(failure) => failure,
        };
        // Half an answer may be left on it.
        self.connection.close();
        if failure == Failure::Timeout {
            return Err(Trouble::timed_out());
        }
        if let Some(trouble) = mixed_up(&self.endpoint).await {
            return Err(trouble);
        }
        Err(match self.connection.trouble() {
            Some(trouble) if failure.unconnected() => trouble.clone(),
            // It is larger than may be.
            Some(Trouble { problem, .. }) if failure == Failure::Protocol => {
                Trouble::new(problem.clone(), "allow for more, or check the URL")
            }
            None if failure == Failure::Protocol => {
                Trouble::new("what answers is not an HTTP/1.1 server", "check the port")
            }
            _ => Trouble::new(format!("no answer that can be read ({failure})"), GIVE_URL),
        })
    }

    /// What the last answer says.
    fn understood(&mut self, status: u16) -> Result<Reading, Untold> {
        match status {
            200 => self.choice.read(self.connection.body()).map_err(Untold::Missed),
            401 | 403 => Err(Untold::Refused(format!("it answers {status}, and wants a log-in"))),
            _ => Err(Untold::Missed(format!("it answers {status}"))),
        }
    }
}

impl Monitor for Scraper {
    fn name(&self) -> String {
        self.plan.name.clone()
    }

    fn url(&self) -> Option<String> {
        Some(self.plan.url.clone())
    }

    fn questions(&self) -> Vec<Question> {
        vec![Question { every_ns: EVERY_NS, of_all: false }]
    }

    fn ask(&mut self, _: usize) -> Local<'_, Result<Reading, Untold>> {
        Box::pin(async {
            let status = self.get().await.map_err(|trouble| Untold::Missed(trouble.problem))?;
            self.understood(status)
        })
    }
}

#[cfg(test)]
#[path = "scrape_tests.rs"]
mod tests;
