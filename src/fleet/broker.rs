//! The broker through which agents on other machines are reached: its address, and what it costs
//! to have it built in.

use super::Channel;
use crate::mistake::Invalid;

/// The address of a broker. Shown without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    url: String,
}

impl Broker {
    /// The broker at `url`, which was given by `flag`: `amqp://` or `amqps://`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(flag: &str, url: &str) -> Result<Self, Invalid> {
        let known = ["amqp://", "amqps://"].iter().any(|scheme| url.starts_with(scheme));
        if !known {
            let cure = "give amqp://[user:password@]host[:port][/vhost], or amqps://";
            return Err(Invalid::new(flag, "not the address of a RabbitMQ", cure));
        }
        Ok(Self { url: url.to_owned() })
    }

    /// The coordinator's end of the channel of the run `run`.
    ///
    /// # Errors
    /// Why there is none, in a sentence that says what to do.
    pub fn open(&self, _run: &str) -> Result<Channel, String> {
        Err(format!("the broker {} cannot be used", self.url))
    }

    /// The end of agent number `agent`.
    ///
    /// # Errors
    /// Why there is none, in a sentence that says what to do.
    pub fn join(&self, _run: &str, _agent: usize) -> Result<Channel, String> {
        Err(format!("the broker {} cannot be used", self.url))
    }
}

impl std::fmt::Display for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::driver::strike_secrets(&self.url))
    }
}
