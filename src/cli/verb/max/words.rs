//! Steps that another verb carries out: `-- http -f urls.txt`. Each starts this program again with
//! these words, a level and a length.

use crate::cli::exit::Exit;
use crate::cli::pipeline::ending::Ending;
use crate::cli::secrets::command_line;
use crate::cli::verb::other::Other;
use crate::plan::{Invalid, PlanRecord, Threshold};
use crate::record::RunRecord;
use crate::search::{Ask, Searched, requirement};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A command line that accepts a level and a length.
struct Searchable {
    begins: &'static [&'static str],
    /// The flags that set the rate, the connections, and the length.
    rate: &'static [&'static str],
    connections: &'static [&'static str],
    length: &'static [&'static str],
    /// Other flags that do not work with a search, and the reasons.
    refused: &'static [(&'static [&'static str], &'static str)],
    /// The words to add for a step.
    step: fn(Searched, f64, f64) -> Vec<String>,
}

const OPS: (&[&str], &str) = (&["--ops", "-n"], "would end a step before its time");
const STAGES: (&[&str], &str) = (&["--stages"], "changes the rate during a step");
const SEVERAL: &str = "measures more than one thing in a step";

const RUN: Searchable = Searchable {
    begins: &["run"],
    rate: &["--rate", "-r"],
    connections: &["--connections", "-c"],
    length: &["--duration", "-d"],
    refused: &[OPS, STAGES],
    step: native,
};

/// All command lines that a search can use.
const SEARCHABLE: [Searchable; 4] = [
    RUN,
    Searchable { begins: &["http"], ..RUN },
    Searchable {
        begins: &["burst"],
        connections: &["--connections", "-c", "--workers"],
        length: &["--duration", "-d", "--time"],
        refused: &[(&["--both", "--repeat", "--every"], SEVERAL)],
        ..RUN
    },
    Searchable {
        begins: &["ycsb", "run"],
        rate: &["-target", "--target", "-p target"],
        connections: &["-threads", "--threads", "-thread", "-p threadcount"],
        length: &["-p maxexecutiontime"],
        refused: &[(&["-p operationcount"], OPS.1)],
        step: ycsb,
    },
];

/// The reason a step cannot continue without an agent.
pub(super) const LESS: &str = "would try less than the level";

/// Flags of any verb that belong before the words, or do not fit a step.
const OUTSIDE: [(&[&str], &str, &str); 4] = [
    (&["--output", "-o"], "each step has a folder of its own", "give -o before --"),
    (&["--fail-if"], "does not end a search", "give --slo before --"),
    (&["--dry-run"], "measures nothing", "leave it out"),
    (&["--allow-lost"], LESS, "leave it out"),
];

/// The words of a command line, and the program that carries it out.
pub(super) struct Words {
    program: PathBuf,
    line: Vec<String>,
    searched: Searched,
    of: &'static Searchable,
}

impl Words {
    /// Checks what can be checked from the words alone.
    pub(super) fn new(words: &[String], searched: Searched) -> Result<Self, Vec<Invalid>> {
        let quiet = |word: &&String| ["-q", "--quiet"].contains(&word.as_str());
        let named = words.first().is_some_and(|word| word == "springload");
        let words = words.iter().skip(usize::from(named)).filter(|word| !quiet(word));
        let words: Vec<String> = words.cloned().collect();
        let begins = |it: &&Searchable| it.begins.iter().zip(&words).all(|(own, word)| own == word);
        let begins = |it: &&Searchable| words.len() >= it.begins.len() && begins(it);
        let of = SEARCHABLE.iter().find(begins).ok_or_else(|| unsearchable(&words))?;
        let mut mistakes = Vec::new();
        let mut refuse = |flags: &[&str], problem: &str, cure: &str| {
            let given = flags.iter().find(|flag| is_given(&words, flag));
            mistakes.extend(given.map(|flag| Invalid::new(*flag, problem, cure)));
        };
        let bounds = "leave it out, or give --from and --to";
        match searched {
            Searched::Rate => refuse(of.rate, "is what the search varies", bounds),
            Searched::Connections => {
                refuse(of.connections, "is what the search varies", bounds);
                refuse(of.rate, "sets the pace, with any number of connections", "leave it out");
            }
        }
        refuse(of.length, "is the length of a step", "give -d before --");
        for (flags, problem) in of.refused {
            refuse(flags, problem, "leave it out");
        }
        for (flags, problem, cure) in OUTSIDE {
            refuse(flags, problem, cure);
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let program = std::env::current_exe().map_err(|error| {
            let problem = format!("springload cannot find its own program: {error}");
            Invalid::new("--", problem, "start it with its full path")
        })?;
        Ok(Self { program, line: words, searched, of })
    }

    /// The command line of all steps, without level, length and secrets.
    pub(super) fn command(&self) -> String {
        shown(&self.line)
    }

    pub(super) const fn verb(&self) -> &'static str {
        self.of.begins[0]
    }

