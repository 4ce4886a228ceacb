//! Asks exporters for their metrics beside the load: any server that answers a URL with the text of
//! Prometheus or OpenMetrics. Knows no database.

use super::Local;
use super::login::{CHECK_LOG_IN, LogIn};
use super::monitor::{Monitor, NoReading};
use super::opening::TargetError;
use super::scrape_query::{self, strike_observed};
use super::secrets::{STRUCK, Secret};
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

/// How long an exporter may take to answer.
const PATIENCE_NS: Nanos = 2 * SECOND_NS;
/// The format that every exporter supports comes first; the other one adds nothing that is used
/// here.
const ACCEPT: &str =
    "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";
/// The longest name of a source, in characters.
const LONGEST_NAME: usize = 64;
const GIVE_LOG_IN: &str = "give user and password as in http://user:password@host/metrics";
const GIVE_URL: &str = "give NAME=URL, such as node=http://localhost:9100/metrics";

/// An exporter that is scraped. Stored without the password, and without possible secrets in the
/// query of its URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScrapePlan {
    /// The name that the user gave it.
    pub name: String,
    /// The URL of its metrics, without user and password. Possible secrets in its query are
    /// replaced by `***`.
    pub url: String,
    /// Its query as it was given, if something in it may be secret; never stored.
    #[serde(skip)]
    query: Option<Secret>,
    /// Who logs in to it.
    #[serde(flatten)]
    pub login: LogIn,
}

impl ScrapePlan {
    /// Parses `NAME=URL`.
    ///
    /// # Errors
    /// Fails with the problem and the cure if it is invalid.
    pub fn of(text: &str) -> Result<Self, (String, &'static str)> {
        let shown = strike_observed(text);
        let wrong = |problem: &str| Err((format!("{shown:?} {problem}"), GIVE_URL));
        let Some((name, address)) = text.split_once('=') else { return wrong("has no name") };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_plain) || name.chars().count() > LONGEST_NAME {
            return wrong("does not begin with a name of letters, digits, and any of -_.");
        }
        let Ok(url) = Url::parse(address) else { return wrong("has no URL after its name") };
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return wrong("is not a URL of http or https");
        }
        let login = LogIn::of_url(&url);
        if login.password() == STRUCK {
            let cure = "give it to springload run, or an exporter that wants none";
            return Err((format!("{shown:?} was stored without its password"), cure));
        }
        if scrape_query::is_struck(&url) {
            let cure = "give it to springload run, or an exporter that wants none";
            return Err((format!("{shown:?} was stored without what follows the ?"), cure));
        }
        Ok(Self::at(name, url, login))
    }

    /// The exporter at `url`, whose user and password are in `login`.
    fn at(name: &str, mut url: Url, login: LogIn) -> Self {
        url.set_fragment(None);
        let struck = url.set_username("").and_then(|()| url.set_password(None));
        debug_assert!(struck.is_ok(), "it has a host");
        let query = scrape_query::strike(&mut url);
        Self { name: name.to_owned(), url: url.into(), query, login }
    }

    /// Whether it is asked over TLS.
    pub fn is_secure(&self) -> bool {
        self.url.starts_with("https:")
    }

    /// What is wrong with it, if it was edited after it was stored.
    pub fn problem(&self) -> Option<String> {
        // Secrets may have been struck out of it, which is not a problem.
        let asked = self.asked().map_or_else(|| self.url.clone(), String::from);
        match Self::of(&format!("{}={asked}", self.name)) {
            Err((problem, _)) => Some(problem),
            Ok(_) if !self.is_as_stored() => {
                let shown = strike_observed(&self.url);
                Some(format!("{shown:?} is not as records have it"))
            }
            Ok(_) => None,
        }
    }

    /// Whether its URL is spelled the way it is stored.
    fn is_as_stored(&self) -> bool {
        let parsed = Url::parse(&self.url).ok();
        parsed.is_some_and(|url| Self::at(&self.name, url, LogIn::default()).url == self.url)
    }

    /// The URL to request: with the query as it was given or, if that was not stored, with what is
    /// left of it.
    fn asked(&self) -> Option<Url> {
        let mut url = Url::parse(&self.url).ok()?;
        if let Some(query) = &self.query {
            url.set_query(Some(query.reveal()));
        } else if scrape_query::is_struck(&url) {
            let query = scrape_query::left(&url);
            url.set_query(Some(&query).filter(|it| !it.is_empty()).map(String::as_str));
        }
        Some(url)
    }

    /// Whether it lacks a secret that is never stored.
    fn lacks_secret(&self) -> bool {
        let struck = Url::parse(&self.url).is_ok_and(|url| scrape_query::is_struck(&url));
        let lacks_query = self.query.is_none() && struck;
        lacks_query || self.login.user.is_some() && self.login.password.is_none()
    }
}

