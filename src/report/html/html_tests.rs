//! The page as text. `tests/browser` opens it.

use super::*;
use crate::op::OpKind;
use crate::record::fixture::{part, record, stage};

/// What ends a script, opens an element, and is a name of the template.
const EVIL: &str = "</script><script>alert('1')</script><!-- \"&amp; {{library}}";

#[test]
fn text_of_others_stays_text() {
    let mut run = record(&[]);
    run.plan.command = format!("springload run {EVIL}");
    run.server.stand_in = false;
    (run.server.name, run.server.version) = (EVIL.to_owned(), EVIL.to_owned());
    (run.server.url, run.server.database) = (EVIL.to_owned(), EVIL.to_owned());
    run.environment.processor = EVIL.to_owned();
    run.started_at = EVIL.to_owned();
    run.warnings[0].message = EVIL.to_owned();
    let clean = render(&[record(&[])]);
    let page = render(&[run.clone(), run]);
    let count = |page: &str, what: &str| page.to_lowercase().matches(what).count();
    for what in ["<script", "</script", "<!--"] {
        assert_eq!(count(&page, what), count(&clean, what), "{what}");
    }
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)"));
    assert!(page.contains("&quot;&amp;amp; {{library}}"), "only the template's names are names");
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
    let page = render(&[record(&[])]);
    let ours = page.replace(LIBRARY, "");
    assert!(LIBRARY.len() > 1_000_000 && !ours.contains("http:") && !ours.contains("https:"));
    assert!(!ours.contains("src=") && !ours.contains("@import") && !ours.contains("{{"));
}

#[test]
fn long_runs_make_no_long_page() {
    let seconds = (0..310)
        .flat_map(|second| [OpKind::Read, OpKind::Update].map(|kind| (second, kind, part(300, 1))));
    let mut run = record(&[]);
    run.stages.push(stage("crud", seconds.collect()));
    run.stages.remove(2);
    run.stages[2].elapsed_s = 310.0;
    let bytes = render(&[run.clone(), run]).len();
    assert!(bytes <= 2_500_000, "{bytes} bytes");
}

#[test]
fn a_run_that_measured_nothing_has_a_page() {
    let mut run = record(&[]);
    run.stages.clear();
    run.refresh_warnings();
    assert!(render(&[run]).contains("\"first\":null"));
}