    /// Whether a plan belongs to a step: its command line has the same words, and possibly more.
    pub(super) fn is_of(&self, ask: Ask, length_s: f64, plan: &PlanRecord) -> bool {
        let line = shown(&self.words(ask, length_s));
        let own = line.split(' ').skip(1 + self.of.begins.len()).collect::<Vec<_>>().join(" ");
        plan.command.contains(&own)
    }

    fn words(&self, ask: Ask, length_s: f64) -> Vec<String> {
        let step = (self.of.step)(self.searched, ask.level, length_s);
        self.line.iter().cloned().chain(step).collect()
    }

    /// Lets the program check a step, with all of its limits.
    pub(super) fn check(
        &self,
        ask: Ask,
        length_s: f64,
        thresholds: &[Threshold],
        ending: &Ending,
    ) -> Result<(), Exit> {
        let mut words = self.words(ask, length_s);
        let mut replaced = vec![("--fail-if: ".to_owned(), "--slo: ".to_owned())];
        for threshold in thresholds {
            words.extend(["--fail-if".to_owned(), threshold.to_string()]);
            replaced.push((threshold.to_string(), requirement(*threshold).to_string()));
        }
        Other { program: &self.program, words: &words, heard: false }.check(ending, &replaced)
    }

    /// Lets the program measure a step into the folder of `file`.
    pub(super) fn measure(
        &self,
        ask: Ask,
        length_s: f64,
        file: &Path,
        ending: &Ending,
    ) -> Result<RunRecord, Exit> {
        let words = self.words(ask, length_s);
        Other { program: &self.program, words: &words, heard: false }.measure(file, ending)
    }
}

/// The command line of these words, without secrets.
fn shown(words: &[String]) -> String {
    let words = std::iter::once("springload").chain(words.iter().map(String::as_str));
    command_line(&words.map(OsString::from).collect::<Vec<_>>())
}

/// The message that names the command lines a search can use.
fn unsearchable(words: &[String]) -> Invalid {
    let known: Vec<String> = SEARCHABLE.iter().map(|it| it.begins.join(" ")).collect();
    let problem = match words {
        [verb, ..] if verb == "ycsb" => "only the run phase of ycsb can be searched".to_owned(),
        [verb, ..] => format!("{verb:?} cannot be searched"),
        [] => "no verb is named".to_owned(),
    };
    Invalid::new("--", problem, format!("give one of {}", known.join(", ")))
}

/// Whether a flag is among the words: `--rate 5`, `--rate=5`, `-r5`, or `-p NAME=5`.
fn is_given(words: &[String], flag: &str) -> bool {
    if let Some(property) = flag.strip_prefix("-p ") {
        let sets = |word: &str| word.split_once('=').is_some_and(|(name, _)| name == property);
        let after = words.windows(2).any(|pair| pair[0] == "-p" && sets(&pair[1]));
        let attached = |word: &String| word.strip_prefix("-p").is_some_and(sets);
        return after || words.iter().any(attached);
    }
    let letter = flag.len() == 2;
    words.iter().any(|word| {
        let rest = word.strip_prefix(flag);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || letter)
    })
}

/// The words to add for springload's own verbs.
fn native(searched: Searched, level: f64, length_s: f64) -> Vec<String> {
    let flag = match searched {
        Searched::Rate => "--rate",
        Searched::Connections => "--connections",
    };
    let length = (length_s * 1e3).round();
    vec![format!("{flag}={level}"), format!("--duration={length}ms")]
}

