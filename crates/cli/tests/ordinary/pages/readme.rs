//! What README says to type works as it stands there.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::support::programs::script;
use crate::support::{Home, PUMP, make_folder, noise_file, outcome};

const README: &str = include_str!("../../../../../README.md");

/// Lines of code blocks that are commands of pump, without what is said of them.
fn commands() -> Vec<&'static str> {
    let blocks = README.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(|line| line.trim_start_matches("$ "));
    let commands = lines.filter(|line| line.starts_with("pump "));
    commands.map(|line| line.split(" #").next().unwrap_or(line).trim_end()).collect()
}

#[test]
fn the_commands_of_the_readme_work() {
    let home = Home::new();
    for name in ["photos", "photos/2026", "backup", "far", "far/backup", "bin"] {
        make_folder(&home, name);
    }
    fs::write(home.path("photos/2026/a.jpg"), "a").expect("room");
    noise_file(&home, "big.bin", 3 << 20, 1);
    symlink(PUMP, home.path("bin/pump")).expect("room");
    // ssh leads to this program, whose home folder is `far`.
    let far = home.path("far").display().to_string();
    script(home.path("rsh"), &format!("shift; cd {far}; HOME={far} exec sh -c \"$*\""));
    let commands = commands();
    assert!(commands.len() >= 7, "{commands:?}");
    for line in commands {
        let here = line.replace(" /backup", &format!(" {}", home.path("backup").display()));
        let mut command = Command::new("sh");
        command.args(["-c", &here]).current_dir(home.path(""));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUMP_")) {
            command.env_remove(name);
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", home.path("bin").display()));
        command.env("PUMP_SSH", home.path("rsh")).env("PUMP_REMOTE_BIN", PUMP);
        let run = outcome(command, b"");
        assert_eq!(run.status, 0, "{line}: {run:?}");
    }
    for copy in ["backup/photos/2026/a.jpg", "far/backup/photos/2026/a.jpg", "backup/big.bin"] {
        assert!(home.path(copy).exists(), "{copy}");
    }
}
