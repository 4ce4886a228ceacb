//! A run of plain HTTP requests: its specification, and the plan made from it.

use super::load::{
    check_give_up, check_length, check_load, check_max_answer, check_threads, most_connections,
    pace, staged, thresholds,
};
use super::noise::Noise;
use super::observe::ObservePlan;
use super::operations::definitions;
use super::planned::{FillPlan, MOST_CONNECTIONS, Plan, PlanRecord};
use super::spec::LoadSpec;
use super::stage::StagePlan;
use super::urls::{METHODS, UrlReader, UrlSource};
use crate::clock::Nanos;
use crate::driver::http::{CONNECTION_HEADERS, HttpTarget};
use crate::driver::{
    Http2Plan, HttpPlan, LongList, RequestPlan, Requests, SPEAKS_HTTP2, TargetPlan,
};
use crate::engine::Pace;
use crate::mistake::{Flagged, Invalid};
use crate::net::TlsOptions;
use crate::op::OpKind;
use crate::schema::Ids;
use crate::values::{Data, Problem, ValueSource};
use crate::workload::{Demand as _, UrlOrder, UrlsDemand};

/// When the requests of a list are due, as requested.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpLoad {
    /// As in other runs.
    Steady(LoadSpec),
    /// Users that pause for a random time of up to this many nanoseconds.
    Thinking(Nanos),
}

/// The names of flags in a dialect.
#[derive(Clone, Copy, Debug)]
pub struct HttpFlags {
    users: &'static str,
    operations: &'static str,
    duration: &'static str,
}

impl HttpFlags {
    /// As in `springload http`.
    pub const NATIVE: Self =
        Self { users: "--connections", operations: "--ops", duration: "--duration" };
    /// As in `springload siege`.
    pub const SIEGE: Self =
        Self { users: "--concurrent", operations: "--reps", duration: "--time" };
}

/// The specification of a run of HTTP requests.
#[derive(Clone, Debug)]
pub struct HttpSpec {
    /// The command line that asks for the same run.
    pub command: String,
    /// Where the requests come from.
    pub urls: Vec<UrlSource>,
    /// The names of the flags.
    pub flags: HttpFlags,
    /// What each user requests before it starts.
    pub log_in: Vec<UrlSource>,
    /// User and password for servers whose URLs have none.
    pub user: Option<(String, String)>,
    /// How requests are sent. The check fills in the list of them.
    pub settings: HttpPlan,
    /// The method of requests without one.
    pub method: Option<String>,
    /// The body of requests without one, or `@` and the file with it.
    pub body: Option<String>,
    /// The content type of bodies without one.
    pub content_type: Option<String>,
    /// Lists that values come from, as written: `NAME=VALUE,VALUE`.
    pub data: Vec<String>,
    /// Whether `{{seq}}` and other placeholders are sent as text.
    pub literal: bool,
    /// The order of requests.
    pub order: UrlOrder,
    /// How the servers' certificates are checked.
    pub tls: TlsOptions,
    /// Users, each with its own connections.
    pub users: u64,
    /// Threads; `None`: one for each processor.
    pub threads: Option<u64>,
    /// The seed.
    pub seed: u64,
    /// The timeout of one request.
    pub timeout_ns: Nanos,
    /// How long the servers may be silent; `None`: 30 s, or the timeout if that is longer.
    pub give_up_ns: Option<Nanos>,
    /// The largest response that is read, in bytes.
    pub max_answer: u64,
    /// Whether each user makes as many requests as the list has, regardless of `operations`.
    pub once: bool,
    /// Total number of requests; if `duration_ns` is set as well, the run ends with the first
    /// limit.
    pub operations: Option<u64>,
    /// The time during which requests are started.
    pub duration_ns: Option<Nanos>,
    /// The warm-up before requests are measured.
    pub warmup_ns: Nanos,
    /// When requests are due.
    pub load: HttpLoad,
    /// What makes the run fail, as written.
    pub thresholds: Vec<String>,
}

/// Makes a plan from a specification, and reads every file named in it.
///
/// # Errors
/// Returns every mistake found, each with its cure and its flag, or its file and line.
pub fn check_http(spec: &HttpSpec) -> Result<Plan, Vec<Invalid>> {
    check_http_as(spec, &mut |request| Ok(request.user.clone().or_else(|| spec.user.clone())))
}

/// Returns the user and password for a request.
pub type Requester<'a> = dyn FnMut(&RequestPlan) -> Result<Option<(String, String)>, Invalid> + 'a;

