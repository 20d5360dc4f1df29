//! A mirror, and `--delete`, empty no home folder and no root folder, unless it is said how many names may go.

use std::fs;

use crate::support;
use crate::support::listing::listing;
use crate::support::{Home, Outcome, expect, has_content, make_folder, make_symlink, set_mode};

/// A folder `src`, a home folder `own` with files in it, and a link to that.
fn home() -> Home {
    let home = Home::new();
    for folder in ["src", "own", "own/photos"] {
        make_folder(&home, folder);
    }
    for file in ["src/new", "own/.profile", "own/photos/one"] {
        fs::write(home.path(file), file).expect("room for a file");
    }
    make_symlink(&home, "own", "link");
    fs::write(home.path("rsh"), "#!/bin/sh\nshift; exec sh -c \"$*\"\n").expect("room for a file");
    set_mode(&home.path("rsh"), 0o755);
    home
}

/// The home folder is `own`, also that of the program behind the stand-in for ssh.
fn pump(home: &Home, line: &str) -> Outcome {
    let mut words: Vec<&str> = line.split(' ').collect();
    if line.contains("host:") {
        words.splice(1..1, ["--ssh=./rsh", "--remote-bin", support::PUMP]);
    }
    let mut command = home.command(&words);
    command.env("HOME", home.path("own")).env_remove("SSH_CONNECTION");
    support::outcome(command, b"")
}

fn refused(home: &Home, line: &str, parts: &[&str]) {
    let before = listing(&home.path(""));
    let run = pump(home, line);
    expect(&run, 2, parts, line);
    assert!(run.err.contains("copy into a folder in it, or say with --max-delete"), "{line}: {run:?}");
    assert_eq!(listing(&home.path("")), before, "{line}: nothing is written");
}

#[test]
fn a_home_folder_is_not_emptied() {
    let home = home();
    let absolute = home.path("own");
    for target in ["own", "own/", "link", "own/photos/..", absolute.to_str().expect("a plain path")] {
        for command in ["mirror", "mirror -n"] {
            let part = "is the home folder of this user, and a mirror would remove all in it that 'src/' does not have";
            refused(&home, &format!("{command} src/ {target}"), &[part]);
        }
        for command in ["copy --delete", "copy -n --delete", "copy --delete --update --exclude=.*"] {
            let part = "is the home folder of this user, and --delete would remove all in it";
            refused(&home, &format!("{command} src/ {target}"), &[part]);
        }
    }
    has_content(&home.path("own/.profile"), b"own/.profile", "it stays");
}

#[test]
fn a_home_folder_of_another_host_is_not_emptied() {
    let home = home();
    for command in ["mirror src/", "mirror -n src/", "copy --delete src/", "copy -n --delete src/."] {
        for target in ["host:", "host:.", "host:photos/.."] {
            refused(&home, &format!("{command} {target}"), &["is the home folder of this user"]);
        }
    }
    has_content(&home.path("own/photos/one"), b"own/photos/one", "it stays");
    expect(&pump(&home, "copy --delete src host:"), 0, &[], "a folder in it");
    has_content(&home.path("own/src/new"), b"src/new", "a folder in it");
    has_content(&home.path("own/.profile"), b"own/.profile", "a folder in it");
}

#[test]
fn a_root_folder_is_not_emptied() {
    let home = home();
    // The source lies in it, and would stay for this rule.
    let first = home.path("").components().nth(1).map(|name| name.as_os_str().to_owned());
    let rule = format!("--exclude=/{}", first.expect("a folder").display());
    for line in ["mirror -n src/ /", "copy -n --delete src/ /", "copy -n --delete src/ /usr/.."] {
        refused(&home, &line.replace("-n", &format!("-n {rule}")), &["is the root folder"]);
    }
}

#[test]
fn what_is_meant_is_done() {
    for (line, is_emptied) in [
        ("mirror --max-delete 10 src/ own", true),
        ("copy --delete --max-delete 10 src/ own", true),
        ("mirror --max-delete 10 src/ host:", true),
        ("copy src/ own", false),
        ("copy --update src/ host:", false),
        ("mirror src/ own/photos", false),
        ("copy --delete src own", false),
    ] {
        let home = home();
        expect(&pump(&home, line), 0, &[], line);
        assert_eq!(home.path("own/.profile").exists(), !is_emptied, "{line}");
    }
}
