//! Patterns with a slash at their front that matched nothing: they may begin in another folder than was meant.
//!
//! Must not know: how patterns match, which names were dealt with.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::rule_text::beginning;
use crate::problem::shown_path;
use crate::wildcard::has_wildcards;

/// A pattern with a slash at its front, and whether it matched.
#[derive(Debug)]
pub(crate) struct AnchoredPattern {
    flag: &'static str,
    text: Vec<u8>,
    has_matched: AtomicBool,
}

/// A source folder, and its name in the paths that patterns are matched against: empty where they begin in it.
#[derive(Clone, Debug)]
pub(crate) struct PatternRoot {
    pub(crate) source: PathBuf,
    pub(crate) above: PathBuf,
}

impl AnchoredPattern {
    pub(crate) fn new(flag: &'static str, text: &[u8]) -> AnchoredPattern {
        AnchoredPattern { flag, text: text.to_vec(), has_matched: AtomicBool::new(false) }
    }

    /// Whether it matched nothing yet.
    pub(crate) fn waits(&self) -> bool {
        !self.has_matched.load(Ordering::Relaxed)
    }

    pub(crate) fn matched(&self) {
        self.has_matched.store(true, Ordering::Relaxed);
    }

    fn first_name(&self) -> &[u8] {
        let bare = self.text.strip_prefix(b"/").unwrap_or(&self.text);
        bare.split(|&byte| byte == b'/').next().unwrap_or_default()
    }
}

/// The words about patterns that matched nothing, with a flag for those of the target alone: these are told only where
/// they seem to begin elsewhere, since nothing may stand there that they would keep.
pub(crate) fn unmatched_message<'rule>(
    unmatched: impl Iterator<Item = (&'rule AnchoredPattern, bool)>,
    roots: &[PatternRoot],
) -> Option<String> {
    let is_reported = |(watched, of_target): &(&AnchoredPattern, bool)| {
        !of_target || suggest_pattern(watched, roots).is_some()
    };
    let mut unmatched = unmatched.filter(is_reported).map(|(watched, _)| watched);
    let (first, root) = (unmatched.next()?, roots.first()?);
    let others = match unmatched.count() {
        0 => String::new(),
        1 => " (nor did another pattern)".into(),
        others => format!(" (nor did {others} other patterns)"),
    };
    let begin = match (roots, root.above.as_os_str().is_empty()) {
        ([_], true) => format!("in '{}'", shown_path(&root.source)),
        ([_], false) => {
            let (folder, name) = (shown_path(folder_of(&root.source)), shown_path(&root.above));
            format!("in '{folder}', which holds '{name}'")
        }
        _ => "where each source does: in SRC/, and of SRC in the folder that holds it".into(),
    };
    let instead = suggest_pattern(first, roots).map_or_else(String::new, |text| format!("; write '{text}'"));
    let (flag, text) = (first.flag, beginning(&first.text));
    Some(format!("{flag} '{text}' matched nothing{others}: patterns begin {begin}{instead}"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The pattern as it would be written for another folder to begin in; `None` unless it looks as if that was meant.
fn suggest_pattern(watched: &AnchoredPattern, roots: &[PatternRoot]) -> Option<String> {
    let [root] = roots else { return None };
    if has_wildcards(watched.first_name()) {
        return None;
    }
    let (name, is_above) = match root.above.as_os_str().as_encoded_bytes() {
        b"" => (root.source.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default(), false),
        name => (name, true),
    };
    let begins_with_name = watched.first_name() == name;
    match (is_above, begins_with_name) {
        (true, false) => Some(beginning(&[b"/", name, &watched.text].concat())),
        (false, true) => {
            let rest = &watched.text[1 + name.len()..];
            (rest.len() > 1).then(|| beginning(rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(patterns: &[(&str, bool)], roots: &[(&str, &str)]) -> String {
        let watched: Vec<(AnchoredPattern, bool)> = patterns
            .iter()
            .map(|(text, of_target)| (AnchoredPattern::new("--exclude", text.as_bytes()), *of_target))
            .collect();
        let root =
            |(source, above): &(&str, &str)| PatternRoot { source: source.into(), above: above.into() };
        let roots: Vec<PatternRoot> = roots.iter().map(root).collect();
        unmatched_message(watched.iter().map(|(watched, of_target)| (watched, *of_target)), &roots)
            .unwrap_or_default()
    }

    #[test]
    fn a_pattern_is_told_with_the_folder_it_begins_in_and_the_one_that_may_be_meant() {
        let (inside, above) = ([("src/data", "")], [("src/data", "data")]);
        for (patterns, roots, expected) in [
            (
                &[("/data/keep", false)][..],
                &inside[..],
                "nothing: patterns begin in 'src/data'; write '/keep'",
            ),
            (&[("/keep", false)], &inside, "--exclude '/keep' matched nothing: patterns begin in 'src/data'"),
            (&[("/data", false)], &inside, "--exclude '/data' matched nothing: patterns begin in 'src/data'"),
            (
                &[("/keep", false)],
                &above,
                "--exclude '/keep' matched nothing: patterns begin in 'src', which holds 'data'; write '/data/keep'",
            ),
            (
                &[("/data/x", false), ("/y", false)],
                &above,
                "--exclude '/data/x' matched nothing (nor did another pattern): patterns begin in 'src', which holds \
                 'data'",
            ),
            (&[("/data/x", true)], &above, ""),
            (&[("/x", true)], &inside, ""),
            (&[("/x", true)], &above, "write '/data/x'"),
            (&[("/*/x", true)], &above, ""),
            (&[("/data/x", true)], &inside, "write '/x'"),
            (&[("/x", false)], &[("a", "a"), ("b", "")], "patterns begin where each source does"),
            (&[("/x", false)], &[], ""),
            (&[], &above, ""),
        ] {
            let words = told(patterns, roots);
            assert!(
                words.contains(expected) && words.is_empty() == expected.is_empty(),
                "{words:?}: {expected:?}"
            );
        }
    }
}
