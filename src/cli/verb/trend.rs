//! `springload trend`: a figure over many saved runs, and where it changed.

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::study::WrittenArgs;
use crate::cli::look;
use crate::cli::pipeline::folder::RUNS;
use crate::cli::verb::compare::quantities;
use crate::cli::verb::found::{FoundRuns, find, once};
use crate::cli::verb::reading::record;
use crate::plan::{Invalid, Quantity};
use crate::report::{Look, shown};
use crate::trend::{LeftOut, Point, Trend};
use std::path::{Path, PathBuf};

/// `springload trend`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct TrendVerb {
    /// Folders with runs, or runs by name or label [default: springload-runs]
    ///
    /// What to draw: folders with runs, however deep, run.json files, saved runs by name, or a
    /// label for all runs that have it [default: springload-runs]
    #[arg(value_name = "DIR")]
    what: Vec<PathBuf>,
    /// What to draw, such as read.p99; may be repeated
    ///
    /// What to draw, such as read.p99, create.throughput or err, as --fail-if names it; may be
    /// repeated [default: throughput, p50, p99 and err of each kind of operation]
    #[arg(long, value_name = "METRIC")]
    metric: Vec<String>,
    /// Draw only the runs of one plan, by its number in the text
    #[arg(long, value_name = "N")]
    group: Option<usize>,
    #[command(flatten)]
    out: WrittenArgs<Trend>,
}

impl Verb for TrendVerb {
    const NAME: &'static str = "trend";
    const ABOUT: &'static str = "Show how saved runs of the same plan changed over time";
    const FAMILY: Family = Family::Results;
    const EXAMPLES: [Example; 3] = [
        ("All runs in springload-runs, and where their level changed", "trend"),
        ("One figure of the runs in a folder", "trend nightly --metric read.p99"),
        ("For a page, or for other programs", "trend nightly -o trend.html"),
    ];

    fn carry_out(self, _call: &Call<'_>) -> Result<Exit, Trouble> {
        let wanted = quantities("--metric", &self.metric)?;
        self.out.format()?;
        let trend = self.chosen(self.read(&wanted)?)?;
        let printed = self.out.output == Path::new("-");
        let look = if printed { look::of_stdout(false) } else { Look::default() };
        self.out.write(&trend, look)?;
        Ok(Exit::Passed)
    }
}

impl TrendVerb {
    /// The trend of all runs that were named.
    fn read(&self, wanted: &[Quantity]) -> Result<Trend, Invalid> {
        let here = [PathBuf::from(RUNS)];
        let what = if self.what.is_empty() { &here[..] } else { &self.what };
        let mut found = FoundRuns::new();
        for name in what {
            found.extend(find(name, "DIR")?);
        }
        once(&mut found);
        let (mut points, mut left_out) = (Vec::new(), Vec::new());
        for (name, file) in found {
            match point(&name, &file, wanted) {
                Ok(point) => points.push(point),
                Err(reason) => left_out.push(LeftOut { name, reason }),
            }
        }
        if points.is_empty() {
            for out in left_out.iter().take(3) {
                let line = format!("left out: {}: {}", out.name, out.reason);
                eprintln!("{}", shown(&line, look::ascii()));
            }
            let names: Vec<_> = what.iter().map(|it| it.display().to_string()).collect();
            let problem = match left_out.len() {
                0 => format!("no runs in {}", names.join(", ")),
                count => format!("none of the {count} files in {} can be drawn", names.join(", ")),
            };
            return Err(Invalid::new("DIR", problem, "springload run -o DIR/NAME saves one there"));
        }
        Ok(Trend::of(points, left_out))
    }

    /// The group that is asked for.
    fn chosen(&self, mut trend: Trend) -> Result<Trend, Invalid> {
        if let Some(number) = self.group {
            let count = trend.groups.len();
            if number == 0 || number > count {
                let problem = format!("there is no group {number}");
                return Err(Invalid::new("--group", problem, format!("give 1 to {count}")));
            }
            trend.groups = vec![trend.groups.swap_remove(number - 1)];
        }
        Ok(trend)
    }
}

/// The parts of the record in `file` that a trend uses.
fn point(name: &str, file: &Path, wanted: &[Quantity]) -> Result<Point, String> {
    Point::of(&record(file)?, name, wanted)
}
