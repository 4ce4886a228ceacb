//! What statuses mean.

use crate::op::Failure;

/// The class of a status that is not the one asked for (RFC 9110). What 401 and 403 mean beside
/// [`Failure::Rejected`], the driver knows.
pub const fn failure_of(status: u16) -> Failure {
    match status {
        404 => Failure::NotFound,
        409 => Failure::Conflict,
        412 => Failure::PreconditionFailed,
        413 => Failure::TooLarge,
        429 => Failure::TooManyRequests,
        400..=499 => Failure::Rejected,
        500..=599 => Failure::ServerError,
        _ => Failure::Protocol,
    }
}
