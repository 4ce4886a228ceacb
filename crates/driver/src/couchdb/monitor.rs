//! Asks CouchDB about itself: its own counters, the state of its processes, what it is busy with,
//! and the sizes of the database.
//!
//! A question costs the server 1.5 to 5 ms of processor time. As often as they are asked here, all
//! of them together take under a hundredth of a processor.

use super::credentials::Renewal;
use super::info;
use super::many::{Many, Sum};
use super::nodes::Node;
use super::{Admin, AdminError, CouchDb, Credentials};
use crate::clock::{Nanos, SECOND_NS};
use crate::measure::Served;
use crate::observed::Reading;
use crate::{Local, Monitor, NoReading, Question};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long a node may take to answer. One that is frozen never does.
const PATIENCE_NS: Nanos = 2 * SECOND_NS;

/// How many requests may be used for the sizes of many databases: with more databases, sizes are
/// not observed.
const MOST_PAGES: u32 = 10;

/// A question to the nodes.
struct PathQuestion {
    /// Its path; if empty, that of the database.
    path: &'static str,
    every_s: u64,
    /// Whether any node answers for all of them.
    of_all: bool,
    read: fn(&Value, &mut Reading),
}

/// A node's own counters come first: its count of requests begins with their first answer.
const ASKED: [PathQuestion; 4] = [
    PathQuestion { path: "/_node/_local/_stats", every_s: 2, of_all: false, read: info::stats },
    PathQuestion { path: "/_node/_local/_system", every_s: 2, of_all: false, read: info::system },
    PathQuestion { path: "/_active_tasks", every_s: 1, of_all: true, read: info::tasks },
    PathQuestion { path: "", every_s: 2, of_all: true, read: info::database },
];

/// A connection to one node.
#[derive(Debug)]
pub struct CouchMonitor {
    admin: Admin,
    /// The latest log-in of the load.
    renewal: Arc<Renewal>,
    /// `/name`, percent-encoded; with many databases, that of the first.
    database: Arc<str>,
    many: Option<Arc<Many>>,
    /// The requests that it has sent, which the node has counted as well.
    sent: Served,
    /// Whether each question has ever been answered.
    answered: [bool; ASKED.len()],
}

impl CouchMonitor {
    /// One for each node of this database, in the order of the plan.
    pub(super) fn each(target: &CouchDb) -> Vec<Self> {
        let monitor = |node: &Node| {
            let admin = Admin::new(&node.endpoint, node.credentials.clone(), PATIENCE_NS);
            Self {
                admin: admin.with_lines(&node.lines).kept_open(),
                renewal: node.renewal.clone(),
                database: target.paths.first.clone(),
                many: target.paths.many.clone(),
                sent: Served::default(),
                answered: [false; ASKED.len()],
            }
        };
        target.nodes.iter().map(monitor).collect()
    }

    /// Sends one request. If the log-in has expired, it uses that of the load, but does not log in
    /// by itself: the server counts refusals, and locks the user out after a few.
    async fn get(&mut self, path: &str) -> Result<Value, NoReading> {
        self.ask_at("GET", path, None).await
    }

    async fn ask_at(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Value, NoReading> {
        let mut reply = self.send(method, path, body).await?;
        let by_cookie = matches!(self.admin.credentials(), Credentials::Cookie { .. });
        if reply.0 == 401 && by_cookie {
            let latest = self.renewal.state.lock().await.cookie.clone();
            if self.admin.adopt(&latest) {
                reply = self.send(method, path, body).await?;
            }
        }
        let (status, body) = reply;
        match status {
            200 => Ok(body),
            401 | 403 => {
                let reason = body["reason"].as_str().unwrap_or("no reason given");
                Err(NoReading::Refused(reason.trim_end_matches('.').to_owned()))
            }
            400 | 404 | 405 | 501 => Err(NoReading::Unknown),
            status => Err(NoReading::Missed(format!("answered {status}"))),
        }
    }

    async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<(u16, Value), NoReading> {
        let reply = self.admin.request(method, path, body).await;
        let reply = reply.map_err(|error| missed(&error))?;
        self.count(method, reply.0);
        Ok(reply)
    }

    /// The sizes of the database, or of many together.
    async fn sizes(&mut self) -> Result<Value, NoReading> {
        let Some(many) = self.many.clone() else {
            let database = self.database.clone();
            return self.get(&database).await;
        };
        if many.pages() > MOST_PAGES {
            return Err(NoReading::Unknown);
        }
        let mut sum = Sum::default();
        for page in 0..many.pages() {
            let answer = self.ask_at("POST", "/_dbs_info", Some(&many.page(page))).await?;
            sum.add(&answer).ok_or(NoReading::Unknown)?;
        }
        Ok(sum.info())
    }

    fn count(&mut self, method: &str, status: u16) {
        *self.sent.methods.entry(method.to_owned()).or_default() += 1;
        *self.sent.statuses.entry(status.to_string()).or_default() += 1;
    }

    async fn answer(&mut self, question: usize) -> Result<Reading, NoReading> {
        let PathQuestion { path, read, .. } = ASKED[question];
        let before = self.sent.clone();
        let answer = if path.is_empty() { self.sizes().await } else { self.get(path).await };
        let answer = match answer {
            // The user has permission; CouchDB words a refusal the same way as an expired log-in.
            Err(NoReading::Refused(_)) if self.answered[question] => {
                return Err(NoReading::Missed("the log-in has expired".to_owned()));
            }
            answer => answer?,
        };
        self.answered[question] = true;
        if !answer.is_object() && !answer.is_array() {
            return Err(NoReading::Unknown);
        }
        let mut reading = Reading::default();
        read(&answer, &mut reading);
        if let Some(served) = &mut reading.served {
            info::take_away(served, &self.sent, &before);
        }
        Ok(reading)
    }

    async fn set(&mut self) -> BTreeMap<String, String> {
        let database = self.database.clone();
        let mut settings = BTreeMap::new();
        let one = match &self.many {
            // None of them exists yet.
            Some(many) => Ok(many.one.clone()),
            None => self.get(&database).await,
        };
        if let Ok(answer) = one {
            settings.extend(info::cluster(&answer));
        }
        if let Ok(answer) = self.get("/_node/_local/_config").await {
            settings.extend(info::settings(&answer));
        }
        settings
    }
}

/// The reason why there was no answer, without the advice about the load, which does not apply to
/// these questions.
fn missed(error: &AdminError) -> NoReading {
    NoReading::Missed(match error {
        AdminError::Unreachable { trouble, .. } => trouble.problem.clone(),
        other => other.to_string(),
    })
}

impl Monitor for CouchMonitor {
    fn name(&self) -> String {
        self.admin.endpoint().host().to_owned()
    }

