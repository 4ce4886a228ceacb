//! Asks a server for the size of the database while a fill goes on, on a thread and a connection
//! of its own.

use crate::clock::{Clock, Nanos, SECOND_NS};
use crate::driver::couchdb::{Admin, Credentials};
use crate::engine::Start;
use crate::measure::SizePoint;
use crate::net::Endpoint;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The first pause between two questions; each is a tenth longer than the one before ...
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// ... up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often it looks whether the fill is over.
const STEP: Duration = Duration::from_millis(20);

/// What is needed to ask.
#[derive(Clone, Debug)]
pub(super) struct Inspect {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) credentials: Credentials,
    /// The path of the database, percent-encoded.
    pub(super) path: String,
    pub(super) timeout_ns: Nanos,
}

/// Somebody who asks until told to stop.
pub(super) struct Sizes {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<SizePoint>>,
}

impl Sizes {
    /// Begins to ask once `start` has come.
    pub(super) fn ask(inspect: Inspect, start: Arc<Start>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("sizes".to_owned())
            .spawn(move || runtime.block_on(points(&inspect, &start, &told)))?;
        Ok(Self { over, thread })
    }

    /// Asks for the last time; all that was told.
    pub(super) fn finish(self) -> Vec<SizePoint> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

async fn points(inspect: &Inspect, start: &Start, over: &AtomicBool) -> Vec<SizePoint> {
    let Inspect { endpoint, credentials, path, timeout_ns } = inspect;
    let mut admin = Admin::new(endpoint, credentials.clone(), *timeout_ns);
    let (clock, mut points, mut pause) = (Clock::system(), Vec::new(), FIRST_PAUSE);
    loop {
        let mut waited = Duration::ZERO;
        while waited < pause && !over.load(Ordering::Relaxed) {
            tokio::time::sleep(STEP).await;
            waited += STEP;
        }
        let last = over.load(Ordering::Relaxed);
        if let Some(began) = start.moment()
            && let Some(told) = ask(&mut admin, path).await
        {
            let at_s = clock.now().saturating_sub(began) as f64 / SECOND_NS as f64;
            points.push(point(at_s, &told));
        }
        if last {
            return points;
        }
        pause = (pause * 11 / 10).min(LONGEST_PAUSE);
    }
}

/// The server's answer, if it gives one. An expired cookie is renewed.
async fn ask(admin: &mut Admin, path: &str) -> Option<Value> {
    let mut answer = admin.request("GET", path, None).await.ok()?;
    if answer.0 == 401 {
        admin.log_in().await.ok()?;
        answer = admin.request("GET", path, None).await.ok()?;
    }
    (answer.0 == 200).then_some(answer.1)
}

/// What the server said. Before CouchDB 2 the sizes had names of their own.
fn point(at_s: f64, told: &Value) -> SizePoint {
    let either = |new: &Value, old: &Value| new.as_u64().or_else(|| old.as_u64());
    let sizes = &told["sizes"];
    SizePoint {
        at_s,
        documents: told["doc_count"].as_u64(),
        file_bytes: either(&sizes["file"], &told["disk_size"]),
        active_bytes: either(&sizes["active"], &told["data_size"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sizes_by_their_names_of_all_times() {
        let told = json!({"doc_count": 5, "sizes": {"file": 100, "active": 50, "external": 9}});
        let point_of = |documents, file_bytes, active_bytes| SizePoint {
            at_s: 1.0,
            documents: Some(documents),
            file_bytes,
            active_bytes,
        };
        assert_eq!(point(1.0, &told), point_of(5, Some(100), Some(50)));
        let told = json!({"doc_count": 5, "disk_size": 100, "data_size": 50});
        assert_eq!(point(1.0, &told), point_of(5, Some(100), Some(50)));
        assert_eq!(point(1.0, &json!({"doc_count": 7})), point_of(7, None, None));
    }
}
