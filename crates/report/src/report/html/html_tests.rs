//! The page as text. `tests/browser` opens it.

use super::*;
use crate::op::{Failure, OpKind, Reason};
use crate::record::fixture::{part, record, stage};

/// Ends a script, opens an element, and contains a name from the template.
const EVIL: &str = "</script><script>alert('1')</script><!-- \"&amp; {{library}}";

fn page_of(runs: &[RunRecord]) -> String {
    String::from_utf8(FORMAT.render(runs, None).unwrap()).unwrap()
}

#[test]
fn text_of_others_stays_text() {
    let mut run = record(&[]);
    run.plan.command = format!("springload run {EVIL}");
    run.plan.label = Some(EVIL.to_owned());
    run.server.stand_in = false;
    (run.server.name, run.server.version) = (EVIL.to_owned(), EVIL.to_owned());
    (run.server.url, run.server.database) = (EVIL.to_owned(), EVIL.to_owned());
    run.environment.processor = EVIL.to_owned();
    run.started_at = EVIL.to_owned();
    run.warnings[0].message = EVIL.to_owned();
    let crud = run.stages.last_mut().unwrap();
    let reason = Reason::new(Some(409), EVIL);
    crud.operations[0].reasons.insert(Failure::Conflict, reason);
    crud.operations[0].failures.insert(Failure::Conflict, 2_000);
    run.result = None;
    let clean = page_of(&[record(&[])]);
    let count = |page: &str, what: &str| page.to_lowercase().matches(what).count();
    for page in [page_of(&[run.clone()]), page_of(&[run.clone(), run])] {
        for what in ["<script", "</script", "<!--"] {
            assert_eq!(count(&page, what), count(&clean, what), "{what}");
        }
        let title = "<title>&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)";
        assert!(page.contains(title) && page.contains("<h1>&lt;/script&gt;"));
        assert!(page.contains("409 &lt;/script&gt;"), "the server's reason");
        assert!(page.contains("&quot;&amp;amp; {{library}}"), "only the template's names are");
    }
}

#[test]
fn nothing_in_json_ends_its_element() {
    let json = serde_json::to_string(EVIL).unwrap();
    let safe = json_in_html(&json);
    assert!(!safe.as_str().contains('<'));
    assert_eq!(serde_json::from_str::<String>(safe.as_str()).unwrap(), EVIL);
}

#[test]
fn the_page_asks_for_nothing() {
    let page = page_of(&[record(&[])]);
    let ours = page.replace(LIBRARY, "");
    assert!(LIBRARY.len() > 1_000_000 && !ours.contains("http:") && !ours.contains("https:"));
    assert!(!ours.contains("src=") && !ours.contains("@import") && !ours.contains("{{"));
}

#[test]
fn the_result_is_there_before_the_library_is_read() {
    let page = page_of(&[record(&["read.max > 1ms"])]);
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    let library = place("<script type=\"text/plain\" id=\"library\">");
    for part in ["<h1>", "class=\"headline", "class=\"tiles\"", "<table", "id=\"data\""] {
        assert!(place(part) < library, "{part}");
    }
    assert!(place("class=\"headline") < place("class=\"tiles\""));
    assert!(place("class=\"tiles\"") < place("<table"));
    assert!(!page[..library].contains("plotly.js v"), "it is in one place, and not run there");
    assert!(page.len() <= 1_700_000, "{} bytes", page.len());
}

#[test]
fn two_runs_stand_side_by_side() {
    let mut runs = [record(&[]), record(&[])];
    runs[0].plan.label = Some("old".to_owned());
    runs[1].plan.label = Some("new".to_owned());
    for operation in &mut runs[1].stages.last_mut().unwrap().operations {
        operation.throughput_per_s *= 3.0;
    }
    let page = page_of(&runs);
    assert_eq!(page.matches("<table").count(), 2, "one of figures and one of settings");
    assert!(page.contains("<title>old · new · springload</title>"));
    assert!(page.contains("A</span>old</th>") && page.contains("B</span>new</th>"));
    assert!(page.contains("<span class=\"difference\">×3.0</span>"));
    assert!(!page.replace(LIBRARY, "").contains("significant"), "one run each says no such thing");
}

/// If there is a single kind, it equals all kinds, and is not shown twice.
#[test]
fn nothing_is_shown_twice() {
    let mut run = record(&[]);
    let all = |page: &str| page.matches("<tr class=\"all\">").count();
    assert_eq!(all(&page_of(std::slice::from_ref(&run))), 1);
    let crud_of = |run: &RunRecord| {
        PageData::of(std::slice::from_ref(run)).stages.into_iter().next_back().unwrap().views
    };
    run.stages.last_mut().unwrap().operations.truncate(1);
    let page = page_of(std::slice::from_ref(&run));
    assert_eq!((all(&page), crud_of(&run).len()), (0, 1));
}

#[test]
fn long_runs_make_no_long_page() {
    let seconds = (0..310)
        .flat_map(|second| [OpKind::Read, OpKind::Update].map(|kind| (second, kind, part(300, 1))));
    let mut run = record(&[]);
    run.stages.push(stage("crud", seconds.collect()));
    run.stages.remove(2);
    run.stages[2].elapsed_s = 310.0;
    let bytes = page_of(&[run.clone(), run]).len();
    assert!(bytes <= 2_500_000, "{bytes} bytes");
}

#[test]
fn a_run_that_measured_nothing_has_a_page() {
    let mut run = record(&[]);
    run.stages.clear();
    run.conclude();
    let page = page_of(&[run]);
    assert!(page.contains("\"first\":null") && page.contains("nothing was measured"));
}
