//! docs/statements.md from docs/statements.toml: what is shown, by which test or study, and what came out. A statement
//! that nothing shows, and a test, a study or rows that are gone, are told.
//!
//! Must not know: what the tests test; it looks for their names.

mod page;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::mutants::Mutant;

const LIST: &str = "docs/statements.toml";
const PAGE: &str = "docs/statements.md";
/// The reference has so many.
const STATEMENTS: usize = 70;

/// How a statement is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CheckedBy {
    Exact,
    Golden,
    Simulated,
    Paced,
    Host,
}

/// One statement of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedStatement {
    id: String,
    says: String,
    kinds: Vec<CheckedBy>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    studies: Vec<String>,
    #[serde(default)]
    rows: Vec<String>,
    result: Option<String>,
    as_of: Option<String>,
    pending: Option<String>,
    reason: Option<String>,
    mutation: Option<Mutation>,
}

/// A change of the program, or of kept rows, that makes a statement false, and the test that fails then.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// The file that has the text exactly once.
    file: String,
    /// The right text.
    find: String,
    /// The wrong one.
    replacement: String,
    /// One of the statement's tests.
    pub fails: String,
}

impl Mutation {
    /// As a bug that can be put into a copy of the tree.
    pub fn mutant<'own>(&'own self, id: &'own str) -> Mutant<'own> {
        Mutant { name: id, place: &self.file, find: &self.find, replacement: &self.replacement }
    }
}

/// The list as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementList {
    statement: Vec<ListedStatement>,
}

/// Writes the page, if the list is in order.
///
/// Errors: a file that cannot be read or written; everything in the list that is not in order.
pub fn write(root: &Path) -> Result<()> {
    let list = read(root)?;
    let violations = violations(&list, root);
    ensure!(violations.is_empty(), "{LIST} is not in order:\n  {}", violations.join("\n  "));
    fs::write(root.join(PAGE), page::page(&list)).with_context(|| format!("write {PAGE}"))?;
    println!("{PAGE}: {} statements", list.len());
    Ok(())
}

/// Whether it names a statement: `S7`.
pub fn is_id(text: &str) -> bool {
    text.strip_prefix('S').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|it| it.is_ascii_digit()))
}

/// The statements that have a mutation, and it.
pub fn mutations(root: &Path) -> Result<Vec<(String, Mutation)>> {
    let found = read(root)?.into_iter();
    Ok(found.filter_map(|statement| Some((statement.id, statement.mutation?))).collect())
}

