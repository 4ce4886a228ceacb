//! `springload k8s`: manifests for agents on Kubernetes.

mod command;
mod manifest;
mod names;
mod pod;
mod yaml;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Statuses, Trouble};
use crate::cli::flags::client::drawn_seed;
use crate::cli::print::print;
use crate::clock::SECOND_NS;
use crate::mistake::{Flagged, Invalid};
use crate::plan;
use command::Command;
use manifest::{BROKER, Fleet, Spread};
use pod::PodArgs;

/// The most pods of an indexed Job that all run at once.
const MOST: u64 = 100_000;

/// `springload k8s`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct K8s {
    /// Number of agents
    #[arg(long, value_name = "N", value_parser = plan::count)]
    agents: u64,
    /// The container image, with springload in its PATH
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// The name of the run that the agents join [default: generated]
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Prefix of the names of the Jobs [default: springload-ID]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The namespace [default: that of kubectl]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// The Secret with the broker's address
    #[arg(long, value_name = "NAME", default_value = "springload-broker")]
    broker_secret: String,
    /// CPUs reserved for each pod
    #[arg(long, value_name = "N", default_value = "2")]
    cpu: String,
    /// Memory for each pod
    #[arg(long, value_name = "SIZE", default_value = "1Gi")]
    memory: String,
    /// How agents are placed on nodes
    #[arg(long, value_enum, value_name = "HOW", default_value = "even")]
    spread: Spread,
    /// When Kubernetes ends everything, including the wait for nodes
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = plan::duration_ns)]
    deadline: u64,
    /// Let the other agents go on when one is lost; needs Kubernetes 1.33
    #[arg(long)]
    keep_others: bool,
    /// Print a JobSet, which needs its controller in the cluster, instead of Jobs
    #[arg(long)]
    jobset: bool,
    /// A volume claim for what the coordinator saves [default: it is lost with the pod]
    #[arg(long, value_name = "NAME", requires = "command")]
    claim: Option<String>,
    #[command(flatten)]
    pod: PodArgs,
    /// The command of the coordinator
    ///
    /// The coordinator's command, such as -- run TARGET -d 1m, to run that as a Job, too; $(NAME)
    /// in it stands for a key of the Secret
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Verb for K8s {
    const NAME: &'static str = "k8s";
    const ABOUT: &'static str = "Print Kubernetes manifests for agents, and for their coordinator";
    const FAMILY: Family = Family::Machines;
    const BRIEF: &'static str = "agents image run_id namespace cpu memory deadline command";
    const EXAMPLES: [Example; 3] = [
        (
            "Agents alone; their coordinator runs elsewhere",
            "k8s --agents 16 --image registry/springload:0.1.0",
        ),
        (
            "The coordinator as a Job, too",
            "k8s --agents 16 --image reg/springload -- run '$(TARGET)' -d 1m",
        ),
        (
            "In a namespace, with more memory",
            "k8s --agents 4 --image reg/springload --namespace a --memory 2Gi",
        ),
    ];
    const EXITS: Statuses = Exit::PLAIN;

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let run = self.run_id.clone().unwrap_or_else(|| format!("{:016x}", drawn_seed()));
        let name = self.name.clone().unwrap_or_else(|| format!("springload-{run}"));
        let command = match &self.command[..] {
            [] => None,
            words => Some(Command::new(words, self.agents, &run)),
        };
        let mut mistakes = self.mistakes(&run, &name);
        if let Some(command) = &command {
            let wrong = command.mistakes();
            let misspelt = command.misspelt(call.grammar).filter(|_| wrong.is_empty());
            mistakes.extend(wrong.into_iter().chain(misspelt));
            mistakes.extend(mistakes.is_empty().then(|| command.unfit(self.deadline)).flatten());
        }
        if !mistakes.is_empty() {
            return Err(mistakes.into());
        }
        let fleet = Fleet {
            name: &name,
            namespace: self.namespace.as_deref(),
            run: &run,
            image: &self.image,
            secret: &self.broker_secret,
            cpu: &self.cpu,
            memory: &self.memory,
            deadline_s: self.deadline.div_ceil(SECOND_NS),
            in_set: self.jobset,
            pod: &self.pod,
        };
        let mut parts = vec![fleet.agents(self.agents, self.spread, self.keep_others)];
        if let Some(it) = &command {
            parts.push(fleet.coordinator(&it.args(), &it.secrets(), self.claim.as_deref()));
        }
        let jobs = if self.jobset {
            fleet.job_set(&parts)
        } else {
            parts.iter().map(|part| fleet.job(part)).collect()
        };
        print((yaml::comment(call.line) + &jobs + &fleet.policy()).as_bytes());
        self.explain(&fleet, command.is_some());
        Ok(Exit::Passed)
    }
}

