//! `springload report`: saved runs in any format. `springload show` is an alias.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::known;
use crate::cli::flags::output::VerboseArgs;
use crate::cli::flags::place::{format_of_file, refuse_unknown_ending, write_to};
use crate::cli::look;
use crate::cli::verb::kept::Kind;
use crate::cli::verb::named;
use crate::plan::Invalid;
use crate::record::{Code, RunRecord};
use crate::report::{self, ChartKind, Format, Look, shown};
use std::path::{Path, PathBuf};

/// `springload report`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Report {
    /// Saved runs: latest, latest~1, a name, a label, a folder
    ///
    /// A saved run, sweep, search or comparison: its name in springload list or the beginning of
    /// that name, its label, latest, or latest~1 for the one before; or a run.json or a folder.
    /// Some formats accept several runs
    #[arg(required = true)]
    run: Vec<PathBuf>,
    /// The format [default: that of the file's name, or text]
    #[arg(long, value_name = "FORMAT", value_parser = known::formats())]
    format: Option<Format>,
    /// Draw only this chart, with --format svg or png [default: all]
    #[arg(long, value_name = "CHART", value_parser = known::charts())]
    chart: Option<ChartKind>,
    #[command(flatten)]
    show: VerboseArgs,
    /// The file to write to; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

impl Verb for Report {
    const NAME: &'static str = "report";
    const ALIAS: Option<&'static str> = Some("show");
    const ABOUT: &'static str = "Show saved runs, such as latest, in any format";
    const FAMILY: Family = Family::Results;
    const OFTEN: bool = true;
    const EXAMPLES: [Example; 3] = [
        ("The last run, as text; the one before it is latest~1", "report latest"),
        ("Two runs side by side, as a page", "report latest~1 latest -o both.html"),
        ("One chart", "report latest --chart latency -o latency.svg"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        write_to(&self.output, &render(&self)?)?;
        Ok(Exit::Passed)
    }
}

fn render(args: &Report) -> Result<Vec<u8>, Trouble> {
    if let Some((kind, file)) = args.run.iter().find_map(|run| named::several(run)) {
        return of_several(args, kind, &file);
    }
    let runs = args.run.iter().map(|run| named::read(run));
    let runs: Vec<RunRecord> = runs.collect::<Result<_, _>>()?;
    let to_file = args.output != Path::new("-");
    let look = look::of_stdout(args.show.verbose);
    let look = if to_file { Look { verbose: args.show.verbose, ..Look::default() } } else { look };
    let format = format_of(args)?;
    let bytes = format.render_as(&runs, args.chart, look).map_err(|unfit| unfit.to_string())?;
    tell_insecure(&runs, &bytes);
    Ok(bytes)
}

/// Warns about unchecked certificates if the format has no place for the warning, such as a table.
fn tell_insecure(runs: &[RunRecord], bytes: &[u8]) {
    let warnings = runs.iter().flat_map(|run| &run.warnings);
    let insecure = warnings.into_iter().find(|warning| warning.code == Code::Insecure);
    let named = bytes.windows(8).any(|word| word == b"INSECURE");
    if let Some(warning) = insecure.filter(|_| !named) {
        eprintln!("warning: {}", shown(&warning.message, false));
    }
}

/// The format that is asked for, or the one that the file name implies.
fn format_of(args: &Report) -> Result<Format, Invalid> {
    let named = format_of_file(&args.output, args.format)?;
    if args.format.is_none() {
        refuse_unknown_ending(&args.output)?;
    }
    Ok(named.or(args.format).unwrap_or(report::FORMATS[0]))
}

/// The report of a sweep, search or comparison, which has other formats than a run and no choice of
/// charts.
fn of_several(args: &Report, kind: &Kind, file: &Path) -> Result<Vec<u8>, Trouble> {
    let (shown, one, plural) = (file.display(), kind.name, kind.plural);
    if args.run.len() > 1 {
        let problem = format!("{shown} is a {one} and cannot be combined with others");
        return Err(Invalid::new("RUN", problem, "give it alone").into());
    }
    if args.chart.is_some() {
        return Err(format!("--chart is for runs, not for {plural}; leave it out").into());
    }
    let name = format_of(args)?.name;
    let known = (kind.formats)();
    if !known.contains(&name) {
        let known = known.join(", ");
        let problem = format!("--format {name} shows runs, not {plural}; give one of {known}");
        return Err(problem.into());
    }
    (kind.render)(file, name)
        .map_err(|why| Invalid::new("RUN", format!("{shown}: {why}"), why.cure()).into())
}