/// As [`check_http`], calling `who` for the user and password of each request.
///
/// # Errors
/// Returns every mistake found, including those that `who` returns.
pub fn check_http_as(spec: &HttpSpec, who: &mut Requester<'_>) -> Result<Plan, Vec<Invalid>> {
    let mut mistakes = Vec::new();
    let (users, connections) = (spec.users, Flagged::new(spec.flags.users, spec.users));
    mistakes.extend(connections.out_of_range(1, MOST_CONNECTIONS));
    mistakes.extend(Flagged::new("--threads", spec.threads.unwrap_or(1)).out_of_range(1, 256));
    mistakes.extend(check_threads(spec.threads, connections));
    check_times(spec, &mut mistakes);
    let (_, data) = definitions(&[], &spec.data, &mut mistakes);
    let mut reader = UrlReader {
        data,
        content_type: spec.content_type.clone(),
        literal: spec.literal,
        default_method: METHODS.into_iter().find(|it| spec.method.as_deref() == Some(it)),
        default_body: spec.body.clone(),
        ..UrlReader::default()
    };
    let mut http = spec.settings.clone();
    http.requests = reader.read(&spec.urls);
    http.long = long_list(spec, &http.requests, reader.sha256.take());
    http.log_in = reader.read(&spec.log_in).iter().map(|request| request.whole()).collect();
    for request in http.requests.kinds_mut().iter_mut().chain(&mut http.log_in) {
        match who(request) {
            Ok(user) => request.user = user,
            Err(mistake) if mistakes.contains(&mistake) => {}
            Err(mistake) => mistakes.push(mistake),
        }
    }
    mistakes.append(&mut reader.mistakes);
    check_list(spec, &http, &mut mistakes);
    let stages = stages(spec, &http.requests);
    let thresholds = thresholds(&spec.thresholds, &stages, &[], &mut mistakes);
    let most_connections = match &spec.load {
        HttpLoad::Steady(load) => most_connections(load, users, &stages, &mut mistakes),
        HttpLoad::Thinking(_) => None,
    };
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = spec.threads.map_or(cores, |threads| threads as usize);
    Ok(Plan::proved(PlanRecord {
        operations: Vec::new(),
        data: reader.data,
        command: spec.command.clone(),
        label: None,
        target: target(&http, &spec.tls),
        connections: users as usize,
        most_connections,
        threads: threads.clamp(1, users as usize),
        seed: spec.seed,
        ids: Ids::Sequential,
        timeout_ns: spec.timeout_ns,
        give_up_ns: spec.give_up_ns,
        max_answer: spec.max_answer,
        schemas: reader.schemas,
        stages,
        fill: FillPlan::default(),
        verify: false,
        audit: false,
        probe: None,
        follow: None,
        drill: None,
        replication: None,
        observe: ObservePlan::default(),
        thresholds,
        noise: Noise::default(),
        baseline: None,
        http: Some(http),
        ycsb: None,
        fleet: None,
    }))
}

/// Refuses a list without requests, a login that cannot be made, and malformed headers.
fn check_list(spec: &HttpSpec, list: &HttpPlan, mistakes: &mut Vec<Invalid>) {
    if spec.urls.is_empty() {
        let cure = "give a URL, or -f FILE with one per line";
        mistakes.push(Invalid::new("URL", "there are no requests", cure));
    }
    if list.log_in.iter().filter_map(|it| it.body.as_ref()).any(|body| body.schema.is_some()) {
        let cure = "write out the body, or give a file that contains it";
        mistakes.push(Invalid::new("login-url", "a login cannot be made from a schema", cure));
    }
    mistakes.extend(list.headers.iter().filter_map(|header| check_header(header)));
    if let Some(http2) = list.http2 {
        check_http2(http2, list, mistakes);
    }
    let kinds = list.requests.kinds();
    let encrypted = kinds.iter().any(|it| it.server.starts_with("https:"));
    let logs_in_so = list.log_in.iter().any(|it| it.server.starts_with("https:"));
    if spec.tls.insecure && !kinds.is_empty() && !encrypted && !logs_in_so {
        // As with other drivers. In ab, -k keeps connections open.
        let problem = "no URL uses TLS, so no certificate is checked";
        mistakes.push(Invalid::new("--insecure", problem, "write https://, or leave it out"));
    }
    let unusable = spec.tls.unusable().filter(|_| encrypted);
    mistakes.extend(unusable.map(|it| Invalid::new(it.flag, it.problem, it.cure)));
}

