//! Pipes, devices and sockets among the arguments: a name that a shell put there must not keep the others waiting.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;

use crate::support::{
    Home, Outcome, after, expect, has_content, make_fifo, make_folder, noise_file, outcome, set_mode,
};

/// A run that hangs is ended by the guard of `Home`, and fails.
fn pump_that_ends(home: &Home, line: &str) -> Outcome {
    home.pump(&line.split(' ').collect::<Vec<_>>())
}

#[test]
fn a_pipe_among_several_arguments_is_made_as_in_a_tree() {
    let home = Home::new();
    let (a, b) = (noise_file(&home, "a", 3000, 1), noise_file(&home, "z", 100_000, 2));
    make_fifo(&home.path("pipe"));
    let _listening = UnixListener::bind(home.path("socket")).expect("a socket");
    make_folder(&home, "to");
    for row in ["new", "over what stands there"] {
        let run = pump_that_ends(&home, "copy a pipe socket z to");
        expect(&run, 0, &["socket' is a socket"], row);
        has_content(&home.path("to/a"), &a, row);
        has_content(&home.path("to/z"), &b, row);
        let made = std::fs::symlink_metadata(home.path("to/pipe")).expect("it is made").file_type();
        assert!(made.is_fifo() && !home.path("to/socket").exists(), "{row}");
    }
    let run = pump_that_ends(&home, "copy -n a pipe socket z to");
    let said = ["'pipe' -> 'to/pipe' (pipe)", "'socket' -> 'to/socket' (socket: left out)"];
    expect(&run, 0, &said, "a dry run");
    let run = pump_that_ends(&home, "copy --update -i -q a pipe z to");
    assert!(run.status == 0 && !run.out.contains("pipe"), "nothing is left to do: {run:?}");
    let run = pump_that_ends(&home, "copy a pipe .");
    expect(&run, 2, &["is the same file"], "onto themselves");
    let run = pump_that_ends(&home, "copy --exclude pipe a pipe z null:");
    expect(&run, 0, &[], "what is excluded is not read");
    let run = pump_that_ends(&home, "copy a pipe z null:");
    expect(&run, 23, &["pipe': is no file and no folder"], "there is no folder to make it in");
}

#[test]
fn a_pipe_that_is_named_alone_is_read() {
    let home = Home::new();
    let a = noise_file(&home, "a", 3000, 1);
    make_fifo(&home.path("pipe"));
    let (from, to) = (home.path("a"), home.path("pipe"));
    let writer = std::thread::spawn(move || std::fs::write(to, std::fs::read(from).expect("a file")));
    let run = pump_that_ends(&home, "copy pipe b");
    expect(&run, 0, &[], "a stream");
    writer.join().expect("no panic").expect("a reader was there");
    has_content(&home.path("b"), &a, "a stream");
}

#[test]
fn names_of_standard_input_and_output_mean_what_is_open_there() {
    let home = Home::new();
    let (line, row) = ("some words\n", |name: &str| format!("of {name}"));
    let text = line.repeat(9000);
    std::fs::write(home.path("a"), &text).expect("room");
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let run = outcome(after(&home, "exec > out; echo before", &["copy", "-q", "a", name]), b"");
        expect(&run, 0, &[], name);
        has_content(&home.path("out"), format!("before\n{text}").as_bytes(), &row(name));
    }
    for name in ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let run = outcome(after(&home, "exec < a; read line", &["copy", "-q", name, "rest"]), b"");
        expect(&run, 0, &[], name);
        has_content(&home.path("rest"), &text.as_bytes()[line.len()..], &row(name));
    }
    // As a shell writes `>(...)`.
    let run = outcome(after(&home, "exec 3>&1 > /dev/null", &["copy", "-q", "a", "/dev/fd/3"]), b"");
    expect(&run, 0, &[], "a pipe");
    assert_eq!(run.out, text, "a pipe");
}

