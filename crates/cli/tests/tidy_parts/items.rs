//! Rules about what is declared: parameters of functions, names of types.
//!
//! Must not know: where files come from, how violations are shown.

use std::collections::BTreeMap;

use super::text::{File, Word};

const PARAMETERS_MAX: usize = 7;

/// A function takes few things, and a tuple is as many as it holds.
pub fn few_parameters(file: &File, found: &mut Vec<String>) {
    for word in file.words().iter().filter(|word| word.text == "fn") {
        let Some(parameters) = parameters(file, *word) else { continue };
        let count = split(parameters).into_iter().map(weight).sum::<usize>();
        if count > PARAMETERS_MAX && !file.path.contains("/tests/") {
            let what = "a tuple counts as what it holds: give what belongs together a type";
            found.push(format!(
                "{}:{}: {count} parameters, at most {PARAMETERS_MAX}; {what}",
                file.path, word.line
            ));
        }
    }
}

/// What stands between a function's parentheses; `None` for a type.
fn parameters<'a>(file: &'a File, word: Word<'_>) -> Option<&'a str> {
    let rest = &file.code[word.start + 2..];
    let name = rest.trim_start();
    if name.starts_with('(') {
        return None;
    }
    let open = rest.find(['(', '{', ';']).filter(|at| rest[*at..].starts_with('('))?;
    let mut depth = 0;
    for (at, byte) in rest.bytes().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(&rest[open + 1..at]);
        }
    }
    None
}

/// The parts between commas that stand in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start, mut before) = (Vec::new(), 0, 0, b' ');
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b'>' if before != b'-' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        before = byte;
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn weight(parameter: &str) -> usize {
    let is_self =
        ["self", "&self", "&mut self", "mut self"].contains(&parameter) || parameter.ends_with(" self");
    match parameter.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((parts, _)) => split(parts).len(),
        None => usize::from(!is_self),
    }
}

/// A type's name exists once in the workspace: who reads it knows which one is meant.
pub fn type_names_are_unique(files: &[File], found: &mut Vec<String>) {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/")) {
        let tests = file.code.find("mod tests {").unwrap_or(usize::MAX);
        for name in declared(file).filter(|name| name.start < tests) {
            // One file may have one for each system.
            let places = places.entry(name.text).or_default();
            if !places.iter().any(|place| place.starts_with(&format!("{}:", file.path))) {
                places.push(format!("{}:{}", file.path, name.line));
            }
        }
    }
    for (name, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        found.push(format!("{}: `{name}` is a type elsewhere, too: {}", places[0], places[1..].join(", ")));
    }
}

/// Names of types, but for those that a trait or an `impl` declares.
fn declared(file: &File) -> impl Iterator<Item = Word<'_>> {
    let words = file.words();
    let pairs: Vec<_> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().filter_map(move |(kind, name)| {
        let is_top =
            || file.code[..kind.start].rsplit('\n').next().is_some_and(|line| !line.starts_with("    "));
        let is_kind = match kind.text {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => is_top(),
            _ => false,
        };
        let is_name = name.text.starts_with(|c: char| c.is_ascii_uppercase());
        (is_kind && is_name && kind.line == name.line).then_some(name)
    })
}
