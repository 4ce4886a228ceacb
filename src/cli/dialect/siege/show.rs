//! What siege shows without a run: one exchange, its configuration, its version.

use super::args::Siege;
use super::rc::Rc;
use crate::cli::exit::{Exit, Trouble};
use crate::cli::print::{print, print_foreign};
use crate::driver::TargetPlan;
use crate::http1::Exchange;
use crate::plan::{HttpLoad, HttpSpec, Invalid, Plan};
use crate::report::{SiegeHit, siege_figures};
use crate::run::{RunError, Shown, exchange_once};
use crate::workload::UrlOrder;

/// The version of siege whose command line and figures are reproduced.
const SIEGE: &str = "4.0.7";

pub(super) fn version() -> Exit {
    let own = env!("CARGO_PKG_VERSION");
    println!("springload {own}, with the command line of siege {SIEGE}");
    Exit::Passed
}

/// Makes one request. Prints the exchange to stdout and the figures to stderr, as siege does.
pub(super) fn exchange(
    plan: Result<Plan, Vec<Invalid>>,
    mut mistakes: Vec<Invalid>,
    args: &Siege,
    rc: &Rc,
) -> Result<Exit, Trouble> {
    if args.urls.len() != 1 {
        let problem = format!("{} URLs on the command line", args.urls.len());
        let flag = if args.get { "--get" } else { "--print" };
        return Err(Invalid::new(flag, problem, "give one").into());
    }
    let mut plan = match plan {
        Ok(plan) if mistakes.is_empty() => plan.into_record(),
        plan => {
            mistakes.extend(plan.err().unwrap_or_default());
            return Err(mistakes.into());
        }
    };
    // As in siege, a URL without a method is requested with HEAD.
    let plain = !args.urls[0].trim().contains(char::is_whitespace);
    let http = plan.http.as_mut();
    if let Some(request) = http.and_then(|http| http.requests.kinds_mut().first_mut())
        && plain
        && !args.print
    {
        rc.get("gmethod").unwrap_or("HEAD").clone_into(&mut request.method);
    }
    if let (TargetPlan::Http(target), Some(http)) = (&mut plan.target, &plan.http) {
        *target = target.once(http);
    }
    let shown = exchange_once(&plan).map_err(|error| {
        let targets = RunError::is_targets(&error);
        Trouble::new(if targets { Exit::Target } else { Exit::Failed }, error.to_string())
    })?;
    tell(&shown, args, rc)
}

fn tell(shown: &Shown, args: &Siege, rc: &Rc) -> Result<Exit, Trouble> {
    let json = args.json_output || rc.is_on("json_output") == Some(true);
    let quiet = args.output.quiet || rc.is_on("quiet") == Some(true);
    let hit = |exchange: &Exchange| SiegeHit {
        status: exchange.status.ok(),
        response_ns: exchange.response_ns,
        bytes: exchange.bytes,
    };
    let hits: Vec<_> = shown.exchanges.iter().map(hit).collect();
    let figures = siege_figures(&hits, shown.elapsed_ns, json);
    if json {
        print(figures.as_bytes());
    } else if !quiet {
        for exchange in &shown.exchanges {
            print(&exchange.request);
            print(b"\n");
            print_foreign(if args.print { &exchange.body } else { &exchange.head });
            print(b"\n");
        }
        eprintln!("{}", figures.trim_end());
    }
    let failed =
        |failure| Trouble::new(Exit::Target, format!("{failure}: no answer, or a refusal"));
    shown.result.map(|()| Exit::Passed).map_err(failed)
}

/// Prints the settings from flags and configuration file, in siege's form.
pub(super) fn configuration(spec: &HttpSpec, args: &Siege, rc: &Rc) -> Exit {
    let own = concat!("springload/", env!("CARGO_PKG_VERSION"));
    let agent = args.user_agent.as_deref().or_else(|| rc.get("user-agent")).unwrap_or(own);
    println!("CURRENT  SIEGE  CONFIGURATION\n{agent}");
    println!("Edit the resource file to change the settings.\n{}", "-".repeat(46));
    for (name, value) in settings(spec, args, rc) {
        println!("{:32}{value}", format!("{name}:"));
    }
    Exit::Passed
}

fn settings(spec: &HttpSpec, args: &Siege, rc: &Rc) -> Vec<(&'static str, String)> {
    let on = |flag: bool, key: &str| (flag || rc.is_on(key) == Some(true)).to_string();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let delay_ns = match spec.load {
        HttpLoad::Thinking(most_ns) => most_ns,
        HttpLoad::Steady(_) => 0,
    };
    let none = || "n/a".to_owned();
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let each = spec.operations.map(|all| (all / spec.users.max(1)).to_string());
    let file = args.file.as_ref().map(path).or_else(|| rc.get("file").map(str::to_owned));
    let logging = args.log.is_some() || args.mark.is_some();
    let keep_alive = spec.settings.keep_alive;
    let encoding = rc.get("accept-encoding").unwrap_or("gzip, deflate");
    let user = spec.user.as_ref().map(|(user, _)| format!("{user}:***"));
    vec![
        ("version", format!("springload {}, as {SIEGE}", env!("CARGO_PKG_VERSION"))),
        ("verbose", on(args.verbose, "verbose")),
        ("quiet", on(args.output.quiet || args.json_output, "quiet")),
        ("debug", args.debug.to_string()),
        ("protocol", "HTTP/1.1".to_owned()),
        ("HTML parser", "disabled".to_owned()),
        ("get method", rc.get("gmethod").unwrap_or("HEAD").to_owned()),
        ("connection", if keep_alive { "keep-alive" } else { "close" }.to_owned()),
        ("concurrent users", spec.users.to_string()),
        (
            "time to run",
            spec.duration_ns.map_or_else(none, |ns| format!("{} seconds", seconds(ns))),
        ),
        ("repetitions", if spec.once { "once".to_owned() } else { each.unwrap_or_else(none) }),
        ("socket timeout", seconds(spec.timeout_ns).to_string()),
        ("cache enabled", false.to_string()),
        ("accept-encoding", encoding.to_owned()),
        ("delay", format!("{:.3} sec", seconds(delay_ns))),
        ("internet simulation", (spec.order == UrlOrder::Random).to_string()),
        ("benchmark mode", on(args.benchmark, "benchmark")),
        ("failures until abort", none()),
        ("named URL", args.urls.first().map_or("none", String::as_str).to_owned()),
        ("URLs file", file.unwrap_or_else(none)),
        ("thread limit", none()),
        ("logging", on(logging, "logging")),
        ("log file", path(&args.log_name(rc))),
        ("resource file", args.rc.as_ref().map_or_else(none, path)),
        ("allow redirects", spec.settings.follow.to_string()),
        ("json output", on(args.json_output, "json_output")),
        ("www auth", user.unwrap_or_default()),
    ]
}
