//! `springload audit`: looks for every write of an earlier run that the server acknowledged.

use super::named::read_with_file;
use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::give_up::GiveUpArgs;
use crate::cli::flags::output::{OutputArgs, VerboseArgs};
use crate::cli::flags::target::Named;
use crate::cli::flags::tls::TlsArgs;
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::folder::{JOURNAL, lock};
use crate::cli::pipeline::{Job, audit_with};
use crate::driver::Databases;
use crate::journal::Journal;
use crate::plan::{self, Existing, Flagged, Invalid, Plan, PlanSpec, check};
use crate::workload::AuditDemand;
use serde_json::Map;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

const CURE: &str = "choose a run made with --audit";

/// `springload audit`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Audit {
    /// The run: its folder, its name, or latest
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Server or database to look in, or several, one after the other [default: that of the run]
    ///
    /// The address of a server, such as http://host:port, or of a database on it [default: that
    /// of the run]. Several, such as the nodes of a cluster, are audited one by one, each with its
    /// own report: in --output, the folders node1, node2 and so on
    target: Vec<String>,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// Number of connections
    #[arg(short, long, value_name = "N", default_value = "16", value_parser = plan::count)]
    connections: u64,
    /// Timeout for one read
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    timeout: u64,
    #[command(flatten)]
    patience: GiveUpArgs,
    #[command(flatten)]
    tls: TlsArgs,
    /// A header for every request; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    show: VerboseArgs,
}

impl Verb for Audit {
    const NAME: &'static str = "audit";
    const ABOUT: &'static str = "Look for every acknowledged write of an earlier run";
    const FAMILY: Family = Family::Measure;
    const BRIEF: &'static str = "run target user connections output";
    const EXAMPLES: [Example; 3] = [
        ("The last run, in the database that it wrote to", "audit latest"),
        ("After the server was killed and restarted", "audit springload-runs/before-the-kill"),
        (
            "On each node of the cluster",
            "audit latest http://ann@node1:5984 http://ann@node2:5984 -o audits",
        ),
    ];
    const EXITS: Statuses = Exit::WITHOUT_BASELINE;

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        Ok(self.each(self.jobs(call)?))
    }
}

/// The plan of an audit, the journal of the run, and the output flags.
type AuditJob = (Plan, Arc<Journal>, OutputArgs);

impl Audit {
    /// One job for each place to audit.
    fn jobs(&self, call: &Call<'_>) -> Result<Vec<AuditJob>, Vec<Invalid>> {
        let of = |target, output| {
            let (plan, journal) = self.job(call, target)?;
            Ok((plan, journal, output))
        };
        if let [] | [_] = self.target[..] {
            return Ok(vec![of(self.target.first(), self.output.clone())?]);
        }
        if self.output.output.is_some() && self.output.folder().is_none() {
            let problem = "each of several places has its own report";
            return Err(Invalid::new("--output", problem, "give a folder").into());
        }
        let place = |(number, target)| {
            let folder = self.output.output.as_ref();
            let output = folder.map(|folder| folder.join(format!("node{}", number + 1)));
            of(Some(target), OutputArgs { output, ..self.output.clone() })
        };
        self.target.iter().enumerate().map(place).collect()
    }

    /// Carries out the jobs in turn. If one place does not respond, the others are still audited.
    fn each(&self, jobs: Vec<AuditJob>) -> Exit {
        let mut exits = Vec::new();
        for (plan, journal, output) in jobs {
            let job = Job {
                plan: Ok(plan),
                mistakes: Vec::new(),
                noise: Self::FAMILY.noise(),
                output: &output,
            };
            let audited = audit_with(job, Some(journal), |_| Ok(Printed::native(self.show)));
            exits.push(audited.unwrap_or_else(|trouble| trouble.tell()));
            if exits.contains(&Exit::Interrupted) {
                break;
            }
        }
        Exit::worst(&exits)
    }