/// Refuses what HTTP/2 does not have, and HTTP/2 itself if this build lacks it.
fn check_http2(http2: Http2Plan, list: &HttpPlan, mistakes: &mut Vec<Invalid>) {
    if !SPEAKS_HTTP2 {
        let problem = "this springload was built without it";
        mistakes.push(Invalid::new("--http2", problem, "build it with --features http2"));
    }
    let streams = Flagged::new("--streams", u64::from(http2.streams.get()));
    mistakes.extend(streams.out_of_range(1, MOST_CONNECTIONS));
    if !list.keep_alive && http2.streams.get() > 1 {
        let problem = "a connection that is closed after each request is shared by nobody";
        mistakes.push(Invalid::new("--streams", problem, "leave out --streams or --close"));
    }
    let own = list.requests.kinds().iter().flat_map(|request| &request.headers);
    for (flag, header) in
        list.headers.iter().map(|it| ("--header", it)).chain(own.map(|it| ("header", it)))
    {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        let name = name.trim();
        let is_te =
            name.eq_ignore_ascii_case("TE") && !value.trim().eq_ignore_ascii_case("trailers");
        let is_other = CONNECTION_HEADERS.iter().any(|it| name.eq_ignore_ascii_case(it));
        // What no request may set is refused already.
        if (is_te || is_other) && wrong_header(header).is_none() {
            let problem = format!("HTTP/2 has no header {name}");
            mistakes.push(Invalid::new(flag, problem, "leave it out"));
        }
    }
}

/// The sources of a request's values in a checked list, in the order of its holes.
///
/// # Errors
/// Returns an error if one is missing, such as a deleted file.
pub fn values_of(request: &RequestPlan, data: &Data) -> Result<Vec<Box<dyn ValueSource>>, Invalid> {
    super::urls::values(request, data)
        .map_err(|(problem, cure)| Invalid::new(&request.path, problem, cure))
}

/// The servers of `list`.
pub(super) fn target(list: &HttpPlan, tls: &TlsOptions) -> TargetPlan {
    TargetPlan::Http(HttpTarget::new(list, tls))
}

/// True if the target is a list of requests.
pub(super) fn is_list(target: &TargetPlan) -> bool {
    matches!(target, TargetPlan::Http(_))
}

/// Completes a stored list.
///
/// # Errors
/// Returns an error if the list lacks something or is invalid.
pub(super) fn restore(list: &mut HttpPlan, schemas: usize, data: &Data) -> Result<(), Invalid> {
    let again = "run the command that made it";
    if list.requests.is_empty() {
        return Err(Invalid::new("http.requests", "there are none", again));
    }
    if !list.log_in.is_empty() {
        return Err(Invalid::new("http.log_in", "log-ins are stored without passwords", again));
    }
    for header in &list.headers {
        if header.ends_with(": ***") {
            let problem = format!("{header:?}: the value is not stored");
            return Err(Invalid::new("http.headers", problem, again));
        }
        if let Some(mistake) = check_header(header) {
            return Err(mistake.within("http.headers", "header"));
        }
    }
    if let Some(place) = list.requests.iter().position(|it| it.path().contains("***")) {
        let problem = "the path was stored without its secret";
        return Err(Invalid::new(format!("http.requests.{place}"), problem, again));
    }
    if let Some(long) = list.long.clone().filter(|long| long.requests > list.requests.len()) {
        list.requests = read_again(&long, &list.requests, data)?;
    }
    let (mut requests, mut steps) = (Requests::default(), Vec::new());
    for (place, listed) in list.requests.iter().enumerate() {
        let mut request = listed.whole();
        if !request.follows {
            steps.clear();
        }
        super::urls::restore(&mut request, &steps, schemas, data).map_err(|(problem, cure)| {
            Invalid::new(format!("http.requests.{place}"), problem, cure)
        })?;
        steps.push(request.clone());
        requests.push(request);
    }
    list.requests = requests;
    Ok(())
}

/// Where to find the requests of a long list, as records keep only the first few; `None`: the list
/// is not long.
fn long_list(spec: &HttpSpec, requests: &Requests, sha256: Option<String>) -> Option<LongList> {
    let file = match &spec.urls[..] {
        // A body given on the command line may be a secret: it is not stored.
        [UrlSource::File { path, .. }] if spec.body.is_none() => Some(path.clone()),
        _ => None,
    };
    (requests.len() > Requests::MOST_STORED).then(|| LongList {
        requests: requests.len(),
        sha256: sha256.filter(|_| file.is_some()),
        file,
        method: spec.method.clone(),
        content_type: spec.content_type.clone(),
        literal: spec.literal,
    })
}

