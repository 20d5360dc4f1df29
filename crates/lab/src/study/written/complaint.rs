//! What the reader of TOML complains of, in words of people who write studies: the line, the key, what to write.
//!
//! Must not know: what a study is made of.

/// What the reader says, and how people say it.
const KINDS: [(&str, &str); 12] = [
    ("a string", "text in quotes"),
    ("a sequence", "a list in brackets"),
    ("a map", "a table"),
    ("a boolean", "true or false"),
    ("i64", "a whole number"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 to 9223372036854775807"),
    ("usize", "a whole number from 0 to 9223372036854775807"),
    ("sequence", "a list"),
    ("map", "a table"),
];

/// How keys are written whose values are no text.
const TABLES: [(&str, &str); 3] =
    [("levels", "[command.levels]"), ("where", "where = { … }"), ("step", "step = \"make_source\"")];

/// The complaint about a text.
pub fn complaint(error: &toml::de::Error, text: &str) -> String {
    let at = error.span().map(|span| span.start.min(text.len()));
    let message = error.message().replace('\n', ", ");
    let key = at.and_then(|at| key_before(text, at));
    let words = message_with_key(&message, key);
    match at {
        // A field that is missing in the whole file is missing in no line of it.
        Some(0) | None if message.starts_with("missing field") => words,
        Some(at) => {
            let line = text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            format!("line {line}: {words}")
        }
        None => words,
    }
}

/// The key whose value begins here.
fn key_before(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?.trim_end().strip_suffix('=')?.trim_end();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.\"'".contains(letter);
    let name = &before[before.trim_end_matches(is_name).len()..];
    (!name.is_empty()).then_some(name)
}

fn message_with_key(message: &str, key: Option<&str>) -> String {
    let lacks = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let wrong = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let unknown = message
        .strip_prefix("unknown field ")
        .map(|rest| ("key", rest))
        .or_else(|| message.strip_prefix("unknown variant ").map(|rest| ("word", rest)));
    match (lacks, wrong.and_then(|rest| rest.rsplit_once(", expected ")), unknown) {
        (Some(lacks), ..) => format!("`{}` is missing; add it", written(lacks)),
        (_, Some((found, expected)), _) => {
            let (key, expected) = (key.unwrap_or("this"), kind(expected));
            format!("{key} must be {expected}, not {}", value(found))
        }
        (.., Some((what, rest))) => {
            format!("unknown {what} {}", rest.replace(", expected ", "; write "))
        }
        _ if message == "wanted string or table" => {
            format!("{} must be text in quotes", key.unwrap_or("this"))
        }
        _ => message.into(),
    }
}

fn written(key: &str) -> String {
    let known = TABLES.iter().find(|(name, _)| *name == key);
    known.map_or_else(|| format!("{key} = \"…\""), |it| it.1.into())
}

fn kind(expected: &str) -> &str {
    let known = KINDS.iter().find(|(name, _)| *name == expected);
    let is_table = expected.starts_with("struct ") || expected.contains("enum ");
    known.map_or(if is_table { "a table in braces" } else { expected }, |it| it.1)
}

/// A value that was found, without the name of its type.
fn value(found: &str) -> &str {
    let found = found.trim_end_matches(" as i128").trim_end_matches(" as u128");
    let of_type =
        ["integer ", "floating point ", "boolean "].iter().find_map(|kind| found.strip_prefix(kind));
    match (of_type, found.strip_prefix("string ")) {
        (Some(number), _) => number.trim_matches('`'),
        (None, Some(text)) => text,
        (None, None) => kind(found),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Form {
        name: String,
        repeats: Option<u32>,
        seed: Option<u64>,
        stop: Option<Inner>,
        #[serde(default)]
        list: Vec<u32>,
        #[serde(default)]
        table: BTreeMap<String, bool>,
        word: Option<Word>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Inner {
        of: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two,
    }

    #[test]
    fn complaints_say_the_line_and_what_to_write() {
        for (text, expected) in [
            ("", "`name = \"…\"` is missing; add it"),
            ("name = 1", "line 1: name must be text in quotes, not 1"),
            (
                "name = \"a\"\nrepeats = \"x\"",
                "line 2: repeats must be a whole number from 0 to 4294967295, not \"x\"",
            ),
            (
                "name = \"a\"\nrepeats = -1",
                "line 2: repeats must be a whole number from 0 to 4294967295, not -1",
            ),
            (
                "name = \"a\"\n\nrepeats = 99999999999999999999",
                "line 3: repeats must be a whole number from 0 to 4294967295, not 99999999999999999999",
            ),
            (
                "name = \"a\"\nseed = 1.5",
                "line 2: seed must be a whole number from 0 to 9223372036854775807, not 1.5",
            ),
            ("name = \"a\"\nstop = { }", "line 2: `of = \"…\"` is missing; add it"),
            ("name = \"a\"\nstop = { of = 7 }", "line 2: of must be text in quotes, not 7"),
            ("name = \"a\"\nstop = 7", "line 2: stop must be a table in braces, not 7"),
            (
                "name = \"a\"\nlist = [1,\n\"b\"]",
                "line 3: this must be a whole number from 0 to 4294967295, not \"b\"",
            ),
            ("name = \"a\"\nlist = 1", "line 2: list must be a list in brackets, not 1"),
            ("name = \"a\"\ntable = { a = 1 }", "line 2: a must be true or false, not 1"),
            ("name = \"a\"\nword = \"three\"", "line 2: unknown word `three`; write `one` or `two`"),
            ("nam = \"a\"", "line 1: unknown key `nam`; write one of `name`, `repeats`"),
        ] {
            let got = complaint(&toml::from_str::<Form>(text).expect_err(text), text);
            assert!(got.starts_with(expected), "{text}: {got}");
        }
    }

    #[test]
    fn any_text_is_complained_about_in_one_line() {
        for text in
            ["name", "name = \"a\n\"", "= 1", "name = \"a\"\nname = \"b\"", "[a\n", "ä = ö", "name = {\n"]
        {
            let got = complaint(&toml::from_str::<Form>(text).expect_err(text), text);
            assert!(
                got.starts_with("line ") && !got.contains('\n') && !got.contains("TOML"),
                "{text}: {got}"
            );
        }
    }
}
