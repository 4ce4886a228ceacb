//! The meaning of HBase's exceptions, by the names of their Java classes.

use super::messages::ExceptionResponse;
use crate::op::Failure;

/// What to do about an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// The region has moved or no longer exists: it is looked up again. Nothing was carried out.
    Moved,
    /// The server is not ready for this request yet. Nothing was carried out.
    NotYet,
    /// The answer is long enough already. Nothing was carried out; the request is sent again at
    /// once.
    Later,
    Failed(Failure),
}

/// The meaning of an exception of this class.
pub(super) fn sense(class: &str) -> Sense {
    use Failure::{
        Authentication, NotFound, Rejected, ServerError, Timeout, TooLarge, TooManyRequests,
    };
    match simple(class) {
        "NotServingRegionException"
        | "RegionMovedException"
        | "RegionOfflineException"
        | "RegionServerAbortedException"
        | "RegionServerStoppedException"
        | "UnknownRegionException"
        | "WrongRegionException" => Sense::Moved,
        "MasterNotRunningException"
        | "MasterRegistryFetchException"
        | "NotAllMetaRegionsOnlineException"
        | "PleaseHoldException"
        | "RegionOpeningException"
        | "ServerNotRunningYetException" => Sense::NotYet,
        "MultiActionResultTooLarge" | "RetryImmediatelyException" => Sense::Later,
        "CallQueueTooBigException"
        | "CallDroppedException"
        | "RegionTooBusyException"
        | "RpcThrottlingException"
        | "ThrottlingException" => Sense::Failed(TooManyRequests),
        "AccessDeniedException" => Sense::Failed(Authentication),
        "TableNotFoundException" => Sense::Failed(NotFound),
        "CallTimeoutException" | "TimeoutIOException" => Sense::Failed(Timeout),
        "RequestTooBigException" => Sense::Failed(TooLarge),
        // Not `DoNotRetryIOException`, which covers everything that a retry cannot fix.
        "FailedSanityCheckException"
        | "IllegalArgumentException"
        | "NoSuchColumnFamilyException"
        | "SpaceLimitingException"
        | "TableExistsException"
        | "TableNotEnabledException"
        | "UnsupportedOperationException" => Sense::Failed(Rejected),
        _ => Sense::Failed(ServerError),
    }
}

/// What to do if a server refuses a connection for this reason, if that is known.
pub(super) fn cure(exception: &ExceptionResponse) -> Option<&'static str> {
    let class = exception.exception_class_name.as_deref().map(simple);
    let trace = exception.stack_trace.as_deref().unwrap_or_default();
    let secure =
        class == Some("AccessDeniedException") && trace.contains("Authentication is required");
    secure.then_some(
        "it wants Kerberos, which springload does not speak: give a cluster with simple \
         authentication, or one that falls back to it \
         (hbase.ipc.server.fallback-to-simple-auth-allowed)",
    )
}

/// A class's name without its package.
pub(super) fn simple(class: &str) -> &str {
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

/// One line: the class and the first line of its message.
pub(super) fn describe(exception: &ExceptionResponse) -> String {
    let class = exception.exception_class_name.as_deref().unwrap_or_default();
    first_line(class, exception.stack_trace.as_deref().unwrap_or_default())
}

/// The same for a stack trace, which begins with the class and its message, or for a message.
pub(super) fn first_line(class: &str, text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let message = line.strip_prefix(class).map_or(line, |rest| rest.trim_start_matches(": "));
    let name = simple(class);
    if message.is_empty() { name.to_owned() } else { format!("{name}: {message}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_region_is_looked_up_and_everything_else_is_reported() {
        let sense = |class: &str| sense(&format!("org.apache.hadoop.hbase.{class}"));
        assert_eq!(sense("NotServingRegionException"), Sense::Moved);
        assert_eq!(sense("exceptions.RegionMovedException"), Sense::Moved);
        assert_eq!(sense("exceptions.RegionOpeningException"), Sense::NotYet);
        assert_eq!(sense("ipc.ServerNotRunningYetException"), Sense::NotYet);
        assert_eq!(sense("MultiActionResultTooLarge"), Sense::Later);
        let failed = |class: &str| match sense(class) {
            Sense::Failed(failure) => failure,
            other => panic!("{other:?}"),
        };
        assert_eq!(failed("RegionTooBusyException"), Failure::TooManyRequests);
        assert_eq!(failed("security.AccessDeniedException"), Failure::Authentication);
        let family = "regionserver.NoSuchColumnFamilyException";
        assert_eq!(failed(family), Failure::Rejected);
        assert_eq!(failed("something.Unheard$Of"), Failure::ServerError);
        assert_eq!(failed("DoNotRetryIOException"), Failure::ServerError);
    }

    #[test]
    fn a_stack_trace_is_shown_by_its_first_line() {
        let exception = ExceptionResponse {
            exception_class_name: Some("org.apache.a.BadException".to_owned()),
            stack_trace: Some("org.apache.a.BadException: no luck\n\tat org.apache…".to_owned()),
        };
        assert_eq!(describe(&exception), "BadException: no luck");
        assert_eq!(first_line("a.b.C", ""), "C");
        assert_eq!(first_line("a.b.C", "why"), "C: why");
    }
}
