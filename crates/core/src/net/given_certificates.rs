//! TLS with servers whose certificates are in the file of authorities, or signed by one of them.
//!
//! `openssl req -x509` makes an authority's certificate, and many servers use one as their own. If
//! the user names exactly this one as trusted, it is accepted, as in curl: name and dates must be
//! right. Its name may be that of the subject, where openssl puts it by default.

use std::sync::Arc;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// The type of a subject's common name: 2.5.4.3, in DER without tag and length.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// The tags of the texts that are UTF-8: `UTF8String`, `PrintableString` and `IA5String`.
const TEXTS: [u8; 3] = [0x0c, 0x13, 0x16];

#[derive(Debug)]
pub(super) struct GivenCertificates {
    pub(super) given: Vec<CertificateDer<'static>>,
    pub(super) signed: Arc<WebPkiServerVerifier>,
}

/// Whether a certificate was refused because it is an authority's own. Its dates have been checked
/// before that.
pub(super) fn is_authority(wrong: &CertificateError) -> bool {
    matches!(wrong, CertificateError::Other(other)
        if format!("{other:?}").contains("CaUsedAsEndEntity"))
}

/// Whether a certificate was refused because of its name, which is checked last.
const fn is_for_another(wrong: &CertificateError) -> bool {
    matches!(wrong, CertificateError::NotValidForNameContext { .. })
}

/// Checks the name of a certificate that the user has named. Without a subjectAltName, it is the
/// subject's common name, as in curl.
fn verify_name(end_entity: &CertificateDer<'_>, server_name: &ServerName<'_>) -> Result<(), Error> {
    match verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name) {
        Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented,
            ..
        })) if presented.is_empty() => {}
        checked => return checked,
    }
    let mut read = RootCertStore::empty();
    read.add(end_entity.clone())?;
    let name = read.roots.first().and_then(|anchor| common_name(&anchor.subject));
    if name.is_some_and(|name| name.eq_ignore_ascii_case(&server_name.to_str())) {
        return Ok(());
    }
    // In the form of the names that are found in a subjectAltName.
    let presented = name.map(|name| format!("DnsName({name:?})")).into_iter().collect();
    let expected = server_name.to_owned();
    Err(CertificateError::NotValidForNameContext { expected, presented }.into())
}

/// The last common name of a subject, which is given in DER without its own tag and length (RFC
/// 5280, 4.1.2.4). `None` if there is none, or it is not text.
fn common_name(mut subject: &[u8]) -> Option<&str> {
    let mut found = None;
    while !subject.is_empty() {
        let (_, mut pairs) = take(&mut subject)?;
        while !pairs.is_empty() {
            let (_, mut pair) = take(&mut pairs)?;
            let (_, kind) = take(&mut pair)?;
            let (tag, value) = take(&mut pair)?;
            if kind == COMMON_NAME {
                found = std::str::from_utf8(value).ok().filter(|_| TEXTS.contains(&tag));
            }
        }
    }
    found
}

/// Takes the next element of DER from `bytes`: its tag and its content. `None` if it is not whole,
/// or longer than any name.
fn take<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, length], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81 => {
            let (&length, rest) = rest.split_first()?;
            (usize::from(length), rest)
        }
        0x82 => {
            let (&length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(length)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((tag, content))
}

impl ServerCertVerifier for GivenCertificates {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let signed = &self.signed;
        let checked =
            signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            Err(Error::InvalidCertificate(wrong))
                if (is_authority(&wrong) || is_for_another(&wrong))
                    && self.given.iter().any(|given| given == end_entity) =>
            {
                verify_name(end_entity, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `O = x, CN = localhost`, as openssl writes it.
    const SUBJECT: &[u8] =
        b"1\x0a0\x08\x06\x03\x55\x04\x0a\x0c\x01x1\x120\x10\x06\x03\x55\x04\x03\x0c\x09localhost";

    fn with(tag: u8, name: &[u8]) -> Vec<u8> {
        let length = |more: usize| u8::try_from(name.len() + more).unwrap();
        let head = [0x31, length(9), 0x30, length(7), 6, 3, 0x55, 4, 3, tag, length(0)];
        [&head[..], name].concat()
    }

    #[test]
    fn the_common_name_is_the_last_one_that_is_text() {
        assert_eq!(common_name(SUBJECT), Some("localhost"));
        assert_eq!(common_name(b""), None);
        // Only an organization.
        assert_eq!(common_name(&SUBJECT[..12]), None);
        for tag in TEXTS {
            assert_eq!(common_name(&with(tag, b"h")), Some("h"));
        }
        // A `BMPString`, and bytes that are not UTF-8.
        assert_eq!(common_name(&with(0x1e, b"\0h")), None);
        assert_eq!(common_name(&with(0x0c, b"\xff")), None);
        let two = [SUBJECT, &with(0x0c, b"other")].concat();
        assert_eq!(common_name(&two), Some("other"));
        // A zero byte ends no name.
        assert_eq!(common_name(&with(0x0c, b"localhost\0.x")), Some("localhost\0.x"));
        let long = "h".repeat(300);
        let ends =
            [0x31, 0x82, 1, 0x39, 0x30, 0x82, 1, 0x35, 6, 3, 0x55, 4, 3, 0x0c, 0x82, 1, 0x2c];
        assert_eq!(common_name(&[&ends[..], long.as_bytes()].concat()), Some(&long[..]));
    }

    #[test]
    fn hostile_subjects_have_no_name_of_the_host() {
        for end in 0..SUBJECT.len() {
            assert_eq!(common_name(&SUBJECT[..end]), None, "{end} bytes");
        }
        for place in 0..SUBJECT.len() {
            for byte in 0..=u8::MAX {
                let mut subject = SUBJECT.to_vec();
                subject[place] = byte;
                // Some are still in order, but nothing is read beyond the end.
                assert!(common_name(&subject).is_none_or(|name| name.len() <= SUBJECT.len()));
            }
        }
        for lengths in [&[0x80][..], &[0x81], &[0x82, 0], &[0x82, 0xff, 0xff], &[0x84, 0, 0, 0, 1]]
        {
            assert_eq!(common_name(&[&[0x31][..], lengths].concat()), None, "{lengths:?}");
        }
    }
}
