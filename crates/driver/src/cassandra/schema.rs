//! Statements in a file, which create tables before a run.

use crate::files;
use std::path::Path;

/// Reads the statements of a file.
///
/// # Errors
/// Fails if there are none, with a message that fits a wrong parameter.
pub(super) fn read(file: &str) -> Result<Vec<String>, String> {
    let text = files::read(Path::new(file), files::SETTINGS)
        .map_err(|error| format!("schema={file}, which cannot be read ({error}),"))?;
    let text = String::from_utf8(text).map_err(|_| format!("schema={file}, which is no text,"))?;
    let statements = statements(&text);
    if statements.is_empty() {
        return Err(format!("schema={file}, which has no statements,"));
    }
    Ok(statements)
}

/// The context of a character of CQL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Statement,
    /// A text or a name in quotes; a doubled quote inside it stands for one.
    Quotes(char),
    /// The body of a function, between dollar signs.
    Body,
    Line,
    Comment,
}

/// The statements of a text, separated by semicolons, without comments.
fn statements(text: &str) -> Vec<String> {
    let (mut all, mut one, mut inside) = (Vec::new(), String::new(), Inside::Statement);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let pair = rest.get(..2).unwrap_or_default();
        let (next, length) = match (inside, pair, letter) {
            (Inside::Statement, "--" | "//", _) => (Inside::Line, 2),
            (Inside::Statement, "/*", _) => (Inside::Comment, 2),
            (Inside::Statement, "$$", _) => (Inside::Body, 2),
            (Inside::Body, "$$", _) | (Inside::Comment, "*/", _) => (Inside::Statement, 2),
            (Inside::Statement, _, '\'' | '"') => (Inside::Quotes(letter), 1),
            (Inside::Quotes(quote), _, _) if quote == letter => (Inside::Statement, 1),
            (Inside::Line, _, '\n') => (Inside::Statement, 1),
            (inside, ..) => (inside, letter.len_utf8()),
        };
        let (head, tail) = rest.split_at(length);
        let is_comment = |it| matches!(it, Inside::Line | Inside::Comment);
        if inside == Inside::Statement && letter == ';' {
            all.push(std::mem::take(&mut one));
        } else if !is_comment(inside) && !is_comment(next) {
            one.push_str(head);
        } else if inside == Inside::Line && next == Inside::Statement {
            one.push('\n');
        }
        (inside, rest) = (next, tail);
    }
    all.push(one);
    all.retain_mut(|it| {
        *it = it.trim().to_owned();
        !it.is_empty()
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_with_semicolons_outside_of_texts_and_comments() {
        let text = "CREATE TYPE {{keyspace}}.a (b int); -- one; two\n\
            INSERT INTO t (k) VALUES ('x;''y') /* ; */ ;\n// ;\n ; \
            CREATE FUNCTION f () AS $$ return 'it; $$;\nCREATE TABLE \"a;b\" (k int \u{e9})";
        assert_eq!(
            statements(text),
            [
                "CREATE TYPE {{keyspace}}.a (b int)",
                "INSERT INTO t (k) VALUES ('x;''y')",
                "CREATE FUNCTION f () AS $$ return 'it; $$",
                "CREATE TABLE \"a;b\" (k int \u{e9})",
            ]
        );
        assert!(statements(" -- nothing").is_empty());
    }

    #[test]
    fn a_file_that_has_none_is_refused() {
        let message = read("/nowhere/at.all").unwrap_err();
        assert!(message.starts_with("schema=/nowhere/at.all, which cannot be read ("), "{message}");
    }
}
