//! Finds modules of one crate that import each other, directly or round a corner.
//!
//! An arrow leads from a module to the one in which a name that it uses is defined: a name that is only handed on
//! (`pub use`) is followed to there. What a module uses of the modules inside of it is its own: no arrow. Code that is
//! compiled for tests alone does not count. Must not know: other rules.

use std::collections::{BTreeMap, BTreeSet};

use super::text::File;

/// A path of names below the root of a crate.
type Names = Vec<String>;

/// What a module uses, by the module that defines it.
type Arrows = BTreeMap<Names, BTreeMap<Names, BTreeSet<String>>>;

/// A module's own text.
struct Module {
    code: String,
    /// Names that it has by `use`, and where they lead.
    imported: BTreeMap<String, Names>,
    /// Those of them that others have from it.
    handed_on: BTreeMap<String, Names>,
    used: Vec<Names>,
}

/// A hop from one hand to the next; a longer chain would be a circle of its own.
const HOPS_MAX: usize = 8;

/// Adds a line for each circle.
pub fn no_circles(files: &[File], found: &mut Vec<String>) {
    let crates: BTreeSet<&str> = files.iter().filter_map(|file| split(&file.path)).map(|it| it.0).collect();
    for root in crates {
        let arrows = arrows(&modules(files, root));
        for circle in circles(&arrows) {
            found.push(format!("{root}: modules import each other: {}", shown(&circle, &arrows)));
        }
    }
}

/// The folder of a crate's sources, and the module's path in it.
fn split(path: &str) -> Option<(&str, Names)> {
    let at = path.find("/src/")? + "/src".len();
    let file = path[at + 1..].strip_suffix(".rs")?;
    let mut names: Names = file.split('/').map(String::from).collect();
    let is_root = names.len() == 1 && ["lib", "main"].contains(&file);
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    Some((&path[..at], names))
}

fn modules(files: &[File], root: &str) -> BTreeMap<Names, Module> {
    let own = files.iter().filter_map(|file| Some((file, split(&file.path)?)));
    let own: Vec<(&File, Names)> =
        own.filter(|(_, it)| it.0 == root).map(|(file, it)| (file, it.1)).collect();
    let for_tests: BTreeSet<Names> = own.iter().flat_map(|(file, path)| tests_of(&file.code, path)).collect();
    let is_test = |path: &Names| (1..=path.len()).any(|len| for_tests.contains(&path[..len]));
    let counted: Vec<(&File, Names)> = own.into_iter().filter(|(_, path)| !is_test(path)).collect();
    let all: BTreeSet<Names> = counted.iter().map(|(_, path)| path.clone()).collect();
    counted.into_iter().map(|(file, path)| (path.clone(), read(&file.code, &path, &all))).collect()
}

const FOR_TESTS: &str = "#[cfg(test)]";

/// Modules in files of their own that are compiled for tests alone.
fn tests_of(code: &str, path: &Names) -> Vec<Names> {
    let declared = code.match_indices(FOR_TESTS).filter_map(|(at, _)| {
        let item = code[at + FOR_TESTS.len()..].split([';', '{']).next()?;
        let name = item.split_whitespace().last()?;
        item.contains("mod ").then(|| path.iter().cloned().chain([name.to_owned()]).collect())
    });
    declared.collect()
}

/// The code without the items that are for tests alone.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(FOR_TESTS) {
        kept.push_str(&rest[..at]);
        rest = &rest[at + item_len(&rest[at..])..];
    }
    kept + rest
}

