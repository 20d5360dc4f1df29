//! Where a limit of processes lets a ring make no worker threads, and where the first thread has a small stack: all is
//! copied.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::support::listing::same_apart_from_owners;
use crate::support::{
    Home, after, as_ordinary_user_by, expect, is_root, make_folder, noise_file, outcome, set_mode,
};

const NOBODY: u32 = 65534;

#[test]
fn a_ring_that_can_make_no_workers_copies_all() {
    let home = Home::new();
    make_folder(&home, "from");
    for number in 0..6 {
        noise_file(&home, &format!("from/{number}"), 3 << 20, number);
    }
    set_mode(&home.path("from"), 0o755);
    make_folder(&home, "open");
    set_mode(&home.path("open"), 0o777);
    // One more process of the same user: the limit is used up by the pump itself.
    let mut other = Command::new("sleep");
    other.arg("60").stdin(Stdio::null()).stdout(Stdio::null());
    if is_root() {
        other.uid(NOBODY);
    }
    let Ok(mut other) = other.spawn() else {
        return eprintln!("SKIPPED: root cannot become nobody");
    };
    for engine in ["auto", "uring"] {
        let to = format!("open/{engine}");
        let words = ["copy", "--engine", engine, "from/", &to];
        let run = as_ordinary_user_by(&home, &["prlimit", "--nproc=1"], &words);
        if let Some(run) = run {
            expect(&run, 0, &[], engine);
            same_apart_from_owners(&home.path("from"), &home.path(&to), engine);
        }
    }
    other.kill().expect("it is ours");
    other.wait().expect("it ends");
}

#[test]
fn a_small_limit_of_the_stack_changes_nothing() {
    let home = Home::new();
    make_folder(&home, "from");
    noise_file(&home, "from/a", 3 << 20, 1);
    for words in [
        &["copy", "from/", "to"][..],
        &["verify", "from/", "to"],
        &["hash", "from/a"],
        &["doctor"],
        &["help", "topics"],
        &["copy", "--help"],
        &["man", "copy"],
        &["explain", "from/a", "null:"],
    ] {
        let run = outcome(after(&home, "ulimit -s 64", words), b"");
        expect(&run, 0, &[], &words.join(" "));
    }
    let wrong = outcome(after(&home, "ulimit -s 64", &["copy", "--nonsense"]), b"");
    expect(&wrong, 2, &["unexpected argument '--nonsense'"], "a usage error");
}
