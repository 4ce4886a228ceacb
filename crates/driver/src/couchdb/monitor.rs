//! Asks CouchDB about itself: its own counters, the state of its processes, what it is busy with,
//! and the sizes of the database.
//!
//! A question costs the server 1.5 to 5 ms of processor time. As often as they are asked here, all
//! of them together take under a hundredth of a processor.

use super::nodes::Node;
use super::told;
use super::{Admin, AdminError, CouchDb, Credentials};
use crate::clock::{Nanos, SECOND_NS};
use crate::observed::{Reading, Served};
use crate::{Monitor, Question, Untold};
use serde_json::Value;
use std::collections::BTreeMap;

/// How long a node may take to answer. One that is frozen never does.
const PATIENCE_NS: Nanos = 2 * SECOND_NS;

/// A question that nodes are asked.
struct Asked {
    /// Its path; empty: that of the database.
    path: &'static str,
    every_s: u64,
    /// Whether any node answers for all of them.
    of_all: bool,
    read: fn(&Value, &mut Reading),
}

/// A node's own counters come first: their first answer is where its count of requests begins.
const ASKED: [Asked; 4] = [
    Asked { path: "/_node/_local/_stats", every_s: 2, of_all: false, read: told::stats },
    Asked { path: "/_node/_local/_system", every_s: 2, of_all: false, read: told::system },
    Asked { path: "/_active_tasks", every_s: 1, of_all: true, read: told::tasks },
    Asked { path: "", every_s: 2, of_all: true, read: told::database },
];

/// A connection to one node.
#[derive(Debug)]
pub struct CouchMonitor {
    admin: Admin,
    /// `/name`, percent-encoded.
    database: String,
    /// The requests that it has sent, and that the node has counted.
    sent: Served,
}

impl CouchMonitor {
    /// One for each node of this database, in the order of the plan.
    pub(super) fn each(target: &CouchDb) -> Vec<Self> {
        let monitor = |node: &Node| {
            let admin = Admin::new(&node.endpoint, node.credentials.clone(), PATIENCE_NS);
            Self {
                admin: admin.with_lines(&node.lines).kept_open(),
                database: target.database_path().to_owned(),
                sent: Served::default(),
            }
        };
        target.nodes.iter().map(monitor).collect()
    }

    /// Sends one request, after a new log-in if the last one has expired.
    async fn get(&mut self, path: &str) -> Result<Value, Untold> {
        for again in [true, false] {
            let (status, body) = match self.admin.request("GET", path, None).await {
                Ok(reply) => reply,
                Err(error) => return Err(missed(&error)),
            };
            self.count("GET", status);
            match status {
                200 => return Ok(body),
                401 if again && matches!(self.admin.credentials(), Credentials::Cookie { .. }) => {
                    self.admin.log_in().await.map_err(|error| missed(&error))?;
                    self.count("POST", 200);
                }
                401 | 403 => {
                    let reason = body["reason"].as_str().unwrap_or("no reason given");
                    return Err(Untold::Refused(reason.trim_end_matches('.').to_owned()));
                }
                400 | 404 | 405 | 501 => return Err(Untold::Unknown),
                status => return Err(Untold::Missed(format!("answered {status}"))),
            }
        }
        Err(Untold::Missed("the log-in was not accepted".to_owned()))
    }

    fn count(&mut self, method: &str, status: u16) {
        *self.sent.methods.entry(method.to_owned()).or_default() += 1;
        *self.sent.statuses.entry(status.to_string()).or_default() += 1;
    }
}

fn missed(error: &AdminError) -> Untold {
    Untold::Missed(error.to_string())
}

impl Monitor for CouchMonitor {
    fn name(&self) -> String {
        self.admin.endpoint().host().to_owned()
    }

    fn questions(&self) -> Vec<Question> {
        let every_ns = |it: &Asked| it.every_s * SECOND_NS;
        let all = ASKED.iter();
        all.map(|it| Question { every_ns: every_ns(it), of_all: it.of_all }).collect()
    }

    async fn ask(&mut self, question: usize) -> Result<Reading, Untold> {
        let Asked { path, read, .. } = ASKED[question];
        let path = if path.is_empty() { self.database.clone() } else { path.to_owned() };
        let before = self.sent.clone();
        let answer = self.get(&path).await?;
        if !answer.is_object() && !answer.is_array() {
            return Err(Untold::Unknown);
        }
        let mut reading = Reading::default();
        read(&answer, &mut reading);
        if let Some(served) = &mut reading.served {
            told::take_away(served, &self.sent, &before);
        }
        Ok(reading)
    }

    async fn settings(&mut self) -> BTreeMap<String, String> {
        let database = self.database.clone();
        let mut settings = BTreeMap::new();
        if let Ok(answer) = self.get(&database).await {
            settings.extend(told::cluster(&answer));
        }
        if let Ok(answer) = self.get("/_node/_local/_config").await {
            settings.extend(told::settings(&answer));
        }
        settings
    }
}
