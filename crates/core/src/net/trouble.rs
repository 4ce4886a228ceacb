//! Explains why a server cannot be connected to, and what the user can do about it.

use super::Stream;
use super::certificates::{TlsOptions, tls_config};
use super::endpoint::Endpoint;
use super::given_certificates::is_authority;
use crate::op::Failure;
use rustix::io::Errno;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error as TlsError};

/// How long a server may take to show which protocol it speaks.
const PATIENCE: Duration = Duration::from_secs(2);
/// The cure for anything that is wrong with the certificate itself.
const ACCEPT: &str = "or accept any certificate with -k";

/// The reason when a server ends a connection, whether it announces that or not.
pub const CLOSED: &str = "the server closed the connection";

/// The first bytes of a TLS server's reply to a plain-text request: an alert (RFC 8446, 5.1).
pub const TLS_ALERT: [u8; 2] = [21, 3];
/// The explanation of such a reply.
pub const TLS_SPOKEN: &str = "the server speaks TLS: write https://";

/// Why a server cannot be connected to, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub cure: String,
    /// Whether the cause is a lack of resources on springload's own machine.
    pub own: bool,
}

impl Trouble {
    /// A problem and its cure.
    pub fn new(problem: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { problem: problem.into(), cure: cure.into(), own: false }
    }

    /// The reason to record for an operation. It includes the cure only if the cure concerns the
    /// machine that springload runs on.
    pub fn reason(&self) -> String {
        match self {
            Self { problem, cure, own: true } => format!("{problem}: {cure}"),
            Self { problem, .. } => problem.clone(),
        }
    }

    /// What is wrong and what to do, as one line.
    pub fn with_cure(&self) -> String {
        format!("{}; {}", self.problem, self.cure)
    }

    /// Explains a connection error.
    pub fn of(error: &io::Error) -> Self {
        if let Some(trouble) = Self::by_tls(error) {
            return trouble;
        }
        if Failure::of_connect(error).by_client() {
            return of_own(error);
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                let cure = "start a server there, or check host and port";
                Self::new("connection refused: nothing listens there", cure)
            }
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown => {
                Self::new("there is no route to that host", "check the address and the network")
            }
            io::ErrorKind::TimedOut => Self::timed_out(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                let cure = "check the port, and whether it is http:// or https://";
                Self::new("it closed the connection immediately", cure)
            }
            _ => Self::new(error.to_string(), "check host and port"),
        }
    }

    /// Explains an error that TLS reports, also on a connection that was made: with TLS 1.3, a
    /// server refuses a client's certificate only after the handshake.
    pub fn by_tls(error: &io::Error) -> Option<Self> {
        tls_error(error).map(of_tls)
    }

    /// The reason to record for an operation whose connection has failed after it was made. What
    /// TLS reports by itself is not meant for users.
    pub fn of_lost(error: &io::Error) -> String {
        match Self::by_tls(error) {
            Some(trouble) => trouble.reason(),
            None if error.kind() == io::ErrorKind::UnexpectedEof => CLOSED.to_owned(),
            None => error.to_string(),
        }
    }

    /// The class and the reason of an operation that failed because there was no connection.
    pub fn refused(error: &io::Error) -> (Failure, String) {
        (Failure::of_connect(error), Self::of(error).reason())
    }

    /// The error when nothing arrived in time.
    pub fn timed_out() -> Self {
        let cure = "check the host, the port and the network in between, or give a longer \
            --timeout";
        Self::new("no answer within the timeout", cure)
    }
}

/// The resource that springload's own machine has run out of.
fn of_own(error: &io::Error) -> Trouble {
    let (what, cure) = match Errno::from_io_error(error) {
        Some(Errno::ADDRNOTAVAIL) => {
            ("local ports", "widen net.ipv4.ip_local_port_range, or reconnect less")
        }
        Some(Errno::MFILE) => ("open files", "raise ulimit -n, or use fewer connections"),
        Some(Errno::NFILE) => ("open files", "raise fs.file-max, or use fewer connections"),
        _ => ("memory for sockets", "use fewer connections"),
    };
    let problem = format!("springload's machine ran out of {what}");
    Trouble { own: true, ..Trouble::new(problem, cure) }
}

