//! A limit of open files that is too low for a command: its message names the limit, and a path.

use std::process::Command;

use crate::support::{Home, PUMP, make_folder, noise_file, outcome};

#[test]
fn a_limit_of_open_files_is_named_with_its_number() {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "from/sub");
    for name in ["from/a", "from/sub/b"] {
        noise_file(&home, name, 3 << 20, 1);
    }
    let mut met = 0;
    for files in 5..16 {
        for words in ["copy from/a one", "copy from/ tree", "verify from from", "hash from/a"] {
            let mut command = Command::new("prlimit");
            command.arg(format!("--nofile={files}")).arg(PUMP).args(words.split(' '));
            let run = outcome(
                {
                    command.current_dir(home.path(""));
                    command
                },
                b"",
            );
            let row = format!("{files} {words}: {run:?}");
            assert!(!run.err.contains("''") && !run.err.contains("panicked"), "{row}");
            for line in run.err.lines().filter(|line| line.contains("Too many open files")) {
                met += 1;
                let words = format!("this process may have {files} files open (ulimit -n); raise that");
                assert!(line.contains(&words), "{row}");
            }
            for name in ["one", "tree"] {
                let _ = std::fs::remove_file(home.path(name));
                let _ = std::fs::remove_dir_all(home.path(name));
            }
        }
    }
    assert!(met > 0, "no limit was too low");
}
