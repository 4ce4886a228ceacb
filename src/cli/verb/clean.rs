//! `springload clean`: removes the scratch databases of runs that were killed.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::credentials::{CredentialArgs, Servers};
use crate::cli::flags::schema_source::TIMEOUT_NS;
use crate::cli::flags::target::named;
use crate::cli::flags::tls::{INSECURE_HELP, TlsArgs};
use crate::cli::print::print;
use crate::clock::{SECOND_NS, wall_ns};
use crate::driver::{Leftover, Opening, Scratch, TargetAsked, TargetError, TargetPlan};
use crate::plan::{self, Invalid};
use crate::report::shown;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use tokio::runtime::{Builder, Runtime};

const TARGET_HELP: &str =
    "The server, such as http://user@host:port [default: the variable SPRINGLOAD_URL]";

/// `springload clean`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("insecure", |it| it.long_help(INSECURE_HELP)))]
pub(in crate::cli) struct Clean {
    #[arg(help = TARGET_HELP)]
    target: Option<String>,
    /// Only databases older than this
    ///
    /// Only remove databases older than this: a newer one may belong to a run in progress on
    /// another machine. Those of runs in progress on this machine are always kept
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = plan::duration_ns)]
    older_than: u64,
    /// Show what would be removed, and remove nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Remove without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    tls: TlsArgs,
    /// A header for every request; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    #[command(flatten)]
    credentials: CredentialArgs,
}

impl Verb for Clean {
    const NAME: &'static str = "clean";
    const ABOUT: &'static str = "Remove the databases that killed runs left behind";
    const FAMILY: Family = Family::Machines;
    const OFTEN: bool = true;
    const BRIEF: &'static str = "target older_than dry_run yes user insecure";
    const EXAMPLES: [Example; 3] = [
        ("See what was left on a server", "clean http://ann@localhost:5984 --dry-run"),
        ("Remove it, after confirmation", "clean http://ann@localhost:5984"),
        ("In a script, an hour after the run", "clean localhost:5984 --older-than 1h --yes"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        self.clean()
    }
}

impl Clean {
    fn clean(&self) -> Result<Exit, Trouble> {
        let plan = self.plan()?;
        let server = shown(&plan.address().unwrap_or_default(), false);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let opening =
            Opening { timeout_ns: TIMEOUT_NS, max_answer: plan::MAX_ANSWER, ..Opening::default() };
        let found = runtime.block_on(plan.scratches(&opening))?;
        let Some(found) = found else {
            let problem = "springload cannot list the databases of such a server";
            let cure = "remove them with its own tools: their names begin with springload_";
            return Err(Invalid::new("TARGET", problem, cure).into());
        };
        let (old, kept): (Vec<_>, Vec<_>) =
            found.iter().map(|it| (it, self.why_kept(it))).partition(|(_, why)| why.is_none());
        let all: Vec<_> = old.iter().chain(&kept).collect();
        // The databases of a run with several are kept or removed together.
        for of_run in all.chunk_by(|(one, _), (other, _)| one.is_of_run(other)) {
            let Some((scratch, why)) = of_run.first() else { continue };
            let why = why.as_ref().map_or_else(String::new, |why| format!(", kept: {why}"));
            let what = match scratch.kind {
                Leftover::Database => "",
                Leftover::Replication => "replication ",
                Leftover::Compaction => "setting that keeps from compaction ",
            };
            let age = words(age_s(scratch));
            let name = match of_run {
                [_] => scratch.name.clone(),
                _ => format!("{}_* ({} databases)", scratch.run, of_run.len()),
            };
            print(format!("{what}{name}  {age} old{why}\n").as_bytes());
        }
        if old.is_empty() {
            eprintln!("nothing to remove on {server}");
            return Ok(Exit::Passed);
        }
        let old: Vec<Scratch> = old.into_iter().map(|(scratch, _)| scratch.clone()).collect();
        let counted = counted(&old);
        if self.dry_run || !self.agreed(&counted, &server)? {
            return Ok(Exit::Passed);
        }
        remove(&runtime, &plan, &opening, &old)?;
        eprintln!("removed {counted} from {server}");
        Ok(Exit::Passed)
    }

