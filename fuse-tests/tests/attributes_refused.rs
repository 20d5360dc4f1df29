//! A file system that refuses attributes, with whatever error, or takes them and does not keep them: the content is there,
//! what was lost is told once for each kind, and a second run copies nothing for it. Needs root.

mod parts;

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, chown, lchown, symlink};
use std::path::Path;

use parts::refusing::Attribute::{BytesFrom, Mode, Owner, Times, Xattr};
use parts::refusing::{Answer, Attribute, RefusingDisk};
use parts::support;
use parts::wider_parts::{program, pump, pump_with, report};
use support::serving::Serving;
use support::{Home, Outcome, expect, make_fifo, noise, set_mode, set_xattr};

const EPERM: i32 = 1;
const ENOSYS: i32 = 38;
/// EPERM, EIO, E2BIG, EACCES, EINVAL, ENOSPC, EROFS, ERANGE, ENOSYS, EOPNOTSUPP, EDQUOT.
const ERRNOS: [i32; 11] = [EPERM, 5, 7, 13, 22, 28, 30, 34, ENOSYS, 95, 122];
const OLD: &str = "@1500000000.123456789";
const ACL: &str = "system.posix_acl_access";

/// The attribute that is refused, and its name for `--no-preserve`.
const KINDS: [(Attribute, &str); 5] = [
    (Times, "timestamps"),
    (Mode, "mode"),
    (Owner, "ownership"),
    (Xattr("user."), "xattr"),
    (Xattr(ACL), "acl"),
];

/// A tree in which all has attributes of each kind: small and large files, two names of one, a folder in a folder, a
/// link, a pipe.
fn source() -> Home {
    let home = Home::new();
    let at = |name: &str| home.path("src").join(name);
    std::fs::create_dir_all(at("folder/below")).expect("room");
    for (name, bytes) in
        [("small", 5000), ("empty", 0), ("folder/large", 9 << 20), ("folder/below/deep", 70_000)]
    {
        std::fs::write(at(name), noise(bytes, bytes as u64 + 1)).expect("room");
    }
    make_fifo(&at("folder/pipe"));
    for name in ["small", "empty", "folder/large", "folder/below/deep", "folder", "folder/pipe"] {
        chown(at(name), Some(1000), Some(1001)).expect("root");
        set_mode(&at(name), if name == "folder" { 0o750 } else { 0o640 });
    }
    for name in ["small", "folder/large", "folder"] {
        assert!(
            set_xattr(&at(name), "user.note", b"value"),
            "no extended attributes in {}",
            home.path("").display()
        );
        program(&["setfacl", "-m", "u:4321:r-x", &at(name).display().to_string()]);
    }
    std::fs::hard_link(at("small"), at("folder/other-name")).expect("one file system");
    symlink("small", at("link")).expect("room");
    lchown(at("link"), Some(1000), Some(1001)).expect("root");
    let all = [
        "small",
        "empty",
        "link",
        "folder/large",
        "folder/pipe",
        "folder/below/deep",
        "folder/below",
        "folder",
        "",
    ];
    all.iter().for_each(|name| drop(program(&["touch", "-h", "-d", OLD, &at(name).display().to_string()])));
    home
}

fn lines(run: &Outcome) -> Vec<&str> {
    run.err.lines().filter(|line| line.contains("set the attributes of")).collect()
}

/// All contents are there, as the sources have them, and nothing of pump's.
fn has_contents(source: &Home, copy: &str, row: &str) {
    program(&[
        "diff",
        "-r",
        "--no-dereference",
        "--exclude=pipe",
        &source.path("src").display().to_string(),
        copy,
    ]);
    let at = |name: &str| {
        Path::new(copy).join(name).symlink_metadata().unwrap_or_else(|error| panic!("{row}: {name}: {error}"))
    };
    assert_eq!(at("small").ino(), at("folder/other-name").ino(), "{row}: two names of one file");
    at("folder/pipe");
    let left = program(&["find", copy, "-name", ".pump-*"]);
    assert!(left.is_empty(), "{row}: {left}");
}

