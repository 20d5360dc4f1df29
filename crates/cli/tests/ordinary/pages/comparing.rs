//! docs/comparing.md, word by word: its study and its commands run, on little data, and print what it explains.

use std::fs;

use crate::support::programs::copy_program;
use crate::support::{Home, expect, make_folder};

const PAGE: &str = include_str!("../../../../../docs/comparing.md");

/// What a block of this kind has, without its fences.
fn blocks(kind: &str) -> Vec<&'static str> {
    let parts = PAGE.split("```").skip(1).step_by(2);
    parts.filter_map(|part| part.strip_prefix(kind)?.strip_prefix('\n')).collect()
}

/// On little data, with few rounds, in the current folder.
fn small(text: &str) -> String {
    let text = text.replace("1GiB", "64KiB").replace("--repeats 10", "--repeats 3");
    text.replace("/mnt/disk", ".").replace(", { step = \"wait_quiet\" }", "")
}

#[test]
fn the_study_and_the_commands_of_the_page_run() {
    let home = Home::new();
    for name in ["old", "new"] {
        make_folder(&home, name);
        copy_program(home.path(name).join("pump"));
    }
    let [study] = blocks("toml")[..] else { panic!("one study") };
    fs::write(home.path("lanes.toml"), small(study)).expect("room");
    let commands: Vec<String> = blocks("sh").into_iter().flat_map(str::lines).map(small).collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in &commands {
        let mut words: Vec<&str> = command.split(' ').skip(1).collect();
        let said = match words[1] {
            "compare" => &["mean ratio", "3 pairs", "median A"][..],
            "view" => &["four / one: ", "n = 3"],
            _ => &["lanes: 6 runs"],
        };
        if words[1] != "run" {
            // Other tests that run meanwhile change the pace of the processor.
            words.push("--keep-disturbed");
        }
        let run = home.pump(&words);
        // Whether runs as short as these can be judged is up to what else the machine does.
        let is_noisy = words[1] == "compare" && run.err.contains("nothing could be judged: too noisy;");
        expect(&run, i32::from(is_noisy), said, command);
    }
    assert_eq!((home.rows("lanes.jsonl").len(), home.rows("builds.jsonl").len()), (6, 12));
}
