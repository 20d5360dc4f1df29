//! Every text that the program can say, by file: what stands in its literals, and what help takes from comments.
//!
//! Kept in a file, so that whoever writes a sentence sees it among the others, and whoever reviews a change reads it.
//! Must not know: which words are allowed.

use std::fmt::Write as _;

use super::text::File;

/// The texts of these files, sorted by path; without lines, which change too often.
pub fn sentences<'a>(files: impl Iterator<Item = &'a File>) -> String {
    let mut all = String::new();
    for file in files {
        let mut texts: Vec<String> = file.literals().map(joined).collect();
        if file.path.starts_with("crates/cli/src/args/") {
            texts.extend(documents(&file.text));
        }
        texts.retain(|text| is_sentence(text));
        if !texts.is_empty() {
            writeln!(all, "# {}", file.path).expect("memory");
        }
        for text in texts {
            writeln!(all, "{text}").expect("memory");
        }
    }
    all
}

/// What stands above the flags, from which their help is made; a line for each of them.
fn documents(code: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in code.lines().map(str::trim) {
        match (line.strip_prefix("///"), all.last_mut()) {
            (Some(line), Some(last)) => last.push_str(line),
            _ => all.push(String::new()),
        }
    }
    all.into_iter().map(|text| text.trim().to_owned()).collect()
}

/// The inside of a literal: behind a `\` at the end of a line the blanks of the next are no part of it.
fn joined(literal: &str) -> String {
    let start = literal.find('"').map_or(0, |at| at + 1);
    let inside = literal[start..].trim_end_matches('#');
    let inside = inside.strip_suffix('"').unwrap_or(inside);
    let mut pieces = inside.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    let whole = pieces.fold(first, |whole, piece| whole + piece.trim_start());
    whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n  ")
}

/// Two words with a blank between them.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &&str| word.chars().any(char::is_alphabetic);
    text.split_whitespace().filter(is_word).count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_found_as_they_are_printed() {
        let code = r##"
fn told() {
    say("no file: \
         '{path}'");
    say(r#"two
  lines"#);
    let name = "name";
    say("at an end"); // "not said"
}
#[cfg(test)]
mod tests { const SAID: &str = "not said either"; }
"##;
        let files = [File::new("crates/cli/src/a.rs", code)];
        let expected = "# crates/cli/src/a.rs\nno file: '{path}'\ntwo\n  lines\nat an end\n";
        assert_eq!(sentences(files.iter()), expected);
    }
}
