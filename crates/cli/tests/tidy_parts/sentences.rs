//! Every text that the program can print, by file: what stands in its literals, and what help takes from comments. What
//! tests say is left out, and what only a programmer's mistake would show.
//!
//! Kept in a file, so that whoever writes a sentence sees it among the others, and whoever reviews a change reads it.
//! Must not know: which words are allowed.

use std::fmt::Write as _;

use super::text::File;

/// Files whose texts are on a page of docs/ alone.
const ON_A_PAGE: [&str; 1] = ["crates/core/src/name/table.rs"];

/// What stands before a text that a mistake in the program shows, or nobody.
const NEVER_PRINTED: [&str; 5] = [".expect(", ".expect_err(", "panic!(", "unreachable!(", "reason ="];

/// The texts of these files, sorted by path; without lines, which change too often.
pub fn sentences<'a>(files: impl Iterator<Item = &'a File> + Clone) -> String {
    let of_tests: Vec<String> = files.clone().flat_map(modules_of_tests).collect();
    let is_test = |file: &File| of_tests.iter().any(|module| is_below(&file.path, module));
    let mut all = String::new();
    for file in files.filter(|file| !is_test(file) && !ON_A_PAGE.contains(&&*file.path)) {
        let printed = file
            .literals()
            .filter(|(start, _)| !NEVER_PRINTED.iter().any(|before| file.before(*start).ends_with(before)));
        let mut texts: Vec<String> = printed.map(|(_, literal)| joined(literal)).collect();
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

/// The modules that this file declares for tests alone, as paths without an ending.
fn modules_of_tests(file: &File) -> Vec<String> {
    let folder = match file.path.strip_suffix(".rs").unwrap_or(&file.path).rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder.to_owned(),
        _ => file.path.trim_end_matches(".rs").to_owned(),
    };
    let marked = file.code.split("#[cfg(test)]").skip(1);
    let declared = marked.filter_map(|rest| {
        let (words, _) = rest.split_once([';', '{'])?;
        let name = words.trim().rsplit_once("mod ").map(|(_, name)| name.trim())?;
        Some(format!("{folder}/{name}"))
    });
    declared.collect()
}

fn is_below(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
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
    path.expect("it was made");
}
#[cfg(test)]
mod checked;
#[cfg(test)]
mod tests { const SAID: &str = "not said either"; }
"##;
        let files = [
            File::new("crates/cli/src/a.rs", code),
            File::new("crates/cli/src/a/checked.rs", "fn f() { say(\"by a test\"); }"),
        ];
        let expected = "# crates/cli/src/a.rs\nno file: '{path}'\ntwo\n  lines\nat an end\n";
        assert_eq!(sentences(files.iter()), expected);
    }
}
