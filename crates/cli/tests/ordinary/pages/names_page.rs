//! docs/names.md is the table of the name machine, and what the program does: it is written from the table (anew with
//! `DATAPUMP_WRITE_NAMES=1`), and each of its examples is made, and a dry run and a run of it print its lines.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use datapump_core::name::rules;

use crate::support::Home;

const TABLE: &str = include_str!("../../../../core/src/name/table.rs");

const INTRODUCTION: &str = "\
# What becomes of a name

This page is generated from the table by which the program decides (`crates/core/src/name/table.rs`; renew it with
`DATAPUMP_WRITE_NAMES=1 cargo test -p pump --test ordinary names_page`). The rules are asked in this order, and the first
that decides wins. The number of a rule is its name: it stays, and does not say its place. A run, a dry run (`-n`) and
`pump verify` ask the same table. A named source is a name of the folder that holds it.

*Source*: the entry to copy. *Existing*: the entry that has the name at the target now. *Skip*: nothing is done, because
the user excluded the name, or it is nothing that is copied. *Leave*: the existing entry stays. *Refuse*: the name fails
with a problem, and the copy goes on with the next (status 23). *Write*: rule 28 and all below. From rule 37 on they are those
of `--delete`: they are asked of the names of the target when all names of the source are done and nothing failed. *Keep*:
the name stays, and the folders that it lies in.
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
| file 10 500 | - | `--max-size=9B` | | 5 |
| file 10 500 | file 10 400 | `--min-size=11B` | | 5 |
| file 10 500 | - | `--existing` | | 6 |
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
| file 10 500 | folder | `--existing` | `>f+++++++++ n` | 33 |
| link | full | `--existing --delete` | `*deleting   n/k`, `*deleting   n/`, `cL+++++++++ n -> x` | 33 |
| folder | - | | `cd+++++++++ n/` | 19 |
| folder | folder | | | 16 |
| folder | file 10 500 | | `cd+++++++++ n/` | 19 |
| folder | file 10 500 | `--ignore-existing` | | 18 |
| link | - | | `cL+++++++++ n -> x` | 36 |
| link | link | `--update` | | 26 |
| pipe | - | | `cS+++++++++ n` | 36 |
| - | file 10 500 | `--delete` | `*deleting   n` | 44 |
| - | full | `--delete` | `*deleting   n/k`, `*deleting   n/` | 42 |
| - | file 10 500 | `--delete --exclude=n` | | 37 |
";

/// The words above a rule's function: what follows from it.
fn outcome(name: &str) -> String {
    let source = TABLE;
    let at = source.find(&format!("\nfn {name}(")).expect("each rule has a function");
    let mut lines: Vec<&str> =
        source[..at].lines().rev().map_while(|line| line.strip_prefix("/// ")).collect();
    lines.reverse();
    assert!(!lines.is_empty(), "{name} says nothing");
    lines.join(" ")
}

/// The function of each row, as the table is written.
fn functions() -> Vec<&'static str> {
    let rows = TABLE.lines().filter(|line| line.ends_with("),") && line.starts_with("    "));
    let last = |line: &'static str| line.trim_end_matches("),").rsplit(", ").next().unwrap_or("").trim();
    rows.filter(|line| line.contains('"')).map(last).collect()
}

fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    let functions = functions();
    assert_eq!(functions.len(), rules().len(), "{functions:?}");
    for (rule, function) in rules().iter().zip(functions) {
        let (number, question, flags) = (rule.number, rule.question, rule.flags);
        let _ = writeln!(page, "| {number} | {question} | {} | {flags} |", outcome(function));
    }
    page + EXAMPLES
}

struct Example<'page> {
    source: &'page str,
    existing: &'page str,
    flags: Vec<&'page str>,
    printed: Vec<&'page str>,
}

fn examples(page: &str) -> Vec<Example<'_>> {
    let rows = page.split("## Examples").nth(1).expect("the page has examples");
    let rows = rows.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [source, existing, flags, printed, _] = cells[..] else { panic!("five cells: {row}") };
        Example {
            source,
            existing,
            flags: flags.trim_matches('`').split_whitespace().collect(),
            printed: printed
                .split("`, `")
                .map(|line| line.trim_matches('`'))
                .filter(|line| !line.is_empty())
                .collect(),
        }
    })
    .collect()
}

/// `file SIZE TIME`, `folder`, `full`, `link`, `pipe`, or `-`.
fn make(words: &str, path: &Path) {
    let words: Vec<&str> = words.split(' ').collect();
    let number = |at: usize| words.get(at).map_or(0, |word| word.parse::<u64>().expect("a number"));
    match words[0] {
        "file" => fs::write(path, "x".repeat(number(1) as usize)).expect("room"),
        "folder" => fs::create_dir(path).expect("room"),
        "full" => {
            fs::create_dir(path).expect("room");
            fs::write(path.join("k"), "k").expect("room");
        }
        "link" => std::os::unix::fs::symlink("x", path).expect("room"),
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success()),
        _ => return,
    }
    let time = format!("@{}", if words[0] == "file" { number(2) } else { 500 });
    let touched = Command::new("touch").args(["-h", "-d", &time]).arg(path).status();
    assert!(touched.expect("touch runs").success());
}

#[test]
fn the_page_of_names_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/names.md");
    if std::env::var_os("DATAPUMP_WRITE_NAMES").is_some() {
        fs::write(&path, page()).expect("docs/names.md can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let words = "renew docs/names.md: DATAPUMP_WRITE_NAMES=1 cargo test -p pump --test ordinary names_page";
    assert!(written == page(), "{words}");
}

#[test]
fn examples_of_the_page_of_names_are_what_a_dry_run_and_a_run_print() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/names.md");
    let page = fs::read_to_string(page).expect("docs/names.md is here");
    let all = examples(&page);
    assert!(all.len() > 20, "{} examples", all.len());
    for example in &all {
        let home = Home::new();
        for folder in ["s", "d"] {
            fs::create_dir(home.path(folder)).expect("room");
        }
        make(example.source, &home.path("s/n"));
        make(example.existing, &home.path("d/n"));
        for dry in [&["-n"][..], &[]] {
            let words = [&["copy", "-q", "-i"][..], dry, &example.flags, &["s/", "d/"]].concat();
            let run = home.pump(&words);
            let about: Vec<&str> = run.out.lines().filter(|line| !line.ends_with(" ./")).collect();
            let row = format!("{} over {}: {words:?}\n{run:?}", example.source, example.existing);
            assert_eq!(about, example.printed, "{row}");
        }
    }
}
