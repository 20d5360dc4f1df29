//! Which names of a tree are copied: rules as rsync's `--exclude` and `--include` have them.
//!
//! Three things that surprise:
//!
//! 1. **The first rule that matches decides**, so order matters: `--include a --exclude a` copies `a`. A name that no
//!    rule matches is copied.
//! 2. **An excluded folder hides everything below it**, even what a later or earlier rule includes by name: who walks
//!    the tree does not go into it. To copy only `a/b/c`, include `a/`, `a/b/` and `a/b/c`, then exclude `*`.
//! 3. **An include alone changes nothing**, for nothing was excluded; and **a leading slash means the folder that paths
//!    begin in**, not the root of the file system. A folder that goes to a folder under its own name lies in that one,
//!    so that its name is part of the paths, as with rsync (`Item::patterns_above`); of others it is no part of them.
//!
//! What a pattern is matched against:
//!
//! | pattern | matches |
//! |---|---|
//! | `name` | the last name of a path |
//! | `one/two` | the last names of a path, as many as the pattern has |
//! | `/name`, `/one/two` | the whole path |
//! | with `**` | the whole path, or what stands behind any slash in it; behind a leading slash only the whole path |
//! | `name/` | only a folder |
//! | `name/***` | the folder and everything below it |
//!
//! A pattern that begins with `**` sees a slash before the path, so that `**/name` matches at the top too. Slashes and
//! `**` are counted where they stand, also inside a set. The letters of a pattern: `wildcard.rs`. A pattern with none
//! of `*?[` is compared as it is, backslashes too.
//!
//! A rule may begin with `- ` or `+ `, which says that it excludes or includes, whichever option or file it came from;
//! what follows is the pattern, be it `+ a` again. A lone `!` forgets all rules before it. Nothing is trimmed: a blank
//! at the end is part of the pattern.
//!
//! **Files of rules** hold one in each line, ended by `\n`, `\r` or both; empty lines and lines that begin with `#` or
//! `;` are passed over. **Ended by zero bytes**, only empty rules are passed over: `#a` and `;a` are patterns there.
//! Lists of names are read the same way.
//!
//! A rule of `--filter` may be for one side alone: `H` and `S` hide and show names of the source, `P` and `R` protect
//! and give up names of the target that the source does not have.
//!
//! Other than rsync: what can never match anything as written (`[a`, an unknown class, a backslash at the end, no
//! pattern at all, more bytes than a path may have) is refused, where rsync goes on without a rule that was asked for.
//! rsync takes `#` and `;` for comments in zero-ended lists too, and so leaves out files that `find -print0` found.
//!
//! **A name of a list** is not hidden by the folders above it. **A name that the user gave** is matched as if it lay in
//! a folder that is copied; only for a folder whose name is no part of the paths, patterns with a slash at the front do
//! not count.
//!
//! Must not know: folders, files, who walks the tree, where a list was read from.

use super::pattern::Pattern;
use super::rule_text::{beginning, entries};
use super::unmatched::AnchoredPattern;

/// What becomes of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effect {
    Include,
    Exclude,
}

/// The sides that a rule is for: it hides names of the source, keeps names of the target from being removed, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RuleSides {
    Both,
    Source,
    Target,
}

/// One rule, and the flag that brought it.
#[derive(Debug)]
pub(crate) struct Rule(FilterAction, &'static str);

/// The rules in their order.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    rules: Vec<PlacedRule>,
}

#[derive(Debug)]
pub(crate) struct PlacedRule {
    sides: RuleSides,
    effect: Effect,
    pattern: Pattern,
    /// Of a pattern with a slash at its front.
    watched: Option<AnchoredPattern>,
}

#[derive(Debug)]
enum FilterAction {
    Add(RuleSides, Effect, Pattern),
    /// Forget what came before.
    Clear,
}

impl Filter {
    /// Rules in the order in which they were given.
    pub(crate) fn new(given: Vec<Rule>) -> Filter {
        let mut rules = Vec::new();
        for Rule(action, flag) in given {
            match action {
                FilterAction::Add(sides, effect, pattern) => {
                    let watched = pattern.anchored().map(|text| AnchoredPattern::new(flag, text));
                    rules.push(PlacedRule { sides, effect, pattern, watched });
                }
                FilterAction::Clear => rules.clear(),
            }
        }
        Filter { rules }
    }

