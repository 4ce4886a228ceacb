//! The HTTP/2 client connection: requests as streams of a connection that sessions may share, each
//! observed as with HTTP/1.1. `h2` does the framing, header compression and flow control.
//!
//! A request is passed in as HTTP/1.1 would send it and converted for HTTP/2 here, so code that
//! makes requests need not know which of the two is used.

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
