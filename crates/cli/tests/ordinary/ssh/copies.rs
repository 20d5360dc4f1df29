//! HOST:PATH places with a plain script in the place of ssh: it leaves the host out and has a shell run the rest, as
//! sshd does. With a real sshd: `wider/ssh/copies.rs`.

use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::running::{Running, eventually};
use crate::support::small_tree::small_tree;
use crate::support::{
    Home, Outcome, PUMP, expect, has_attributes_of, has_content, make_folder, make_symlink, noise_file,
    outcome, set_xattr,
};
use rustix::process::{Pid, Signal, kill_process};

/// How sshd tells the far end by which address it was reached; none without it.
pub const DIRECT: Option<&str> = Some("127.0.0.1 1 127.0.0.1 22");
pub const CARRIED: Option<&str> = None;

/// A folder in which the copy runs, with `far`, the home folder of the far end.
fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "far");
    script(&home, "rsh", "shift; exec sh -c \"$*\"");
    home
}

/// A program of the shell.
fn script(home: &Home, name: &str, text: &str) {
    crate::support::programs::script(home.path(name), text);
}

/// A copy whose far end is this program.
pub fn command(home: &Home, far: &str, connection: Option<&str>, words: &[impl AsRef<OsStr>]) -> Command {
    let mut all: Vec<OsString> = ["copy", "--ssh=./rsh", "--remote-bin", far].map(Into::into).into();
    all.extend(words.iter().map(|word| word.as_ref().to_owned()));
    let mut command = home.command(&all);
    command.env("HOME", home.path("far")).env_remove("SSH_CONNECTION");
    if let Some(connection) = connection {
        command.env("SSH_CONNECTION", connection);
    }
    command
}

fn copy(home: &Home, connection: Option<&str>, words: &[impl AsRef<OsStr>]) -> Outcome {
    outcome(command(home, PUMP, connection, words), b"")
}

#[test]
fn folders_and_files_go_there_and_back_by_both_ways() {
    let home = home();
    let tree = small_tree(&home, "tree");
    for file in ["b", "sub/c", "sub/deeper/deepest/e"] {
        set_xattr(&tree.join(file), "user.colour", b"blue");
    }
    let content = noise_file(&home, "large", 3_000_001, 1);
    for (row, connection) in [("direct", DIRECT), ("carried", CARRIED)] {
        for (number, words) in [
            &["tree", "large", "host:"][..],
            &["user@host:tree", "user@host:large", "back"],
            &["-uT", "tree", "[::1]:tree"],
        ]
        .into_iter()
        .enumerate()
        {
            let _ = std::fs::create_dir(home.path("back"));
            let run = copy(&home, connection, words);
            let row = format!("{row}, {words:?}");
            assert!(!run.err.contains("pump1-"), "{row}: a ticket is told: {run:?}");
            let said = if number < 2 { " -> " } else { "Nothing to do: " };
            expect(&run, 0, &[said], &row);
            assert_eq!(run.err.contains("goes through ssh"), connection.is_none(), "{row}: {run:?}");
            assert!(number < 2 || run.err.starts_with("Nothing") || connection.is_none(), "{row}: {run:?}");
        }
        for copied in ["far", "back"] {
            expect(&home.pump(&["verify", "tree", &format!("{copied}/tree")]), 0, &[], row);
            has_content(&home.path(format!("{copied}/large")), &content, row);
            for file in ["b", "sub/c", "sub/deeper/deepest/e"] {
                has_attributes_of(&tree.join(file), &home.path(copied).join("tree").join(file), row);
            }
            std::fs::remove_dir_all(home.path(copied)).expect("it is there");
        }
        make_folder(&home, "far");
        let quiet = copy(&home, connection, &["-q", "large", "host:/dev/null"]);
        expect(&quiet, 0, &[], row);
        assert_eq!((quiet.out, quiet.err), (String::new(), String::new()), "{row}");
    }
}

