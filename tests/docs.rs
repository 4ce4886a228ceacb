//! What readers of the documentation rely on: every relative link has a target, every anchor is a
//! heading, every page is in the book, and every springload command is valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The pages outside `docs/` that link to it.
const OUTSIDE: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All pages: their paths from the root, and their texts.
fn pages() -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(root().join("docs")).expect("a folder").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let pages = names.filter_map(|name| Some(format!("docs/{}.md", name.strip_suffix(".md")?)));
    let mut pages: Vec<String> = pages.chain(OUTSIDE.map(str::to_owned)).collect();
    pages.extend(["examples/couchdb/README.md", "fuzz/README.md"].map(str::to_owned));
    pages.retain(|page| root().join(page).is_file());
    let read = |page: String| {
        let text = fs::read_to_string(root().join(&page)).expect("a page");
        (PathBuf::from(page), text)
    };
    pages.into_iter().map(read).collect()
}

/// The lines of a page outside code blocks, and those inside.
fn divided(text: &str) -> (String, Vec<&str>) {
    let (mut prose, mut code, mut inside) = (String::new(), Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside {
            code.push(line);
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    (prose, code)
}

/// The link targets of a page, as written, except for those in code.
fn links(prose: &str) -> Vec<String> {
    // Every second part is between backticks.
    let outside: String = prose.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let starts = outside.match_indices("](");
    let link = |(at, _): (usize, &str)| {
        let rest = &outside[at + 2..];
        let end = rest.find(')')?;
        Some(rest[..end].split_whitespace().next()?.to_owned())
    };
    starts.filter_map(link).collect()
}

/// The anchors of a page, as GitHub and mdBook derive them from its headings.
fn anchors(prose: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    for heading in headings {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        // A repeated heading gets a number.
        let again = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(again);
        anchors.extend(free.into_iter().find(|it| !anchors.contains(it)));
    }
    anchors
}

/// The broken links of a page.
fn dead(page: &Path, text: &str) -> Vec<String> {
    let (prose, _) = divided(text);
    let mut dead = Vec::new();
    for link in links(&prose) {
        if link.contains("://") || link.starts_with("mailto:") {
            continue;
        }
        let (file, anchor) = link.split_once('#').map_or((&*link, None), |(a, b)| (a, Some(b)));
        let folder = page.parent().unwrap_or(Path::new(""));
        let target = if file.is_empty() { page.to_owned() } else { folder.join(file) };
        let there = root().join(&target);
        let found = match anchor {
            _ if !there.exists() => false,
            None => true,
            Some(anchor) => {
                let own = if file.is_empty() { Some(text.to_owned()) } else { None };
                let text = own.or_else(|| fs::read_to_string(&there).ok()).unwrap_or_default();
                anchors(&divided(&text).0).contains(anchor)
            }
        };
        if !found {
            dead.push(format!("{}: {link}", page.display()));
        }
    }
    dead
}

#[test]
fn every_relative_link_leads_somewhere() {
    let all: Vec<String> = pages().iter().flat_map(|(page, text)| dead(page, text)).collect();
    assert!(all.is_empty(), "dead links:\n{}", all.join("\n"));
}

#[test]
fn a_dead_link_is_found() {
    let page = Path::new("docs/exit-codes.md");
    for (text, is_dead) in [
        ("[a](ci.md)", false),
        ("[a](ci.md#github)", false),
        ("[a](../README.md)", false),
        ("# Some `Words`, here\n[a](#some-words-here)", false),
        ("# Twice\n# Twice\n[a](#twice-1)", false),
        ("`[a](none.md)`", false),
        ("```\n[a](none.md)\n```", false),
        ("[a](https://example.org/none.md)", false),
        ("[a](none.md)", true),
        ("[a](ci.md#none)", true),
        ("[a](README.md)", true),
        ("# Words\n[a](#word)", true),
        ("[a\nb](none.md)", true),
    ] {
        assert_eq!(!dead(page, text).is_empty(), is_dead, "{text}");
    }
}

/// The result of `.github/links.sh` for a page in the top folder.
fn published(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.md");
    fs::write(&page, text).expect("it can be written");
    let mut script = Command::new(root().join(".github/links.sh"));
    script.args(["https://host/us/springload", "v1.2.3"]).arg(&page);
    assert!(script.status().expect("bash is there").success());
    fs::read_to_string(page).expect("it is still there")
}

#[test]
fn published_pages_have_links_that_lead_to_the_repository() {
    for name in ["README.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(root().join(name)).expect("a page");
        let (before, after) = (links(&divided(&text).0), links(&divided(&published(&text)).0));
        assert_eq!(before.len(), after.len());
        assert!(after.iter().all(|link| link.starts_with("https://") || link.starts_with('#')));
    }
    let text = "[a\nb](docs/a.md#c), ![d](e.png), [f](#g) and [h](https://i/j.md)";
    let home = "https://host/us/springload";
    let wanted = format!(
        "[a\nb]({home}/blob/v1.2.3/docs/a.md#c), ![d]({home}/raw/v1.2.3/e.png), [f](#g) and \
        [h](https://i/j.md)"
    );
    assert_eq!(published(text), wanted);
}

/// The sources of the site, made by `.github/site.sh` with these arguments: paths and texts of its
/// pages.
fn site(folder: &Path, words: &[&str]) -> Vec<(PathBuf, String)> {
    let folder = folder.join("site");
    let mut script = Command::new(root().join(".github/site.sh"));
    let status = script.current_dir(root()).arg(&folder).args(words).status();
    assert!(status.expect("bash is there").success());
    let files = fs::read_dir(folder).expect("a folder").flatten().map(|file| file.path());
    let pages = files.filter(|path| path.extension().is_some_and(|it| it == "md"));
    pages.map(|path| (path.clone(), fs::read_to_string(path).expect("a page"))).collect()
}

#[test]
fn no_link_of_the_site_is_dead() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = site(folder.path(), &[]);
    let front = folder.path().join("site/index.md");
    assert!(pages.iter().any(|(page, _)| *page == front));
    let found: Vec<String> = pages.iter().flat_map(|(page, text)| dead(page, text)).collect();
    assert!(found.is_empty(), "dead links:\n{}", found.join("\n"));
    let links_out = |pages: &[(PathBuf, String)]| {
        let home = "](https://host/us/springload/blob/v1/";
        pages.iter().map(|(_, text)| text.matches(home).count()).sum::<usize>()
    };
    assert_eq!(links_out(&pages), 0);
    let pages = site(folder.path(), &["https://host/us/springload", "v1"]);
    assert!(links_out(&pages) > 5);
    assert!(pages.iter().all(|(page, text)| dead(page, text).is_empty()));
}

#[test]
fn the_book_has_every_page_once() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("a summary");
    let listed = links(&divided(&summary).0);
    let once: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    let own = |(page, _): &(PathBuf, String)| Some(page.strip_prefix("docs").ok()?.to_owned());
    let pages: BTreeSet<PathBuf> = pages().iter().filter_map(own).collect();
    let missing = pages.iter().filter(|page| {
        let name = page.display().to_string();
        name != "SUMMARY.md" && !once.contains(&name)
    });
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
}

