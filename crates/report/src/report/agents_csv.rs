//! What each agent did in each second, as comma-separated values (RFC 4180).

use super::csv::quoted;
use super::{Format, Render};
use crate::record::RunRecord;
use std::fmt::Write as _;

pub(super) const FORMAT: Format = Format {
    name: "agents-csv",
    summary: "the per-second series of each agent, one row per agent and second",
    render: Render::One(render),
};

const HEADER: &str = "stage,agent,second,seconds,requests,ok,failed,host,lost,verdict,result";

fn render(record: &RunRecord) -> String {
    let mut out = format!("{HEADER}\n");
    let result = record.result().kind;
    for stage in &record.stages {
        for agent in &stage.agents {
            let host = record.agents.iter().find(|it| it.index == agent.index);
            let host = quoted(host.map_or("", |it| &it.host));
            let (verdict, lost) = (stage.verdict.name(), u8::from(agent.lost));
            for row in &agent.series {
                let _ = writeln!(
                    out,
                    "{},{},{},{},{},{},{},{host},{lost},{verdict},{}",
                    quoted(&stage.name),
                    agent.index,
                    row.second,
                    row.seconds,
                    row.requests,
                    row.ok,
                    row.failed,
                    result.words(),
                );
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::{fleet, lose};

    #[test]
    fn each_agent_has_a_row_for_each_second_that_it_told() {
        let mut record = fleet(3);
        lose(&mut record, 1, 4);
        record.agents[2].host = "a \"b\", c".to_owned();
        let csv = render(&record);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!((lines[0], lines.len()), (HEADER, 1 + 10 + 4 + 10));
        assert_eq!(lines[1], "crud,0,0,1,101,100,1,load-0,0,agents_lost,not trustworthy");
        assert_eq!(lines[14], "crud,1,3,1,101,100,1,load-0,1,agents_lost,not trustworthy");
        let last = "crud,2,9,1,101,100,1,\"a \"\"b\"\", c\",0,agents_lost,not trustworthy";
        assert_eq!(*lines.last().unwrap(), last);
    }

    #[test]
    fn without_agents_there_is_a_header_alone() {
        assert_eq!(render(&crate::record::fixture::record(&[])), format!("{HEADER}\n"));
    }
}