#[test]
fn paths_mean_what_they_mean_there_and_no_shell_reads_them() {
    let home = home();
    let content = noise_file(&home, "file", 1000, 1);
    std::fs::create_dir(home.path("far/sub")).expect("room");
    make_symlink(&home, "sub/behind", "far/link");
    std::fs::write(home.path("far/sub/behind"), "old").expect("room");
    let absolute = home.path("far/sub/absolute").display().to_string();
    for (path, lands) in [
        (&b"sub/a b  c"[..], &b"sub/a b  c"[..]),
        (b"it's; touch \"no\" `id` $(id) | & *", b"it's; touch \"no\" `id` $(id) | & *"),
        (b"new\nline\t\x1b", b"new\nline\t\x1b"),
        (b"not \xff\xfe UTF-8", b"not \xff\xfe UTF-8"),
        (b"-n", b"-n"),
        (b"sub/", b"sub/file"),
        (b"~//tilde", b"tilde"),
        (b"./~tilde", b"~tilde"),
        (b"link", b"sub/behind"),
        (absolute.as_bytes(), b"sub/absolute"),
    ] {
        let row = datapump_shown(path);
        let place = OsString::from(OsStr::from_bytes(&[b"host:", path].concat()));
        expect(&copy(&home, CARRIED, &[OsStr::new("file"), &place]), 0, &[], &row);
        let lands = home.path("far").join(OsStr::from_bytes(lands));
        has_content(&lands, &content, &row);
        if !path.ends_with(b"/") {
            expect(&copy(&home, CARRIED, &[&place, OsStr::new("back")]), 0, &[], &row);
            has_content(&home.path("back"), &content, &row);
        }
    }
    assert!(!home.path("far/no").exists() && !home.path("no").exists());
    let run = copy(&home, CARRIED, &["file", "host:~nobody/x"]);
    expect(&run, 2, &["~nobody/x", "home folder of a user"], "another's home");
    let run = copy(&home, CARRIED, &["host:missing", "back"]);
    expect(&run, 1, &["missing"], "nothing there");
    let run = copy(&home, CARRIED, &["-n", "host:sub", "new"]);
    expect(&run, 0, &["behind"], "a plan");
    assert!(!home.path("new").exists());
}

fn datapump_shown(path: &[u8]) -> String {
    format!("{:?}", OsStr::from_bytes(path))
}

#[test]
fn a_far_end_that_does_not_answer_is_explained() {
    let home = home();
    noise_file(&home, "file", 10, 1);
    script(&home, "old", "echo \"error: unexpected argument '--stdio' found\" >&2; exit 2");
    script(&home, "newer", "echo pump-far-end: 2.0 9.8.7 what there will be");
    script(&home, "chatty", "yes hello");
    script(&home, "shy", "exit 0");
    for (far, parts) in [
        ("no-such-pump", &["no 'no-such-pump' on the other host", "--remote-bin"][..]),
        ("./old", &["unexpected argument", "another version"]),
        ("./newer", &["pump 9.8.7", "version 2.0", "version 1.1", env!("CARGO_PKG_VERSION")]),
        ("./chatty", &["must be silent", "hello"]),
        ("./shy", &["status 0 before it answered"]),
    ] {
        let run = outcome(command(&home, far, CARRIED, &["file", "host:x"]), b"");
        expect(&run, 5, parts, far);
        let run = outcome(command(&home, far, CARRIED, &["host:x", "y"]), b"");
        expect(&run, 5, parts, far);
    }
    let run = home.pump(&["copy", "--ssh", "/nowhere/ssh", "file", "host:x"]);
    expect(&run, 5, &["/nowhere/ssh cannot be started", "--ssh"], "no ssh");
}

#[test]
fn what_login_scripts_print_is_skipped() {
    let home = home();
    let content = noise_file(&home, "file", 100_000, 1);
    for (row, noise) in [
        ("lines", "echo Welcome; echo 'pump-far-end: is a word'; "),
        ("no end of line", "printf 'You have \\033[1mmail'; "),
        ("much", "head -c 60000 /dev/zero; "),
    ] {
        script(&home, "rsh", &format!("shift; {noise} exec sh -c \"$*\""));
        for connection in [DIRECT, CARRIED] {
            expect(&copy(&home, connection, &["file", "host:x"]), 0, &[], row);
            has_content(&home.path("far/x"), &content, row);
        }
    }
}

