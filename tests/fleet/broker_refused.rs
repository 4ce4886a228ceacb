//! The error messages if there is no channel: one line with the cure, and never the password.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::broker::{at, next_text, refusal, run, send};
use crate::servers::process::free_ports;
use crate::servers::rabbitmq::{AGENT, COORDINATOR, NARROW, RabbitMq};
use springload::fleet::To;

/// Both ends report it.
#[track_caller]
fn tells(url: &str, words: &[&str]) {
    let (broker, run) = (at(url), run());
    for message in
        [refusal(broker.open(&run)), refusal(broker.join(&run, 0, crate::broker::PATIENCE))]
    {
        for word in words {
            assert!(message.contains(word), "{word:?} is missing: {message}");
        }
    }
}

#[test]
fn wrong_users_and_virtual_hosts() {
    let Some(server) = RabbitMq::shared() else { return };
    let url = server.full_url();
    let wrong = url.replace("s3cret", "wr0ng");
    tells(&wrong, &["refuses the user ann@load", "SPRINGLOAD_BROKER_PASSWORD"]);
    let guest = url.replace("ann%40load:s3cret%3A%2F%3F%23@", "");
    tells(&guest, &["refuses the user guest", "SPRINGLOAD_BROKER_USER"]);
    let missing = url.replace("load%2Ftest", "nowhere");
    tells(&missing, &["virtual host nowhere", "not found", "rabbitmqctl add_vhost"]);
    let closed = url.replace("load%2Ftest", "closed");
    tells(&closed, &["virtual host closed", "refused", "set_permissions"]);
    let mute = url.replace("load%2Ftest", "mute");
    tells(&mute, &["does not allow this user", "access to queue", "set_permissions"]);
}

#[test]
fn users_of_one_run_may_do_what_their_part_needs_and_no_more() {
    let Some(server) = RabbitMq::shared() else { return };
    let [coordinator, agent] = [COORDINATOR, AGENT].map(|user| at(&server.narrow_url(user)));
    let mut up = coordinator.open(NARROW).expect("a coordinator");
    let mut down = agent.join(NARROW, 3, crate::broker::PATIENCE).expect("an agent");
    for to in [To::All, To::Agent(3)] {
        send(&mut up, to, "down");
        assert_eq!(next_text(&down), "down");
    }
    send(&mut down, To::All, "up");
    assert_eq!(next_text(&up), "up");
    for message in [
        refusal(coordinator.open("wednesday")),
        refusal(coordinator.join(NARROW, 4, crate::broker::PATIENCE)),
        refusal(agent.open(NARROW)),
        refusal(agent.join("wednesday", 3, crate::broker::PATIENCE)),
    ] {
        assert!(
            message.contains("does not allow this user") && message.contains("springload"),
            "{message}"
        );
    }
}

#[test]
fn certificates_that_cannot_be_trusted() {
    let Some(server) = RabbitMq::shared() else { return };
    let url = server.strange_url();
    tells(&url, &["cannot be trusted: its certificate is not trusted", "cacertfile=FILE"]);
    let other_name = server.tls_url().replace("127.0.0.1", "localhost");
    tells(&other_name, &["cannot be trusted", "localhost", "the host as the certificate does"]);
    let no_file = format!("{url}?cacertfile=/nowhere/ca.pem");
    tells(&no_file, &["cannot read certificates", "/nowhere/ca.pem"]);
    let none = tempfile::NamedTempFile::new().expect("a file");
    let no_certificate = format!("{url}?cacertfile={}", none.path().display());
    tells(&no_certificate, &["there are none", "cacertfile=FILE"]);
}

#[test]
fn ports_of_something_else() {
    let Some(server) = RabbitMq::shared() else { return };
    let [plain, tls] = server.ports();
    let port = |from: u16, to: u16| server.full_url().replace(&from.to_string(), &to.to_string());
    let in_clear = port(plain, tls);
    tells(&in_clear, &["does not speak RabbitMQ's protocol", "amqps:// (5671)"]);
    let without_tls = server.tls_url().replace(&tls.to_string(), &plain.to_string());
    tells(&without_tls, &["cannot use TLS with", "(5671), or amqp://"]);
    let nobody = free_ports(1).expect("a port")[0];
    tells(&port(plain, nobody), &["cannot reach the broker", "refused", "--broker"]);
    tells("amqp://u:p@nowhere.invalid", &["cannot find the address", "check its name"]);
}

/// Answers every connection with `words`, and closes it.
fn stranger(words: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // The client may have disconnected by then.
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(words);
        }
    });
    port
}

#[test]
fn strangers() {
    let http = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for words in [&http[..], b"", b"AMQP\x00\x01\x00\x00", b"-ERR unknown command\r\n", &[0; 64]] {
        let url = format!("amqp://ann:s3cret%3A%2F%3F%23@127.0.0.1:{}", stranger(words));
        tells(&url, &["does not speak RabbitMQ's protocol", "(5672)"]);
        tells(&url.replace("amqp:", "amqps:"), &["cannot use TLS with", "(5671)"]);
    }
}

#[test]
fn a_server_that_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let plain = at(&format!("amqp://127.0.0.1:{port}"));
    let secure = at(&format!("amqps://127.0.0.1:{port}"));
    let waits = [plain, secure].map(|broker| std::thread::spawn(move || refusal(broker.open("r"))));
    for wait in waits {
        let message = wait.join().expect("an answer");
        assert!(message.contains("no answer in 10 s"), "{message}");
    }
}
