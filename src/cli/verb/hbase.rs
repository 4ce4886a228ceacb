//! `springload hbase`: the HBase shell commands from YCSB's guide.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::tls::{INSECURE_HELP, TlsArgs};
use crate::cli::print::print;
use crate::driver::{NewTable, Opening, SplitsAsked, TargetAsked};
use crate::mistake::Flagged;
use crate::plan;
use clap::Subcommand;
use serde_json::Map;

/// `springload hbase`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HBase {
    #[command(subcommand)]
    tool: Tool,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Tool {
    /// Create a table with one column family, split in advance
    CreateTable(CreateTable),
}

/// `springload hbase create-table`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("insecure", |it| it.long_help(INSECURE_HELP)))]
struct CreateTable {
    /// hbase[s]://[user@]host[:port][,host[:port]...]/table
    target: String,
    /// The column family [default: cf]
    #[arg(long, value_name = "NAME")]
    cf: Option<String>,
    /// Split at N points between user1000 and user9999, which makes N + 1 regions: HBase
    /// recommends 10 for each region server
    #[arg(long, value_name = "N", conflicts_with = "split_keys")]
    splits: Option<u64>,
    /// Split before these rows
    #[arg(long, value_name = "ROW,...", value_delimiter = ',')]
    split_keys: Option<Vec<String>>,
    /// Leave an existing table as it is
    #[arg(long)]
    if_not_exists: bool,
    /// Timeout for each request
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    timeout: u64,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the split points, and create nothing
    #[arg(long)]
    dry_run: bool,
}

impl Verb for HBase {
    const NAME: &'static str = "hbase";
    const ABOUT: &'static str = "Create an HBase table, split in advance";
    const FAMILY: Family = Family::Machines;
    const EXAMPLES: [Example; 3] = [
        ("As in YCSB's guide", "hbase create-table hbase://localhost/usertable --splits 10"),
        ("Your own split points", "hbase create-table hbase://localhost/t --split-keys g,n,t"),
        (
            "See the split points first",
            "hbase create-table hbase://localhost/usertable --splits 10 --dry-run",
        ),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let Tool::CreateTable(asked) = self.tool;
        asked.carry_out()
    }
}

impl CreateTable {
    fn carry_out(self) -> Result<Exit, Trouble> {
        let splits = match (self.splits, self.split_keys) {
            (Some(count), _) => Some(SplitsAsked::Count(Flagged::new("--splits", count))),
            (None, rows) => rows.map(|rows| SplitsAsked::Rows(Flagged::new("--split-keys", rows))),
        };
        let family = self.cf.map(|name| ("column_family".to_owned(), name.into()));
        let asked = TargetAsked {
            keep: true,
            options: Map::from_iter(family),
            tls: self.tls.options(),
            ..TargetAsked::at(&self.target)
        };
        let table = NewTable::check(&asked, splits.as_ref())?;
        if self.dry_run {
            let rows = table.split_points().iter().map(|row| format!("{row}\n"));
            print(rows.collect::<String>().as_bytes());
            return Ok(Exit::Passed);
        }
        let opening = Opening {
            timeout_ns: self.timeout,
            max_answer: plan::MAX_ANSWER,
            ..Opening::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let created = runtime.block_on(table.create(&opening, self.if_not_exists));
        let (name, family) = (table.name(), table.family());
        if created? {
            let splits = table.split_points().len();
            let regions = if splits == 0 { "1 region" } else { &format!("{} regions", splits + 1) };
            println!("created table {name} with column family {family} and {regions}");
        } else {
            println!("table {name} exists already: left as it is");
        }
        Ok(Exit::Passed)
    }
}
