//! YCSB's binding `redis`.

use crate::address::encoded;
use crate::properties::PropertyReader;
use crate::{Binding, Bound};

/// See the module. YCSB has no `redis.url`, which implies all the others.
pub(super) const BINDING: Binding = Binding {
    names: &["redis"],
    classes: &["db.RedisClient"],
    properties: &[
        "redis.cluster",
        "redis.cpassword",
        "redis.cusername",
        "redis.host",
        "redis.password",
        "redis.port",
        "redis.timeout",
        "redis.url",
    ],
    flag: "-p redis.url",
    site: None,
    read,
};

fn read(read: &mut PropertyReader<'_>) -> Bound {
    // The driver finds out by itself whether a server is a node of a cluster.
    read.flag("redis.cluster", false);
    let port = read.within("redis.port", 6379, 1..=65_535);
    let host = read.text("redis.host", "127.0.0.1");
    let (user, own) = (read.text("redis.cusername", ""), read.text("redis.cpassword", ""));
    let password = read.text("redis.password", &own);
    let login = match (user.as_str(), password.as_str()) {
        ("", "") => String::new(),
        (user, password) => format!("{}:{}@", encoded(user), encoded(password)),
    };
    let address = read.text("redis.url", &format!("redis://{login}{host}:{port}"));
    let timeout_ns = read.optional("redis.timeout").map(|ms| ms.saturating_mul(1_000_000));
    Bound { address: Some(address), timeout_ns, ..Bound::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::Properties;

    fn bound(pairs: &[(&str, &str)]) -> Bound {
        let mut properties = Properties::default();
        for (name, value) in pairs {
            properties.set(*name, *value);
        }
        let mut reader = PropertyReader::new(&properties);
        let bound = read(&mut reader);
        reader.end(bound).unwrap()
    }

    #[test]
    fn the_properties_of_ycsb_make_an_address() {
        let address = |pairs: &[(&str, &str)]| bound(pairs).address.unwrap();
        assert_eq!(address(&[]), "redis://127.0.0.1:6379");
        let all = [("redis.host", "h"), ("redis.port", "7"), ("redis.password", "p@w")];
        assert_eq!(address(&all), "redis://:p%40w@h:7");
        let user = [("redis.cusername", "ann"), ("redis.cpassword", "pw")];
        assert_eq!(address(&user), "redis://ann:pw@127.0.0.1:6379");
        assert_eq!(address(&[("redis.url", "rediss://h"), ("redis.host", "x")]), "rediss://h");
        assert_eq!(bound(&[("redis.timeout", "250")]).timeout_ns, Some(250_000_000));
    }

    #[test]
    fn a_cluster_is_found_out() {
        assert_eq!(bound(&[("redis.cluster", "true")]).address.unwrap(), "redis://127.0.0.1:6379");
    }
}