/// Reads the requests of a long list from their file; `stored` are its first ones.
///
/// # Errors
/// Returns an error if the file has changed.
fn read_again(long: &LongList, stored: &Requests, data: &Data) -> Result<Requests, Invalid> {
    let cure = "run the command that made it";
    let (count, kept) = (long.requests, stored.len());
    let wrong = |problem: String| Invalid::new("http.requests", problem, cure);
    let Some((path, sha256)) = long.file.as_ref().zip(long.sha256.as_ref()) else {
        let problem = format!("only {kept} of {count} requests are stored, and no file has them");
        return Err(wrong(problem));
    };
    let mut reader = UrlReader {
        data: data.clone(),
        content_type: long.content_type.clone(),
        literal: long.literal,
        default_method: METHODS.into_iter().find(|it| long.method.as_deref() == Some(it)),
        ..UrlReader::default()
    };
    let mut requests =
        reader.read(&[UrlSource::File { flag: "http.requests", path: path.clone() }]);
    let shown = path.display();
    if reader.sha256.as_ref().is_some_and(|found| found != sha256) {
        let problem =
            format!("only {kept} of {count} requests are stored, and {shown} has changed");
        return Err(wrong(problem));
    }
    if let Some(mistake) = reader.mistakes.into_iter().next() {
        return Err(mistake);
    }
    // Users are those that were given again for each server.
    for kind in requests.kinds_mut() {
        let same = stored.kinds().iter().find(|it| it.server == kind.server);
        let user = same.and_then(|it| it.user.clone());
        kind.user = kind.user.take().or(user);
    }
    let json = |requests: &Requests| serde_json::to_value(requests).unwrap_or_default();
    if requests.len() != count || json(&requests) != json(stored) {
        let problem = format!("the requests in {shown} are not those that are stored");
        return Err(wrong(problem));
    }
    Ok(requests)
}

/// The servers of a list that has been completed.
pub(super) fn restored_target(stored: &TargetPlan, list: &HttpPlan) -> TargetPlan {
    match stored {
        TargetPlan::Http(stored) => target(list, &stored.tls()),
        other => other.clone(),
    }
}

fn check_times(spec: &HttpSpec, mistakes: &mut Vec<Invalid>) {
    mistakes.extend(check_max_answer(spec.max_answer));
    mistakes.extend(check_give_up(spec.give_up_ns));
    if spec.timeout_ns == 0 {
        mistakes.push(Invalid::new("--timeout", "must be above 0", "give a time such as 30s"));
    }
    if spec.duration_ns == Some(0) {
        let cure = "give a time such as 10s, or leave it out";
        mistakes.push(Invalid::new(spec.flags.duration, "must be above 0", cure));
    }
    if spec.operations == Some(0) && !spec.once {
        let cure = "give at least 1, or leave it out";
        mistakes.push(Invalid::new(spec.flags.operations, "there is nothing to do", cure));
    }
    if let HttpLoad::Steady(load) = &spec.load {
        check_load(load, mistakes);
        mistakes.extend(check_length(load, spec.flags.duration, spec.duration_ns));
    }
}

/// Describes what is wrong with a header given on the command line.
pub(super) fn check_header(header: &str) -> Option<Invalid> {
    let wrong = wrong_header(header);
    wrong.map(|(problem, cure)| Invalid::new("--header", problem, cure))
}

/// Checks that a header is one line with a name and a colon.
pub(super) fn wrong_header(header: &str) -> Option<Problem> {
    let cure = "give it as 'Name: value'";
    let name = header.split_once(':').map(|(name, _)| name.trim());
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let good = name.is_some_and(|name| !name.is_empty() && name.chars().all(token));
    if !good || header.chars().any(|c| c.is_control() && c != '\t') {
        // Text that is no header may be a secret without its name: it is not shown.
        return Some(("not a header".to_owned(), cure.to_owned()));
    }
    let framing = ["content-length", "transfer-encoding"];
    name.filter(|name| framing.iter().any(|it| name.eq_ignore_ascii_case(it))).map(|name| {
        let problem = format!("{name} depends on the body and cannot be set");
        (problem, "leave it out".to_owned())
    })
}

fn stages(spec: &HttpSpec, requests: &Requests) -> Vec<StagePlan> {
    let (pace, schedule_ns) = match &spec.load {
        HttpLoad::Steady(load) => pace(load, spec.seed),
        HttpLoad::Thinking(most_ns) => {
            (Pace::Thinking { most_ns: *most_ns, seed: spec.seed }, None)
        }
    };
    let length_ns = match (schedule_ns, spec.duration_ns) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let begun = requests.iter().filter(|request| !request.common.follows).count() as u64;
    let once = spec.once.then(|| begun.saturating_mul(spec.users));
    let (operations, order) = (once.or(spec.operations), spec.order);
    let own = requests.kinds().iter().map(|it| it.name.unwrap_or(OpKind::Request));
    let sequences = requests.kinds().iter().filter_map(|it| it.sequence);
    let mut kinds: Vec<_> = own.chain(sequences).collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds == [OpKind::Request] {
        kinds.clear();
    }
    let demand = UrlsDemand { operations, order, kinds, warmup_ns: spec.warmup_ns };
    staged(demand.steps(), &pace, length_ns, |_| pace.clone())
}