    fn questions(&self) -> Vec<Question> {
        // Many databases are asked for less often, so that it costs no more.
        let pages = self.many.as_ref().map_or(1, |many| u64::from(many.pages()));
        let every_ns = |it: &PathQuestion| {
            let times = if it.path.is_empty() { pages } else { 1 };
            it.every_s * times * SECOND_NS
        };
        let all = ASKED.iter();
        all.map(|it| Question { every_ns: every_ns(it), of_all: it.of_all }).collect()
    }

    fn ask(&mut self, question: usize) -> Local<'_, Result<Reading, NoReading>> {
        Box::pin(self.answer(question))
    }

    fn settings(&mut self) -> Local<'_, BTreeMap<String, String>> {
        Box::pin(self.set())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Endpoint, TlsOptions};
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// A monitor of a node that gives these answers, one after the other.
    fn monitor(answers: &'static [(&'static str, &'static str)]) -> CouchMonitor {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 2_048];
            for (status, body) in answers {
                assert!(stream.read(&mut request).unwrap() > 0);
                let length = body.len();
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let endpoint = Endpoint::resolve(&url, &TlsOptions::default()).unwrap();
        let (name, password) = ("bob".to_owned(), "pw".to_owned());
        let cookie = "AuthSession=x".to_owned();
        let credentials = Credentials::Cookie { name, password, cookie };
        CouchMonitor::each(&CouchDb::new(Arc::new(endpoint), credentials, "db")).remove(0)
    }

    const DATABASE: (&str, &str) = ("200 OK", r#"{"db_name":"db","doc_count":7}"#);
    const NO_ADMIN: (&str, &str) =
        ("401 Unauthorized", r#"{"error":"unauthorized","reason":"You are not a server admin."}"#);

    #[tokio::test]
    async fn a_user_who_is_no_administrator_is_refused_and_still_learns_of_the_database() {
        let mut monitor = monitor(&[NO_ADMIN, DATABASE]);
        let refused = Err(NoReading::Refused("You are not a server admin".to_owned()));
        assert_eq!(monitor.ask(0).await, refused);
        assert!(monitor.ask(3).await.unwrap().values.iter().any(|(it, _)| it.name == "documents"));
    }

    #[tokio::test]
    async fn a_log_in_that_has_expired_is_used_again_once_the_load_has_a_new_one() {
        let mut monitor = monitor(&[DATABASE, NO_ADMIN, NO_ADMIN, DATABASE]);
        assert!(monitor.ask(3).await.is_ok());
        let expired = Err(NoReading::Missed("the log-in has expired".to_owned()));
        assert_eq!(monitor.ask(3).await, expired);
        "AuthSession=y".clone_into(&mut monitor.renewal.state.lock().await.cookie);
        assert!(monitor.ask(3).await.is_ok(), "it asks again at once");
    }

    #[tokio::test]
    async fn an_answer_is_not_asked_for_again_because_there_is_a_new_log_in() {
        let mut monitor = monitor(&[DATABASE]);
        "AuthSession=y".clone_into(&mut monitor.renewal.state.lock().await.cookie);
        assert!(monitor.ask(3).await.is_ok());
    }

    #[tokio::test]
    async fn what_a_server_does_not_have_is_unknown_and_what_is_no_answer_is_missed() {
        let mut monitor =
            monitor(&[("404 Object Not Found", "{}"), ("200 OK", "pong"), ("503 Busy", "{}")]);
        assert_eq!(monitor.ask(0).await, Err(NoReading::Unknown));
        assert_eq!(monitor.ask(0).await, Err(NoReading::Unknown));
        assert_eq!(monitor.ask(0).await, Err(NoReading::Missed("answered 503".to_owned())));
        assert!(matches!(monitor.ask(0).await, Err(NoReading::Missed(_))), "it is gone");
    }

    /// Its own questions do not count as requests that the node has served.
    #[tokio::test]
    async fn it_does_not_count_itself() {
        const COUNTS: (&str, &str) = (
            "200 OK",
            r#"{"couchdb":{"httpd_request_methods":{"GET":{"value":9}},
                "httpd_status_codes":{"200":{"value":8}}}}"#,
        );
        let mut monitor = monitor(&[COUNTS, COUNTS]);
        for own in [1, 2] {
            let served = monitor.ask(0).await.unwrap().served.unwrap();
            assert_eq!((served.methods["GET"], served.statuses["200"]), (9 - own, 9 - own));
        }
    }
}
