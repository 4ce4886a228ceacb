//! The dashboard asks for metrics that there are.

use std::collections::BTreeSet;

use serde_json::Value;
use springload::report::{Exposition, expose};

use super::with_failures;

const DASHBOARD: &str = include_str!("../../examples/grafana/springload.json");

/// The words that begin with `springload_`.
fn metrics(text: &str) -> BTreeSet<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !word(c)).filter(|it| it.starts_with("springload_")).collect()
}

#[test]
fn every_metric_of_the_dashboard_is_exposed() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let expose = |record| expose(record, None, Exposition::Prometheus);
    let exposed = expose(&with_failures()) + &expose(&super::fleet::fleet());
    let exposed = metrics(&exposed);
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("PromQL");
            let wanted = metrics(expression);
            assert!(!wanted.is_empty(), "{expression}");
            assert!(wanted.is_subset(&exposed), "{expression}: {wanted:?}");
            asked += wanted.len();
        }
    }
    assert!(asked > 10, "{asked}");
}