/// The error that TLS reports, if it is one.
fn tls_error(error: &io::Error) -> Option<&TlsError> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>())
}

/// What a server says with this alert of the client's certificate, or of the lack of one.
fn of_client(alert: AlertDescription) -> Option<Trouble> {
    use AlertDescription as Alert;
    let (problem, give) = match alert {
        Alert::CertificateRequired => ("it wants a client certificate", "give one"),
        // Java also sends this if there is none.
        Alert::BadCertificate => ("it wants a client certificate that it accepts", "give one"),
        Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateExpired
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        // Of an authority that has the name of the right one.
        | Alert::DecryptError
        | Alert::AccessDenied => ("it does not accept the client certificate", "give another"),
        _ => return None,
    };
    Some(Trouble::new(problem, format!("{give} with --tls-cert FILE and --tls-key FILE")))
}

/// Whether a certificate was refused because it is not of version 3.
fn is_old(wrong: &CertificateError) -> bool {
    let CertificateError::Other(other) = wrong else { return false };
    matches!(other.0.downcast_ref(), Some(webpki::Error::UnsupportedCertVersion))
}

fn of_tls(error: &TlsError) -> Trouble {
    use CertificateError as Wrong;
    let wrong = match error {
        TlsError::InvalidCertificate(wrong) => wrong,
        TlsError::InvalidMessage(_) => {
            let cure = "check the port, and whether it is http:// or https://";
            return Trouble::new("it does not speak TLS", cure);
        }
        TlsError::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            return Trouble::new("the server does not speak HTTP/2", "leave --http2 out");
        }
        _ => {
            if let TlsError::AlertReceived(alert) = error
                && let Some(trouble) = of_client(*alert)
            {
                return trouble;
            }
            let cure = "check that this port is for https://";
            return Trouble::new(format!("TLS fails: {error}"), cure);
        }
    };
    match wrong {
        Wrong::UnknownIssuer | Wrong::BadSignature => Trouble::new(
            "its certificate is not trusted (self-signed, or by an unknown authority)",
            format!("give the authority's certificate with --tls-ca FILE, {ACCEPT}"),
        ),
        Wrong::NotValidForNameContext { expected, presented } if presented.is_empty() => {
            let kind = if matches!(expected, ServerName::IpAddress(_)) { "IP" } else { "DNS" };
            let name = expected.to_str();
            let cure = format!("make one with -addext subjectAltName={kind}:{name}, {ACCEPT}");
            let problem =
                "its certificate has no subjectAltName, which is where names are looked for";
            Trouble::new(problem, cure)
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
            let names = match wrong {
                Wrong::NotValidForNameContext { presented, .. } => presented.join(", "),
                _ => String::new(),
            };
            let names = names.replace("DnsName(\"", "").replace("\")", "");
            let names = names.replace("IpAddress(", "").replace(')', "");
            let whose = if names.is_empty() { "another name".to_owned() } else { names };
            let cure = format!("use the name of the certificate, {ACCEPT}");
            Trouble::new(format!("its certificate is for {whose}"), cure)
        }
        Wrong::Expired | Wrong::ExpiredContext { .. } => {
            Trouble::new("its certificate has expired", format!("have it renewed, {ACCEPT}"))
        }
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            let cure = format!("set the clocks of both machines, {ACCEPT}");
            Trouble::new("its certificate is not valid yet", cure)
        }
        wrong if is_old(wrong) => {
            let problem = "its certificate is of X.509 version 1, which is not accepted";
            // Not even with -k: what it says of its key is not read.
            let cure = "make one of version 3, as openssl req -x509 -addext \
                        subjectAltName=DNS:HOST does";
            Trouble::new(problem, cure)
        }
        wrong if is_authority(wrong) => {
            let cure = "give this certificate itself with --tls-ca FILE";
            let problem = "its certificate is that of an authority, not of a server";
            Trouble::new(problem, format!("{cure}, {ACCEPT}"))
        }
        other => {
            Trouble::new(format!("its certificate is refused: {other}"), ACCEPT[3..].to_owned())
        }
    }
}