/// The springload command lines in a page, each joined into one line: the part after `springload`.
fn commands(text: &str) -> Vec<String> {
    let (_, code) = divided(text);
    let (mut commands, mut open) = (Vec::new(), None::<String>);
    for line in code {
        let line = line.trim();
        if line.starts_with("error: ") {
            // The page shows that the command before it is refused.
            commands.pop();
        }
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |it| (it.trim(), true));
        let begun = if let Some(begun) = open.take() {
            Some(format!("{begun} {part}"))
        } else {
            let command = part.strip_prefix("$ ").unwrap_or(part);
            command.strip_prefix("springload ").map(str::to_owned)
        };
        match begun {
            Some(begun) if goes_on => open = Some(begun),
            Some(begun) => commands.push(begun),
            None => {}
        }
    }
    commands
}

/// The words of a command line up to its end, if a shell would only split it.
fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&' | '>' | '<') => break,
            // The meaning of these depends on the shell.
            (None, '$' | '`' | '…' | '*' | '·') => return None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The error message of springload's parser for words that no verb accepts.
fn refused(words: &[String]) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_springload"));
    // Parsed like the command itself, but not carried out.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, others) = words.split_at(end);
    command.args(own).arg("--help").args(others).stdin(Stdio::null()).env("SPRINGLOAD_STATE", "");
    let output = command.output().expect("springload starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code() != Some(0)).then_some(stderr)
}

#[test]
fn the_commands_of_the_documentation_are_taken() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (page, text) in pages() {
        if page.ends_with("CHANGELOG.md") || page.ends_with("ARCHITECTURE.md") {
            continue;
        }
        for command in commands(&text) {
            let Some(words) = words(&command) else { continue };
            // Placeholders.
            if words.iter().any(|word| word.starts_with('[') || word.ends_with("...")) {
                continue;
            }
            tried += 1;
            let refusal = refused(&words);
            wrong.extend(
                refusal.map(|message| format!("{}: {command}\n  {message}", page.display())),
            );
        }
    }
    assert!(tried > 100, "only {tried} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_command_is_found() {
    let text = "```\n$ springload run --dcos 5\nspringload ab a \\\n  --a '-c 4' # why\n\
        $ springload run --rps 5\nerror: run has no flag --rps\n```\n";
    let found = commands(text);
    assert_eq!(found, ["run --dcos 5", "ab a --a '-c 4' # why"]);
    let split: Vec<_> = found.iter().map(|it| words(it).expect("words")).collect();
    assert_eq!(split[1], ["ab", "a", "--a", "-c 4"]);
    assert!(refused(&split[0]).is_some_and(|message| message.contains("--dcos")));
    assert_eq!(refused(&split[1]), None);
}
