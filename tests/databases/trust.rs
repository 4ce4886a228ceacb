//! What every database that returns documents must come to: a healthy server is found healthy, by
//! `--verify`, `--audit` and a later `springload audit`, and one that has changed and lost
//! documents behind springload's back is not.

use crate::binary::{Finished, measure, number};

/// The documents of a run, none of which it deletes.
const DOCUMENTS: u64 = 200;
/// The document that is changed behind springload's back.
pub(crate) const CHANGED: &str = "17";
/// The document that is removed.
pub(crate) const REMOVED: &str = "18";

/// A run on the server at this address and the audits after it. `lie` is given the database of the
/// run, in which it removes one document and gives another the name `lie`. Returns the database.
#[track_caller]
pub(crate) fn keeps_its_word(address: &str, lie: impl FnOnce(&str)) -> String {
    let docs = DOCUMENTS.to_string();
    let words = ["--ops", "400", "-c", "4", "--mix", "read=80,update=20"];
    let words = [&["run", address, "--docs", &docs, "--keep", "--verify", "--audit"], &words[..]];
    let run = measure(words.concat()).passed();
    assert_eq!(number(&run.operation("crud", "verify")["ok"]), run.sum("read", "ok") - DOCUMENTS);
    all_there(&run);
    let output = run.output();
    let folder = output.to_str().expect("UTF-8");
    let audit = || measure(["audit", folder]);
    all_there(&audit().passed());
    lie(run.database());
    let audit = audit();
    assert_eq!(audit.code, 6, "{}{}", audit.stdout, audit.stderr);
    let verify = audit.operation("audit", "verify");
    let findings = verify["findings"].as_array().expect("findings").iter();
    let mut found: Vec<_> = findings.map(|it| (it["id"].clone(), it["class"].clone())).collect();
    found.sort_by_key(|(id, _)| id.to_string());
    assert_eq!(found, [(CHANGED.into(), "wrong_body".into()), (REMOVED.into(), "lost".into())]);
    assert_eq!(number(&verify["ok"]), DOCUMENTS - 2, "{verify}");
    run.database().to_owned()
}

/// An audit has found all documents.
#[track_caller]
fn all_there(run: &Finished) {
    let verify = run.operation("audit", "verify");
    assert_eq!((number(&verify["ok"]), &verify["failures"]), (DOCUMENTS, &serde_json::json!({})));
}
