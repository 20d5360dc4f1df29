//! docs/names.md is what the program does: each of its examples is made, and a dry run and a run of it print its lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Home;

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
