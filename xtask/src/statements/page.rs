//! The page: what it says above, and a row for each statement.
//!
//! Must not know: whether what the list names is there.

use super::{CheckedBy, ListedStatement, Mutation};

/// The page of a list.
pub fn page(list: &[ListedStatement]) -> String {
    let count = |is: fn(&ListedStatement) -> bool| list.iter().filter(|statement| is(statement)).count();
    let shown = count(ListedStatement::is_shown);
    let pending = count(|statement| statement.pending.is_some());
    let rows: String = list.iter().map(row).collect();
    let mutations: String = list.iter().filter_map(mutation).collect();
    let mutated = count(|statement| statement.mutation.is_some());
    format!(
        "\
# Statements

What this program has to show, one by one. [experiments.md](experiments.md) says which experiment each belongs to, and from
which paper it is. Of {} statements {shown} have a test or a study; {pending} are pending, in whole or in part.

| checked | means |
|---|---|
| exact | by a test, without tolerance |
| golden | by a test that recomputes published tables: `pump lab predict --golden crates/lab/golden` |
| simulated | by a test on a virtual clock, under seeds |
| paced | on the real clock, with ends that follow a model |
| host | measured on a machine: rows are kept, and may be taken again by `pump lab run STUDY` |

This page is written by `cargo xtask statements` from docs/statements.toml. `cargo test -p xtask` fails when it is
another than that gives, when a result has no day and commit, when a statement names neither test nor study nor
reason, and when a test, a study or rows that it names are gone.

| | statement | checked | by | last result |
|---|---|---|---|---|
{rows}
## What would make them false

For {mutated} of them a change of the program, or of rows that are kept, and the test of the statement that fails with it.
`cargo xtask mutants S6` makes the change in a copy of the tree and runs that test.

| | file | text | replaced by | fails |
|---|---|---|---|---|
{mutations}",
        list.len(),
    )
}

impl ListedStatement {
    fn is_shown(&self) -> bool {
        !self.tests.is_empty() || !self.studies.is_empty()
    }
}

impl CheckedBy {
    fn word(self) -> &'static str {
        match self {
            CheckedBy::Exact => "exact",
            CheckedBy::Golden => "golden",
            CheckedBy::Simulated => "simulated",
            CheckedBy::Paced => "paced",
            CheckedBy::Host => "host",
        }
    }
}

fn row(statement: &ListedStatement) -> String {
    let ListedStatement { id, says, kinds, result, as_of, pending, .. } = statement;
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
    let pending = pending.as_ref().map(|what| format!("**pending**: {what}"));
    let as_of = as_of.as_deref().unwrap_or("-");
    let result = result.as_ref().map(|result| format!("{result} ({as_of})"));
    let result: Vec<String> = result.into_iter().chain(pending).collect();
    let result = if result.is_empty() { "-".into() } else { result.join("; ") };
    let cells = [id.clone(), says.clone(), kinds.join(", "), by(statement), result];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// The row of a mutation.
fn mutation(statement: &ListedStatement) -> Option<String> {
    let Mutation { file, find, replacement, fails } = statement.mutation.as_ref()?;
    let name = fails.split_once("::").map_or("", |(_, name)| name);
    let code = |text: &str| match text.trim() {
        "" => "nothing".into(),
        text => format!("`{}`", text.replace('\n', " ").replace('|', "\\|")),
    };
    let cells =
        [&statement.id, &format!("[{file}](../{file})"), &code(find), &code(replacement), &name.to_string()];
    Some(format!("| {} |\n", cells.map(String::as_str).join(" | ")))
}

/// Everything that shows it.
fn by(statement: &ListedStatement) -> String {
    let ListedStatement { tests, studies, rows, reason, .. } = statement;
    let tests = tests.iter().map(|test| {
        let (path, name) = test.split_once("::").unwrap_or((test, ""));
        format!("[{name}](../{path})")
    });
    let studies = studies.iter().map(|study| format!("study [{study}](../crates/lab/studies/{study}.toml)"));
    let rows = rows.iter().map(|rows| format!("[rows](../{rows})"));
    let all: Vec<String> = tests.chain(studies).chain(rows).chain(reason.iter().cloned()).collect();
    if all.is_empty() { "-".into() } else { all.join(", ") }
}
