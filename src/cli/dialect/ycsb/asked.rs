//! Turns properties and options into a plan that has not been checked yet.

use super::args::{Action, Ycsb, wrong};
use super::classes::{self, NamedBinding, WorkloadClass};
use super::site;
use super::traces::traces;
use crate::cli::exit::{Exit, Trouble};
use crate::cli::flags::client::{DEFAULT_SEED, drawn_seed};
use crate::cli::flags::credentials::completed;
use crate::cli::flags::load::at_rate;
use crate::cli::verb::shell;
use crate::clock::wall_ns;
use crate::driver::{Binding, Bound, Buffer, Shown};
use crate::files;
use crate::op::OpKind;
use crate::plan::{Auth, Existing, Flagged, Invalid, LoadSpec, MeasurementPlan, PlanSpec};
use crate::properties::{Properties, PropertyError, PropertyReader};
use crate::redact;
use crate::workload::ycsb::rest::RestConfig;
use crate::workload::ycsb::series::{Asker, SeriesConfig};
use crate::workload::ycsb::{Class, CoreConfig, YcsbDemand, YcsbPhase, builtin, occupancy};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// The share of operations that may fail. YCSB accepts any number of failures.
const MOST_ERRORS: f64 = 0.01;
/// The largest number of seconds or operations: more would overflow.
const MOST: f64 = 1e9;
/// The most connections, and the most documents in a request, that a plan may have.
const MOST_THREADS: f64 = 65_536.0;
const MOST_BATCH: f64 = 1e6;
/// The most records that are buffered together.
const MOST_BUFFERED: u64 = 1_000;
/// No limit on waiting operations: as in YCSB, none is ever dropped.
const ALL_IN_FLIGHT: u64 = 1 << 40;

/// The properties that this file reads.
const OWN: [&str; 10] = [
    "batchsize",
    "db",
    "dotransactions",
    "maxerrorrate",
    "maxexecutiontime",
    "measurement.trackjvm",
    "spin.sleep",
    "target",
    "threadcount",
    "workload",
];

/// Everything that was asked for, before it is checked.
pub(super) struct YcsbAsked {
    pub(super) properties: Properties,
    /// Notes for the user that are not mistakes.
    pub(super) notes: Vec<String>,
    pub(super) shown: Shown,
    /// Whether to run the load phase of a workload that has none.
    pub(super) loads_nothing: bool,
}

