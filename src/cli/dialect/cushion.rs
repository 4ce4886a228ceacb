//! `springload cushion`: Iron Cushion's command line, flag by flag.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::checks::CheckArgs;
use crate::cli::flags::credentials::completed;
use crate::cli::flags::give_up::GiveUpArgs;
use crate::cli::flags::output::OutputArgs;
use crate::cli::flags::tls::TlsArgs;
use crate::cli::pipeline::dialect::Printed;
use crate::cli::pipeline::{Job, carry_out};
use crate::clock::wall_ns;
use crate::driver::strike_secrets;
use crate::plan::{self, Existing, Flagged, Invalid, PlanSpec, SchemaSource, check};
use crate::workload::mixed::{CrudOrder, MixedDemand};
use crate::workload::{DocumentsAsked, Mix};
use std::path::PathBuf;
use std::sync::Arc;

/// `springload cushion`.
#[derive(Debug, clap::Args)]
#[command(rename_all = "snake_case")]
pub(in crate::cli) struct Cushion {
    /// The server, such as http://host:port
    #[arg(long, value_name = "URL")]
    database_address: String,
    /// The name of the database; it must exist
    #[arg(long, value_name = "NAME")]
    database_name: String,
    /// Number of concurrent connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = plan::count)]
    num_connections: u64,
    /// Seed of documents and operations [default: a new one each time]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seed: Option<i32>,
    /// A file with the JSON schema of the documents
    #[arg(long, value_name = "FILE")]
    json_document_schema_filename: Option<PathBuf>,
    /// A file with the XML schema of the documents
    #[arg(long, value_name = "FILE")]
    xml_document_schema_filename: Option<PathBuf>,
    /// Documents in each bulk insert
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    num_documents_per_bulk_insert: u64,
    /// Bulk inserts on each connection
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    num_bulk_insert_operations: u64,
    /// Single-document operations on each connection
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    num_crud_operations: u64,
    /// Relative weight of creates
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    create_weight: u64,
    /// Relative weight of reads
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    read_weight: u64,
    /// Relative weight of updates
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    update_weight: u64,
    /// Relative weight of deletes
    #[arg(long, value_name = "N", default_value = "0", value_parser = plan::count)]
    delete_weight: u64,
    /// Number of threads; they share the connections [default: one per core]
    #[arg(short, long, value_name = "N", value_parser = plan::count)]
    threads: Option<u64>,
    /// Timeout for one operation
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = plan::duration_ns)]
    timeout: u64,
    #[command(flatten)]
    patience: GiveUpArgs,
    #[command(flatten)]
    checks: CheckArgs,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Verb for Cushion {
    const NAME: &'static str = "cushion";
    const ABOUT: &'static str = "Iron Cushion's command line and report";
    const FAMILY: Family = Family::Dialect;
    const BRIEF: &'static str = "database_address database_name num_connections";
    const EXAMPLES: [Example; 3] = [
        (
            "Insert documents in batches",
            "cushion --database_address=http://localhost:5984 --database_name=db --json_document_schema_filename=doc.json --num_documents_per_bulk_insert=1000 --num_bulk_insert_operations=10",
        ),
        (
            "Then single documents",
            "cushion --database_address=http://localhost:5984 --database_name=db --json_document_schema_filename=doc.json --num_documents_per_bulk_insert=1000 --num_bulk_insert_operations=1 --num_crud_operations=500 --create_weight=2 --read_weight=3",
        ),
        (
            "Documents from an XML schema",
            "cushion --database_address=http://localhost:5984 --database_name=db --xml_document_schema_filename=doc.xml --num_documents_per_bulk_insert=1000 --num_bulk_insert_operations=10",
        ),
    ];

    fn carry_out(mut self, call: &Call<'_>) -> Result<Exit, Trouble> {
        self.database_address = completed(&self.database_address)?;
        let (spec, mistakes) = spec(&self, call.line);
        let job =
            Job { plan: check(&spec), mistakes, noise: Self::FAMILY.noise(), output: &self.output };
        carry_out(job, |_| Ok(Printed::new("cushion")))
    }
}

