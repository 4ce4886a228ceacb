//! The HTTP/2 client connection: requests as streams of a connection that sessions may share, each
//! observed as with HTTP/1.1. Frames, their compression and flow control are those of `h2`.
//!
//! A request is given as HTTP/1.1 would send it, and spelled for HTTP/2 here, so that whoever makes
//! requests need not know which of the two is spoken.

mod connection;
mod line;
mod presence;
mod reach;
mod seat;
mod signal;
mod spelling;
mod stream;
mod tap;
mod trouble;

pub use connection::Connection;
pub use presence::answers;
pub use reach::reach;
pub use seat::Seat;