/// An exporter that has answered once.
#[derive(Clone, Debug)]
pub struct Scrape {
    plan: ScrapePlan,
    endpoint: Arc<Endpoint>,
    /// Patterns for the series that are wanted; empty: all.
    series: Vec<Glob>,
}

impl Scrape {
    /// Finds the exporter and asks it once. No more than `max_answer` bytes are read at a time.
    ///
    /// # Errors
    /// Fails if the exporter cannot be used. One that only lacks a password or a token, which plans
    /// are stored without, is accepted.
    pub async fn open(
        plan: &ScrapePlan,
        series: &[String],
        tls: &TlsOptions,
        max_answer: u64,
    ) -> Result<Self, TargetError> {
        let ScrapePlan { name, url, login, .. } = plan;
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
            Err(NoReading::Refused(_)) if plan.lacks_secret() => {}
            Err(NoReading::Refused(why)) if login.password.is_some() => {
                return wrong(why, CHECK_LOG_IN);
            }
            Err(NoReading::Refused(why)) => return wrong(why, GIVE_LOG_IN),
            Err(NoReading::Missed(why)) if status == 200 => return wrong(why, GIVE_URL),
            Err(NoReading::Missed(why)) => {
                return wrong(why, "check the path: most exporters have /metrics");
            }
            Err(NoReading::Unknown) | Ok(_) => {}
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
        let path = self
            .plan
            .asked()
            .map_or_else(|| "/".to_owned(), |url| url[url::Position::BeforePath..].to_owned());
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
        // Part of an answer may be left on the connection.
        self.connection.close();
        if failure == Failure::Timeout {
            return Err(Trouble::timed_out());
        }
        if let Some(trouble) = mixed_up(&self.endpoint).await {
            return Err(trouble);
        }
        Err(match self.connection.trouble() {
            Some(trouble) if failure.unconnected() => trouble.clone(),
            // The answer is larger than allowed.
            Some(Trouble { problem, .. }) if failure == Failure::Protocol => {
                Trouble::new(problem.clone(), "allow for more, or check the URL")
            }
            None if failure == Failure::Protocol => {
                Trouble::new("what answers is not an HTTP/1.1 server", "check the port")
            }
            _ => Trouble::new(format!("no answer that can be read ({failure})"), GIVE_URL),
        })
    }

    /// The reading in the last answer.
    fn understood(&mut self, status: u16) -> Result<Reading, NoReading> {
        match status {
            200 => self.choice.read(self.connection.body()).map_err(NoReading::Missed),
            401 | 403 => {
                Err(NoReading::Refused(format!("it answers {status}, and wants a log-in")))
            }
            _ => Err(NoReading::Missed(format!("it answers {status}"))),
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

    fn ask(&mut self, _: usize) -> Local<'_, Result<Reading, NoReading>> {
        Box::pin(async {
            let status = self.get().await.map_err(|trouble| NoReading::Missed(trouble.problem))?;
            self.understood(status)
        })
    }
}

#[cfg(test)]
#[path = "scrape_tests.rs"]
mod tests;
