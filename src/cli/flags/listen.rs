//! Addresses to listen on: other machines can connect only if that is asked for.

use std::net::ToSocketAddrs as _;

/// Whether other machines could connect to a listener at `place`.
pub(in crate::cli) fn is_public(place: &str) -> bool {
    let mut all = place.to_socket_addrs().into_iter().flatten();
    all.any(|address| !address.ip().to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_not_public_and_all_else_is() {
        for place in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "x", ""] {
            assert!(!is_public(place), "{place}");
        }
        for place in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1"] {
            assert!(is_public(place), "{place}");
        }
    }
}