    /// The plan for auditing one place, and the journal of the run.
    fn job(
        &self,
        call: &Call<'_>,
        target: Option<&String>,
    ) -> Result<(Plan, Arc<Journal>), Vec<Invalid>> {
        let (record, file) = read_with_file(&self.run)?;
        let journal = Journal::open(&file.with_file_name(JOURNAL));
        // A record that was moved aside does not belong to the current journal.
        let is_there = file.file_name().is_some_and(|name| name == "run.json");
        if !(record.plan.audit && is_there && journal.exists()) {
            let problem = format!("{} has no journal of writes", file.display());
            return Err(Invalid::new("RUN", problem, CURE).into());
        }
        let folder = file.parent().unwrap_or(&file);
        if lock(folder).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
            let problem = format!("the run in {} is still going on", folder.display());
            return Err(Invalid::new("RUN", problem, "wait for its end").into());
        }
        if let Some(why) = &record.journal_broken {
            journal.break_off(why);
        }
        // The target in the environment is that of the next run.
        let place = target.unwrap_or(&record.server.url);
        let mut place = self.credentials.as_recorded(place, &record.plan.target);
        let again = record.plan.target.place_of(&record.server.database);
        if let (false, Some(again)) = (has_path(&place), again) {
            place = with_place(&place, &again);
        }
        let has_database = has_path(&place);
        let named = Named { address: Some(place), nodes: Vec::new(), flag: "TARGET" };
        let servers = self.credentials.servers(&named, self.header.clone())?;
        let stages = record.plan.stages.iter().map(|stage| &stage.work);
        let alone = record.server.created && record.plan.operations.is_empty();
        let audit = AuditDemand::of(stages, alone)
            .with_indexes(record.plan.target.audited())
            .of_earlier(record.created());
        let connections = Flagged::new("--connections", self.connections);
        let mut options = Map::new();
        let views = record.plan.target.audited();
        if !views.is_empty() {
            options.insert("audit_view".to_owned(), views.into());
        }
        if let Some(Databases { spread, .. }) = record.plan.target.databases() {
            let spread = serde_json::to_value(spread).unwrap_or_default();
            options.insert("databases".to_owned(), spread);
        }
        let spec = PlanSpec {
            options,
            target: servers.targets.into_iter().next(),
            target_flag: named.flag,
            database: (!has_database).then(|| record.server.database.clone()),
            existing: Existing::Yes,
            tls: self.tls.options(),
            headers: servers.headers,
            timeout_ns: self.timeout,
            give_up_ns: self.patience.give_up,
            thresholds: self.output.fail_if.clone(),
            audited: Some(record.plan),
            ..PlanSpec::new(call.line, connections, Arc::new(audit))
        };
        Ok((check(&spec)?, Arc::new(journal)))
    }
}

/// Whether an address names a database.
fn has_path(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let server = rest.split_once('?').map_or(rest, |(server, _)| server);
    server.split_once('/').is_some_and(|(_, path)| !path.is_empty())
}

/// The address of a server, with the path and parameters of `place` added. Its own parameters take
/// precedence.
fn with_place(address: &str, place: &str) -> String {
    let (server, own) = address.split_once('?').unwrap_or((address, ""));
    let separator = match (own, place.contains('?')) {
        ("", _) => "",
        (_, true) => "&",
        (_, false) => "?",
    };
    format!("{}{place}{separator}{own}", server.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_without_a_database_gets_that_of_the_run() {
        for (address, named) in [
            ("redis://h:1", false),
            ("redis://h:1/", false),
            ("mongodb://h?w=1", false),
            ("mongodb://h/?tlsCAFile=/ca", false),
            ("redis://h/0", true),
            ("h:5984/db", true),
        ] {
            assert_eq!(has_path(address), named, "{address}");
        }
        assert_eq!(with_place("redis://a@h:1/", "/0/x"), "redis://a@h:1/0/x");
        assert_eq!(with_place("mongodb://h/?w=1", "/d/c"), "mongodb://h/d/c?w=1");
        assert_eq!(with_place("cassandra://h?pool=2", "/k/t?a=b"), "cassandra://h/k/t?a=b&pool=2");
    }
}