/// The words to add for ycsb: no number of operations ends a step, and no target in a file paces
/// it.
fn ycsb(searched: Searched, level: f64, length_s: f64) -> Vec<String> {
    let (rate, threads) = match searched {
        Searched::Rate => (level, None),
        Searched::Connections => (0.0, Some(level)),
    };
    let mut properties = vec![
        format!("target={rate}"),
        format!("maxexecutiontime={length_s}"),
        "operationcount=0".to_owned(),
    ];
    properties.extend(threads.map(|threads| format!("threadcount={threads}")));
    properties.into_iter().flat_map(|property| ["-p".to_owned(), property]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn refused(line: &str, searched: Searched) -> String {
        let mistakes = Words::new(&words(line), searched).err().unwrap_or_default();
        mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_sets_the_level_or_the_length_is_refused_however_it_is_spelled() {
        for (line, flag) in [
            ("http h -r 5", "-r: is what the search varies; leave it out, or give --from and --to"),
            ("http h -r5", "-r: is what"),
            ("run h --rate=5", "--rate: is what"),
            ("burst h --time 5s", "--time: is the length of a step; give -d before --"),
            ("burst h --repeat 2", "--repeat: measures more than one thing"),
            ("http h --ops=5", "--ops: would end a step"),
            ("http h -o x", "-o: each step has a folder of its own; give -o before --"),
            ("run --fail-if a", "--fail-if: does not end a search; give --slo before --"),
            ("ycsb run couchdb -target 5", "-target: is what"),
            ("ycsb run couchdb -p target=5", "-p target: is what"),
            ("ycsb run couchdb -pmaxexecutiontime=5", "-p maxexecutiontime: is the length"),
            ("ycsb load couchdb", "--: only the run phase of ycsb can be searched; give one of r"),
            (
                "sweep -L a=1",
                "--: \"sweep\" cannot be searched; give one of run, http, burst, ycsb",
            ),
        ] {
            let message = refused(line, Searched::Rate);
            assert!(message.starts_with(flag) && !message.contains('\n'), "{line}: {message}");
        }
        for (line, flag) in [
            ("http h -c5", "-c: is what"),
            ("burst h --workers=5", "--workers: is what"),
            ("http h -r 5", "-r: sets the pace"),
            ("ycsb run couchdb -threads=4", "-threads: is what"),
        ] {
            let message = refused(line, Searched::Connections);
            assert!(message.starts_with(flag), "{line}: {message}");
        }
        for line in ["http h -c 5", "springload http h", "ycsb run couchdb -P a -p targets=1 -q"] {
            assert_eq!(refused(line, Searched::Rate), "", "{line}");
        }
    }

    #[test]
    fn a_step_has_the_words_a_level_and_a_length() {
        let ask = Ask { search: 1, level: 300.0, lengths: 1, confirms: false };
        let of = |line: &str, searched: Searched| {
            let words = Words::new(&words(line), searched).map_err(|_| "refused").unwrap();
            words.words(ask, 1.5).join(" ")
        };
        let (rate, connections) = (Searched::Rate, Searched::Connections);
        assert_eq!(of("http h -q", rate), "http h --rate=300 --duration=1500ms");
        assert_eq!(of("burst h", connections), "burst h --connections=300 --duration=1500ms");
        let properties = "-p target=300 -p maxexecutiontime=1.5 -p operationcount=0";
        assert_eq!(of("ycsb run basic", rate), format!("ycsb run basic {properties}"));
        let properties =
            "-p target=0 -p maxexecutiontime=1.5 -p operationcount=0 -p threadcount=300";
        assert_eq!(of("ycsb run basic", connections), format!("ycsb run basic {properties}"));
    }

    #[test]
    fn secrets_are_not_in_the_command() {
        let line = "http http://ann:s3cret@h/ -H Cookie:abc -u bob:geheim";
        let command = Words::new(&words(line), Searched::Rate).map_err(|_| "refused").unwrap();
        let command = command.command();
        assert!(command.starts_with("springload http "), "{command}");
        assert!(["s3cret", "abc", "geheim"].iter().all(|it| !command.contains(it)), "{command}");
    }
}