    /// Whether this path is copied, if the folders above it are. It begins where patterns do, without a slash: `a/b`.
    pub(crate) fn includes(&self, path: &[u8], is_folder: bool) -> bool {
        self.first(is_for_source, |pattern| pattern.matches(path, is_folder)) == Effect::Include
    }

    /// Whether this path of the target stays, though the source does not have it. With `excluded_go` only what a rule
    /// for the target alone excludes does.
    pub(crate) fn protects(&self, path: &[u8], is_folder: bool, excluded_go: bool) -> bool {
        let matches = |pattern: &Pattern| pattern.matches(path, is_folder);
        let is_for = |sides| sides == RuleSides::Target || (sides == RuleSides::Both && !excluded_go);
        self.first(is_for, matches) == Effect::Exclude
    }

    /// Whether some rule keeps names of the target.
    pub(crate) fn protects_some(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| rule.sides != RuleSides::Source && rule.effect == Effect::Exclude)
    }

    /// What the first rule says that counts and matches. Patterns with a slash at their front are tried until they
    /// match once, whatever was decided.
    fn first(&self, is_for: impl Fn(RuleSides) -> bool, matches: impl Fn(&Pattern) -> bool) -> Effect {
        let mut decided = None;
        for rule in self.rules.iter().filter(|rule| is_for(rule.sides)) {
            let waits = rule.watched.as_ref().is_some_and(AnchoredPattern::waits);
            if (decided.is_none() || waits) && matches(&rule.pattern) {
                rule.watched.iter().for_each(AnchoredPattern::matched);
                decided.get_or_insert(rule.effect);
            }
        }
        decided.unwrap_or(Effect::Include)
    }

    /// Whether a name that the user gave is copied. Where patterns begin in a folder, what stands behind a slash at the
    /// front of one lies in it, so that such a pattern never is about that folder itself.
    pub(crate) fn includes_argument(&self, name: &[u8], (is_folder, begin_above): (bool, bool)) -> bool {
        let begins_in_it = is_folder && !begin_above;
        let applies = |pattern: &Pattern| {
            !(begins_in_it && pattern.anchored().is_some()) && pattern.matches(name, is_folder)
        };
        self.first(is_for_source, applies) == Effect::Include
    }

    /// A pattern that may say one thing of a path and another of the path with this name in front.
    pub(crate) fn dependent_on(&self, name: &[u8]) -> Option<&[u8]> {
        let mut patterns = self.rules.iter().map(|rule| &rule.pattern);
        patterns.find(|pattern| pattern.depends_on(name)).map(Pattern::text)
    }

    /// Patterns with a slash at their front that matched nothing, and whether they are for the target alone.
    pub(crate) fn unmatched(&self) -> impl Iterator<Item = (&AnchoredPattern, bool)> {
        self.rules.iter().filter_map(|rule| {
            let watched = rule.watched.as_ref().filter(|watched| watched.waits())?;
            Some((watched, rule.sides == RuleSides::Target))
        })
    }
}

fn is_for_source(sides: RuleSides) -> bool {
    sides != RuleSides::Target
}

impl Rule {
    /// As `--exclude` has it.
    pub(crate) fn exclude(pattern: &[u8]) -> Result<Rule, String> {
        Rule::new(pattern, Effect::Exclude)
    }

    /// As `--include` has it.
    pub(crate) fn include(pattern: &[u8]) -> Result<Rule, String> {
        Rule::new(pattern, Effect::Include)
    }

    /// The error names the pattern and says what is wrong with it.
    fn new(text: &[u8], default: Effect) -> Result<Rule, String> {
        let (effect, pattern) = match text {
            b"!" => return Ok(Rule(FilterAction::Clear, "")),
            [b'-', b' ', pattern @ ..] => (Effect::Exclude, pattern),
            [b'+', b' ', pattern @ ..] => (Effect::Include, pattern),
            pattern => (default, pattern),
        };
        Rule::of(RuleSides::Both, effect, pattern)
            .map_err(|why| format!("the pattern '{}': {why}", beginning(text)))
    }

