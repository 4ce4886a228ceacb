//! What each agent did in each second, as comma-separated values (RFC 4180).

use super::csv::{key, quoted, separated};
use super::number::decimal;
use super::table::Columns;
use super::{Format, Render};
use crate::measure::{Shown, Statistic};
use crate::record::{AgentRecord, AgentSecond, AgentStage, RunRecord, StageRecord};

pub(super) const FORMAT: Format = Format {
    name: "agents-csv",
    summary: "the per-second series of each agent, one row per agent and second",
    endings: &[],
    render: Render::One(render),
};

/// The statistics whose columns are in the middle. The columns of the others come last, as the
/// order of columns does not change.
const FIRST: [Statistic; 3] = [Statistic::P50, Statistic::P99, Statistic::Max];

/// A second of an agent; `known` is what the run knows of the agent.
struct AgentSecondRow<'a> {
    stage: &'a StageRecord,
    agent: &'a AgentStage,
    known: Option<&'a AgentRecord>,
    second: &'a AgentSecond,
}

fn render(record: &RunRecord) -> String {
    let mut rows = Vec::new();
    for stage in &record.stages {
        for agent in &stage.agents {
            let known = record.agents.iter().find(|it| it.index == agent.index);
            rows.extend(agent.series.iter().map(|second| AgentSecondRow {
                stage,
                agent,
                known,
                second,
            }));
        }
    }
    separated(&columns(record).table(&rows))
}

/// The columns, which are empty if the figure is not known. Figures of an agent for the whole stage
/// are repeated in each of its rows.
fn columns<'a>(record: &RunRecord) -> Columns<'a, AgentSecondRow<'a>> {
    let result = record.result().kind.words();
    let later = Statistic::shown(Shown::Always).filter(|it| !FIRST.contains(it));
    let name = |it| format!("agent_{}_ms", key(it));
    let time = |row: &AgentSecondRow<'_>, it: Statistic| {
        millis(row.agent.response.as_ref().and_then(|times| it.of(times)))
    };
    Columns::<'_, AgentSecondRow<'_>>::new()
        .and("stage", |it| quoted(&it.stage.name))
        .and("agent", |it| it.agent.index.to_string())
        .and("second", |it| it.second.second.to_string())
        .and("seconds", |it| it.second.seconds.to_string())
        .and("requests", |it| it.second.requests.to_string())
        .and("ok", |it| it.second.ok.to_string())
        .and("failed", |it| it.second.failed.to_string())
        .and("host", |it| quoted(it.known.map_or("", |known| &known.host)))
        .and("lost", |it| u8::from(it.agent.lost).to_string())
        .and("verdict", |it| it.stage.verdict.name().to_owned())
        .and("result", move |_| result.to_owned())
        .and("response_mean_ms", |it| timed(it.second, it.second.response_mean_us))
        .and("response_max_ms", |it| timed(it.second, it.second.response_max_us))
        .each(FIRST, name, time)
        .and("agent_client_share", |it| {
            it.agent.account.as_ref().map(|it| decimal(it.client_share, 4)).unwrap_or_default()
        })
        .and("agent_paused_s", |it| {
            let client = it.agent.client.as_ref();
            let paused_s = client.map(|it| it.pauses.iter().map(|pause| pause.length_s).sum());
            paused_s.map(|it: f64| decimal(it, 3)).unwrap_or_default()
        })
        .and("clock_error_ms", |it| millis(it.known.map(|known| known.clock_error_us)))
        .each(later, name, time)
}

/// A time of a second, if any of its requests was timed.
fn timed(second: &AgentSecond, us: f64) -> String {
    millis((second.timed > 0).then_some(us))
}

/// Microseconds as milliseconds with three decimals; empty if they are unknown.
fn millis(us: Option<f64>) -> String {
    us.map(|us| decimal(us / 1e3, 3)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::{fleet, lose};

    const HEADER: &str = "stage,agent,second,seconds,requests,ok,failed,host,lost,verdict,result,\
                          response_mean_ms,response_max_ms,agent_p50_ms,agent_p99_ms,agent_max_ms,\
                          agent_client_share,agent_paused_s,clock_error_ms";
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
