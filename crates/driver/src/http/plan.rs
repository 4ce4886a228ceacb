//! The requests of a list as planned, and the target made from them.

use super::binding::BINDING;
use super::{
    Http, Listed, LogInText, LongList, Request, RequestPlan, Requests, Retry, Server, Settings,
    masked,
};
use crate::mistake::Invalid;
use crate::net::{Endpoint, EndpointError, Identity, TlsOptions};
use crate::op::OpKind;
use crate::redact;
use crate::secrets::LeftOut;
use crate::values::Values;
use crate::{
    Binding, Card, DriverPlan, Opening, Planned, ServerFacts, Setting, TargetAsked, TargetError,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// The requests of a run, and how they are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own, read by name")]
pub struct HttpPlan {
    /// The list; only the first 1,000 requests of a longer one.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub requests: Requests,
    /// Where the rest of a longer list is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongList>,
    /// The requests with which users log in, unmeasured, before they start. Each user makes one of
    /// them, in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log_in: Vec<RequestPlan>,
    /// Headers sent with every request, as `Name: value`; stored without the values.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "masked")]
    pub headers: Vec<String>,
    /// Whether redirects are followed.
    pub follow: bool,
    /// Whether connections are kept for the next request.
    pub keep_alive: bool,
    /// Whether each user keeps the cookies it receives.
    pub cookies: bool,
    /// Whether compressed responses are decoded; those that cannot be decoded count as failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decode: bool,
    /// Which requests may be resent.
    #[serde(default, skip_serializing_if = "Retry::is_default")]
    pub retry: Retry,
    /// How HTTP/2 is used; absent for HTTP/1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2Plan>,
}

/// How HTTP/2 is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Http2Plan {
    /// How many users share a connection, each with one stream at a time.
    pub streams: NonZeroU32,
}

impl HttpPlan {
    /// The bodies of the list, which records leave out, so that it can be run elsewhere; the bodies
    /// of logins contain passwords.
    pub fn bodies(&self) -> LeftOut {
        let body = |(place, request): (usize, Listed<'_>)| {
            let text = String::from_utf8(request.common.body.as_ref()?.text.clone()).ok()?;
            let text = Some(text).filter(|text| !text.is_empty())?;
            Some((format!("/requests/{place}/body/text"), text.into()))
        };
        let all = self.long.as_ref().map(|_| ("/requests".to_owned(), self.requests.all()));
        let bodies = self.requests.iter().enumerate().filter_map(body);
        all.into_iter().chain(bodies).collect()
    }

    /// Registers everything secret in it to be struck out.
    fn learn(&self) {
        let kinds = || self.requests.kinds().iter().chain(&self.log_in);
        let own = kinds().flat_map(|it| &it.headers);
        for header in self.headers.iter().chain(own) {
            redact::learn_header(header);
        }
        for request in self.requests.iter() {
            redact::learn_text(request.path());
        }
        for request in kinds() {
            redact::learn_text(&request.path);
            if let Some((user, password)) = &request.user {
                redact::learn_login(user, password);
            }
            if let Some(body) = &request.body {
                redact::learn_text(&String::from_utf8_lossy(&body.text));
            }
        }
    }

    /// All that records leave out of the list, so that agents can request it.
    pub fn secrets(&self) -> LeftOut {
        let user = |(place, request): (usize, Listed<'_>)| {
            Some((format!("/requests/{place}/user"), json!(request.common.user.as_ref()?)))
        };
        let own = |(place, request): (usize, Listed<'_>)| {
            let headers = Some(&request.common.headers).filter(|headers| !headers.is_empty())?;
            Some((format!("/requests/{place}/headers"), json!(headers)))
        };
        let all = [("/headers".to_owned(), json!(self.headers))];
        let users = self.requests.iter().enumerate().filter_map(user);
        let headers = self.requests.iter().enumerate().filter_map(own).chain(all);
        self.bodies().into_iter().chain(users).chain(headers).collect()
    }
}

/// The servers of a URL list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HttpTarget {
    /// Their addresses without path, user or password, separated by commas.
    pub server: String,
    /// The certificate authorities trusted to sign the servers' certificates; `None` for the
    /// system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ca: Option<PathBuf>,
    /// Whether every certificate is accepted, without any check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// The client certificate and its key; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_identity: Option<Identity>,
    /// The list. Stored separately.
    #[serde(skip)]
    pub list: Arc<HttpPlan>,
    /// A redirected HEAD becomes a GET.
    #[serde(skip)]
    head_becomes_get: bool,
}

