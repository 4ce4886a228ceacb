//! Command lines: their words, quoted for a shell and read as a shell reads them. POSIX, Shell
//! Command Language, 2.2, has the rules.

use std::borrow::Cow;

/// Joins words to a line that a shell splits into them again. In a flag with a value, only the
/// value is quoted: `--slo='p99 < 5ms'`.
pub fn command_line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let of = |word: &str| match word.split_once('=') {
        Some((name, value)) if name.starts_with('-') && is_plain(name) && !value.is_empty() => {
            format!("{name}={}", quoted(value))
        }
        _ => quoted(word).into_owned(),
    };
    words.into_iter().map(|word| of(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Whether these characters are not special to any shell. A placeholder for a secret has to be
/// replaced anyway.
fn is_plain(word: &str) -> bool {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_=./:@,+%".contains(sign);
    word.replace("***", "").chars().all(plain)
}

fn quoted(word: &str) -> Cow<'_, str> {
    if !word.is_empty() && is_plain(word) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''")).into()
}

/// Splits a line at white space. Single and double quotes keep words together; a backslash escapes
/// the next character, except inside single quotes.
///
/// # Errors
/// Returns an error if a quote is not closed, or nothing follows a backslash.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('\\', None | Some('"')) => {
                let next = chars.next().ok_or("a backslash at the end of the line")?;
                word.get_or_insert_default().push(next);
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

/// The words of a line, each flag with its value.
pub fn flags(line: &str) -> Vec<String> {
    // Lines of older records may not have quoted everything that needs it.
    let plain = || line.split_whitespace().map(str::to_owned).collect();
    let (mut flags, mut open) = (Vec::<String>::new(), false);
    for word in words(line).unwrap_or_else(|_| plain()) {
        let is_flag = word.starts_with('-') && word.len() > 1;
        match flags.last_mut().filter(|_| open && !is_flag) {
            Some(flag) => *flag = format!("{flag} {}", command_line([&word])),
            None => flags.push(command_line([&word])),
        }
        open = is_flag && !word.contains('=');
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        for (word, line) in [
            ("http://ann@host:5984/db", "http://ann@host:5984/db"),
            ("localhost:5984?q=8&n=1", "'localhost:5984?q=8&n=1'"),
            ("--slo=p99 < 5ms", "--slo='p99 < 5ms'"),
            ("--mix=read=2,update=1", "--mix=read=2,update=1"),
            ("--label=", "--label="),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("*.json", "'*.json'"),
            ("http://ann:***@host:5984", "http://ann:***@host:5984"),
        ] {
            assert_eq!(command_line([word]), line);
        }
    }

    #[test]
    fn a_flag_has_its_value_and_what_is_quoted_is_one() {
        let line = "springload http a b -c 5 --label='a b' -f 'my urls' -k";
        let wanted =
            ["springload", "http", "a", "b", "-c 5", "--label='a b'", "-f 'my urls'", "-k"];
        assert_eq!(flags(line), wanted);
        assert_eq!(flags("run --fail-if=it's -c 5"), ["run", "--fail-if='it'\\''s'", "-c 5"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_and_we_read_the_words_that_were_written(
            all in prop::collection::vec("[ -~\t\né]{0,12}|--[a-z]{1,5}=[ -~]{0,8}", 0..6)
        ) {
            let line = command_line(&all);
            prop_assert_eq!(&words(&line).unwrap(), &all);
            let script = format!("for word in {line}; do printf '%s\\0' \"$word\"; done");
            let printed = Command::new("sh").args(["-c", &script]).output().unwrap().stdout;
            let printed = String::from_utf8(printed).unwrap();
            let printed: Vec<_> = printed.split_terminator('\0').map(str::to_owned).collect();
            prop_assert_eq!(printed, all);
        }
    }
}
