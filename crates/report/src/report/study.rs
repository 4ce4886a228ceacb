//! The formats of studies, which are made of several runs: the only list of them.

use super::comparison::{comparison_junit, comparison_markdown, comparison_text};
use super::drawn::{max_picture, sizing_picture, sweep_picture, trend_picture};
use super::html::{comparison_page, max_page, sizing_page, sweep_page, trend_page};
use super::look::Look;
use super::max::max_text;
use super::picture::Picture::{Png, Svg};
use super::sizing::{notes, sizing_text};
use super::sweep::{sweep_csv, sweep_text};
use super::text::trend_text;
use super::trend::trend_csv_of;
use super::{FORMATS, cleaned, struck_json, terminal_json};
use crate::compare::Comparison;
use crate::plan::Invalid;
use crate::record::RunRecord;
use crate::search::MaxRecord;
use crate::sizing::Sizing;
use crate::sweep::SweepRecord;
use crate::trend::Trend;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A format that a study can be rendered in.
#[derive(Clone, Copy, Debug)]
pub struct StudyFormat<S: 'static> {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// One line for the help.
    pub summary: &'static str,
    /// The endings of its files, unless the format of runs with the same name has them.
    pub endings: &'static [&'static str],
    render: StudyRender<S>,
}

#[derive(Clone, Copy, Debug)]
enum StudyRender<S: 'static> {
    Text(fn(&S) -> String),
    /// Text with a look.
    Look(fn(&S, Look) -> String),
    /// Text, unless the format cannot show this study.
    Fitting(fn(&S) -> Result<String, Invalid>),
    Bytes(fn(&S) -> Vec<u8>),
    /// The study itself, including texts that could steer a terminal, which are escaped.
    Exact(fn(&S) -> String),
}

/// Something made of several runs, with its own formats.
pub trait Study: Sized + Debug + 'static {
    /// Its name, with an article.
    const NAME: &'static str;
    /// Its formats. The first is the usual one.
    const FORMATS: &'static [StudyFormat<Self>];

    /// The same with all texts plain; `None`: they already are.
    const PLAIN: fn(&Self) -> Option<Self>;

    /// The format of this name.
    fn format(name: &str) -> Option<&'static StudyFormat<Self>> {
        Self::FORMATS.iter().find(|it| it.name == name)
    }
}

impl<S: Study> StudyFormat<S> {
    /// Renders a study; `look` applies to text for people.
    ///
    /// # Errors
    /// Returns an error if the format cannot show it.
    pub fn render(&self, study: &S, look: Look) -> Result<Vec<u8>, Invalid> {
        if let StudyRender::Exact(render) = self.render {
            return Ok(terminal_json(render(study)).into_bytes());
        }
        let plain = (S::PLAIN)(study);
        let study = plain.as_ref().unwrap_or(study);
        Ok(match self.render {
            StudyRender::Text(render) | StudyRender::Exact(render) => render(study).into_bytes(),
            StudyRender::Look(render) => render(study, look).into_bytes(),
            StudyRender::Fitting(render) => render(study)?.into_bytes(),
            StudyRender::Bytes(render) => render(study),
        })
    }
}

/// A comparison, with a run of each side to draw.
#[derive(Clone, Debug)]
pub struct ComparisonReport {
    /// The comparison.
    pub comparison: Comparison,
    /// The runs.
    pub drawn: Vec<RunRecord>,
}

fn plain<S: Serialize + DeserializeOwned>(study: &S) -> Option<S> {
    cleaned(study).ok().flatten()
}

fn json<S: Serialize>(study: &S) -> String {
    struck_json(study) + "\n"
}

/// The endings of files, each with the name of its format, for runs and studies.
pub fn endings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let runs = FORMATS.iter().map(|it| (it.name, it.endings));
    let all = runs.chain(of_studies());
    all.flat_map(|(name, endings)| endings.iter().map(move |ending| (*ending, name)))
}

/// The studies with their formats. A format is a row: its name, a line for the help and how it is
/// rendered, with the ending of its files unless a format of runs has it; or `mod` and the name of
/// a file in `study/`, whose `FORMAT` it is.
macro_rules! studies {
    (@module mod $module:ident) => { mod $module; };
    (@module $($row:tt)*) => {};
    (@format mod $module:ident) => { $module::FORMAT };
    (
        @format $name:literal, $summary:literal, $Render:ident($render:expr) $(, $ending:literal)?
    ) => {
        StudyFormat {
            name: $name,
            summary: $summary,
            endings: &[$($ending)?],
            render: StudyRender::$Render($render),
        }
    };
    ($($Study:ident: $name:literal, $plain:expr => [$(($($row:tt)*))*])*) => {
        $($(studies!(@module $($row)*);)*)*

        $(impl Study for $Study {
            const NAME: &'static str = $name;
            const FORMATS: &'static [StudyFormat<Self>] = &[$(studies!(@format $($row)*)),*];
            const PLAIN: fn(&Self) -> Option<Self> = $plain;
        })*

        /// The names of all their formats, with the endings of files.
        fn of_studies() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
            std::iter::empty()
                $(.chain($Study::FORMATS.iter().map(|it| (it.name, it.endings))))*
        }
    };
}