fn read(root: &Path) -> Result<Vec<ListedStatement>> {
    let text = fs::read_to_string(root.join(LIST)).with_context(|| format!("read {LIST}"))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<ListedStatement>> {
    Ok(toml::from_str::<StatementList>(text).context(LIST)?.statement)
}

/// Everything that is not in order, each with its statement.
fn violations(list: &[ListedStatement], root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut files = SourceFiles { root, texts: BTreeMap::new() };
    for (at, statement) in list.iter().enumerate() {
        let mut tell = |what: String| found.push(format!("{}: {what}", statement.id));
        if statement.id != format!("S{}", at + 1) {
            tell(format!("S{} should stand here: each once, in order", at + 1));
        }
        table_cells(statement).into_iter().for_each(&mut tell);
        statement.tests.iter().filter_map(|test| files.without_test(test)).for_each(&mut tell);
        statement.studies.iter().filter_map(|study| without_study(study, root)).for_each(&mut tell);
        statement.rows.iter().filter_map(|rows| without_rows(rows, root)).for_each(&mut tell);
        let mutation = statement.mutation.as_ref();
        mutation.into_iter().filter_map(|it| files.without_place(it, &statement.tests)).for_each(&mut tell);
    }
    if list.len() != STATEMENTS {
        found.push(format!("{} statements, and the reference has {STATEMENTS}", list.len()));
    }
    found
}

/// What a statement lacks in itself.
fn table_cells(statement: &ListedStatement) -> Vec<String> {
    let ListedStatement { says, kinds, tests, studies, result, as_of, pending, reason, .. } = statement;
    let is_shown = !tests.is_empty() || !studies.is_empty();
    let is_explained = pending.is_some() || reason.is_some();
    let optional = [result, pending, reason].map(|text| text.as_deref().unwrap_or("-"));
    let texts = [&[says.as_str()][..], &optional].concat();
    let lacks = [
        (!is_shown && !is_explained).then_some("name a test or a study, or say why there is none"),
        (is_shown && result.is_none()).then_some("say what came out: `result`"),
        (result.is_some() && !as_of.as_deref().is_some_and(is_date_and_commit)).then_some(
            "say when the result came out, and from which commit: `as_of = \"2026-11-30 0123abcd\"`",
        ),
        kinds.is_empty().then_some("say how it is checked: `kinds`"),
        texts.iter().any(|text| text.trim().is_empty()).then_some("a text is empty"),
        texts
            .iter()
            .any(|text| text.contains('\n'))
            .then_some("a text has several lines: the page is a table"),
    ];
    lacks.into_iter().flatten().map(String::from).collect()
}

/// Whether the text is a day and the first eight digits or more of a commit.
fn is_date_and_commit(text: &str) -> bool {
    let Some((day, commit)) = text.split_once(' ') else { return false };
    let form: String = day.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    let is_digit = |it: char| it.is_ascii_digit() || ('a'..='f').contains(&it);
    form == "0000-00-00" && (8..=40).contains(&commit.len()) && commit.chars().all(is_digit)
}

/// The files that are asked about, each read once.
struct SourceFiles<'root> {
    root: &'root Path,
    texts: BTreeMap<String, Option<String>>,
}

impl SourceFiles<'_> {
    fn text(&mut self, path: &str) -> Option<&str> {
        let root = self.root;
        let read = || fs::read_to_string(root.join(path)).ok();
        self.texts.entry(path.into()).or_insert_with(read).as_deref()
    }

    /// The error in a mutation, if any.
    fn without_place(&mut self, mutation: &Mutation, tests: &[String]) -> Option<String> {
        let Mutation { file, find, replacement, fails } = mutation;
        let count = self.text(file).map_or(0, |text| text.matches(find.as_str()).count());
        match count {
            1 if !tests.contains(fails) => {
                Some(format!("its mutation fails `{fails}`, which is none of its tests"))
            }
            1 if find == replacement => Some("its mutation changes nothing".into()),
            1 => None,
            count => Some(format!("its mutation has {count} places in {file}, not one: `{find}`")),
        }
    }

    /// The error in `path::name`, if any.
    fn without_test(&mut self, test: &str) -> Option<String> {
        let Some((path, name)) = test.split_once("::") else {
            return Some(format!("`{test}`: write `file::name of the test`"));
        };
        match self.text(path) {
            None => Some(format!("there is no file `{path}`")),
            Some(text) if has_test(text, name) => None,
            Some(_) => Some(format!("there is no test `{name}` in {path}")),
        }
    }
}

/// Whether a function of this name is a test: `#[test]` stands before it, with other attributes and comments between.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_function = |line: &str| {
        let rest = line.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('('))
    };
    let before = |at: usize| lines[..at].iter().rev();
    (0..lines.len()).filter(|&at| is_function(lines[at])).any(|at| {
        let mut above = before(at).take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        above.any(|line| *line == "#[test]")
    })
}

fn without_study(study: &str, root: &Path) -> Option<String> {
    let path = format!("crates/lab/studies/{study}.toml");
    (study.contains('/') || !root.join(&path).is_file())
        .then(|| format!("there is no study `{study}` ({path})"))
}

fn without_rows(rows: &str, root: &Path) -> Option<String> {
    let is_kept = rows.starts_with("bench/") && !rows.contains("..") && root.join(rows).is_file();
    (!is_kept).then(|| format!("there are no rows `{rows}` below bench/"))
}

#[cfg(test)]
mod tests;