/// A copy would replace the file by its name, and what is open would stay as it was.
#[test]
fn a_file_that_the_shell_opened_is_read_and_not_replaced() {
    let home = Home::new();
    let a = noise_file(&home, "a", 3000, 1);
    std::fs::write(home.path("out"), "before").expect("room");
    for name in ["/dev/fd/3", "/proc/self/fd/3"] {
        for flags in ["-q", "-qa", "-n", "--inplace"] {
            let run = outcome(after(&home, "exec 3>> out", &["copy", flags, "a", name]), b"");
            expect(&run, 2, &["is open already", "name the file itself", ">&3"], flags);
            has_content(&home.path("out"), b"before", flags);
        }
        for flags in ["-q", "-qa", "-qd", "--safe-links"] {
            let run = outcome(after(&home, "exec 3< a", &["copy", flags, name, "new"]), b"");
            expect(&run, 0, &[], flags);
            assert!(!home.path("new").is_symlink(), "{flags}");
            has_content(&home.path("new"), &a, flags);
            std::fs::remove_file(home.path("new")).expect("it is ours");
            // As a shell writes `<(...)`.
            let run = outcome(after(&home, "exec 3<&0", &["copy", flags, name, "new"]), &a);
            expect(&run, 0, &[], flags);
            has_content(&home.path("new"), &a, flags);
            std::fs::remove_file(home.path("new")).expect("it is ours");
        }
    }
    make_folder(&home, "to");
    let run = outcome(after(&home, "exec 3<&0", &["copy", "a", "/dev/fd/3", "to"]), &a);
    expect(&run, 2, &["name it as the only source"], "beside others");
    assert!(!home.path("to/3").exists() && !home.path("to/a").exists());
    // What the message says.
    let run = outcome(after(&home, "exec 3>> out 1>&3", &["copy", "-q", "a", "-"]), b"");
    expect(&run, 0, &[], "standard output");
    has_content(&home.path("out"), &[&b"before"[..], &a[..]].concat(), "standard output");
}

#[test]
fn what_is_read_from_a_device_becomes_a_file_like_any_new_one() {
    let home = Home::new();
    let mode = |name: &str| home.path(name).metadata().expect("it is there").permissions().mode() & 0o7777;
    noise_file(&home, "old", 3000, 1);
    set_mode(&home.path("old"), 0o640);
    for (umask, new) in [("umask 022", 0o644), ("umask 077", 0o600)] {
        for (flags, name, expected) in [("-q", "new", new), ("-q", "old", 0o640), ("--inplace", "old", 0o640)]
        {
            let row = format!("{umask} {flags} {name}");
            let run = outcome(after(&home, umask, &["copy", flags, "/dev/null", name]), b"");
            expect(&run, 0, &[], &row);
            has_content(&home.path(name), b"", &row);
            assert_eq!(mode(name), expected, "{row}");
        }
        std::fs::remove_file(home.path("new")).expect("it is ours");
    }
}

/// As `cp -a` and `rsync -a` do; without -a it is read.
#[test]
fn a_pipe_that_is_named_stays_one_with_a() {
    let home = Home::new();
    make_fifo(&home.path("pipe"));
    set_mode(&home.path("pipe"), 0o640);
    make_folder(&home, "to");
    noise_file(&home, "old", 100, 1);
    for (words, made) in
        [("copy -a pipe new", "new"), ("copy --archive pipe to", "to/pipe"), ("copy -a pipe old", "old")]
    {
        let words: Vec<&str> = words.split(' ').collect();
        let planned = home.pump(&[&words[..1], &["-n"], &words[1..]].concat());
        expect(&planned, 0, &["dry run: nothing was copied"], made);
        expect(&home.pump(&words), 0, &[], made);
        let meta = home.path(made).symlink_metadata().expect("it was made");
        assert!(meta.file_type().is_fifo() && meta.permissions().mode() & 0o7777 == 0o640, "{made}");
    }
    // What goes to standard output is read.
    let read = outcome(after(&home, "(echo text > pipe &)", &["copy", "-qa", "pipe", "-"]), b"");
    expect(&read, 0, &[], "standard output");
    assert_eq!(read.out, "text\n");
    let read = outcome(after(&home, "(echo text > pipe &)", &["copy", "-q", "pipe", "content"]), b"");
    expect(&read, 0, &[], "without -a");
    has_content(&home.path("content"), b"text\n", "without -a");
}