    fn plan(&self) -> Result<TargetPlan, Trouble> {
        let named = named(self.target.clone());
        let Servers { targets, headers, .. } =
            self.credentials.servers(&named, self.header.clone())?;
        let Some(address) = targets.first() else {
            let cure = "give the address of a server, or set SPRINGLOAD_URL";
            return Err(Invalid::new("TARGET", "no server is named", cure).into());
        };
        let asked = TargetAsked { tls: self.tls.options(), headers, ..TargetAsked::at(address) };
        let plan = TargetPlan::check(&asked)?;
        if plan.named_database().is_some() {
            let problem = "it names a database, but clean finds those of runs itself";
            return Err(Invalid::new("TARGET", problem, "give only the server").into());
        }
        Ok(plan)
    }

    /// The reason a database is kept; `None` if it is removed.
    fn why_kept(&self, scratch: &Scratch) -> Option<String> {
        if is_running(scratch.process) {
            let process = scratch.process;
            return Some(format!("its run, process {process}, may still be in progress"));
        }
        let age_ns = age_s(scratch).saturating_mul(SECOND_NS);
        (age_ns < self.older_than).then(|| {
            let least = words(self.older_than / SECOND_NS);
            format!("younger than {least} (--older-than)")
        })
    }

    /// Whether the user agreed to remove them.
    fn agreed(&self, counted: &str, server: &str) -> Result<bool, Trouble> {
        if self.yes {
            return Ok(true);
        }
        if !io::stdin().is_terminal() {
            let problem = "there is no terminal to ask on";
            let cure = "give --yes to remove them, or --dry-run to only see them";
            return Err(Invalid::new("--yes", problem, cure).into());
        }
        write!(io::stderr(), "remove {counted} from {server}? [y/N] ")?;
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let agreed = matches!(line.trim(), "y" | "Y" | "yes");
        if !agreed {
            eprintln!("nothing was removed");
        }
        Ok(agreed)
    }
}

fn remove(
    runtime: &Runtime,
    plan: &TargetPlan,
    opening: &Opening,
    old: &[Scratch],
) -> Result<(), TargetError> {
    runtime.block_on(plan.remove_scratches(opening, old))
}

/// The numbers of databases, replications and settings, in words.
fn counted(all: &[Scratch]) -> String {
    let words = |count: usize, one: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        // `setting of` takes its plural in the middle.
        _ => Some(match one.split_once(' ') {
            Some((one, rest)) => format!("{count} {one}s {rest}"),
            None => format!("{count} {one}s"),
        }),
    };
    let count = |kind: Leftover| all.iter().filter(|it| it.kind == kind).count();
    let kinds = [
        (Leftover::Database, "database"),
        (Leftover::Replication, "replication"),
        (Leftover::Compaction, "setting of compaction"),
    ];
    let parts: Vec<String> =
        kinds.into_iter().filter_map(|(kind, name)| words(count(kind), name)).collect();
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::new(),
    }
}

/// The age of a database, in seconds.
fn age_s(scratch: &Scratch) -> u64 {
    (wall_ns() / SECOND_NS).saturating_sub(scratch.began_s)
}

/// A duration in a few words.
fn words(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Whether this machine has a process with that ID that could be springload.
fn is_running(process: u32) -> bool {
    if process == std::process::id() {
        return false;
    }
    let Ok(name) = std::fs::read_to_string(format!("/proc/{process}/comm")) else {
        // Without `/proc`, all that can be known is whether the process exists.
        return !Path::new("/proc/self").exists() && exists(process);
    };
    name.starts_with("springload")
}

fn exists(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_given_in_few_words() {
        let ages = [5, 300, 7_300, 200_000].map(words);
        assert_eq!(ages, ["5 s", "5 min", "2 h", "2 d"]);
    }
}
