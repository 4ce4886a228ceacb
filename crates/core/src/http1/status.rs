//! The meaning of status codes.

use crate::op::Failure;

/// The class of an unexpected status (RFC 9110). Only the driver knows whether 401 and 403 mean
/// more than [`Failure::Rejected`].
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