    fn of(sides: RuleSides, effect: Effect, pattern: &[u8]) -> Result<Rule, String> {
        Ok(Rule(FilterAction::Add(sides, effect, Pattern::new(pattern)?), ""))
    }

    /// The same rule, of which messages say that this flag brought it.
    pub(crate) fn of_flag(self, flag: &'static str) -> Rule {
        Rule(self.0, flag)
    }

    /// Parses a rule of `--filter`: a name or letter, perhaps letters that say more, a blank or `_`, and the pattern.
    ///
    /// Errors: the rule, and what is wrong with it.
    pub(crate) fn parse_filter_rule(text: &[u8]) -> Result<Rule, String> {
        let wrong = |why: &str| format!("--filter: the rule '{}': {why}", beginning(text));
        if matches!(text, b"!" | b"clear") {
            return Ok(Rule(FilterAction::Clear, ""));
        }
        let (head, pattern) = split(text).ok_or_else(|| wrong(RULE_USAGE))?;
        let (name, more) = match head.iter().position(|byte| *byte == b',') {
            Some(comma) => (&head[..comma], &head[comma + 1..]),
            None if head[0].is_ascii_lowercase() => (head, &head[head.len()..]),
            None => head.split_at(1),
        };
        let (effect, sides) = match name {
            b"-" | b"exclude" => (Effect::Exclude, RuleSides::Both),
            b"+" | b"include" => (Effect::Include, RuleSides::Both),
            b"H" | b"hide" => (Effect::Exclude, RuleSides::Source),
            b"S" | b"show" => (Effect::Include, RuleSides::Source),
            b"P" | b"protect" => (Effect::Exclude, RuleSides::Target),
            b"R" | b"risk" => (Effect::Include, RuleSides::Target),
            b":" | b"dir-merge" => return Err(wrong("rules are not read from folders that are copied")),
            b"." | b"merge" if more.is_empty() => return Err(wrong("rules in a file read no further file")),
            b"." | b"merge" => {
                return Err(wrong("a rule that reads a file takes no letters; write '. FILE'"));
            }
            _ => return Err(wrong(RULE_USAGE)),
        };
        let sides = match more {
            b"" => sides,
            b"s" => RuleSides::Source,
            b"r" => RuleSides::Target,
            _ => return Err(wrong("of the letters behind - and + only s and r are known")),
        };
        Rule::of(sides, effect, pattern).map_err(|why| wrong(&why))
    }
}

const RULE_USAGE: &str = "write for example '- *.tmp', '+ *.c', 'P *.keep' or '. FILE'";

/// What stands before the first blank or `_`, and what stands behind it.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| matches!(byte, b' ' | b'_')).filter(|end| *end > 0)?;
    Some((&text[..end], &text[end + 1..]))
}

/// The rules of a file that `--filter` reads: each says itself what it does.
pub(crate) fn read_rules(content: &[u8], zero_terminated: bool) -> Result<Vec<Rule>, String> {
    let rule = |(place, text)| Rule::parse_filter_rule(text).map_err(|why| format!("{place}: {why}"));
    entries(content, zero_terminated).map(rule).collect()
}

