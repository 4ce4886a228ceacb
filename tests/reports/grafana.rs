//! The dashboard only queries existing metrics.

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
    let panels = dashboard["panels"].as_array().expect("panels");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
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

/// Panels about one agent are below a row that is repeated for each.
#[test]
fn each_agent_has_a_row() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let about_one = |panel: &Value| {
        let targets = panel["targets"].as_array().into_iter().flatten();
        targets.filter_map(|it| it["expr"].as_str()).any(|it| it.contains("agent=\"$agent\""))
    };
    let row = panels.iter().position(|panel| panel["repeat"] == "agent").expect("a row");
    assert_eq!((&panels[row]["type"], &panels[row]["collapsed"]), (&"row".into(), &false.into()));
    let (before, below) = (&panels[..row], &panels[row + 1..]);
    assert!(below.len() >= 4 && below.iter().all(about_one), "{below:?}");
    assert!(!before.iter().any(about_one));
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    let agents = variables.iter().find(|it| it["name"] == "agent").expect("a variable");
    let query = agents["query"]["query"].as_str().expect("a query");
    let exposed = expose(&super::fleet::fleet(), None, Exposition::Prometheus);
    assert!(metrics(query).is_subset(&metrics(&exposed)), "{query}");
    assert!(query.ends_with(", agent)") && agents["includeAll"] == true, "{query}");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "a number stands for one panel");
}
