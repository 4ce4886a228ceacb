//! `springload ycsb`: the command line of YCSB's `bin/ycsb`.

mod args;
mod asked;
mod classes;
mod outputs;
mod show;
mod site;
mod traces;

pub(in crate::cli) use args::Ycsb;

use crate::cli::call::{Call, Example, Family, Verb};
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::credentials::{CredentialArgs, completed};
use crate::cli::flags::requesters::Requesters;
use crate::cli::pipeline::{Job, carry_out};
use crate::plan::{Invalid, PlanSpec, check};
use args::Action;
use asked::YcsbAsked;
use outputs::Outputs;
use std::ffi::OsString;

/// YCSB's options that take a value, with one dash and with two, and what they set: a property, so
/// that the last one wins however it was spelled, or one of springload's own arguments.
const VALUED: [(&str, Sets); 14] = [
    ("-P", Sets::Argument("-P")),
    ("-p", Sets::Argument("-p")),
    ("-l", Sets::Property("label")),
    ("-threads", Sets::Property("threadcount")),
    // Found in a guide; YCSB itself never accepted it.
    ("-thread", Sets::Property("threadcount")),
    ("-target", Sets::Property("target")),
    ("-db", Sets::Property("db")),
    ("-table", Sets::Property("table")),
    ("--threads", Sets::Property("threadcount")),
    ("--target", Sets::Property("target")),
    ("--db", Sets::Property("db")),
    ("--table", Sets::Property("table")),
    ("-cp", Sets::Argument("--cp")),
    ("-jvm-args", Sets::Argument("--jvm-args")),
];
/// The options without a value.
const PLAIN: [(&str, &[&str]); 3] =
    [("-s", &["-p", "status=true"]), ("-load", &["--load"]), ("-help", &["--help"])];
/// springload's own single-letter flags.
const LETTERS: [&str; 6] = ["-t", "-o", "-q", "-h", "-V", "-k"];

#[derive(Clone, Copy, Debug)]
enum Sets {
    Property(&'static str),
    Argument(&'static str),
}

/// Rewrites YCSB's options in the spelling that clap parses, if the verb is `ycsb`.
///
/// # Errors
/// Fails on an unknown single-dash option, with the message for it. Clap would read it as several
/// letters, possibly `-h` among them.
fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
    if arguments.get(1).is_none_or(|verb| verb != "ycsb") {
        return Ok(arguments);
    }
    let mut words = arguments.into_iter();
    let mut spelled: Vec<OsString> = words.by_ref().take(2).collect();
    let (mut command, mut loads) = (None, None);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (text.as_str(), None),
        };
        if let Some((_, more)) = PLAIN.iter().find(|(option, _)| *option == text) {
            spelled.extend(more.iter().map(OsString::from));
        } else if let Some((option, sets)) = VALUED.iter().find(|(option, _)| *option == name) {
            if *option == "-thread" {
                eprintln!("note: -thread is read as -threads");
            }
            if matches!(sets, Sets::Property("threadcount" | "target")) {
                loads = Some(*option);
            }
            let value = attached
                .or_else(|| words.next())
                .ok_or_else(|| format!("{option}: the value is missing; give {option} VALUE"))?;
            match sets {
                Sets::Argument(flag) => spelled.extend([OsString::from(flag), value]),
                Sets::Property(property) => {
                    let mut pair = OsString::from(format!("{property}="));
                    pair.push(value);
                    spelled.extend(["-p".into(), pair]);
                }
            }
        } else if is_stray(name) {
            return Err(stray(&text, name));
        } else {
            if command.is_none() && !text.starts_with('-') {
                command = Some(text);
            }
            spelled.push(word);
        }
    }
    // As in YCSB, whose shell has a command line of its own.
    match loads.filter(|_| command.as_deref() == Some("shell")) {
        Some(option) => Err(format!("{option}: the shell makes no load; leave it out")),
        None => Ok(spelled),
    }
}

/// Whether a word has a single dash and is not one of our letters, with or without its value.
fn is_stray(name: &str) -> bool {
    let dashed = name.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let valued = ["-P", "-p", "-o"].iter().any(|letter| name.starts_with(letter));
    dashed && !LETTERS.contains(&name) && !valued
}

fn stray(word: &str, name: &str) -> String {
    let options = VALUED.iter().map(|it| it.0).chain(PLAIN.iter().map(|it| it.0));
    let nearest = options.min_by_key(|option| strsim::damerau_levenshtein(option, name));
    let near = nearest.filter(|option| strsim::damerau_levenshtein(option, name) <= 2);
    let cure = near.map_or_else(
        || "see docs/ycsb.md for the options; properties are given as -p NAME=VALUE".to_owned(),
        |option| format!("did you mean {option}?"),
    );
    format!("{word}: no such option; {cure}")
}

/// Adds the password of a user whom the address, or the prefix of URLs, names without one.
fn complete(spec: &mut PlanSpec) -> Result<(), Invalid> {
    if let Some(address) = &mut spec.target {
        *address = completed(address)?;
    }
    let own = CredentialArgs::default();
    let mut requesters = Requesters::new(&own, false);
    for request in spec.http.iter_mut().flat_map(|list| list.requests.kinds_mut()) {
        request.user = requesters.of_request(request)?;
    }
    Ok(())
}

