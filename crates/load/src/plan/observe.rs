//! What is observed beside the load: the servers, and exporters that the user names.

use crate::driver::ScrapePlan;
use crate::mistake::Invalid;
use crate::net::TlsOptions;
use serde::{Deserialize, Serialize};

/// The most exporters that are scraped.
const MOST_URLS: usize = 100;

/// What is to be observed, as requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserveSpec {
    /// Whether the servers are asked for their own metrics.
    pub servers: bool,
    /// The exporters that are scraped, `NAME=URL`.
    pub urls: Vec<String>,
    /// Which of their series are wanted; empty: all of them.
    pub series: Vec<String>,
}

impl ObserveSpec {
    /// For runs that send only the requests of the load.
    pub const NOTHING: Self = Self { servers: false, urls: Vec::new(), series: Vec::new() };
}

/// What is observed on the servers during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservePlan {
    /// Whether the servers are asked for their own metrics, where the driver supports it and the
    /// user is permitted to.
    pub servers: bool,
    /// The exporters that are scraped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<ScrapePlan>,
    /// Which of their time series are kept, as patterns with `*` and `?`; absent for all, up to a
    /// limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<String>,
    /// How the certificates of the exporters are checked.
    #[serde(default, skip_serializing_if = "TlsOptions::is_default")]
    pub tls: TlsOptions,
}

impl ObservePlan {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for ObservePlan {
    fn default() -> Self {
        let tls = TlsOptions::default();
        Self { servers: true, urls: Vec::new(), series: Vec::new(), tls }
    }
}

/// The requested observation, with its exporters parsed.
pub(super) fn check(
    spec: &ObserveSpec,
    tls: &TlsOptions,
    mistakes: &mut Vec<Invalid>,
) -> ObservePlan {
    let mut urls = Vec::new();
    for text in &spec.urls {
        match ScrapePlan::of(text) {
            Ok(url) => urls.push(url),
            Err((problem, cure)) => mistakes.push(Invalid::new("--observe-url", problem, cure)),
        }
    }
    check_names("--observe-url", &urls, mistakes);
    if spec.series.iter().any(String::is_empty) {
        let cure = "give a pattern such as node_cpu_*";
        mistakes.push(Invalid::new("--observe-series", "is empty", cure));
    }
    if urls.is_empty() && spec.urls.is_empty() && !spec.series.is_empty() {
        let problem = "there is no exporter to choose from";
        let cure = "give --observe-url, too, or leave it out";
        mistakes.push(Invalid::new("--observe-series", problem, cure));
    }
    let secure = urls.iter().any(ScrapePlan::is_secure);
    let tls = if secure { tls.clone() } else { TlsOptions::default() };
    ObservePlan { servers: spec.servers, urls, series: spec.series.clone(), tls }
}

/// As [`check`], for a stored plan.
pub(super) fn check_again(plan: &ObservePlan, mistakes: &mut Vec<Invalid>) {
    for problem in plan.urls.iter().filter_map(ScrapePlan::problem) {
        mistakes.push(Invalid::new("observe.urls", problem, "leave it out"));
    }
    check_names("observe.urls", &plan.urls, mistakes);
}

fn check_names(flag: &str, urls: &[ScrapePlan], mistakes: &mut Vec<Invalid>) {
    let twice =
        |(place, it): &(usize, &ScrapePlan)| urls[..*place].iter().any(|a| a.name == it.name);
    if let Some((_, it)) = urls.iter().enumerate().find(twice) {
        let problem = format!("the name {} is there twice", it.name);
        mistakes.push(Invalid::new(flag, problem, "give each URL a name of its own"));
    }
    if urls.len() > MOST_URLS {
        let problem = format!("there are {}", urls.len());
        mistakes.push(Invalid::new(flag, problem, format!("give at most {MOST_URLS}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(urls: &[&str], series: &[&str]) -> Result<ObservePlan, String> {
        let own = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
        let spec = ObserveSpec { servers: false, urls: own(urls), series: own(series) };
        let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
        let mut mistakes = Vec::new();
        let plan = check(&spec, &tls, &mut mistakes);
        mistakes.first().map_or(Ok(plan), |mistake| Err(mistake.to_string()))
    }

    #[test]
    fn exporters_have_names_of_their_own_and_mistakes_show_no_password() {
        let plan = checked(&["a=http://h/metrics", "b=http://h/metrics"], &["x_*"]).unwrap();
        assert_eq!((plan.urls.len(), plan.tls.is_default()), (2, true));
        assert!(!checked(&["a=https://h/metrics"], &[]).unwrap().tls.is_default());
        for (urls, series, words) in [
            (&["a=http://h", "a=http://i"][..], &[][..], "the name a is there twice; give each"),
            (&["http://ann:s3cret@h"], &[], "has no name; give NAME=URL, such as"),
            (&["a=h:s3cret@i"], &[], "is not a URL of http or https; give NAME=URL"),
            (&[], &["x"], "--observe-series: there is no exporter to choose from; give --observe"),
            (&["a=http://h"], &[""], "--observe-series: is empty; give a pattern"),
        ] {
            let message = checked(urls, series).unwrap_err();
            assert!(message.contains(words) && !message.contains("s3cret"), "{message}");
        }
    }
}