impl HttpTarget {
    /// The servers of `list`.
    pub fn new(list: &HttpPlan, tls: &TlsOptions) -> Self {
        let kinds = list.requests.kinds();
        let mut servers: Vec<&str> = kinds.iter().map(|it| it.server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        list.learn();
        let list = Arc::new(list.clone());
        let TlsOptions { authorities: tls_ca, insecure, identity: tls_identity } = tls.clone();
        let server = servers.join(", ");
        Self { server, tls_ca, insecure, tls_identity, list, head_becomes_get: false }
    }

    /// The same servers for `list`, as requested by `siege --get`: as in siege 4.0.7, a redirected
    /// HEAD becomes a GET there.
    #[must_use]
    pub fn once(&self, list: &HttpPlan) -> Self {
        Self { head_becomes_get: true, ..Self::new(list, &self.tls()) }
    }

    /// How the servers' certificates are checked.
    pub fn tls(&self) -> TlsOptions {
        TlsOptions {
            authorities: self.tls_ca.clone(),
            insecure: self.insecure,
            identity: self.tls_identity.clone(),
        }
    }

    /// Builds the target; the watcher receives each finished exchange.
    ///
    /// # Errors
    /// Fails if the name of a server has no address, or its certificates cannot be checked.
    fn target(&self, opening: &Opening) -> Result<Http, EndpointError> {
        let list = &self.list;
        let tls = self.tls();
        let pair = |header: &String| {
            let (name, value) = header.split_once(':').unwrap_or((header, ""));
            (name.trim().to_owned(), value.trim().to_owned())
        };
        let settings = Settings {
            headers: list.headers.iter().map(pair).collect(),
            follow: list.follow,
            keep_alive: list.keep_alive,
            decode: list.decode,
            cookies: list.cookies,
            max_answer: opening.max_answer,
            streams: list.http2.map(|http2| http2.streams.get() as usize),
            retry: list.retry,
            head_becomes_get: self.head_becomes_get,
            watcher: opening.exchanges.clone(),
        };
        let mut servers = Vec::new();
        let mut request = |entry: &RequestPlan| -> Result<Request, EndpointError> {
            let name = |header: &String| header.split(':').next().unwrap_or(header).to_owned();
            Ok(Request {
                method: entry.method.clone(),
                server: place_of(entry, &mut servers, &tls, &settings)?,
                content_type: entry.content_type.clone(),
                own: entry.headers.iter().map(name).collect(),
                text: Arc::new(entry.text.clone()),
                save: entry.save.values().cloned().collect(),
            })
        };
        let kinds = list.requests.kinds().iter().map(&mut request).collect::<Result<_, _>>()?;
        let mut log_in = Vec::new();
        for entry in &list.log_in {
            let values = Values::samples(entry.text.holes.0.len());
            let (mut text, mut scratch) = (LogInText::default(), Vec::new());
            entry.text.target.join(&values, &mut scratch, &mut text.target);
            entry.text.body.join(&values, &mut scratch, &mut text.body);
            log_in.push((request(entry)?, text));
        }
        Ok(Http::new(servers, list.requests.clone(), kinds, log_in, settings, tls))
    }
}

/// The index of an entry's server in `servers`; a new server is added. A server with two users
/// counts twice.
fn place_of(
    entry: &RequestPlan,
    servers: &mut Vec<Server>,
    tls: &TlsOptions,
    settings: &Settings,
) -> Result<usize, EndpointError> {
    let url = Url::parse(&entry.server).map_err(|_| EndpointError::Url(entry.server.clone()))?;
    let same = |server: &Server| server.url == url && server.user == entry.user;
    if let Some(place) = servers.iter().position(same) {
        return Ok(place);
    }
    let endpoint = Arc::new(settings.reached(Endpoint::resolve(&url, tls)?));
    servers.push(Server { url, endpoint, user: entry.user.clone() });
    Ok(servers.len() - 1)
}

impl Planned for HttpTarget {
    fn address(&self) -> Option<String> {
        Some(self.server.clone())
    }

    fn accepts_any_certificate(&self) -> bool {
        self.insecure
    }

    /// One connection to each server.
    fn descriptors(&self) -> u64 {
        let entries = self.list.requests.kinds().iter().chain(&self.list.log_in);
        let mut servers: Vec<_> = entries.map(|it| &it.server).collect();
        servers.sort_unstable();
        servers.dedup();
        servers.len().max(1) as u64
    }

    fn sharing(&self) -> u64 {
        self.list.http2.map_or(1, |http2| u64::from(http2.streams.get()))
    }
}

impl DriverPlan for HttpTarget {
    type Target = Http;

    const CARD: Card = Card {
        name: "http",
        schemes: &[],
        summary: "any server that speaks HTTP",
        address: "URLs, with springload http",
        operations: OpKind::ON_DOCUMENTS
            .without(OpKind::BulkInsert)
            .without(OpKind::Scan)
            .with(OpKind::Request),
        documents: false,
        databases: false,
        server: true,
        phases: true,
        nouns: crate::Nouns::REQUESTS,
        heeds: &[
            Setting::Headers,
            Setting::Auth,
            Setting::Certificates,
            Setting::ClientCertificate,
        ],
        can: &[],
        words: &[],
    };

    const BINDING: Option<Binding> = Some(BINDING);

    /// Targets of this driver are lists of requests, which are read by the verbs that use them.
    fn check(asked: &TargetAsked) -> Result<Self, Invalid> {
        Err(asked.wrong(&Self::CARD, "no list of requests"))
    }

    async fn open(&self, opening: &Opening) -> Result<(Http, ServerFacts), TargetError> {
        if self.list.http2.is_some() && !crate::SPEAKS_HTTP2 {
            let words = "this springload was built without HTTP/2: build it with --features http2";
            return Err(TargetError(words.to_owned()));
        }
        let target = self.target(opening)?;
        target.reach(opening.timeout_ns).await.map_err(|(server, trouble)| {
            TargetError(format!("cannot reach {server}: {}; {}", trouble.problem, trouble.cure))
        })?;
        let facts = ServerFacts {
            url: self.server.clone(),
            name: "HTTP".to_owned(),
            version: if self.list.http2.is_some() { "2" } else { "1.1" }.to_owned(),
            same_machine: target.is_loopback(),
            ..ServerFacts::default()
        };
        Ok((target, facts))
    }
}
