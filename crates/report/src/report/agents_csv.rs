//! What each agent did in each second, as comma-separated values (RFC 4180).

use super::csv::quoted;
use super::number::decimal;
use super::{Format, Render};
use crate::record::{AgentRecord, AgentStage, RunRecord};
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "agents-csv",
    summary: "the per-second series of each agent, one row per agent and second",
    endings: &[],
    render: Render::One(render),
};

const HEADER: &str = "stage,agent,second,seconds,requests,ok,failed,host,lost,verdict,result,\
                      response_mean_ms,response_max_ms,agent_p50_ms,agent_p99_ms,agent_max_ms,\
                      agent_client_share,agent_paused_s,clock_error_ms";

fn render(record: &RunRecord) -> String {
    let mut out = format!("{HEADER}\n");
    let result = record.result().kind;
    for stage in &record.stages {
        for agent in &stage.agents {
            let known = record.agents.iter().find(|it| it.index == agent.index);
            let host = quoted(known.map_or("", |it| &it.host));
            let (verdict, lost) = (stage.verdict.name(), u8::from(agent.lost));
            let whole = whole(agent, known);
            for row in &agent.series {
                let _ = writeln!(
                    out,
                    "{},{},{},{},{},{},{},{host},{lost},{verdict},{},{},{},{whole}",
                    quoted(&stage.name),
                    agent.index,
                    row.second,
                    row.seconds,
                    row.requests,
                    row.ok,
                    row.failed,
                    result.words(),
                    millis((row.timed > 0).then_some(row.response_mean_us)),
                    millis((row.timed > 0).then_some(row.response_max_us)),
                );
            }
        }
    }
    out
}

/// The figures of an agent for the whole stage, which are repeated in each of its rows; empty if
/// unknown.
fn whole(agent: &AgentStage, known: Option<&AgentRecord>) -> String {
    let times = agent.response.as_ref();
    let paused_s = agent.client.as_ref().map(|client| {
        let pauses = client.pauses.iter();
        decimal(pauses.map(|pause| pause.length_s).sum(), 3)
    });
    let cells = [
        millis(times.and_then(|it| it.p50_us)),
        millis(times.and_then(|it| it.p99_us)),
        millis(times.map(|it| it.max_us)),
        agent.account.as_ref().map(|it| decimal(it.client_share, 4)).unwrap_or_default(),
        paused_s.unwrap_or_default(),
        millis(known.map(|it| it.clock_error_us)),
    ];
    cells.join(",")
}

/// Microseconds as milliseconds with three decimals; empty if they are unknown.
fn millis(us: Option<f64>) -> String {
    us.map(|us| decimal(us / 1e3, 3)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::{fleet, lose};

    const TIMES: &str = "1.500,40.000,1.004,6.029,6.029,,,0.100";

    #[test]
    fn each_agent_has_a_row_for_each_second_that_it_reported() {
        let mut record = fleet(3);
        lose(&mut record, 1, 4);
        record.agents[2].host = "a \"b\", c".to_owned();
        let csv = render(&record);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!((lines[0], lines.len()), (HEADER, 1 + 10 + 4 + 10));
        assert_eq!(
            lines[1],
            format!("crud,0,0,1,101,100,1,load-0,0,agents_lost,not trustworthy,{TIMES}")
        );
        assert_eq!(
            lines[14],
            format!("crud,1,3,1,101,100,1,load-0,1,agents_lost,not trustworthy,{TIMES}")
        );
        let last = "crud,2,9,1,101,100,1,\"a \"\"b\"\", c\",0,agents_lost,not trustworthy";
        let last = format!("{last},{TIMES}");
        assert_eq!(*lines.last().unwrap(), last);
    }

    #[test]
    fn without_agents_there_is_a_header_alone() {
        assert_eq!(render(&crate::record::fixture::record(&[])), format!("{HEADER}\n"));
    }
}