impl YcsbAsked {
    /// Reads the property files, and applies the options.
    pub(super) fn read(args: &Ycsb, mistakes: &mut Vec<Invalid>) -> Self {
        let mut properties = Properties::default();
        for file in &args.files {
            match property_file(file) {
                Ok(read) => properties.overlay(read),
                Err(problem) => {
                    let problem = format!("{}: {problem}", file.display());
                    let cure = "give a property file, or one of workloads/workloada to f";
                    mistakes.push(Invalid::new("-P", problem, cure));
                }
            }
        }
        let options = [
            ("threadcount", &args.threads),
            ("target", &args.target),
            ("label", &args.status_label),
            ("db", &args.db),
            ("table", &args.table),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                properties.set(name, value.as_str());
            }
        }
        if args.status {
            properties.set("status", "true");
        }
        for property in &args.properties {
            match property.split_once('=') {
                Some((name, value)) if !name.is_empty() => properties.set(name, value),
                _ => {
                    let cure = "give NAME=VALUE";
                    mistakes.push(Invalid::new("-p", format!("{property:?} has no ="), cure));
                }
            }
        }
        for (_, value) in properties.iter().filter(|(name, _)| redact::is_secret(name)) {
            redact::learn(value);
        }
        Self { properties, notes: Vec::new(), shown: Shown::default(), loads_nothing: false }
    }

    /// Opens a shell on the table.
    ///
    /// # Errors
    /// Fails if there is no table to open one on.
    pub(super) fn shell(
        &mut self,
        args: &Ycsb,
        mut mistakes: Vec<Invalid>,
    ) -> Result<Exit, Trouble> {
        let Some((_, bound)) = self.bound(args, &mut mistakes) else {
            return Err(mistakes.into());
        };
        let Some(target) = bound.address else {
            let problem = format!("{} has no shell", args.binding);
            mistakes.push(Invalid::new("BINDING", problem, "give the binding of a database"));
            return Err(mistakes.into());
        };
        if !mistakes.is_empty() {
            return Err(mistakes.into());
        }
        self.notes.iter().for_each(|note| eprintln!("note: {note}"));
        shell::main(&shell::Shell {
            target: Some(completed(&target)?),
            table: self.properties.get("table").map(str::to_owned),
            tls: args.tls.clone(),
            options: bound.options,
            timeout_ns: Some(bound.timeout_ns.unwrap_or(args.timeout)),
            ..shell::Shell::default()
        })
    }

    /// The plan to check; `None` if the properties are too faulty to make one.
    pub(super) fn spec(
        &mut self,
        args: &Ycsb,
        command: &str,
        mistakes: &mut Vec<Invalid>,
    ) -> Option<PlanSpec> {
        let phase = self.phase(args, mistakes);
        let bound = self.bound(args, mistakes);
        let measurement = MeasurementPlan::read(&self.properties);
        let measurement =
            measurement.map_err(|errors| mistakes.extend(errors.into_iter().map(invalid))).ok();
        let mut number = |name, default| self.number(name, default, mistakes);
        let threads = number("threadcount", 1.0);
        // As in YCSB, a number that is not above 0 means no target rate.
        let rate = if self.unthrottled() { 0.0 } else { number("target", 0.0) };
        let batch = number("batchsize", 0.0);
        let length_s = number("maxexecutiontime", 0.0);
        let most_errors = number("maxerrorrate", MOST_ERRORS);
        mistakes.extend(not_whole("threadcount", threads, MOST_THREADS));
        let asker = Asker {
            threads: threads as u64,
            now_ms: (wall_ns() / 1_000_000).cast_signed(),
            queries: phase == YcsbPhase::Run,
        };
        let workload = self.workload(args, asker, mistakes);
        self.refuse(mistakes);
        let ((config, class), (named, bound)) = (workload?, bound?);
        Self::check_pair(&config, &class, named, &bound, mistakes);
        self.check_counts(phase, length_s, &class, mistakes);
        self.note_unknown(&named.1);
        self.shown = bound.shown;
        let batch = self.batch(batch, phase, &config, &bound, mistakes);
        self.loads_nothing = phase == YcsbPhase::Load && matches!(class, Class::Rest(_));
        let connections = threads.clamp(1.0, MOST_THREADS) as u64;
        let connections = Flagged::new("-threads", connections);
        let seed = config.seed.unwrap_or_else(|| seed_of(&class));
        let table = config.table.clone();
        let http = match &class {
            Class::Rest(rest) if bound.address.is_none() => Some(traces(rest)),
            _ => None,
        };
        let work = YcsbDemand {
            config,
            class,
            phases: vec![phase],
            batch,
            counts: Vec::new(),
            paced_load: true,
            warmup_ns: 0,
        };
        Some(args.writes.complete(PlanSpec {
            target: bound.address,
            target_flag: named.1.flag,
            database: named.0.takes_table(&table).then_some(table),
            existing: if bound.must_exist { Existing::Yes } else { Existing::Maybe },
            keep: true,
            auth: Flagged::new(
                "--basic-auth",
                if args.basic_auth { Auth::Basic } else { Auth::Cookie },
            ),
            tls: args.tls.options(),
            options: bound.options,
            http,
            seed,
            timeout_ns: bound.timeout_ns.unwrap_or(args.timeout),
            give_up_ns: args.patience.give_up,
            duration_ns: (length_s > 0.0).then_some((length_s * 1e9) as u64),
            load: load(rate),
            measurement,
            thresholds: [args.output.fail_if.clone(), vec![errors(most_errors)]].concat(),
            ..PlanSpec::new(command, connections, Arc::new(work))
        }))
    }

    /// The phase. Several options and a property can name it, and they must agree.
    fn phase(&self, args: &Ycsb, mistakes: &mut Vec<Invalid>) -> YcsbPhase {
        let load = args.command == Action::Load;
        let property = self.properties.get("dotransactions");
        let other = if load {
            args.transactions
                .then_some("-t")
                .or((property == Some("true")).then_some("dotransactions"))
        } else {
            args.load.then_some("-load").or((property == Some("false")).then_some("dotransactions"))
        };
        if let Some(flag) = other {
            let cure = "leave it out: load and run say which phase";
            mistakes.push(Invalid::new(flag, "contradicts the command", cure));
        }
        if load { YcsbPhase::Load } else { YcsbPhase::Run }
    }

    /// The binding, and what it makes of the properties.
    fn bound(&mut self, args: &Ycsb, mistakes: &mut Vec<Invalid>) -> Option<(NamedBinding, Bound)> {
        if let Some(class) = classes::named_class(&args.binding) {
            self.properties.set("db", class);
        }
        let named = classes::binding(&args.binding)
            .and_then(|named| match self.properties.get("db") {
                Some(class) if !named.1.takes_any_class() => classes::binding_class(class),
                _ => Ok(named),
            })
            .map_err(|mistake| mistakes.push(mistake))
            .ok()?;
        let (card, binding) = named;
        let found = site::settings(binding, &args.binding, args.cp.as_deref());
        let site::FoundSite { properties: mut all, notes } =
            found.map_err(|mistake| mistakes.push(mistake)).unwrap_or_default();
        all.overlay(self.properties.clone());
        if binding.takes_any_class() {
            let options = [(Binding::CLASS_PATH, &args.cp), (Binding::JVM_ARGUMENTS, &args.java)];
            for (name, given) in options {
                if let Some(given) = given {
                    all.set(name, given.to_string_lossy());
                }
            }
        }
        let mut read = PropertyReader::new(&all);
        let mut bound = (binding.read)(&mut read);
        self.notes.extend(notes.into_iter().chain(std::mem::take(&mut bound.notes)));
        mistakes.extend(bound.address.as_ref().and_then(|it| binding.refusal(card, it)));
        mistakes.extend(read.end(()).err().into_iter().flatten().map(invalid));
        Some((named, bound))
    }

    /// The workload that the class makes of the properties.
    fn workload(
        &mut self,
        args: &Ycsb,
        asker: Asker,
        mistakes: &mut Vec<Invalid>,
    ) -> Option<(CoreConfig, Class)> {
        if self.properties.get("workload").is_none() {
            let cure = "give -P workloads/workloada, or \
                        -p workload=site.ycsb.workloads.CoreWorkload";
            mistakes.push(wrong("workload", "no workload is named", cure));
            return None;
        }
        let class = self.properties.get("workload").map(classes::workload).transpose();
        let class = class.map_err(|mistake| mistakes.push(mistake)).ok().flatten();
        if class == Some(WorkloadClass::ConstantOccupancy) {
            self.occupy(mistakes);
        }
        let read = match class {
            Some(WorkloadClass::TimeSeries) => SeriesConfig::read(&self.properties, asker)
                .map(|(config, series)| (config, Class::Series(Box::new(series)))),
            Some(WorkloadClass::Rest) => RestConfig::read(&self.properties, &named_file)
                .map(|(config, rest)| (config, Class::Rest(Box::new(rest)))),
            _ => CoreConfig::read(&self.properties, args.go_ycsb_keys, &named_file)
                .map(|config| (config, Class::Core)),
        };
        if let Ok((_, Class::Series(series))) = &read
            && self.properties.get("insertstart").is_none()
        {
            let start = series.start;
            self.notes.push(format!(
                "the series start now; to find them again, give -p insertstart={start}"
            ));
        }
        read.map_err(|errors| mistakes.extend(errors.into_iter().map(invalid))).ok()
    }

    /// The number of records that the load phase sends together: as many as were asked for, or as
    /// many as fit in a buffer.
    fn batch(
        &mut self,
        asked: f64,
        phase: YcsbPhase,
        config: &CoreConfig,
        bound: &Bound,
        mistakes: &mut Vec<Invalid>,
    ) -> Flagged<u64> {
        if self.properties.get("batchsize").is_some() {
            mistakes.extend(not_whole("batchsize", asked, MOST_BATCH));
            return Flagged::new("-p batchsize", asked.clamp(1.0, MOST_BATCH) as u64);
        }
        let Some(Buffer { property, bytes }) = bound.buffer else {
            return Flagged::new("-p batchsize", 1);
        };
        let fit = (bytes / config.fields.most_bytes().max(1)).clamp(1, MOST_BUFFERED);
        self.notes.push(if phase == YcsbPhase::Load {
            format!(
                "{property}: {fit} records per request, reported OK once the server has \
                answered"
            )
        } else {
            format!("{property}: only for the load phase; here each write gets its own answer")
        });
        Flagged::new("-p batchsize", fit)
    }

    /// Sets the counts that `ConstantOccupancyWorkload` derives.
    fn occupy(&mut self, mistakes: &mut Vec<Invalid>) {
        match occupancy::occupy(&mut self.properties, &named_file) {
            Ok(said) if said.is_empty() => {}
            Ok(said) => {
                let said = said.join(", ");
                self.notes.push(format!("{said}: set by ConstantOccupancyWorkload"));
            }
            Err(errors) => mistakes.extend(errors.into_iter().map(invalid)),
        }
    }

    /// Refuses what the binding does not support: URLs, documents, or deletes of more than one
    /// point.
    fn check_pair(
        config: &CoreConfig,
        class: &Class,
        (card, binding): NamedBinding,
        bound: &Bound,
        mistakes: &mut Vec<Invalid>,
    ) {
        let requests = card.operations.contains(OpKind::Request);
        let series = match class {
            Class::Rest(_) if !requests => {
                let cure = "give the binding rest, or basic";
                return mistakes.push(wrong("workload", "RestWorkload requests URLs", cure));
            }
            Class::Core | Class::Series(_) if bound.address.is_none() => {
                let problem = format!("{} only replays traces of URLs", binding.names[0]);
                let cure = "give -p workload=site.ycsb.workloads.RestWorkload";
                return mistakes.push(Invalid::new("BINDING", problem, cure));
            }
            Class::Series(series) if card.server => series,
            _ => return,
        };
        for (name, asked) in
            [("querytimespan", series.span > 0), ("groupbyfunction", series.group_by.is_some())]
        {
            if asked && config.proportions.delete > 0.0 {
                let cure = "leave it out, or give deleteproportion=0";
                let problem = format!("{} deletes one point at a time", binding.names[0]);
                mistakes.push(wrong(name, problem, cure));
            }
        }
    }

    /// Whether the target is below 0, which means no target rate.
    fn unthrottled(&self) -> bool {
        let target = self.properties.get("target").and_then(|text| text.parse::<f64>().ok());
        target.is_some_and(|target| target < 0.0)
    }

    fn number(&self, name: &str, default: f64, mistakes: &mut Vec<Invalid>) -> f64 {
        let Some(text) = self.properties.get(name) else { return default };
        // A share above 1, such as a number of percent, would never be reached.
        let most = if name == "maxerrorrate" { 1.0 } else { MOST };
        text.parse().ok().filter(|it| (0.0..=most).contains(it)).unwrap_or_else(|| {
            let cure = format!("give a number from 0 to {most}");
            mistakes.push(wrong(name, format!("{text:?} is out of range"), &cure));
            default
        })
    }

    /// Refuses properties that ask for something springload does not have.
    fn refuse(&self, mistakes: &mut Vec<Invalid>) {
        let asks = |name| self.properties.get(name).is_some_and(|it| !matches!(it, "false" | "0"));
        if asks("measurement.trackjvm") {
            let problem = "there is no JVM to track";
            mistakes.push(wrong("measurement.trackjvm", problem, "leave it out"));
        }
        for (name, _) in self.properties.iter().filter(|(name, _)| name.starts_with("htrace.")) {
            mistakes.push(wrong(name, "no traces are sent", "leave it out"));
        }
    }

    /// Checks that the phase has an end and a number of records.
    fn check_counts(
        &mut self,
        phase: YcsbPhase,
        length_s: f64,
        class: &Class,
        mistakes: &mut Vec<Invalid>,
    ) {
        let given = |name| self.properties.get(name).is_some_and(|count| count != "0");
        let loads = phase == YcsbPhase::Load && !matches!(class, Class::Rest(_));
        if loads && !given("recordcount") && !given("insertcount") {
            let cure = "give the number of records, or -P workloads/workloada";
            mistakes.push(wrong("recordcount", "the number of records to load is missing", cure));
        }
        if phase == YcsbPhase::Run && !given("operationcount") && length_s == 0.0 {
            let note = "neither operationcount nor maxexecutiontime is set: runs until Ctrl-C";
            self.notes.push(note.to_owned());
        }
    }

    /// Notes each property, once, that is unknown or belongs to another binding.
    fn note_unknown(&mut self, binding: &Binding) {
        if binding.takes_any_class() {
            return;
        }
        let lists = [
            &OWN[..],
            &CoreConfig::PROPERTIES,
            &MeasurementPlan::PROPERTIES,
            &occupancy::PROPERTIES,
            &SeriesConfig::PROPERTIES,
            &RestConfig::PROPERTIES,
            binding.properties,
        ];
        let known = lists.concat();
        for (name, _) in self.properties.iter().filter(|(name, _)| !known.contains(name)) {
            let near = || known.iter().find(|it| strsim::damerau_levenshtein(it, name) <= 1);
            // For `thread`, which appears in a guide.
            let begun = || known.iter().find(|it| name.len() > 3 && it.starts_with(name));
            let why = match (Binding::reading(name), near().or_else(begun)) {
                (Some(other), _) => format!("a property of the binding {}", other.names[0]),
                (None, Some(near)) => format!("no such property; did you mean {near}?"),
                (None, None) => "no such property".to_owned(),
            };
            self.notes.push(format!("-p {name}: ignored, {why}"));
        }
    }
}