impl Verb for Ycsb {
    const NAME: &'static str = "ycsb";
    const ABOUT: &'static str = "YCSB's command line, workloads and report";
    const FAMILY: Family = Family::Dialect;
    const BRIEF: &'static str = "command binding files properties ycsb_threads ycsb_target status table output format \
        fail_if";
    const EXAMPLES: [Example; 3] = [
        ("Insert the records of workload A", "ycsb load couchdb -P workloads/workloada"),
        (
            "Run its operations on 16 connections",
            "ycsb run couchdb -P workloads/workloada -threads 16",
        ),
        (
            "At a rate, with more operations",
            "ycsb run couchdb -P workloads/workloadb -target 500 -p operationcount=30000",
        ),
    ];

    fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, String> {
        spelled_out(arguments)
    }

    fn carry_out(self, call: &Call<'_>) -> Result<Exit, Trouble> {
        let hosts = classes::binding(&self.binding).is_ok_and(|named| named.1.takes_any_class());
        if self.java.is_some() && !hosts {
            eprintln!("note: -jvm-args is ignored: there is no Java");
        }
        let mut mistakes = Vec::new();
        let mut asked = YcsbAsked::read(&self, &mut mistakes);
        if self.command == Action::Shell {
            return asked.shell(&self, mistakes).map_err(Trouble::in_own_words);
        }
        let Some(mut spec) = asked.spec(&self, call.line, &mut mistakes) else {
            return Err(mistakes.into());
        };
        mistakes.extend(complete(&mut spec).err());
        if mistakes.is_empty() && asked.loads_nothing {
            eprintln!("note: RestWorkload loads nothing");
            return Ok(Exit::Passed);
        }
        if mistakes.is_empty() && !self.output.dry_run {
            asked.notes.iter().for_each(|note| eprintln!("note: {note}"));
            if asked.shown.printed {
                show::properties(&asked.properties);
            }
        }
        let measurement = spec.measurement.clone();
        let plan = check(&spec);
        let Some(measurement) = measurement else {
            // The reason is among the mistakes.
            mistakes.extend(plan.err().unwrap_or_default());
            return Err(mistakes.into());
        };
        let job = Job { plan, mistakes, noise: Self::FAMILY.noise(), output: &self.output };
        carry_out(job, |plan| Outputs::open(plan, measurement, asked.shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &str) -> Result<String, String> {
        let words = line.split(' ').map(OsString::from).collect();
        let words = spelled_out(words)?.into_iter().map(|word| word.into_string().unwrap());
        Ok(words.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_of_ycsb_become_properties_in_their_order() {
        for (line, meant) in [
            (
                "x ycsb run basic -P -cp -p -db -threads 5 -s -jvm-args -load",
                "x ycsb run basic -P -cp -p -db -p threadcount=5 -p status=true --jvm-args -load",
            ),
            (
                "x ycsb load basic -thread 50 -l -target",
                "x ycsb load basic -p threadcount=50 -p label=-target",
            ),
            (
                "x ycsb run basic -threads=2 -target=-1 -jvm-args=-Xmx1g -cp=/a=b -P=f",
                "x ycsb run basic -p threadcount=2 -p target=-1 --jvm-args -Xmx1g --cp /a=b -P f",
            ),
            (
                "x ycsb run basic -Pfile -pa=b -o out -q --seed -5",
                "x ycsb run basic -Pfile -pa=b -o out -q --seed -5",
            ),
            ("x run basic -threads 5", "x run basic -threads 5"),
            (
                "x ycsb run basic -p threadcount=2 --threads 4 --target=9 --db d --table t",
                "x ycsb run basic -p threadcount=2 -p threadcount=4 -p target=9 -p db=d -p table=t",
            ),
        ] {
            assert_eq!(spelled(line).unwrap(), meant);
        }
    }

    #[test]
    fn the_shell_has_neither_threads_nor_a_target() {
        for option in ["-threads", "--threads", "-target", "--target"] {
            let message = spelled(&format!("x ycsb shell basic {option} 5")).unwrap_err();
            assert!(message.starts_with(&format!("{option}: the shell ")), "{message}");
            let first = spelled(&format!("x ycsb {option}=5 -P f shell basic")).unwrap_err();
            assert_eq!(first, message);
            assert!(spelled(&format!("x ycsb run shell {option} 5")).is_ok(), "a binding");
        }
        // Properties may be in a file that is used for all three.
        for line in ["x ycsb shell basic -p threadcount=5", "x ycsb shell basic -P f -table t"] {
            assert!(spelled(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn an_option_that_there_is_not_is_named_whole() {
        for (word, cure) in
            [("-foo", "docs/ycsb.md"), ("-threds=2", "-threads?"), ("-th", "no such option")]
        {
            let message = spelled(&format!("x ycsb run basic {word}")).unwrap_err();
            assert!(
                message.starts_with(&format!("{word}: ")) && message.contains(cure),
                "{message}"
            );
        }
        assert!(spelled("x ycsb run basic -threads").unwrap_err().starts_with("-threads: "));
    }
}
