//! HTTP/2 beside an HTTP/2 server of Node.js, and beside bytes that no server should send.

mod answers;
mod lost;
mod refusals;
mod server;
mod streams;
mod wire;
