//! How many copies of a document answer for it: `r` and `w` at the end of a target.

use crate::op::{Class, OpKind};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU16;
use url::Url;

/// How many copies must agree. Whatever is not set is left to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quorum {
    /// The number for reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r: Option<NonZeroU16>,
    /// The number for writes; with fewer, the status is 202.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub w: Option<NonZeroU16>,
}

impl Quorum {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a parameter of a target is `r` or `w`.
    pub(super) fn is_own(name: &str) -> bool {
        matches!(name, "r" | "w")
    }

    /// Reads the parameters of a target; the error says which is wrong.
    pub(super) fn read(url: &Url) -> Result<Self, String> {
        let mut quorum = Self::default();
        for (name, value) in url.query_pairs().filter(|(name, _)| Self::is_own(name)) {
            let wrong = |_| format!("{name}={value}, which is not a number above 0,");
            let count = Some(value.parse().map_err(wrong)?);
            if name == "r" { quorum.r = count } else { quorum.w = count }
        }
        Ok(quorum)
    }

    /// As it is written in an address.
    pub(super) fn parameters(self) -> String {
        let each = [("r", self.r), ("w", self.w)].into_iter();
        let each = each.filter_map(|(name, count)| Some(format!("{name}={}", count?)));
        each.collect::<Vec<_>>().join("&")
    }

    /// Appends the parameter for one or several documents; `first` if no other parameter precedes
    /// it.
    #[inline]
    pub(super) fn write(self, kind: OpKind, first: bool, head: &mut Vec<u8>) {
        let (name, count) = match kind.class() {
            Class::Read => (b"r=", self.r),
            _ => (b"w=", self.w),
        };
        if let Some(count) = count {
            head.push(if first { b'?' } else { b'&' });
            head.extend_from_slice(name);
            head.extend_from_slice(itoa::Buffer::new().format(count.get()).as_bytes());
        }
    }
}