#[test]
fn an_address_that_cannot_be_called_is_not_needed() {
    let home = home();
    let content = noise_file(&home, "file", 5_000_000, 1);
    // A port at which nobody listens, and one at which somebody listens who is not the far end.
    let stranger = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = stranger.local_addr().expect("it listens").port();
    std::thread::spawn(move || stranger.incoming().for_each(drop));
    for (port, words) in [(1, "refused"), (taken, "no direct connection")] {
        let far = format!(
            "{PUMP} \"$@\" | {{ IFS= read -r line; printf '%s\\n' \"${{line%:*}}:{port}\"; exec cat; }}"
        );
        script(&home, "far-pump", &far);
        for words_of in [["file", "host:x"], ["host:x", "back"]] {
            let run = outcome(command(&home, "./far-pump", DIRECT, &words_of), b"");
            expect(&run, 0, &[words, "everything goes through ssh"], words);
        }
        has_content(&home.path("back"), &content, words);
        std::fs::remove_file(home.path("back")).expect("it is there");
    }
}

#[test]
fn what_cannot_be_is_told_before_anything_is_done() {
    let home = home();
    noise_file(&home, "file", 10, 1);
    script(&home, "rsh", "touch started; exit 9");
    for (words, part) in [
        (&["host:a", "other:b", "back"][..], "several hosts"),
        (&["file", "host:b", "back"], "some sources are here"),
        (&["host:a", "pump://127.0.0.1:1/b"], "both places are on other hosts"),
        (&["-oProxyCommand=x:b", "back"], "-o"),
        (&["[-oProxyCommand=x]:b", "back"], "names no host"),
        (&["file", "user@-l:b"], "names no host"),
        (&["--remote-bin=-x", "file", "host:b"], "--remote-bin"),
        (&["--ssh=a 'b", "file", "host:b"], "quote"),
        (&["--ssh= ", "file", "host:b"], "--ssh"),
    ] {
        let mut all = vec!["copy"];
        if !words.iter().any(|word| word.starts_with("--ssh")) {
            all.push("--ssh=./rsh");
        }
        all.extend(words);
        expect(&home.pump(&all), 2, &[part], &format!("{words:?}"));
    }
    assert!(!home.path("started").exists());
    expect(&home.pump(&["serve", "--stdio", "folder"]), 2, &["--stdio"], "not both");
}

/// Kills ssh in the middle of a slow copy; gives how the copy ended.
fn cut(home: &Home, connection: Option<&str>, words: &[&str]) -> Outcome {
    script(home, "rsh", "shift; echo $$ >> pids; exec sh -c \"exec $*\"");
    let mut running = Running::start(command(home, PUMP, connection, words));
    running.await_bytes();
    let pids = std::fs::read_to_string(home.path("pids")).expect("it was started");
    let pid = pids.lines().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    kill_process(pid.expect("a number"), Signal::KILL).expect("it runs");
    running.end()
}

#[test]
fn a_lost_connection_starts_ssh_anew() {
    for (row, connection) in [("direct", DIRECT), ("carried", CARRIED)] {
        for there in [true, false] {
            let home = home();
            let content = noise_file(&home, if there { "file" } else { "far/file" }, 200_000, 1);
            let slow = ["--progress=always", "--request-size=4KiB", "--bwlimit=100kB"];
            let places = if there { ["file", "host:copy"] } else { ["host:file", "copy"] };
            let run = cut(&home, connection, &[&slow[..], &places].concat());
            expect(&run, 0, &["trying again"], row);
            let pids = std::fs::read_to_string(home.path("pids")).expect("it was started");
            assert!(pids.lines().count() >= 2, "{row}: {pids}");
            has_content(&home.path(if there { "far/copy" } else { "copy" }), &content, row);
        }
    }
}

#[test]
fn a_copy_that_was_cut_for_good_goes_on_with_the_same_command() {
    let home = home();
    small_tree(&home, "tree");
    noise_file(&home, "tree/large", 300_000, 1);
    let slow =
        ["--progress=always", "--request-size=4KiB", "--bwlimit=100kB", "--retry-for=0s", "tree", "host:new"];
    let run = cut(&home, CARRIED, &slow);
    expect(&run, 10, &["host:new"], "cut");
    eventually("the far end has ended", || !home.path("far/new").exists() || unlocked(&home));
    expect(&copy(&home, CARRIED, &["tree", "host:new"]), 0, &[], "again");
    expect(&home.pump(&["verify", "tree", "far/new"]), 0, &[], "exact");
    assert!(!home.path("far/new/.pump-job").exists());
}