/// The rules of a file; those that do not say what they do, do what `default` says.
pub(crate) fn read_lines(
    content: &[u8],
    zero_terminated: bool,
    default: Effect,
) -> Result<Vec<Rule>, String> {
    let rule = |(place, text)| Rule::new(text, default).map_err(|why| format!("{place}: {why}"));
    entries(content, zero_terminated).map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options such as `-a` (exclude a) and `+a` (include a), and the paths that remain of those offered; a slash at
    /// the end of a path makes it a folder.
    fn remaining(options: &str, paths: &str) -> String {
        let rule = |option: &str| match option.split_at(1) {
            ("-", pattern) => Rule::exclude(pattern.as_bytes()),
            (_, pattern) => Rule::include(pattern.as_bytes()),
        };
        let rules: Result<Vec<Rule>, String> = options.split_whitespace().map(rule).collect();
        let filter = Filter::new(rules.expect("patterns in order"));
        let stays = |path: &&str| filter.includes(path.trim_end_matches('/').as_bytes(), path.ends_with('/'));
        paths.split(' ').filter(stays).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rules_are_for_the_source_the_target_or_both() {
        // Whether `a` is copied, and whether it stays at the target: by itself, and where what is excluded goes.
        for (rules, copied, stays, stays_though_excluded_go) in [
            ("- a", false, true, false),
            ("exclude a", false, true, false),
            ("-_a", false, true, false),
            ("+ a\n- a", true, false, false),
            ("H a", false, false, false),
            ("hide a", false, false, false),
            ("-s a", false, false, false),
            ("exclude,s a", false, false, false),
            ("P a", true, true, true),
            ("protect a", true, true, true),
            ("-r a", true, true, true),
            ("S a\n- *", true, true, false),
            ("R a\n- *", false, false, false),
            ("risk a\nP *", true, false, false),
            ("- a\n!", true, false, false),
            ("- a\nclear\nP a", true, true, true),
        ] {
            let filter = Filter::new(read_rules(rules.as_bytes(), false).expect(rules));
            let protects = |excluded_go| filter.protects(b"a", false, excluded_go);
            assert_eq!(
                (filter.includes(b"a", false), protects(false), protects(true)),
                (copied, stays, stays_though_excluded_go),
                "{rules}"
            );
        }
        for (rule, part) in [
            ("a", "write for example"),
            ("x a", "write for example"),
            (" a", "write for example"),
            ("-", "write for example"),
            ("-! a", "only s and r"),
            ("include,p a", "only s and r"),
            (": .rules", "from folders that are copied"),
            (". more", "no further file"),
            ("merge,- more", "no letters"),
            ("- [a", "[a"),
            ("- ", "nothing in it"),
        ] {
            let why = Rule::parse_filter_rule(rule.as_bytes()).expect_err(rule);
            assert!(why.contains(part), "{rule}: {why}");
        }
    }

    #[test]
    fn a_pattern_matches_its_part_of_the_path() {
        for (options, paths, expected) in [
            ("-a", "a a/ b/a ab a/b", "ab a/b"),
            ("-a/", "a a/ b/a b/a/", "a b/a"),
            ("-/a", "a b/a a/b", "b/a a/b"),
            ("-/a/b", "a/b x/a/b a/b/c", "x/a/b a/b/c"),
            ("-a/b", "a/b x/a/b xa/b b a/b/c", "xa/b b a/b/c"),
            ("-*.o", "a.o b/c.o a.os", "a.os"),
            ("-a/*", "a a/b x/a/b a/b/c", "a a/b/c"),
            ("-/a/*", "a a/b x/a/b", "a x/a/b"),
            ("-a/*/b", "a/x/b y/a/x/b a/b a/x/y/b", "a/b a/x/y/b"),
            ("-/a/**/b", "a/b a/x/b a/x/y/b y/a/x/b", "a/b y/a/x/b"),
            ("-a/**", "a/ a/b x/a/b/c xa/b", "a/ xa/b"),
            ("-**/a", "a b/a ba", "ba"),
            ("-/**/a", "a b/a c/b/a", "a"),
            ("-a**", "a ab x/ab/c b", "b"),
            ("-a/***", "a a/ a/b a/b/ x/a/ xa/", "a xa/"),
            ("-/a/***", "a/ a/b x/a/", "x/a/"),
            ("-*/", "a a/ b/c b/c/", "a b/c"),
            ("-/", "a a/", "a a/"),
            ("-a//", "a a/", "a a/"),
            ("-//a", "a", "a"),
            ("-a\\b", "a\\b ab", "ab"),
            ("-a\\b*", "a\\b ab", "a\\b"),
            ("-[a/b]", "a x/a", "a x/a"),
        ] {
            assert_eq!(remaining(options, paths), expected, "{options}");
        }
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        for (options, paths, expected) in [
            ("", "a b/", "a b/"),
            ("+a", "a b", "a b"),
            ("+a -a", "a", "a"),
            ("-a +a", "a", ""),
            ("+*/ +*.c -*", "a/ a/b.c a/b.h b.c c", "a/ a/b.c b.c"),
            ("+foo/ +foo/bar.c -*", "foo/ foo/bar.c foo/x bar.c", "foo/ foo/bar.c"),
            ("-a -! -b", "a b", "a"),
            ("-a -!b", "a b !b", "b"),
        ] {
            assert_eq!(remaining(options, paths), expected, "{options}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_matched_byte_by_byte() {
        let filter = Filter::new(vec![Rule::exclude(b"a?\xff").expect("in order")]);
        assert!(!filter.includes(b"x/a\xfe\xff", false));
        assert!(filter.includes("aä\u{7f}".as_bytes(), false));
    }

    #[test]
    fn a_prefix_says_what_a_rule_does() {
        for (rule, path, included) in [
            (Rule::exclude(b"+ a"), "a", true),
            (Rule::include(b"- a"), "a", false),
            (Rule::include(b"- + a"), "+ a", false),
            (Rule::exclude(b"- !"), "!", false),
            (Rule::exclude(b" a"), "a", true),
            (Rule::exclude(b"a "), "a", true),
            (Rule::exclude(b"-a"), "-a", false),
        ] {
            let filter = Filter::new(vec![rule.expect("in order"), Rule::exclude(b"x").expect("in order")]);
            assert_eq!(filter.includes(path.as_bytes(), false), included, "{path}");
        }
    }

    #[test]
    fn files_of_rules_are_read() {
        let content = b"a\r\n#b\n;c\n\n- d\n + e\n+ f\rg";
        for (zero, default, offered, expected) in [
            (false, Effect::Exclude, "a #b ;c d f g x", "#b ;c f x"),
            (false, Effect::Include, "a #b ;c d f g x", "a #b ;c f g x"),
        ] {
            let filter = Filter::new(read_lines(content, zero, default).expect("in order"));
            let stays = |name: &&str| filter.includes(name.as_bytes(), false);
            assert_eq!(offered.split(' ').filter(stays).collect::<Vec<_>>().join(" "), expected);
        }
        let rules = read_lines(b"a\n\0#b\0;c\0\0+ d\0d", true, Effect::Exclude).expect("in order");
        assert_eq!(rules.len(), 5);
        let filter = Filter::new(rules);
        for (name, included) in [("a\n", false), ("a", true), ("#b", false), (";c", false), ("d", true)] {
            assert_eq!(filter.includes(name.as_bytes(), false), included, "{name:?}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_by_name_and_place() {
        let long = "x".repeat(4096);
        for (pattern, parts) in [
            ("", "'': there is nothing"),
            ("- ", "'- ': there is nothing"),
            ("a[b", "'a[b': its '[' is never closed"),
            ("a*\\", "ends with a backslash"),
            ("[[:x:]]", "names a class"),
            ("a\0b", "zero byte"),
            (&long, "xx…': it has 4096 bytes; no path has more than 4095"),
        ] {
            let error = Rule::exclude(pattern.as_bytes()).expect_err(pattern);
            assert!(error.starts_with("the pattern ") && error.contains(parts), "{error}");
        }
        for (content, zero, place) in [("a\n\r\n[", false, "line 3: "), ("a\0[", true, "entry 2: ")] {
            let error = read_lines(content.as_bytes(), zero, Effect::Exclude).expect_err(content);
            assert!(error.starts_with(place), "{error}");
        }
        assert!(Rule::exclude("x".repeat(4095).as_bytes()).is_ok());
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut bytes = Vec::new();
        for number in 0..60_000_u32 {
            bytes.clear();
            (0..6)
                .for_each(|place| bytes.push(b"a/*?[]\\!-:^\0\xff."[(number >> (place * 3)) as usize % 14]));
            let _ = crate::name::selection::names::parse_names(&bytes, number % 2 == 0);
            if let Ok(rule) = Rule::exclude(&bytes) {
                Filter::new(vec![rule]).includes(&bytes, number % 3 == 0);
            }
        }
    }
}