/// The plan that the flags ask for, and the mistakes that can be found without a full check.
fn spec(args: &Cushion, command: &str) -> (PlanSpec, Vec<Invalid>) {
    let mut mistakes = weight_mistakes(args);
    mistakes.extend(path_mistake(&args.database_address));
    mistakes.extend(bulk_mistake(args));
    let schemas = match (&args.json_document_schema_filename, &args.xml_document_schema_filename) {
        (Some(file), None) => {
            vec![("--json_document_schema_filename", SchemaSource::File(file.clone()), 1)]
        }
        (None, Some(file)) => {
            vec![("--xml_document_schema_filename", SchemaSource::File(file.clone()), 1)]
        }
        (one, _) => {
            let problem = if one.is_some() { "both schema flags" } else { "no schema flag" };
            mistakes.push(Invalid::new(
                "--json_document_schema_filename",
                problem,
                "give either this or --xml_document_schema_filename",
            ));
            Vec::new()
        }
    };
    let mut product = |flag: &str, factors: &[u64]| {
        factors.iter().try_fold(1u64, |sum, &factor| sum.checked_mul(factor)).unwrap_or_else(|| {
            mistakes.push(Invalid::new(flag, "the product is too large", "give smaller numbers"));
            // In range, so that one mistake is not reported twice.
            u64::from(u32::MAX)
        })
    };
    // Zero connections is a mistake in itself, not in the flags that count per connection.
    let connections = args.num_connections.max(1);
    let batch = args.num_documents_per_bulk_insert;
    let bulk = [connections, batch, args.num_bulk_insert_operations];
    let documents = product("--num_bulk_insert_operations", &bulk);
    let operations = product("--num_crud_operations", &[connections, args.num_crud_operations]);
    let work = MixedDemand {
        own: crate::workload::OwnMix::new(),
        asked: DocumentsAsked {
            documents: Flagged::new("--num_documents_per_bulk_insert", documents),
            batch: Flagged::new("--num_documents_per_bulk_insert", batch.max(1)),
            within_ns: None,
            operations: Flagged::new("--num_crud_operations", Some(operations)),
            warmup_ns: 0,
        },
        mix: Flagged::new(
            "--delete_weight",
            Mix::crud([
                args.create_weight,
                args.read_weight,
                args.update_weight,
                args.delete_weight,
            ]),
        ),
        more_documents: "--num_bulk_insert_operations",
        order: CrudOrder::Current,
    };
    let connections = Flagged::new("--num_connections", args.num_connections);
    let spec = PlanSpec {
        target: Some(args.database_address.clone()),
        target_flag: "--database_address",
        database: Some(args.database_name.clone()),
        existing: Existing::Yes,
        keep: true,
        threads: args.threads,
        seed: args.seed.map_or_else(wall_ns, |seed| i64::from(seed).cast_unsigned()),
        timeout_ns: args.timeout,
        give_up_ns: args.patience.give_up,
        tls: args.tls.options(),
        schemas,
        thresholds: args.output.fail_if.clone(),
        ..PlanSpec::new(command, connections, Arc::new(work))
    };
    (args.checks.complete(spec), mistakes)
}

/// The address must be that of the server alone: the database has its own flag.
fn path_mistake(address: &str) -> Option<Invalid> {
    let place = address.split_once("://").map_or(address, |(_, place)| place);
    let (_, path) = place.split_once('/').filter(|(_, path)| !path.trim_matches('/').is_empty())?;
    let cure = "give http://host:port alone, and the database as --database_name";
    let problem = format!("/{} follows the address", strike_secrets(path));
    Some(Invalid::new("--database_address", problem, cure))
}

/// Bulk inserts without documents would be left out without a word.
fn bulk_mistake(args: &Cushion) -> Option<Invalid> {
    let inserts = args.num_bulk_insert_operations;
    (inserts > 0 && args.num_documents_per_bulk_insert == 0).then(|| {
        let problem = format!("each of the {inserts} on a connection would have 0 documents");
        let cure = "give --num_documents_per_bulk_insert as well, or leave it out";
        Invalid::new("--num_bulk_insert_operations", problem, cure)
    })
}

/// The README's rules for weights.
fn weight_mistakes(args: &Cushion) -> Vec<Invalid> {
    let Cushion { create_weight, read_weight, update_weight, delete_weight, .. } = args;
    let mut mistakes = Vec::new();
    if args.num_crud_operations == 0 {
        return mistakes;
    }
    let openers = create_weight.saturating_add(*read_weight);
    if openers.saturating_add(*update_weight).saturating_add(*delete_weight) == 0 {
        let cure = "give at least one positive weight, or --num_crud_operations=0";
        mistakes.push(Invalid::new("--create_weight", "all four weights are zero", cure));
    } else if openers < *delete_weight {
        let problem = format!("{delete_weight} exceeds create_weight + read_weight = {openers}");
        let cure = "every delete needs a document created or read before it; lower it";
        mistakes.push(Invalid::new("--delete_weight", problem, cure));
    } else if *update_weight > 0 && openers == 0 {
        let cure = "every update needs a document created or read before it; give one of these";
        mistakes.push(Invalid::new("--update_weight", "create_weight + read_weight is 0", cure));
    }
    mistakes
}
