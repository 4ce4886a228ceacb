//! Plans as JSON: the output of `--dry-run`, or the plan in a `run.json`. They are run unchanged.

use crate::cli::flags::credentials::CredentialArgs;
use crate::cli::flags::requesters::Requesters;
use crate::files;
use crate::plan::{Invalid, Plan, PlanRecord};
use serde_json::{Value, json};

/// The most unknown members that are listed.
const MOST_LISTED: usize = 5;
const CURE: &str = "run it with the springload that wrote it, or make the plan again";

/// The plan in `file`, completed with the credentials, which are not stored in it.
///
/// # Errors
/// Returns every mistake that was found, with the file and the member.
pub(super) fn read(file: &str, credentials: &CredentialArgs) -> Result<Plan, Vec<Invalid>> {
    let whole = |problem: String, cure: &str| vec![Invalid::new(file, problem, cure)];
    let text = files::read_text(file, files::RECORD).map_err(|error| {
        let cure = "give the output of --dry-run, or a run.json";
        vec![Invalid::new("PLAN", format!("cannot read {file}: {error}"), cure)]
    })?;
    let stored: Value = serde_json::from_str(&text).map_err(|error| {
        whole(format!("not JSON: {error}"), "give the output of --dry-run, or a run.json")
    })?;
    let stored = match stored {
        Value::Object(mut record) if record.contains_key("schema_version") => {
            record.remove("plan").unwrap_or_default()
        }
        other => other,
    };
    let within = |mistake: Invalid| {
        let key = mistake.flag().to_owned();
        mistake.within(file, &key)
    };
    if !stored["target"].is_object() {
        return Err(whole("not a plan".to_owned(), "give the output of --dry-run, or a run.json"));
    }
    let mut complete = stored.clone();
    let target = &mut complete["target"];
    if target.get("password").is_some() {
        let cure = "leave it out, and put it into SPRINGLOAD_PASSWORD or a --password-file";
        return Err(within(Invalid::new("target", "it has a password", cure)).into());
    }
    credentials.log_in(target)?;
    let others = complete.pointer_mut("/replication/others").and_then(Value::as_array_mut);
    for other in others.into_iter().flatten() {
        credentials.log_in(other)?;
    }
    let mut plan: PlanRecord = serde_json::from_value(complete)
        .map_err(|error| whole(format!("not a plan: {error}"), CURE))?;
    let unknown = unknown(&stored, &plan);
    if !unknown.is_empty() {
        let mistake = |name: &String| {
            within(Invalid::new(name, "this springload does not know this member", CURE))
        };
        return Err(unknown.iter().map(mistake).collect());
    }
    let mut requesters = Requesters::new(credentials, false);
    for request in plan.http.iter_mut().flat_map(|list| list.requests.kinds_mut()) {
        request.user = requesters.of(&request.server, None)?;
    }
    let others = plan.replication.iter().flat_map(|it| &it.others);
    if std::iter::once(&plan.target).chain(others).any(|it| it.lacks_password()) {
        let cure = "give it in SPRINGLOAD_PASSWORD or with --password-file";
        let problem = "its user logs in with a password, which is not stored";
        return Err(within(Invalid::new("target", problem, cure)).into());
    }
    plan.checked_again().map_err(|mistakes| mistakes.into_iter().map(within).collect())
}

/// The members of `stored` that had no effect on `plan`, which was read from it: they may have a
/// meaning in another version.
fn unknown(stored: &Value, plan: &PlanRecord) -> Vec<String> {
    let known = plan.with_bodies();
    let mut missing = Vec::new();
    absent(stored, &known, &mut Vec::new(), &mut missing);
    // A missing member is either unknown, or known and left at its default. A known one does not
    // accept a value of the wrong type.
    let is_unknown = |path: &&Vec<String>| {
        let mut probe = stored.clone();
        if let Some(place) = probe.pointer_mut(&pointer(path)) {
            *place = json!([{ "\0": [] }]);
        }
        serde_json::from_value::<PlanRecord>(probe).is_ok()
    };
    // The first driver's name is omitted when plans are stored.
    missing.retain(|path| *path != ["target", "driver"]);
    missing.iter().filter(is_unknown).take(MOST_LISTED).map(|path| path.join(".")).collect()
}

fn pointer(path: &[String]) -> String {
    let step = |name: &String| format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    path.iter().map(step).collect()
}

/// Collects the paths of members of `stored` that `known` does not have.
fn absent(stored: &Value, known: &Value, path: &mut Vec<String>, missing: &mut Vec<Vec<String>>) {
    let mut step = |name: String, stored: &Value, known: Option<&Value>| {
        path.push(name);
        match known {
            Some(known) => absent(stored, known, path, missing),
            None => missing.push(path.clone()),
        }
        path.pop();
    };
    match (stored, known) {
        (Value::Object(stored), Value::Object(known)) => {
            for (name, value) in stored {
                step(name.clone(), value, known.get(name));
            }
        }
        (Value::Array(stored), Value::Array(known)) => {
            for (place, value) in stored.iter().enumerate() {
                step(place.to_string(), value, known.get(place));
            }
        }
        _ => {}
    }
}