/// Bytes of an item: as far as its `;`, or the bracket that closes it.
fn item_len(code: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn read(code: &str, path: &Names, all: &BTreeSet<Names>) -> Module {
    let mut module = Module {
        code: String::new(),
        imported: BTreeMap::new(),
        handed_on: BTreeMap::new(),
        used: Vec::new(),
    };
    let code = without_tests(code);
    let mut rest = &code[..];
    while let Some((before, tree, behind)) = next_use(rest) {
        module.code.push_str(before);
        let is_public = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        for (names, alias) in expanded(tree) {
            let Some(full) = resolved(&names, path, all) else { continue };
            if is_public {
                module.handed_on.insert(alias, full);
            } else {
                module.imported.insert(alias, full.clone());
                module.used.push(full);
            }
        }
        rest = behind;
    }
    module.code.push_str(rest);
    let paths = paths_in(&module.code);
    let of_path = |names: Names| match module.imported.get(&names[0]) {
        Some(full) => Some(full.iter().cloned().chain(names[1..].iter().cloned()).collect()),
        None => resolved(&names, path, all),
    };
    module.used.extend(paths.into_iter().filter_map(of_path));
    module
}

/// The text before the next `use`, its tree of names, and the text behind.
fn next_use(code: &str) -> Option<(&str, &str, &str)> {
    let is_word = |at: usize| {
        let before = code[..at].chars().next_back();
        before.is_none_or(char::is_whitespace) && code[at + 3..].starts_with(char::is_whitespace)
    };
    let at = code.match_indices("use").map(|(at, _)| at).find(|&at| is_word(at))?;
    let end = at + code[at..].find(';')?;
    Some((&code[..at], &code[at + 3..end], &code[end + 1..]))
}

/// `a::{b, c as d}` as its paths, each with the name that it is known by.
fn expanded(tree: &str) -> Vec<(Names, String)> {
    let tree = tree.trim();
    let Some((before, inner)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let mut names: Names = path.split("::").map(|name| name.trim().to_owned()).collect();
        if names.len() > 1 && names.last().is_some_and(|name| name == "self") {
            names.pop();
        }
        let known = alias.map(str::trim).map(String::from).or_else(|| names.last().cloned());
        return vec![(names, known.unwrap_or_default())];
    };
    let inner = &inner[..inner.rfind('}').unwrap_or(inner.len())];
    let parts = parts(inner).into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| expanded(&format!("{before}{}", part.trim()))).collect()
}

/// Splits at the commas that stand in no brackets.
fn parts(inner: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match letter {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().expect("there is one").push(letter),
        }
    }
    parts
}

/// Chains of names in the code: `a::b::c`.
fn paths_in(code: &str) -> Vec<Names> {
    let in_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = code.split(|letter| !in_path(letter)).filter(|word| word.contains("::"));
    let names =
        words.map(|word| word.split("::").filter(|name| !name.is_empty()).map(String::from).collect());
    names.filter(|names: &Names| names.len() > 1).collect()
}

