//! What users of cp, rsync, scp, b3sum and diff have in their fingers: words in an unusual place, names with a colon,
//! what bash completes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use crate::command::habits::home;
use crate::support::{Home, PUMP, expect, make_folder, only, outcome, set_mode};

/// Words, status, and what is said.
type Row = (&'static str, i32, &'static [&'static str]);

const ROWS: &[Row] = &[
    // A rate of 0 is none.
    ("copy --bwlimit 0 one new", 0, &["one -> new"]),
    ("copy --bwlimit=0 one new", 0, &["one -> new"]),
    ("copy --bwlimit 0KiB one new", 0, &["one -> new"]),
    ("copy --bwlimit 4bit one new", 2, &["0 bytes per second"]),
    ("copy --bwlimit 100 one new", 2, &["write 100KiB"]),
    // Two h are rsync's, one is help.
    ("copy -hh one new", 0, &["one -> new"]),
    ("copy -avhh one new", 0, &["one -> new"]),
    ("copy -h one new", 0, &["Usage: pump copy"]),
    // A value that was left out.
    ("copy --sparse one new", 2, &["rsync's --sparse is --sparse=always"]),
    ("copy --reflink one new", 2, &["cp's --reflink is --reflink=always"]),
    ("copy --sparse always one new", 0, &["one -> new"]),
    ("copy --sparse=autos one new", 2, &["a similar value exists: 'auto'"]),
    // Flags of others.
    ("copy --info=progress2 one new", 2, &["--progress=always (rsync's --info=progress2)"]),
    ("copy --append-verify one new", 2, &["resumes a copy that was cut; leave it out"]),
    ("copy --copy-contents one new", 2, &["a pipe that is named as SRC is read"]),
    ("copy --keep-directory-symlink one new", 2, &["name the folder itself"]),
    ("copy -j 8 one new", 2, &["--lanes COUNT"]),
    ("verify -r photos old", 2, &["folders are compared with all that is in them; leave it out"]),
    ("verify -b one two", 2, &["which cmp prints"]),
    ("verify -rq photos old", 2, &["leave it out"]),
    ("hash -r photos", 2, &["folders are hashed with all that is in them; leave it out"]),
    ("hash --no-names one", 2, &["b3sum has it"]),
    // No command, or the name of another program.
    ("cp one new", 2, &["that is pump copy"]),
    ("mv one new", 2, &["that is pump copy --remove-source-files"]),
    ("rsync -a photos/ new", 2, &["that is pump mirror, or copy"]),
    ("diff one two", 2, &["that is pump verify"]),
    ("b3sum one", 2, &["that is pump hash"]),
    ("-a photos new", 2, &["to copy write: pump copy -a photos new"]),
    ("one new", 2, &["to copy write: pump copy one new"]),
    ("version", 2, &["pump --version"]),
    ("coppy one new", 2, &["'copy'"]),
    ("lab runn", 2, &["'run'"]),
    // A folder that is missing.
    (
        "copy one nowhere/new",
        1,
        &["'nowhere/new': No such file or directory", "create the folder, or add --mkpath"],
    ),
    ("copy -n one nowhere/new", 1, &["create the folder, or add --mkpath"]),
    ("copy photos nowhere/new", 1, &["'nowhere': No such file or directory", "or add --mkpath"]),
    ("copy missing new", 1, &["'missing': No such file or directory (os error 2)\n"]),
    ("copy --mkpath one nowhere/new", 0, &["one -> nowhere/new"]),
];

#[test]
fn each_is_done_or_answered() {
    for &(words, status, said) in ROWS {
        let run = home().pump(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status, status, "{words}: {run:?}");
        for part in said {
            assert!(format!("{}{}", run.out, run.err).contains(part), "{words}: no {part:?} in {run:?}");
        }
    }
}

/// A program in the place of ssh that finds no host.
fn home_without_hosts() -> Home {
    let home = Home::new();
    std::fs::write(home.path("ssh"), "#!/bin/sh\necho 'ssh: Could not resolve hostname x' >&2\nexit 255\n")
        .expect("room");
    set_mode(&home.path("ssh"), 0o755);
    home
}

#[test]
fn a_local_name_with_a_colon_is_told_where_no_host_is_found() {
    let home = home_without_hosts();
    home.file("2026-11-01T12:00.log", 5);
    home.file("plain", 6);
    let here = "a file of that name is here: it is written ./2026-11-01T12:00.log";
    for (words, status, part) in [
        (&["2026-11-01T12:00.log", "new"][..], 10, here),
        (&["plain", "2026-11-01T12:00.log"], 10, here),
        (&["plain", "a:b"], 10, "a local path with a colon is written ./a:b"),
        (
            &["plain", "2026-11-01T12:00.log", "new"],
            2,
            "'2026-11-01T12:00.log' that is here is written ./2026-11",
        ),
        (&["x:y", "2026-11-01T12:00.log", "new"], 2, "that is here is written ./2026-11-01T12:00.log"),
        (&["./2026-11-01T12:00.log", "./new:name"], 0, ""),
    ] {
        expect(&home.pump(&[&["copy", "--ssh", "./ssh"], words].concat()), status, &[part], part);
    }
    for host in ["user@host:file", "host:/file", "host:"] {
        let run = home.pump(&["copy", "--ssh", "./ssh", host, "new"]);
        assert!(run.status == 10 && !run.err.contains("is written ./"), "{host}: {run:?}");
    }
    assert_eq!(std::fs::read(home.path("new:name")).expect("the copy").len(), 5);
    only(&home, &["2026-11-01T12:00.log", "new:name", "plain", "ssh"], "nothing else");
}

#[test]
fn a_file_with_a_colon_is_hashed_and_a_list_of_such_name_is_read() {
    let home = Home::new();
    home.file("a:b", 5);
    home.file(":c", 6);
    let hashed = home.pump(&["hash", "a:b", ":c"]);
    assert_eq!(hashed.status, 0, "{hashed:?}");
    std::fs::write(home.path("list:1"), &hashed.out).expect("room");
    let checked = home.pump(&["hash", "-c", "list:1"]);
    assert_eq!((checked.status, &*checked.out), (0, "a:b: OK\n:c: OK\n"), "{checked:?}");
    let elsewhere = home.pump(&["hash", "host:file"]);
    expect(
        &elsewhere,
        2,
        &["files of this host alone are read here", "written ./host:file"],
        "no host is called",
    );
}

#[test]
fn a_list_of_any_names_is_checked() {
    let home = Home::new();
    make_folder(&home, "all");
    let names =
        [&b"no\xfftext"[..], b"new\nline", b"back\\slash", b"both\\\n\xfe", b"return\r", b" blank ", b"a:b"];
    for name in names {
        std::fs::write(home.path("all").join(OsStr::from_bytes(name)), name).expect("room");
    }
    let run = home.command(&["hash", "all"]).output().expect("pump was built");
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    assert!(run.stdout.windows(12).any(|part| part == b"  all/no\xfftex"), "as they are: {run:?}");
    std::fs::write(home.path("list"), &run.stdout).expect("room");
    for words in [&["hash", "--check", "list"][..], &["hash", "-c", "list"]] {
        let checked = home.pump(words);
        assert_eq!((checked.status, checked.out.matches(": OK\n").count()), (0, names.len()), "{checked:?}");
    }
    let windows: String = home.pump(&["hash", "list", "list"]).out.replace('\n', "\r\n");
    std::fs::write(home.path("windows"), windows).expect("room");
    assert_eq!(home.pump(&["hash", "-c", "windows"]).status, 0);
}

/// What bash offers for the last of these words: nothing where it completes file names by itself.
fn offered(home: &Home, words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source <(\"$PUMP\" completions bash); COMP_WORDS=({}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _pump pump \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\"; \
         complete -p pump",
        quoted.join(" ")
    );
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).env("PUMP", PUMP).current_dir(home.path("")).stdin(Stdio::null());
    let run = outcome(bash, b"");
    assert!(run.out.contains("-o default") && run.err.is_empty(), "{words:?}: {run:?}");
    run.out.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn bash_completes_file_names_where_files_are_meant() {
    let home = Home::new();
    home.file("some file", 1);
    for words in [
        &["pump", "copy", ""][..],
        &["pump", "copy", "s"],
        &["pump", "copy", "-n", ""],
        &["pump", "copy", "some file", ""],
        &["pump", "mirror", ""],
        &["pump", "verify", "a", ""],
        &["pump", "hash", ""],
        &["pump", "hash", "-c", ""],
        &["pump", "copy", "--exclude-from", "s"],
        &["pump", "copy", "--target-directory", ""],
        &["pump", "serve", ""],
    ] {
        assert_eq!(offered(&home, words), "", "{words:?}");
    }
    for (words, part) in [
        (&["pump", "copy", "--exclude-f"][..], "--exclude-from"),
        (&["pump", "copy", "-"], "--dry-run"),
        (&["pump", "copy", "--sync", ""], "end each none"),
        (&["pump", ""], "copy mirror"),
        (&["pump", "completions", ""], "bash"),
        (&["pump", "lab", ""], "run"),
    ] {
        let found = offered(&home, words);
        assert!(found.contains(part), "{words:?}: {found}");
    }
}

#[test]
fn a_file_that_begins_with_a_dash_is_told_from_flags() {
    let home = Home::new();
    for name in ["-dash", "-x", "--nonsense"] {
        home.file(name, 10);
    }
    for (words, word) in [
        (&["copy", "-dash", "new"][..], "-dash"),
        (&["copy", "-x", "new"], "-x"),
        (&["copy", "--nonsense", "new"], "--nonsense"),
        (&["hash", "-dash"], "-dash"),
        (&["verify", "-x", "new"], "-x"),
    ] {
        let tip =
            format!("'{word}' is read as flags; for the file of that name write ./{word}, or -- before it");
        expect(&home.pump(words), 2, &[&tip], &words.join(" "));
    }
    expect(&home.pump(&["copy", "./-dash", "one"]), 0, &[], "./");
    expect(&home.pump(&["copy", "--", "-dash", "two"]), 0, &[], "--");
    let none = home.pump(&["copy", "-s", "a", "b"]);
    assert!(!none.err.contains("is read as flags"), "{none:?}");
}

#[test]
fn what_is_refused_later_names_the_variable_too() {
    let home = Home::new();
    home.file("a", 10);
    for (variable, value, words, parts) in [
        ("PUMP_FILTER", "abc", "copy a b", &["the rule 'abc'", "; PUMP_FILTER is set"][..]),
        ("PUMP_LINK_DEST", "none", "copy a b", &["--link-dest 'none'", "; PUMP_LINK_DEST is set"]),
        ("PUMP_EXCLUDE_FROM", "none", "copy . b", &["read 'none'", "; PUMP_EXCLUDE_FROM is set"]),
    ] {
        let run = home.pump_with((variable, value), &words.split(' ').collect::<Vec<_>>());
        expect(&run, 2, parts, variable);
    }
    let typed = home.pump_with(("PUMP_LINK_DEST", "."), &["copy", "--link-dest", "none", "a", "b"]);
    expect(&typed, 2, &["--link-dest 'none'"], "typed");
    assert!(!typed.err.contains("is set"), "{typed:?}");
}

#[test]
fn a_flag_that_a_variable_sets_is_not_part_of_the_usage() {
    let home = Home::new();
    for words in [&["verify", "a"][..], &["copy"], &["mirror", "--nonsense"]] {
        let plain = home.pump(words);
        let run = home.pump_with(("PUMP_SSH", "ssh -p 2222"), words);
        expect(&run, 2, &["Usage: pump "], words[0]);
        assert_eq!(run.err, plain.err, "{words:?}");
    }
}
