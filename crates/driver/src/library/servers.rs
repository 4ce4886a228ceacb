//! Before the first stage: checks that there is a server.

use super::{CallError, within};
use crate::TargetError;
use crate::net::Trouble;
use crate::op::Failure;
use std::net::IpAddr;
use std::time::Duration;
use tokio::net::TcpStream;

/// Checks that one of the hosts, each with its port, accepts connections: a library would keep
/// trying for a long time, and not say why none does.
///
/// # Errors
/// Fails with the reason of the last host if none accepts.
pub async fn reach(server: &str, hosts: &[String], timeout: Duration) -> Result<(), TargetError> {
    let mut why = "no server is named".to_owned();
    for host in hosts {
        let refused = |error: &std::io::Error| {
            CallError::new(Failure::Connect, Trouble::of(error).with_cure())
        };
        match within(timeout, TcpStream::connect(host), refused).await {
            Ok(_) => return Ok(()),
            Err(trouble) => why = trouble.reason,
        }
    }
    Err(TargetError(format!("cannot reach {server}: {why}")))
}

/// Whether a host, given with its port, is this machine by its name.
pub fn is_here(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |it| it.0).trim_matches(['[', ']']);
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