/// From the root of the crate; `None` for what is of another crate.
fn resolved(names: &[String], path: &Names, all: &BTreeSet<Names>) -> Option<Names> {
    let (mut base, mut rest) = (path.clone(), names);
    match names.first()?.as_str() {
        "crate" => (base, rest) = (Names::new(), &names[1..]),
        "self" => rest = &names[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        first => {
            let child: Names = path.iter().cloned().chain([first.to_owned()]).collect();
            all.contains(&child).then_some(())?;
        }
    }
    Some(base.into_iter().chain(rest.iter().cloned()).collect())
}

fn arrows(modules: &BTreeMap<Names, Module>) -> Arrows {
    let of = |path: &Names, module: &Module| {
        let mut targets: BTreeMap<Names, BTreeSet<String>> = BTreeMap::new();
        for full in &module.used {
            let (target, name) = defined(full, modules);
            if !target.starts_with(path) && !target.is_empty() {
                targets.entry(target).or_default().extend(name);
            }
        }
        targets
    };
    modules.iter().map(|(path, module)| (path.clone(), of(path, module))).collect()
}

/// The module that defines what a path names, and that name.
fn defined(full: &Names, modules: &BTreeMap<Names, Module>) -> (Names, Option<String>) {
    let mut full = full.clone();
    for _ in 0..HOPS_MAX {
        let len = (0..=full.len()).rev().find(|&len| modules.contains_key(&full[..len])).unwrap_or(0);
        let handed = full.get(len).and_then(|name| modules.get(&full[..len])?.handed_on.get(name));
        match handed.filter(|handed| **handed != full) {
            Some(handed) => full = handed.iter().chain(&full[len + 1..]).cloned().collect(),
            None => return (full[..len].to_vec(), full.get(len).cloned()),
        }
    }
    (Names::new(), None)
}

/// Sets of modules of which each reaches each.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<Names>> {
    let reached: BTreeMap<&Names, BTreeSet<&Names>> =
        arrows.keys().map(|from| (from, reached(from, arrows))).collect();
    let mut circles = BTreeSet::new();
    for (from, all) in &reached {
        let both = all.iter().filter(|to| reached.get(*to).is_some_and(|back| back.contains(from)));
        let circle: BTreeSet<Names> = both.map(|to| (*to).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reached<'arrows>(from: &'arrows Names, arrows: &'arrows Arrows) -> BTreeSet<&'arrows Names> {
    let (mut all, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(here) = open.pop() {
        for to in arrows.get(here).into_iter().flat_map(|targets| targets.keys()) {
            if all.insert(to) {
                open.push(to);
            }
        }
    }
    all
}

fn shown(circle: &BTreeSet<Names>, arrows: &Arrows) -> String {
    let of = |from: &Names| {
        let targets = arrows[from].iter().filter(|(to, _)| circle.contains(*to));
        let words: Vec<String> = targets
            .map(|(to, names)| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("{} -> {} ({})", from.join("::"), to.join("::"), names.join(", "))
            })
            .collect();
        words.join("; ")
    };
    circle.iter().map(of).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        let mut found = Vec::new();
        no_circles(&files, &mut found);
        found
    }

    const ROOT: (&str, &str) = ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\n");

    fn of(a: &str, b: &str, c: &str) -> Vec<String> {
        found(&[ROOT, ("crates/x/src/a.rs", a), ("crates/x/src/b.rs", b), ("crates/x/src/c.rs", c)])
    }

    #[test]
    fn modules_that_import_each_other_are_found() {
        for (a, b, c) in [
            ("use crate::b::One;", "use super::a::Two;", ""),
            ("use crate::{b::{self, One}, c};", "fn f() { crate::a::g() }", ""),
            ("use crate::b;\nfn f() { b::g() }", "use crate::a::{f as h};", ""),
            ("use crate::b::One;", "use crate::c::One;", "use crate::a::One;"),
            // Handed on by one that is not in the circle.
            ("use crate::c::One;", "use crate::a::Two;", "pub use crate::b::One;"),
            // By a path through a module that was imported.
            ("use crate::b;\nfn f() { b::inner() }", "use crate::a::f;", ""),
        ] {
            let found = of(a, b, c);
            assert_eq!(found.len(), 1, "{a} | {b} | {c}: {found:?}");
            assert!(found[0].contains("a -> ") && found[0].contains("b -> "), "{found:?}");
        }
    }

    #[test]
    fn what_points_one_way_is_no_circle() {
        for (a, b, c) in [
            ("use crate::b::One;", "use crate::c::One;", ""),
            ("use crate::b::One; // crate::a", "fn f() { \"crate::a::g()\"; }", ""),
            ("use crate::b::One;", "#[cfg(test)]\nmod tests {\n    use crate::a::Two;\n}", ""),
            ("use crate::b::One;", "#[cfg(test)]\nuse crate::a::Two;\nfn f() {}", ""),
            ("use crate::b::One;", "pub use crate::a::Two;", ""),
            ("use std::b::One;", "use crate::a::Two;", ""),
        ] {
            assert_eq!(of(a, b, c), [""; 0], "{a} | {b} | {c}");
        }
    }

    #[test]
    fn modules_inside_of_one_are_its_own_and_test_modules_are_none() {
        let lib = ("crates/x/src/lib.rs", "mod a;\nmod b;\n");
        let (child, other) = ("crates/x/src/a/child.rs", "crates/x/src/b.rs");
        let parent = |text| ("crates/x/src/a.rs", text);
        let own = parent("mod child;\nuse child::One;\npub struct Two;\n");
        assert_eq!(found(&[lib, own, (child, "use super::Two;\n")]), [""; 0]);
        let round = [
            lib,
            parent("use crate::b::Two;"),
            (child, "use super::f;"),
            (other, "use crate::a::child::One;"),
        ];
        assert_eq!(found(&round).len(), 1);
        let test = parent("#[cfg(test)]\nmod child;\nuse crate::b::Two;");
        let from_test = (child, "use crate::b::Two;");
        assert_eq!(found(&[lib, test, from_test, (other, "use crate::a::f;")]).len(), 1, "a and b");
        let test = parent("#[cfg(test)]\nmod child;");
        assert_eq!(found(&[lib, test, from_test, (other, "use crate::a::f;")]), [""; 0]);
    }
}