/// Connects to a server and closes the connection again.
///
/// # Errors
/// Returns an error if that is not possible within `timeout_ns`.
pub async fn reach(endpoint: &Endpoint, timeout_ns: u64) -> Result<(), Trouble> {
    let connecting = Stream::connect(endpoint, 0, false);
    let trouble = match timeout(Duration::from_nanos(timeout_ns), connecting).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => Trouble::of(&error),
        Err(_) => Trouble::timed_out(),
    };
    Err(mixed_up(endpoint).await.unwrap_or(trouble))
}

/// Whether the server does not speak TLS although that was tried, or the other way round, or
/// refuses the client's certificate.
pub async fn mixed_up(endpoint: &Endpoint) -> Option<Trouble> {
    let host = endpoint.host();
    if let Some((config, name)) = &endpoint.tls {
        let cure = format!("write http://{host}");
        if let Ok(Ok(true)) = timeout(PATIENCE, speaks_plain(endpoint)).await {
            return Some(Trouble::new("the server speaks plain HTTP, not TLS", cure));
        }
        let stream = timeout(PATIENCE, TcpStream::connect(&endpoint.addresses[..])).await;
        let shaking = TlsConnector::from(config.clone()).connect(name.clone(), stream.ok()?.ok()?);
        let Ok(shaken) = timeout(PATIENCE, shaking).await else {
            let cure = format!("{cure} if it does not use TLS, or give a longer --timeout");
            return Some(Trouble::new("nothing there answers in TLS", cure));
        };
        // A server that refuses the client's certificate says so at once, and others wait.
        let read = timeout(PATIENCE, shaken.ok()?.read_u8()).await;
        return Trouble::by_tls(&read.ok()?.err()?);
    }
    let speaks = timeout(PATIENCE, speaks_tls(endpoint)).await.unwrap_or(false);
    let cure = format!("write https://{host}");
    speaks.then(|| Trouble::new("the server speaks TLS", cure))
}

/// Whether the server at this address speaks plain HTTP.
async fn speaks_plain(endpoint: &Endpoint) -> io::Result<bool> {
    let mut stream = TcpStream::connect(&endpoint.addresses[..]).await?;
    let request = format!("OPTIONS * HTTP/1.1\r\nHost: {}\r\n\r\n", endpoint.host());
    stream.write_all(request.as_bytes()).await?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await?;
    Ok(&answer == b"HTTP/")
}

