//! Redis and Infinispan, with Redis' own client on the other side.

use crate::servers::resp::{PASSWORD, infinispan, redis, redis_with_password};

#[test]
fn infinispan_answers_the_client_of_redis() {
    let Some(infinispan) = infinispan() else { return };
    assert_eq!(infinispan.redis_cli(&["hset", "user1", "field0", "value"]), "1");
    assert_eq!(infinispan.redis_cli(&["hget", "user1", "field0"]), "value");
}

#[test]
fn redis_answers_its_client() {
    let Some(redis) = redis() else { return };
    assert_eq!(redis.redis_cli(&["ping"]), "PONG");
}

#[test]
fn redis_asks_for_its_password() {
    let Some(redis) = redis_with_password() else { return };
    assert_eq!(redis.redis_cli(&["--no-auth-warning", "-a", PASSWORD, "ping"]), "PONG");
}