impl K8s {
    fn mistakes(&self, run: &str, name: &str) -> Vec<Invalid> {
        let asked = if self.name.is_some() { "--name" } else { "--run-id" };
        // The longest names made from it: NAME-agents-INDEX, a host name, or NAME-coordinator;
        // those of a JobSet also have a number.
        let index = self.agents.saturating_sub(1).to_string().len();
        let suffix = ("-agents-".len() + index).max("-coordinator".len());
        let suffix = suffix + if self.jobset { "-0".len() } else { 0 };
        let least = (self.deadline < SECOND_NS)
            .then(|| Invalid::new("--deadline", "less than a second", "give a time such as 1h"));
        let named = names::run_id("--run-id", run)
            .or_else(|| names::job(asked, name, names::LABEL - suffix));
        let cure = "give CPUs such as 2, or thousandths of one such as 500m";
        let cpu = names::quantity("--cpu", &self.cpu, &["", "m"], cure);
        let units = ["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
        let cure = "give a size such as 512Mi or 2Gi";
        let memory = names::quantity("--memory", &self.memory, &units, cure);
        let place = |text| names::name("--namespace", text, names::LABEL);
        let claim = |text| names::name("--claim", text, names::SUBDOMAIN);
        let all = [
            Flagged::new("--agents", self.agents).out_of_range(1, MOST),
            names::image("--image", &self.image),
            named,
            self.namespace.as_deref().and_then(place),
            names::name("--broker-secret", &self.broker_secret, names::SUBDOMAIN),
            cpu,
            memory,
            least,
            self.claim.as_deref().and_then(claim),
        ];
        all.into_iter().flatten().chain(self.pod.mistakes()).collect()
    }

    /// Prints what to do with the manifest.
    fn explain(&self, fleet: &Fleet<'_>, coordinator: bool) {
        let place = self.namespace.as_ref().map_or(String::new(), |it| format!(" -n {it}"));
        let (run, secret) = (fleet.run, fleet.secret);
        eprintln!("The Secret with the broker's address, unless it is there already:");
        eprintln!(
            "  printf %s \"${BROKER}\" | kubectl{place} create secret generic {secret} \
             --from-file={BROKER}=/dev/stdin"
        );
        eprintln!("Create the Jobs from these manifests only once: another run needs new ones.");
        eprintln!("  springload k8s ... | kubectl create -f -");
        if coordinator {
            eprintln!("Its progress and report:");
            let number = if self.jobset { "-0" } else { "" };
            eprintln!("  kubectl{place} logs -f job/{}{number}", fleet.name_of("coordinator"));
        } else {
            eprintln!("Its coordinator, anywhere with ${BROKER} set:");
            eprintln!("  springload run TARGET ... --agents {} --run-id {run}", self.agents);
        }
        eprintln!("When it is over, or to stop it:");
        let kind = if self.jobset { "jobset" } else { "job" };
        eprintln!(
            "  kubectl{place} delete {kind},networkpolicy -l app.kubernetes.io/instance={run}"
        );
        if self.cpu.contains(['.', 'm']) {
            eprintln!(
                "warning: --cpu {}: a pod with a fraction of a CPU is stopped for part of every \
                 0.1 s, which shows in response times; give whole CPUs",
                self.cpu
            );
        }
    }
}