/// Whether the server at this address begins a TLS handshake, with any certificate.
async fn speaks_tls(endpoint: &Endpoint) -> bool {
    let any = TlsOptions { insecure: true, ..TlsOptions::default() };
    let Ok(config) = tls_config(&any, "--tls-ca") else { return false };
    let Some(name) = endpoint.server_name() else { return false };
    let Ok(stream) = TcpStream::connect(&endpoint.addresses[..]).await else { return false };
    match TlsConnector::from(config).connect(name, stream).await {
        Ok(_) => true,
        Err(error) => {
            let inner = tls_error(&error);
            matches!(inner, Some(TlsError::AlertReceived(_) | TlsError::PeerIncompatible(_)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tls_ends_with_is_reported_with_what_to_do() {
        use tokio_rustls::rustls::InvalidMessage;
        let message_of = |error: TlsError| {
            Trouble::of(&io::Error::new(io::ErrorKind::InvalidData, error)).with_cure()
        };
        let flags = "with --tls-cert FILE and --tls-key FILE";
        for (alert, words) in [
            (AlertDescription::CertificateRequired, "it wants a client certificate; give one"),
            (
                AlertDescription::BadCertificate,
                "it wants a client certificate that it accepts; give one",
            ),
            (
                AlertDescription::UnknownCA,
                "it does not accept the client certificate; give another",
            ),
        ] {
            let message = message_of(TlsError::AlertReceived(alert));
            assert_eq!(message, format!("{words} {flags}"));
        }
        let other = message_of(TlsError::AlertReceived(AlertDescription::HandshakeFailure));
        assert!(other.starts_with("TLS fails: ") && !other.contains("--tls-cert"), "{other}");
        let plain = message_of(TlsError::InvalidMessage(InvalidMessage::InvalidContentType));
        assert!(plain.starts_with("it does not speak TLS; check the port"), "{plain}");
    }

    /// As `openssl x509 -req -signkey` makes it.
    const VERSION_1: &str = "-----BEGIN CERTIFICATE-----\n\
        MIIBIjCByQIUZLWlZ6c2nXWlolm5kWZVxmbHiLkwCgYIKoZIzj0EAwIwFDESMBAG\n\
        A1UEAwwJbG9jYWxob3N0MB4XDTI2MTEyODA1MzMxMFoXDTM2MTEyNTA1MzMxMFow\n\
        FDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n\
        QP+JvY7hW8rFVNFG0QizKM/nbYmvxaT/id6C5cV4aIjceEnwzu2ZeVNFlrKUXX6Y\n\
        q7SMCe0j21Xn97cDD6HsvzAKBggqhkjOPQQDAgNIADBFAiEA4Ekiej1zKtsjjr7v\n\
        xUetIP4dwKvnITFfV/t7VvIS3SYCIBobwEi+XrEoC2FKFjoQZjEUHEf/9a0j1fXK\n\
        gAYFjB3p\n\
        -----END CERTIFICATE-----\n";

    #[test]
    fn a_certificate_of_version_1_is_refused_with_how_to_make_another() {
        use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject as _};
        use tokio_rustls::rustls::server::ParsedCertificate;
        let message_of = |error: TlsError| {
            Trouble::of(&io::Error::new(io::ErrorKind::InvalidData, error)).with_cure()
        };
        let old = CertificateDer::from_pem_slice(VERSION_1.as_bytes()).unwrap();
        let message = message_of(ParsedCertificate::try_from(&old).err().unwrap());
        let words = "its certificate is of X.509 version 1, which is not accepted; make one of \
                     version 3, as openssl req -x509 -addext subjectAltName=DNS:HOST does";
        assert_eq!(message, words);
        // No other certificate is said to be old.
        let broken = CertificateDer::from(b"\x30\x00".to_vec());
        let message = message_of(ParsedCertificate::try_from(&broken).err().unwrap());
        assert!(message.starts_with("its certificate is refused: "), "{message}");
    }

    #[test]
    fn what_ends_a_connection_is_told_in_words_for_users() {
        let alert = TlsError::AlertReceived(AlertDescription::CertificateRequired);
        let refused = io::Error::new(io::ErrorKind::InvalidData, alert);
        assert_eq!(Trouble::of_lost(&refused), "it wants a client certificate");
        let unannounced = io::Error::new(io::ErrorKind::UnexpectedEof, "no close_notify");
        assert_eq!(Trouble::of_lost(&unannounced), CLOSED);
        let reset = io::Error::from(Errno::CONNRESET);
        assert!(Trouble::by_tls(&reset).is_none());
        assert_eq!(Trouble::of_lost(&reset), reset.to_string());
    }

    #[test]
    fn what_this_machine_lacks_is_reported_with_its_cure() {
        let refused = |errno: Errno| Trouble::refused(&io::Error::from(errno));
        for (errno, words) in [
            (
                Errno::ADDRNOTAVAIL,
                "springload's machine ran out of local ports: widen net.ipv4.ip_local_port_range, \
                 or reconnect less",
            ),
            (
                Errno::MFILE,
                "springload's machine ran out of open files: raise ulimit -n, or use fewer \
                 connections",
            ),
            (
                Errno::NOBUFS,
                "springload's machine ran out of memory for sockets: use fewer connections",
            ),
        ] {
            assert_eq!(refused(errno), (Failure::Local, words.to_owned()));
        }
        let there = "connection refused: nothing listens there".to_owned();
        assert_eq!(refused(Errno::CONNREFUSED), (Failure::Connect, there));
        for errno in [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN] {
            let way = "there is no route to that host".to_owned();
            assert_eq!(refused(errno), (Failure::Unreachable, way));
        }
    }
}
