//! The target as planned: a binding's class, its class path and its properties.

use crate::mistake::Invalid;
use crate::op::OpKind;
use crate::secrets::LeftOut;
use crate::{Card, ONLY_TABLE, Planned, TargetAsked, is_secret, strike_secrets};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use std::collections::BTreeMap;

/// The most bytes of properties.
const MOST_PROPERTIES: usize = 1_000_000;

/// A YCSB binding and its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct YcsbJavaPlan {
    /// Its Java class.
    pub class: String,
    /// The table that operations use.
    pub table: String,
    /// The class path; `None` for Java's default, such as `CLASSPATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_path: Option<String>,
    /// Arguments for Java, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jvm_args: Option<String>,
    /// A file to which Java's output is appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The properties passed to the binding. Those that may be secret are stored as `***`.
    #[serde(rename = "binding_properties", serialize_with = "without_secrets")]
    pub properties: BTreeMap<String, String>,
}

fn without_secrets<S: Serializer>(
    all: &BTreeMap<String, String>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(all.iter().map(|(name, value)| {
        (name, if is_secret(name) { "***".to_owned() } else { strike_secrets(value) })
    }))
}

/// Options that YCSB's command line adds to the address.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct YcsbJavaOptions {
    class_path: Option<String>,
    jvm_args: Option<String>,
    log: Option<String>,
    properties: BTreeMap<String, String>,
}

impl Planned for YcsbJavaPlan {
    fn address(&self) -> Option<String> {
        Some(format!("ycsb-java:{}", self.class))
    }

    fn secrets(&self) -> LeftOut {
        LeftOut::from_iter([("/binding_properties".to_owned(), json!(self.properties))])
    }

    fn named_database(&self) -> Option<&str> {
        Some(&self.table)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("binding", self.class.clone())];
        facts.extend(self.class_path.clone().map(|path| ("class path", path)));
        facts.extend(self.jvm_args.clone().map(|arguments| ("JVM arguments", arguments)));
        facts
    }

    fn accepted_words(&self) -> &'static str {
        "were only batched by the binding (BATCHED_OK): not yet written, and their times are not \
         the database's"
    }

    fn accepted_code(&self) -> &'static str {
        "BATCHED_OK"
    }
}

pub(super) const CARD: Card = Card {
    name: "ycsb_java",
    schemes: &["ycsb-java"],
    summary: "a Java binding of YCSB",
    address: "ycsb-java:CLASS[?cp=PATH&table=NAME&jvm-args=ARGS&log=FILE&PROPERTY=VALUE...]",
    operations: OpKind::ON_DOCUMENTS,
    documents: true,
    databases: true,
    server: true,
    phases: false,
    nouns: crate::Nouns::RECORDS,
    heeds: &[],
    can: &[],
    words: &[],
};

impl YcsbJavaPlan {
    pub(super) fn checked(asked: &TargetAsked) -> Result<Self, Invalid> {
        let wrong = |problem: String| {
            let cure = format!("give {}", CARD.address);
            Invalid::new(asked.flag, problem, cure)
        };
        let YcsbJavaOptions { class_path, jvm_args, log, properties } = asked.options(&CARD)?;
        let text = asked.address.as_deref().unwrap_or_default();
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        let (class, query) = rest.split_once('?').unwrap_or((rest, ""));
        let named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let is_name = |part: &str| part.starts_with(|c: char| named(c) && !c.is_numeric());
        if !class.split('.').all(|part| is_name(part) && part.chars().all(named)) {
            return Err(wrong(format!("{class:?} is not the name of a Java class")));
        }
        let mut plan = Self {
            class: class.to_owned(),
            table: asked.database.clone().unwrap_or_else(|| ONLY_TABLE.to_owned()),
            class_path,
            jvm_args,
            log,
            properties,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(wrong("a property without =".to_owned()));
            };
            // A + is a literal +, as in -XX:+UseG1GC.
            let [name, value] = [name, value].map(|it| percent_decode_str(it).decode_utf8());
            let (Ok(name), Ok(value)) = (name, value) else {
                return Err(wrong("a property that is not UTF-8".to_owned()));
            };
            plan.set(&name, value.into_owned());
        }
        let size = |(name, value): (&String, &String)| name.len() + value.len() + 8;
        if plan.properties.iter().map(size).sum::<usize>() > MOST_PROPERTIES {
            return Err(wrong(format!("more than {MOST_PROPERTIES} bytes of properties")));
        }
        Ok(plan)
    }

    /// Applies one parameter of the address's query.
    fn set(&mut self, name: &str, value: String) {
        match name {
            "cp" => self.class_path = Some(value),
            "table" => self.table = value,
            "jvm-args" => self.jvm_args = Some(value),
            "log" => self.log = Some(value),
            _ => drop(self.properties.insert(name.to_owned(), value)),
        }
    }
}
