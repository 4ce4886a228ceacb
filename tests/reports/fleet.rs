//! Reports of a run with agents: a good one, and one that lost an agent.

use serde_json::{Value, json};
use springload::record::{Account, AgentRecord, AgentStage, Lost, RunRecord};

use super::{closed, compact, page_data, render};

/// A run of 30 s by four agents on two machines; the third is slow.
pub(crate) fn fleet() -> RunRecord {
    let mut record = closed();
    record.plan.fleet = serde_json::from_value(json!({ "agents": 4 })).expect("a plan");
    let version = record.environment.springload.clone();
    let agent = |index: usize| -> AgentRecord {
        let host = ["alpha", "beta"][index / 2];
        let value = json!({
            "index": index, "host": host, "pid": 4_000 + index,
            "version": version, "cores": 2, "threads": 2, "connections": 12,
            "clock_offset_us": -1_600_000.25, "clock_error_us": 61.5,
        });
        serde_json::from_value(value).expect("an agent")
    };
    record.agents = (0..4).map(agent).collect();
    let crud = record.stages.last_mut().expect("a stage");
    (crud.elapsed_s, crud.measured_s) = (30.2, 30.0);
    let done = |index: usize| -> AgentStage {
        let each = [500, 510, 180, 495][index];
        let second = |second: u64| {
            let ok = each - second * 7 % 20;
            json!({ "second": second, "seconds": 1, "requests": ok + 1, "ok": ok, "failed": 1 })
        };
        let series: Vec<Value> = (0..30).map(second).collect();
        let sum = |key: &str| -> u64 { series.iter().filter_map(|it| it[key].as_u64()).sum() };
        let value = json!({
            "index": index, "start_us": 210.0 + 130.5 * index as f64,
            "requests": sum("requests"), "ok": sum("ok"), "failed": 30,
            "cpu_s": 2.25, "busiest_thread": 0.0625 * index as f64, "series": series,
        });
        serde_json::from_value(value).expect("what an agent did")
    };
    crud.agents = (0..4).map(done).collect();
    let reads = crud.operations.first().map(|it| it.response.clone());
    for agent in &mut crud.agents {
        (agent.response, agent.account) = (reads.clone(), Some(Account::default()));
    }
    record.conclude();
    record
}

/// The same, but an agent was lost after 12 s.
pub(crate) fn lost() -> RunRecord {
    let mut record = fleet();
    let crud = record.stages.last_mut().expect("a stage");
    let done = &mut crud.agents[1];
    done.series.truncate(12);
    (done.lost, done.start_us, done.cpu_s, done.busiest_thread) = (true, None, 0.0, 0.0);
    done.requests = done.series.iter().map(|row| row.requests).sum();
    done.ok = done.series.iter().map(|row| row.ok).sum();
    done.failed = 12;
    let (stage, why) = (Some(crud.name.clone()), "nothing heard for 3 s".to_owned());
    record.agents[1].lost = Some(Lost { at_s: crud.began_s + 15.0, stage, why, handed_in: false });
    record.conclude();
    record
}

#[test]
fn text() {
    insta::assert_snapshot!("text_agents", render("text", &fleet()));
    insta::assert_snapshot!("text_agents_lost", render("text", &lost()));
}

#[test]
fn tables() {
    let csv = render("agents-csv", &lost());
    let last = csv.lines().rfind(|line| line.starts_with("crud,1,"));
    assert_eq!(
        last,
        Some(
            "crud,1,11,1,494,493,1,alpha,1,agents_lost,not trustworthy,,,0.052,3.639,5.861,0.0000,,0.061"
        )
    );
    assert_eq!(csv.lines().count(), 1 + 3 * 30 + 12);
    let metrics = render("openmetrics", &lost());
    let agents = metrics.lines().filter(|line| line.contains("springload_agent"));
    insta::assert_snapshot!("openmetrics_agents", agents.collect::<Vec<_>>().join("\n"));
}

#[test]
fn html() {
    let page = render("html", &lost());
    let data = page_data(&page);
    let charts = data["stages"].as_array().expect("stages").last().expect("a stage");
    let charts = charts["views"][0]["charts"].as_array().expect("charts");
    let chart = charts.iter().find(|chart| chart["kind"] == "agents").expect("a chart");
    insta::assert_snapshot!("html_data_agents", compact(chart));
    let (_, section) = page.split_once("<section id=\"agents\"").expect("a section");
    let (section, _) = section.split_once("</section>").expect("its end");
    insta::assert_snapshot!("html_agents", section.replace("</tr>", "</tr>\n"));
}