/// Whether no far end works on the copy any more.
fn unlocked(home: &Home) -> bool {
    let program = OsStr::new(PUMP).as_bytes();
    let far = home.path("far");
    let processes = std::fs::read_dir("/proc").expect("it is mounted").flatten();
    !processes.into_iter().any(|process| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let home = [b"HOME=", far.as_os_str().as_bytes(), b"\0"].concat();
        words.starts_with(program) && environment.windows(home.len()).any(|window| window == home)
    })
}

#[test]
fn what_goes_through_ssh_alone_has_no_connection_to_sample_and_that_is_said() {
    let home = home();
    noise_file(&home, "large", 8 << 20, 1);
    for (connection, part) in
        [(DIRECT, "TCP connections in"), (CARRIED, "only the channel of an ssh that another program holds")]
    {
        let words = ["--tcp-trace", "tcp.jsonl", "--bwlimit", "16MiB", "large", "host:copy"];
        expect(&copy(&home, connection, &words), 0, &["'tcp.jsonl'", part], part);
        let lines = std::fs::read_to_string(home.path("tcp.jsonl")).expect("it was made").lines().count();
        assert_eq!(lines > 0, connection.is_some(), "{part}: {lines} samples");
    }
}

#[test]
fn all_goes_within_ssh_where_that_is_asked_for() {
    let home = home();
    let content = noise_file(&home, "large", 8 << 20, 1);
    script(&home, "far-pump", &format!("echo \"$SSH_CONNECTION\" > heard; exec {PUMP} \"$@\""));
    let direct = format!("{}\n", DIRECT.expect("an address"));
    for (row, flag, heard) in [("asked", Some("--within-ssh"), "\n"), ("not asked", None, direct.as_str())] {
        for words_of in [["large", "host:copy"], ["host:copy", "back"]] {
            let trace = ["--tcp-trace", "tcp.jsonl", "--bwlimit", "16MiB"];
            let words: Vec<&str> = flag.into_iter().chain(trace).chain(words_of).collect();
            let run = outcome(command(&home, "./far-pump", DIRECT, &words), b"");
            expect(&run, 0, &["'tcp.jsonl'"], row);
            assert!(!run.err.contains("goes through ssh"), "{row}: it was asked for: {run:?}");
            let is_carried = run.err.contains("only the channel of an ssh that another program holds");
            assert_eq!(is_carried, flag.is_some(), "{row}: {run:?}");
            assert_eq!(std::fs::read_to_string(home.path("heard")).expect("it was started"), heard, "{row}");
        }
        has_content(&home.path("back"), &content, row);
    }
    let mut by_variable = command(&home, "./far-pump", DIRECT, &["large", "host:copy"]);
    by_variable.env("PUMP_WITHIN_SSH", "1");
    expect(&outcome(by_variable, b""), 0, &[], "variable");
    assert_eq!(std::fs::read_to_string(home.path("heard")).expect("it was started"), "\n");
}

#[test]
fn within_ssh_is_refused_where_ssh_reaches_no_place() {
    let home = home();
    std::fs::write(home.path("one"), "one").expect("room");
    for words in [
        "copy --within-ssh one new",
        "copy --within-ssh one pump://127.0.0.1:1/new",
        "mirror --within-ssh far new",
        "verify --within-ssh one one",
        "explain --within-ssh one new",
        "doctor --within-ssh .",
        "doctor --within-ssh pump://127.0.0.1:1/",
    ] {
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, 2, &["--within-ssh sends all data through ssh", "HOST:PATH"], words);
        assert!(!home.path("new").exists(), "{words}");
    }
    // A variable is for whatever it is of use to.
    expect(&home.pump_with(("PUMP_WITHIN_SSH", "1"), &["copy", "one", "new"]), 0, &[], "variable");
}

