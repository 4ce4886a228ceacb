//! How the stored documents for a request are chosen.

/// A distribution of requests over documents, with YCSB's default parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skew {
    /// All equally likely.
    #[default]
    Uniform,
    /// Zipf's law, with the hot documents scattered over all.
    Zipfian,
    /// Zipf's law, the newest first.
    Latest,
    /// 80 % of the requests to 20 % of the documents.
    Hotspot,
    /// Mostly the newest, decreasing exponentially.
    Exponential,
    /// One after the other.
    Sequential,
}

impl Skew {
    /// All of them, with their names.
    const ALL: [(&'static str, Self); 6] = [
        ("uniform", Self::Uniform),
        ("zipfian", Self::Zipfian),
        ("latest", Self::Latest),
        ("hotspot", Self::Hotspot),
        ("exponential", Self::Exponential),
        ("sequential", Self::Sequential),
    ];

    /// The distribution with this name.
    ///
    /// # Errors
    /// Returns an error if there is none with this name.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(own, _)| *own == name);
        found.map(|(_, skew)| *skew).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("{name:?} is not a distribution: {names}")
        })
    }
}