studies! {
    SweepRecord: "a sweep", plain => [
        ("text", "Text for people", Text(sweep_text))
        ("csv", "One row per run, or with --x docs one per point of its fill", Text(sweep_csv))
        ("json", "sweep.json as it is", Exact(json))
        ("html", "One page with charts", Text(sweep_page))
        ("svg", "The charts as SVG", Bytes(|it| sweep_picture(it, Svg)))
        ("png", "The charts as PNG", Bytes(|it| sweep_picture(it, Png)))
    ]
    MaxRecord: "a search", plain => [
        ("text", "Text for people", Text(max_text))
        ("json", "max.json as it is", Exact(json))
        ("html", "One page with charts", Text(max_page))
        ("svg", "The charts as SVG", Bytes(|it| max_picture(it, Svg)))
        ("png", "The charts as PNG", Bytes(|it| max_picture(it, Png)))
    ]
    Trend: "a trend", plain => [
        ("text", "Text for people", Look(trend_text))
        ("csv", "One row per run, as Apache Otava reads it", Fitting(trend_csv_of))
        ("json", "Runs, values and changes", Exact(json))
        ("html", "One page with charts", Text(trend_page))
        ("svg", "The charts as SVG", Bytes(|it| trend_picture(it, Svg)))
        ("png", "The charts as PNG", Bytes(|it| trend_picture(it, Png)))
    ]
    Sizing: "a sizing", plain => [
        ("text", "Text for people", Text(sizing_text))
        (
            "json",
            "The answer and its arithmetic",
            Exact(|it| json(&Self { notes: notes(it), ..it.clone() }))
        )
        ("html", "One page with a chart", Text(sizing_page))
        ("svg", "The chart as SVG", Bytes(|it| sizing_picture(it, Svg)))
        ("png", "The chart as PNG", Bytes(|it| sizing_picture(it, Png)))
    ]
    ComparisonReport: "a comparison", Self::plain => [
        ("text", "Text for people", Text(|it| comparison_text(&it.comparison)))
        ("json", "Figures, intervals and verdicts", Exact(|it| json(&it.comparison)))
        (
            "markdown",
            "For a comment on a pull request",
            Text(|it| comparison_markdown(&it.comparison)),
            "md"
        )
        ("junit", "A test case for each gated figure", Text(|it| comparison_junit(&it.comparison)))
        (
            "html",
            "One page with intervals and charts",
            Text(|it| comparison_page(&it.comparison, &it.drawn))
        )
    ]
}

impl ComparisonReport {
    fn plain(&self) -> Option<Self> {
        let comparison = cleaned(&self.comparison).ok().flatten();
        let drawn = cleaned(&self.drawn).ok().flatten();
        (comparison.is_some() || drawn.is_some()).then(|| Self {
            comparison: comparison.unwrap_or_else(|| self.comparison.clone()),
            drawn: drawn.unwrap_or_else(|| self.drawn.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Nouns;
    use crate::report::max::tests::{max, step};
    use crate::report::sweep::tests::sweep;
    use crate::report::trend::tests::trend;
    use crate::search::{Ended, StepOutcome};
    use crate::sizing::{Measured, SizingAsked, Unit, size};

    /// The text and the charts of a study, and of the same study after storing it.
    fn output_of<S: Study + Serialize + DeserializeOwned>(study: &S) -> String {
        let stored: S = serde_json::from_str(&json(study)).unwrap();
        let text = |study: &S, name: &str| {
            let rendered = S::format(name).unwrap().render(study, Look::default()).unwrap();
            String::from_utf8(rendered).unwrap()
        };
        let all = |study: &S| ["text", "svg"].map(|name| text(study, name)).concat();
        assert_eq!(all(study), all(&stored));
        all(study)
    }

    /// Every study that has a rate, for a database that calls documents `counted`.
    fn studies(counted: Nouns) -> [(&'static str, String); 5] {
        let mut sweeps = [
            sweep(&["batch=1,2,4", "connections=1,8"], false, |v| 100.0 * v[0]),
            sweep(&["batch=1,2"], true, |_| 1_000.0),
        ];
        for cell in sweeps.iter_mut().flat_map(|it| &mut it.cells) {
            cell.result.as_mut().unwrap().counted = counted;
        }
        let steps = vec![step(800.0, StepOutcome::Held, true)];
        let max = MaxRecord { counted, ..max(Ended::Found, steps) };
        let unit = Unit::Nodes;
        let asked = SizingAsked { rate_per_s: 2_000.0, spare: 0, unit, slo: Vec::new() };
        let measured = vec![Measured::new(1, vec![900.0], "max-1".to_owned())];
        let sizing = Sizing { counted, ..size(&asked, measured).unwrap() };
        let mut trend = trend();
        trend.groups.iter_mut().for_each(|group| group.counted = counted);
        let [pairs, sizes] = sweeps.map(|it| output_of(&it));
        [
            ("sweep", pairs),
            ("sweep by size", sizes),
            ("max", output_of(&max)),
            ("size", output_of(&sizing)),
            ("trend", output_of(&trend)),
        ]
    }

    #[test]
    fn rates_count_what_the_database_calls_its_own() {
        for (study, output) in studies(Nouns::KEYS) {
            assert!(output.contains("keys per second"), "{study}: {output}");
            for other in ["document", "docs", "Document"] {
                assert!(!output.contains(other), "{study}: {other} in {output}");
            }
        }
        for (study, output) in studies(Nouns::DOCUMENTS) {
            assert!(output.contains("documents per second"), "{study}: {output}");
            assert!(!output.contains("keys"), "{study}: {output}");
        }
    }
}
