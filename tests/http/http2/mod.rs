//! HTTP/2 against a Node.js server, and against bytes that no server should send.

mod answers;
mod lost;
mod refusals;
mod server;
mod streams;
mod wire;
