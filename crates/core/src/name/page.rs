//! docs/names.md: the table as a page that users read. Written anew with `DATAPUMP_WRITE_NAMES=1`.
//!
//! Must not know: the rules.

use std::fmt::Write;
use std::path::Path;

use super::table::TABLE;

const INTRODUCTION: &str = "\
# What becomes of a name

This page is generated from the table by which the program decides (`crates/core/src/name/table.rs`; renew it with
`DATAPUMP_WRITE_NAMES=1 cargo test -p datapump-core --lib name::page`). The rules are asked in this order, and the first
that decides wins. A run, a dry run (`-n`) and `pump verify` ask the same table. A named source is a name of the folder
that holds it.

*Source*: the entry to copy. *Existing*: the entry that has the name at the target now. *Skip*: nothing is done, because
the user excluded the name, or it is nothing that is copied. *Leave*: the existing entry stays. *Refuse*: the name fails
with a problem, and the copy goes on with the next (status 23). *Write*: rule 28 and all below.
rsync 3.5.0 and cp 9.1 as in their manuals; (T): tried. Nothing said: they have no such case.

| # | question | what becomes of the name, and how rsync and cp have it | flags |
|---|---|---|---|
";

const EXAMPLES: &str = "
## Examples

Each row is a name `n` in the source, what has that name at the target, and what `pump copy -n -i FLAGS` prints about it. A
run prints the same. `file SIZE TIME`, `folder`, `full` (a folder with a file `k` in it), `link`, `pipe`; `-`: nothing.

| source | existing | flags | printed | rule |
|---|---|---|---|---|
| file 10 500 | - | | `>f+++++++++ n` | 36 |
| file 10 500 | - | `--exclude=n` | | 3 |
| file 10 500 | - | `--max-size=9B` | | 4 |
| file 10 500 | file 10 400 | `--min-size=11B` | | 4 |
| file 10 500 | - | `--existing` | | 5 |
| file 10 500 | file 10 400 | | `>f..t...... n` | 36 |
| file 10 500 | file 10 500 | | `>f......... n` | 36 |
| file 10 500 | file 10 500 | `--update` | | 26 |
| file 10 500 | file 11 400 | `--update` | `>f.st...... n` | 36 |
| file 10 500 | file 11 600 | `--update` | | 21 |
| file 10 500 | file 11 600 | `--update=differs` | `>f.st...... n` | 36 |
| file 10 500 | file 10 400 | `--update --size-only` | `.f..t...... n` | 27 |
| file 10 500 | file 10 502 | `--update=differs --modify-window=2s` | | 26 |
| file 10 500 | file 10 400 | `--checksum` | `.f..t...... n` | 27 |
| file 10 500 | file 10 500 | `--checksum` | | 26 |
| file 10 500 | file 11 400 | `--ignore-existing` | | 18 |
| file 10 500 | link | `--ignore-existing` | | 18 |
| file 10 500 | link | `--update` | `>f+++++++++ n` | 36 |
| file 10 500 | folder | | `>f+++++++++ n` | 33 |
| file 10 500 | full | | | 33 |
| file 10 500 | full | `--delete` | `*deleting   n/k`, `*deleting   n/`, `>f+++++++++ n` | 33 |
| folder | - | | `cd+++++++++ n/` | 19 |
| folder | folder | | | 16 |
| folder | file 10 500 | | `cd+++++++++ n/` | 19 |
| folder | file 10 500 | `--ignore-existing` | | 18 |
| link | - | | `cL+++++++++ n -> x` | 36 |
| link | link | `--update` | | 26 |
| pipe | - | | `cS+++++++++ n` | 36 |
| - | file 10 500 | `--delete` | `*deleting   n` | deletion |
";

/// The words above a rule's function: what follows from it.
fn outcome(name: &str) -> String {
    let source = include_str!("table.rs");
    let at = source.find(&format!("\nfn {name}(")).expect("each rule has a function");
    let mut lines: Vec<&str> =
        source[..at].lines().rev().map_while(|line| line.strip_prefix("/// ")).collect();
    lines.reverse();
    assert!(!lines.is_empty(), "{name} says nothing");
    lines.join(" ")
}

/// The function of each row, as the table is written.
fn functions() -> Vec<&'static str> {
    let rows =
        include_str!("table.rs").lines().filter(|line| line.ends_with("),") && line.starts_with("    "));
    let last = |line: &'static str| line.trim_end_matches("),").rsplit(", ").next().unwrap_or("").trim();
    rows.filter(|line| line.contains('"')).map(last).collect()
}

fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    let functions = functions();
    assert_eq!(functions.len(), TABLE.len(), "{functions:?}");
    for (rule, function) in TABLE.iter().zip(functions) {
        let (number, question, flags) = (rule.number, rule.question, rule.flags);
        let _ = writeln!(page, "| {number} | {question} | {} | {flags} |", outcome(function));
    }
    page + EXAMPLES
}

#[test]
fn the_page_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/names.md");
    if std::env::var_os("DATAPUMP_WRITE_NAMES").is_some() {
        std::fs::write(&path, page()).expect("docs/names.md can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let words = "renew docs/names.md: DATAPUMP_WRITE_NAMES=1 cargo test -p datapump-core --lib name::page";
    assert!(written == page(), "{words}");
}