/// Of the environment -i is no flag that somebody meant as scp's.
#[test]
fn a_private_key_is_refused_behind_a_flag_that_was_typed_alone() {
    let home = home();
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
    std::fs::write(home.path("key"), key).expect("room");
    let run = copy(&home, CARRIED, &["-i", "key", "host:"]);
    expect(&run, 2, &["is a private key, and -i itemizes"], "typed");
    assert!(!home.path("far/key").exists());
    let mut by_variable = command(&home, PUMP, CARRIED, &["key", "host:"]);
    by_variable.env("PUMP_ITEMIZE_CHANGES", "1");
    expect(&outcome(by_variable, b""), 0, &[], "variable");
    has_content(&home.path("far/key"), key.as_bytes(), "variable");
}

#[test]
fn a_port_in_the_place_is_given_to_ssh() {
    let home = home();
    script(&home, "rsh", "echo \"$1 $2 $3\" > told; shift 3; exec sh -c \"$*\"");
    let content = noise_file(&home, "large", 100_000, 1);
    let absolute = format!("ssh://host:22{}", home.path("far/b").display());
    for (place, told, name) in [
        ("ssh://user@host:2222/~/a", "-p 2222 user@host\n", "far/a"),
        (&absolute, "-p 22 host\n", "far/b"),
        ("ssh://[::1]:22/~/c", "-p 22 ::1\n", "far/c"),
    ] {
        let reported = format!("large -> {place}: ");
        expect(&copy(&home, CARRIED, &["large", place]), 0, &[&reported], place);
        has_content(&home.path(name), &content, place);
        assert_eq!(std::fs::read_to_string(home.path("told")).expect("it was started"), told);
    }
}

#[test]
fn a_pattern_is_expanded_there_and_a_file_of_that_name_wins() {
    let home = home();
    for name in
        ["far/a.log", "far/b.log", "far/.c.log", "far/d.txt", "far/x*", "far/xy", "far/logs/1", "far/logs/2"]
    {
        std::fs::create_dir_all(home.path(name).parent().expect("a folder")).expect("room");
        std::fs::write(home.path(name), name).expect("room");
    }
    for (row, connection) in [("direct", DIRECT), ("through ssh", CARRIED)] {
        for (words, status, lands) in [
            (&["host:*.log", "into/"][..], 0, &["a.log", "b.log"][..]),
            (&["host:.*.log", "host:d.txt", "into/"], 0, &[".c.log", "d.txt"]),
            (&["host:~/l*s/?", "into/"], 0, &["1", "2"]),
            (&["host:x*", "into/"], 0, &["x*"]),
            (&["host:none*", "into/"], 1, &[]),
            (&["host:none*", "host:d.txt", "into/"], 23, &["d.txt"]),
            // Two names are not one file.
            (&["host:*.log", "into/new"], 2, &[]),
        ] {
            make_folder(&home, "into");
            let run = copy(&home, connection, words);
            assert_eq!(run.status, status, "{row} {words:?}: {run:?}");
            let mut found: Vec<_> = names_in(&home, "into");
            found.sort();
            assert_eq!(found, lands, "{row} {words:?}: {run:?}");
            std::fs::remove_dir_all(home.path("into")).expect("it is there");
        }
    }
}

fn names_in(home: &Home, folder: &str) -> Vec<String> {
    let names = std::fs::read_dir(home.path(folder)).expect("a folder").flatten();
    names.map(|it| it.file_name().to_string_lossy().into_owned()).collect()
}

/// Names that come while the copy is cut are none that it began with.
#[test]
fn a_lost_session_keeps_the_names_that_it_expanded() {
    let home = home();
    make_folder(&home, "into");
    for name in ["far/a.big", "far/b.big"] {
        noise_file(&home, name, 3_000_000, 7);
    }
    // The 6 MB take two seconds.
    let once = "if [ ! -e again ]; then touch again; timeout 1 sh -c \"$*\"; touch far/c.big; exit 9; fi";
    script(&home, "rsh", &format!("shift; {once}; exec sh -c \"$*\""));
    let run = copy(&home, CARRIED, &["--bwlimit=3MB", "--retry-for=30s", "host:*.big", "into"]);
    expect(&run, 0, &["trying again"], "lost once");
    let mut found = names_in(&home, "into");
    found.sort();
    assert_eq!(found, ["a.big", "b.big"], "{run:?}");
}