fn copied_files(run: &Outcome) -> usize {
    run.out.lines().filter(|line| line.contains(r#""event":"file""#)).count()
}

#[test]
fn whatever_attribute_is_refused_with_whatever_error_the_content_is_there() {
    let source = source();
    let from = source.path("src").display().to_string();
    for (kind, name) in KINDS {
        for errno in ERRNOS {
            let row = format!("{name}: errno {errno}");
            let disk = RefusingDisk::new();
            disk.refuse(&[(kind, Answer::Errno(errno))]);
            let copy = disk.at("copy");
            // The kernel asks no more for any attribute, a list or another, where one was not known.
            let is_last_asked = matches!(kind, Xattr(_)) && errno == ENOSYS;
            let told = if is_last_asked { 2 } else { 1 };
            let run = pump(&["copy", "-T", &from, &copy]);
            expect(&run, 23, &[&format!("--no-preserve={name} leaves it out")], &row);
            assert_eq!(lines(&run).len(), told, "{row}: {}", run.err);
            has_contents(&source, &copy, &row);
            std::fs::write(format!("{copy}/too-much"), "").expect("room");
            let run = pump(&["mirror", "--json", &from, &copy]);
            expect(&run, 23, &[], &row);
            assert_eq!((lines(&run).len(), copied_files(&run)), (told, 0), "{row}: {} {}", run.out, run.err);
            assert!(!Path::new(&copy).join("too-much").exists(), "{row}: deletions of a mirror go on");
            has_contents(&source, &copy, &row);
        }
    }
}

#[test]
fn what_is_not_kept_is_no_loss() {
    let source = source();
    let from = source.path("src").display().to_string();
    for (kind, name) in KINDS {
        let disk = RefusingDisk::new();
        disk.refuse(&[(kind, Answer::Errno(EPERM))]);
        // A mode that is not kept comes without its list.
        let run = pump(&["copy", "-T", &format!("--no-preserve={name}"), &from, &disk.at("copy")]);
        expect(&run, 0, &[], name);
        assert!(lines(&run).is_empty(), "{name}: {}", run.err);
        has_contents(&source, &disk.at("copy"), name);
    }
    let disk = RefusingDisk::new();
    disk.refuse(&KINDS.map(|(kind, _)| (kind, Answer::Errno(ENOSYS))));
    expect(&pump(&["copy", "-T", "--no-preserve=all", &from, &disk.at("copy")]), 0, &[], "all");
}

/// The first name stands in the one line, each in `-v`, `--json` and the log.
#[test]
fn each_name_is_told_to_those_who_ask() {
    let (source, disk) = (source(), RefusingDisk::new());
    let from = source.path("src").display().to_string();
    disk.refuse(&[(Times, Answer::Errno(ENOSYS))]);
    let names = [
        "small",
        "empty",
        "folder/large",
        "folder/below/deep",
        "folder/pipe",
        "link",
        "folder",
        "folder/below",
    ];
    let run = pump(&["copy", "-T", &from, &disk.at("one")]);
    expect(&run, 23, &["times: Function not implemented", "9 names lost it"], "in one line");
    assert_eq!(run.err.lines().filter(|line| line.contains("one/")).count(), 1, "{}", run.err);
    let log = source.path("log").display().to_string();
    let verbose = pump(&["copy", "-vT", "--log-file", &log, &from, &disk.at("verbose")]);
    let json = pump(&["copy", "-T", "--json", &from, &disk.at("json")]);
    let log = std::fs::read_to_string(log).expect("it was written");
    for name in names {
        let told = |text: &str, copy: &str| {
            let name = disk.at(&format!("{copy}/{name}"));
            text.lines().any(|line| line.contains(&format!("the attributes of '{name}': times")))
        };
        assert!(told(&verbose.err, "verbose"), "{name}: {}", verbose.err);
        assert!(told(&log, "verbose"), "{name}: {log}");
        let path = format!(r#""path":"{}""#, disk.at(&format!("json/{name}")));
        let is_event = |line: &str| line.contains(r#""event":"problem""#) && line.contains(&path);
        assert!(json.out.lines().any(is_event), "{name}: {}", json.out);
    }
    assert_eq!(report(&json)["problems"], serde_json::json!({ "io": 9 }));
}

/// Taken and not kept is lost, too: a time that is later than all that can be told, owners of a mount that has one.
#[test]
fn what_is_taken_and_not_kept_is_told() {
    let source = source();
    let from = source.path("src").display().to_string();
    for (kind, words) in
        [(Times, "cannot keep"), (Mode, "took them and shows"), (Owner, "took it and shows 0:0")]
    {
        let disk = RefusingDisk::new();
        disk.refuse(&[(kind, Answer::Ignored)]);
        for more in [&["copy", "-T"][..], &["mirror", "--json"]] {
            let run = pump_with(more, &[&from, &disk.at("copy")]);
            expect(&run, 23, &[words], words);
            assert_eq!(lines(&run).len(), 1, "{words}: {}", run.err);
            assert_eq!(copied_files(&run), 0, "{words}: {}", run.out);
            has_contents(&source, &disk.at("copy"), words);
        }
    }
    let disk = RefusingDisk::new();
    disk.end_time(Some(4_000_000_000));
    program(&["touch", "-d", "2400-01-01", &format!("{from}/folder/below/deep")]);
    let copy = disk.at("copy");
    expect(
        &pump(&["copy", "-T", &from, &copy]),
        23,
        &["deep': time of change: this file system cannot keep"],
        "late",
    );
    let run = pump(&["copy", "--json", "--update", "-T", &from, &copy]);
    expect(&run, 23, &["deep': time of change"], "late, again");
    assert_eq!(copied_files(&run), 0, "{}", run.out);
    // Size and time are those of before, and it is copied for its content.
    let mut content = std::fs::read(format!("{from}/folder/below/deep")).expect("it is there");
    content[4000] ^= 1;
    std::fs::write(format!("{from}/folder/below/deep"), content).expect("room");
    program(&["touch", "-d", "2400-01-02", &format!("{from}/folder/below/deep")]);
    let run = pump(&["mirror", "--json", &from, &copy]);
    expect(&run, 23, &[], "another content");
    assert_eq!(copied_files(&run), 1, "{}", run.out);
    has_contents(&source, &copy, "late");
}

/// A mount on which all belongs to one user, whoever made it, is none where somebody else puts things in the way.
#[test]
fn a_mount_with_a_fixed_owner_is_written_to() {
    let source = source();
    let from = source.path("src").display().to_string();
    for answer in [Answer::Errno(EPERM), Answer::Ignored] {
        let disk = RefusingDisk::new();
        disk.give_all_to(Some((1234, 1234)));
        disk.refuse(&[(Owner, answer)]);
        let copy = disk.at("copy");
        for (words, row) in
            [(&["copy", "-T"][..], "new"), (&["copy", "-T"], "again"), (&["mirror"], "mirror")]
        {
            let run = pump_with(words, &[&from, &copy]);
            expect(&run, 23, &["owner 1000:1001"], &format!("{row} {answer:?}"));
            assert_eq!(lines(&run).len(), 1, "{row}: {}", run.err);
            has_contents(&source, &copy, row);
        }
        let run = pump(&["copy", "-T", "--no-preserve=ownership", &from, &disk.at("other")]);
        expect(&run, 0, &[], "not asked for");
        has_contents(&source, &disk.at("other"), "not asked for");
    }
}

/// What cannot be closed later is closed from the start, and no program runs as somebody else.
#[test]
fn a_mode_that_is_refused_lets_nobody_in() {
    let home = Home::new();
    let at = |name: &str| home.path(name).display().to_string();
    std::fs::create_dir(home.path("src")).expect("room");
    for (name, bytes, mode) in
        [("secret", 3000, 0o600), ("closed", 9 << 20, 0o400), ("group", 100, 0o640), ("program", 100, 0o6755)]
    {
        std::fs::write(home.path("src").join(name), noise(bytes, 3)).expect("room");
        chown(home.path("src").join(name), Some(1000), Some(1001)).expect("root");
        set_mode(&home.path("src").join(name), mode);
    }
    for errno in [EPERM, ENOSYS, 5] {
        let disk = RefusingDisk::new();
        disk.refuse(&[(Mode, Answer::Errno(errno))]);
        expect(&pump(&["copy", "-T", &at("src"), &disk.at("tree")]), 23, &["permissions"], "a tree");
        for name in ["secret", "closed", "group", "program"] {
            let one = pump(&["copy", &at(&format!("src/{name}")), &disk.at(name)]);
            assert!([0, 23].contains(&one.status), "{name}: {one:?}");
            // A file that stands open, and is written where it stands.
            std::fs::write(disk.at("stands"), "old").expect("room");
            let run = pump(&["copy", "--inplace", &at(&format!("src/{name}")), &disk.at("stands")]);
            assert!([0, 23].contains(&run.status), "{name}: {run:?}");
            for copy in [format!("tree/{name}"), name.to_string(), "stands".into()] {
                let row = format!("{copy} errno {errno}");
                support::has_content(
                    disk.at(&copy).as_ref(),
                    &std::fs::read(home.path("src").join(name)).expect("it is there"),
                    &row,
                );
                let (mode, source) = (
                    Path::new(&disk.at(&copy)).metadata().expect("it was copied").mode(),
                    home.path("src").join(name).metadata().expect("it is there").mode(),
                );
                assert_eq!(mode & 0o077 & !source, 0, "{row}: {mode:o}");
            }
            std::fs::remove_file(disk.at("stands")).expect("it is there");
        }
        disk.refuse(&[(Owner, Answer::Errno(errno))]);
        expect(
            &pump(&["copy", &at("src/program"), &disk.at("by-other")]),
            23,
            &["owner 1000:1001"],
            "a program",
        );
        let mode = Path::new(&disk.at("by-other")).metadata().expect("it was copied").mode();
        assert_eq!(mode & 0o7777, 0o755, "no program runs as somebody else");
        disk.refuse(&[(Owner, Answer::Ignored)]);
        expect(
            &pump(&["copy", &at("src/program"), &disk.at("by-nobody")]),
            23,
            &["took it and shows 0:0"],
            "a program",
        );
        let mode = Path::new(&disk.at("by-nobody")).metadata().expect("it was copied").mode();
        assert_eq!(mode & 0o7777, 0o755, "no program runs as somebody else");
    }
}

#[test]
fn single_files_and_those_that_are_replaced_keep_their_content() {
    let source = source();
    let at = |name: &str| source.path("src").join(name).display().to_string();
    for (kind, name) in KINDS {
        let disk = RefusingDisk::new();
        disk.refuse(&[(kind, Answer::Errno(5))]);
        // A list that is set sets the mode, too.
        let (one, other) =
            if kind == Mode { ("empty", "folder/below/deep") } else { ("small", "folder/large") };
        for (way, file) in [
            (&[][..], one),
            (&["--inplace"], other),
            (&["--backup"], one),
            (&["--verify", "--sync=each"], other),
            (&["--checksum"], one),
            (&["--update=differs"], one),
            (&["--inplace", "--update=differs"], other),
        ] {
            let row = format!("{name} {way:?} {file}");
            let target = disk.at(&file.replace('/', "-"));
            if way == ["--backup"] {
                // A backup is never the copy itself: something else has to stand there.
                std::fs::write(&target, "something else").expect("room");
            }
            let run = pump_with(&["copy", &at(file), &target], way);
            expect(&run, 23, &["set the attributes of"], &row);
            assert_eq!(lines(&run).len(), 1, "{row}: {}", run.err);
            support::has_content(target.as_ref(), &std::fs::read(at(file)).expect("it is there"), &row);
        }
        assert!(Path::new(&disk.at(&format!("{one}~"))).exists(), "{name}: the backup");
        let left = program(&["find", &disk.at(""), "-name", ".pump-*"]);
        assert!(left.is_empty(), "{name}: {left}");
    }
}

/// A dry run tells what a run does.
#[test]
fn a_dry_run_copies_nothing_for_a_lost_time_either() {
    let (source, disk) = (source(), RefusingDisk::new());
    let from = source.path("src").display().to_string();
    disk.refuse(&[(Times, Answer::Errno(ENOSYS))]);
    expect(&pump(&["copy", "-T", &from, &disk.at("copy")]), 23, &[], "copy");
    let before = program(&["find", &disk.at("copy"), "-printf", "%p %i %T@ %C@\n"]);
    let run = pump(&["mirror", "-n", &from, &disk.at("copy")]);
    expect(&run, 0, &[], "dry run");
    assert!(!run.out.contains("copy small") && !run.out.contains("would copy"), "{}", run.out);
    assert_eq!(
        program(&["find", &disk.at("copy"), "-printf", "%p %i %T@ %C@\n"]),
        before,
        "nothing was made"
    );
}

/// The side that writes tells what was lost, whoever called.
#[test]
fn between_two_hosts_it_is_one_line_too() {
    let (source, disk) = (source(), RefusingDisk::new());
    disk.refuse(&[(Times, Answer::Errno(ENOSYS)), (Xattr("user."), Answer::Errno(122))]);
    let ticket = source.path("ticket").display().to_string();
    let serve = |folder: &str| {
        let words = ["serve", folder, "--ticket-file", "ticket"];
        Serving::start(source.command(&words))
    };
    let from = source.path("src").display().to_string();
    let pushed = serve(&disk.at(""));
    std::fs::create_dir(disk.at("pulled-to")).expect("room");
    let both = |words: &[&str], from: &str, to: &str| pump_with(words, &["--ticket-file", &ticket, from, to]);
    for (words, copies) in [(&["copy", "-T"][..], None), (&["mirror", "--json"], Some(0))] {
        let run = both(words, &from, &pushed.at("pushed"));
        expect(&run, 23, &["times: Function not implemented", "user.note: Disk quota exceeded"], "pushed");
        assert_eq!(lines(&run).len(), 2, "pushed: {}", run.err);
        copies.inspect(|copies| assert_eq!(copied_files(&run), *copies, "{}", run.out));
        has_contents(&source, &disk.at("pushed"), "pushed");
    }
    drop(pushed);
    std::fs::remove_file(source.path("ticket")).expect("it was written");
    let given = serve(&from);
    for (words, copies) in [(&["copy", "-T"][..], None), (&["mirror", "--json"], Some(0))] {
        let run = both(words, &given.at(""), &disk.at("pulled"));
        expect(&run, 23, &["times: Function not implemented", "user.note: Disk quota exceeded"], "pulled");
        assert_eq!(lines(&run).len(), 2, "pulled: {}", run.err);
        copies.inspect(|copies| assert_eq!(copied_files(&run), *copies, "{}", run.out));
        has_contents(&source, &disk.at("pulled"), "pulled");
    }
}

/// A quota is that of one user, group or project: other files go on, and what the disk has free is nobody's business.
#[test]
fn a_quota_costs_the_file_that_it_is_of() {
    let (source, disk) = (source(), RefusingDisk::new());
    let from = source.path("src").display().to_string();
    disk.refuse(&[(BytesFrom(3 << 20), Answer::Errno(122))]);
    for way in [&[][..], &["--no-reserve"], &["--direct=never"]] {
        let copy = disk.at(&format!("copy{}", way.concat()));
        let run = pump_with(&["copy", "-T", &from, &copy], way);
        expect(
            &run,
            23,
            &[
                "folder/large",
                "Disk quota exceeded",
                "the quota that a user, a group, a project or a subvolume has",
            ],
            &copy,
        );
        assert!(!run.err.contains("are free") && !run.err.contains("make room"), "{}", run.err);
        let names = |folder: &str| -> BTreeSet<String> {
            program(&["find", folder, "-printf", "%P\n"]).lines().map(str::to_owned).collect()
        };
        let missing: Vec<String> = names(&from).difference(&names(&copy)).cloned().collect();
        assert_eq!(missing, ["folder/large"], "{way:?}");
        let left = program(&["find", &copy, "-name", ".pump-*", "!", "-name", ".pump-job"]);
        assert!(left.is_empty(), "{left}");
    }
}

/// Nobody asked to keep it: those who want to know of each decision see of which file.
#[test]
fn what_was_not_to_be_kept_is_noted_with_its_name() {
    let (disk, home) = (RefusingDisk::new(), Home::new());
    std::fs::write(home.path("file"), "content").expect("room");
    disk.refuse(&[(Mode, Answer::Ignored)]);
    let (from, to) = (home.path("file").display().to_string(), disk.at("file"));
    let run = pump(&["copy", "-v", "--no-preserve=mode", &from, &to]);
    let said = format!("'{to}': permissions ");
    expect(&run, 0, &[&said, "this file system took them and shows 0600"], "noted");
}
