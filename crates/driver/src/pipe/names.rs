//! Resolves the names of a cluster's nodes.
//!
//! The system's resolver blocks, for many seconds if a name server is silent. So each name is
//! looked up on a separate thread: no load thread is blocked, and no session waits longer than the
//! limit below.

use crate::net::EndpointError;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;
use url::{Host, Url};

/// How long to wait for a look-up. Most resolvers try a silent name server twice in that time.
const PATIENCE: Duration = Duration::from_secs(10);

/// A blocking look-up of the addresses of a host and a port.
type LookUp = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

type FoundAddresses = Result<Vec<SocketAddr>, String>;

/// Look-ups in progress, by host and port.
type UnderWay = HashMap<(String, u16), watch::Receiver<Option<FoundAddresses>>>;

/// Looks up names, each only once at a time for all threads of a run.
#[derive(Clone)]
pub(super) struct Names {
    look_up: Arc<LookUp>,
    under_way: Arc<Mutex<UnderWay>>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl Default for Names {
    fn default() -> Self {
        Self::new(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }
}

impl Names {
    pub(super) fn new(
        look_up: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self { look_up: Arc::new(look_up), under_way: Arc::default() }
    }

    /// The addresses of a server. Nothing is looked up if the URL has its address.
    pub(super) async fn find(&self, url: &Url) -> Result<Vec<SocketAddr>, EndpointError> {
        let wrong = || EndpointError::Url(url.to_string());
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        let name = match url.host().ok_or_else(wrong)? {
            Host::Ipv4(address) => return Ok(vec![(IpAddr::from(address), port).into()]),
            Host::Ipv6(address) => return Ok(vec![(IpAddr::from(address), port).into()]),
            Host::Domain(name) => name.to_owned(),
        };
        let failed = |error: io::Error| EndpointError::Resolve(name.clone(), error);
        let mut news = self.news(&name, port).map_err(failed)?;
        let found = match timeout(PATIENCE, news.wait_for(Option::is_some)).await {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        let silent = || Err("no name server answers in time".to_owned());
        found.unwrap_or_else(silent).map_err(|error| failed(io::Error::other(error)))
    }

    /// A receiver of the result of the look-up of a name, which is started unless it is in
    /// progress.
    fn news(&self, name: &str, port: u16) -> io::Result<watch::Receiver<Option<FoundAddresses>>> {
        let wanted = (name.to_owned(), port);
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(news) = under_way.get(&wanted) {
            return Ok(news.clone());
        }
        let (sender, news) = watch::channel(None);
        let (names, asked) = (self.clone(), wanted.clone());
        // Nothing joins this thread, not even a runtime that is dropped.
        std::thread::Builder::new().name("look-up".to_owned()).spawn(move || {
            let found = (names.look_up)(&asked.0, asked.1).map_err(|error| error.to_string());
            names.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&asked);
            sender.send_replace(Some(found));
        })?;
        under_way.insert(wanted, news.clone());
        Ok(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread::{ThreadId, current};

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    /// Two sessions of a thread need the same name while another one works on.
    #[tokio::test]
    async fn a_slow_look_up_is_done_by_another_thread_and_once_for_all() {
        let (asked, by) = (Arc::new(AtomicU32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (asking, answering) = std::sync::mpsc::channel::<()>();
        let answering = Mutex::new(answering);
        let names = Names::new({
            let (asked, by) = (asked.clone(), by.clone());
            move |_, port| {
                asked.fetch_add(1, Ordering::Relaxed);
                by.lock().unwrap().push(current().id());
                let _ = answering.lock().unwrap().recv_timeout(Duration::from_secs(10));
                Ok(vec![([127, 0, 0, 1], port).into()])
            }
        });
        let node = url("http://node:7000");
        let others = async {
            // It gets its turns although the name server is silent.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            asking.send(()).unwrap();
        };
        let (one, two, ()) = tokio::join!(names.find(&node), names.find(&node), others);
        assert_eq!(one.unwrap(), [([127, 0, 0, 1], 7000).into()]);
        assert_eq!(two.unwrap(), [([127, 0, 0, 1], 7000).into()]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert_ne!(by.lock().unwrap()[..], [current().id() as ThreadId]);
        // Results are not cached: the name may have moved.
        drop(asking);
        names.find(&node).await.unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_resolver_that_never_answers_is_waited_for_a_while() {
        let names = Names::new(|_, _| {
            loop {
                std::thread::park();
            }
        });
        let message = names.find(&url("http://node:7000")).await.unwrap_err().to_string();
        assert!(message.contains("\"node\"") && message.contains("no name server"), "{message}");
    }

    #[tokio::test]
    async fn an_address_is_no_name() {
        let names = Names::new(|_, _| Err(io::Error::other("unknown")));
        for (text, wanted) in
            [("http://[::1]:7000", "[::1]:7000"), ("http://10.0.0.1", "10.0.0.1:80")]
        {
            assert_eq!(names.find(&url(text)).await.unwrap(), [wanted.parse().unwrap()]);
        }
        let message = names.find(&url("http://nowhere")).await.unwrap_err().to_string();
        assert!(message.contains("unknown"), "{message}");
    }
}