/// Reads a property file; YCSB's own are built in.
fn property_file(path: &Path) -> Result<Properties, String> {
    let read = files::read(path, files::SETTINGS);
    let built_in = || builtin::named(path.to_str()?);
    match (read, built_in()) {
        (Ok(bytes), _) => Properties::parse(&bytes),
        (Err(error), Some(text)) if error.kind() == ErrorKind::NotFound => {
            Properties::parse(text.as_bytes())
        }
        (Err(error), _) => Err(error.to_string()),
    }
}

fn named_file(path: &str) -> Result<String, String> {
    files::read_text(path, files::DATA).map_err(|error| error.to_string())
}

fn invalid(error: PropertyError) -> Invalid {
    wrong(&error.property, error.problem, &error.cure)
}

/// The load: a target rate, or as fast as responses come in.
fn load(target: f64) -> LoadSpec {
    if target > 0.0 {
        at_rate(target, Some(ALL_IN_FLIGHT))
    } else {
        LoadSpec::Closed { think_ns: 0 }
    }
}

/// The threshold that fails a run with a larger share of failures.
fn errors(most: f64) -> String {
    format!("err > {}%", (most * 1e8).round() / 1e6)
}

/// The default seed. Clients that share a workload must not use the same keys in the same order,
/// but time series need the same tags when they are queried as when they were loaded.
fn seed_of(class: &Class) -> u64 {
    if matches!(class, Class::Series(_)) { DEFAULT_SEED } else { drawn_seed() }
}

/// Refuses anything but a whole number from 1 up.
fn not_whole(name: &str, value: f64, most: f64) -> Option<Invalid> {
    (value < 1.0 || value > most || value.fract() > 0.0).then(|| {
        let cure = format!("give a whole number from 1 to {most}");
        wrong(name, format!("{value} is out of range"), &cure)
    })
}
