//! The Java side alone: access control, and malformed frames.

use super::servers::ycsb::class_path;
use super::{BETWEEN, LOOKS};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The Java side with the binding `Odd`; killed when dropped.
struct Bridge {
    child: Child,
    stdout: BufReader<ChildStdout>,
    port: u16,
    ours: Vec<u8>,
    theirs: Vec<u8>,
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(bytes.len()).expect("short").to_be_bytes());
    out.extend_from_slice(bytes);
}

fn framed(content: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put(content, &mut frame);
    frame
}

impl Bridge {
    fn start(class_path: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("crates/driver/bridge/SpringloadBridge.java");
        let mut child = Command::new("java")
            .args(crate::JVM.split(' '))
            .args(["-cp", class_path])
            .arg(source)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("java starts");
        let mut config = Vec::new();
        put(b"Odd", &mut config);
        put(b"usertable", &mut config);
        config.extend_from_slice(&[0; 4]);
        child.stdin.as_mut().expect("a pipe").write_all(&framed(&config)).expect("it reads");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it tells");
        let words: Vec<_> = line.split_whitespace().collect();
        let mut keys = [0; 32];
        const_hex::decode_to_slice(words[2], &mut keys).expect("keys");
        let (ours, theirs) = keys.split_at(keys.len() / 2);
        let (ours, theirs) = (ours.to_vec(), theirs.to_vec());
        Self { child, stdout, port: words[1].parse().expect("a port"), ours, theirs }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        stream
    }

    /// A connection that has presented its key, and read the other side's.
    fn open(&self) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(&self.ours).expect("it reads");
        let mut greeting = vec![0; 4 + self.theirs.len() + 4];
        stream.read_exact(&mut greeting).expect("it answers");
        assert_eq!(greeting[4..4 + self.theirs.len()], self.theirs);
        stream
    }

    /// Ends it as springload does. Returns its exit status and output.
    fn end(mut self) -> (ExitStatus, String) {
        drop(self.child.stdin.take());
        let mut printed = String::new();
        self.stdout.read_to_string(&mut printed).expect("text");
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return (status, printed);
            }
            std::thread::sleep(BETWEEN);
        }
        panic!("it does not end");
    }
}

/// Reads everything until the other end closes.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    all
}

#[test]
fn nobody_else_can_use_the_binding() {
    let Some(class_path) = class_path() else { return };
    let bridge = Bridge::start(&class_path);
    for key in
        [bridge.theirs.clone(), vec![0; bridge.ours.len()], b"GET / HTTP/1.1\r\n\r\n".to_vec()]
    {
        let mut stream = bridge.connect();
        stream.write_all(&key).expect("it reads");
        let _ = stream.write_all(&framed(b"x"));
        assert_eq!(rest(stream), b"", "not even a key");
    }
    // A silent connection does not block others.
    let _silent = bridge.connect();
    drop(bridge.open());
    let (status, printed) = bridge.end();
    assert!(status.success() && printed.is_empty(), "{status}: {printed}");
}

#[test]
fn frames_that_are_none_end_their_connection_only() {
    let Some(class_path) = class_path() else { return };
    let bridge = Bridge::start(&class_path);
    let mut huge_text = b"r\0\0\0\x01".to_vec();
    huge_text.extend_from_slice(&[0xff; 4]);
    for frame in [
        [0xff; 4].to_vec(),
        64_000_001_u32.to_be_bytes().to_vec(),
        framed(b""),
        framed(b"x\0\0\0\x01\0\0\0\x01k\0\0\0\0\0\0\0\0"),
        framed(b"r\0\0\0\x01\0\0\0\x05k"),
        framed(b"r\0\0\0\x01\0\0\0\x01k\0\0\0\0\x7f\xff\xff\xff"),
        framed(&huge_text),
        // A truncated value: nothing is inserted.
        framed(b"i\0\0\0\x01\0\0\0\x01k\0\0\0\0\0\0\0\x01\0\0\0\x01a\0\0\0\x05x"),
    ] {
        let mut stream = bridge.open();
        stream.write_all(&frame).expect("it reads");
        assert_eq!(rest(stream), b"", "{frame:?}");
    }
    let mut stream = bridge.open();
    stream.write_all(&framed(b"d\0\0\0\x01\0\0\0\x01k\0\0\0\0\0\0\0\0")).expect("it reads");
    let mut head = [0; 4 + 8 + 4 + 1];
    stream.read_exact(&mut head).expect("it answers");
    assert_eq!(head[16], 2, "NOT_FOUND");
    drop(stream);
    let (status, printed) = bridge.end();
    assert!(status.success() && printed.is_empty(), "{status}: {printed}");
}
