//! Trees as an ordinary user copies them: cp's rules for the target, links, times, what stands there already, what is
//! refused, `--update`, `-n`, and what `verify` says of trees.

mod support;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps};
use support::listing::{self, listing, same, same_apart_from_owners, stamps};
use support::{
    Home, Outcome, as_ordinary_user, expect, has_content, make_fifo, make_folder, noise, set_mode,
};

/// Makes `name` with what most trees have: files of some sizes, folders in folders, one of them empty, links.
fn small_tree(home: &Home, name: &str) -> PathBuf {
    let tree = home.path(name);
    for folder in ["", "empty", "sub", "sub/deeper", "sub/deeper/deepest"] {
        std::fs::create_dir(tree.join(folder)).expect("room for a folder");
    }
    for (file, bytes) in [
        ("zero", 0),
        ("b", 10),
        ("sub/c", 5000),
        ("sub/deeper/d", 70_001),
        ("sub/deeper/deepest/e", 1_000_003),
    ] {
        std::fs::write(tree.join(file), noise(bytes, bytes as u64 + 1)).expect("room for a file");
        set_time(&tree.join(file), 978_307_201, bytes as i64 % 999_999_999);
    }
    symlink("sub/c", tree.join("link")).expect("room for a link");
    std::fs::hard_link(tree.join("b"), tree.join("sub/b again")).expect("the same file system");
    for (number, folder) in ["sub/deeper/deepest", "sub/deeper", "sub", "empty", ""].into_iter().enumerate() {
        set_time(&tree.join(folder), 1_000_000_000 + number as i64, 987_654_321);
    }
    tree
}

fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("a time can be set");
}

/// `pump` with these words, separated by spaces, must succeed.
fn copies(home: &Home, words: &str) -> Outcome {
    let run = home.pump(&words.split(' ').collect::<Vec<_>>());
    expect(&run, 0, &[], words);
    assert_eq!(listing::leftovers_below(&home.path("")), [""; 0], "{words}: left behind");
    run
}

/// Folders that nobody may write would outlive the test.
fn make_removable(folder: &Path) {
    for path in listing::paths(folder) {
        let path = folder.join(path);
        if path.symlink_metadata().expect("it was listed").is_dir() {
            set_mode(&path, 0o755);
        }
    }
}

#[test]
fn the_target_follows_cp() {
    for (words, existing, expected) in [
        ("a new", "", "new"),
        ("a/ new", "", "new"),
        ("a/. new", "", "new"),
        ("a new/", "", "new"),
        ("./a ./new", "", "new"),
        ("a into", "into", "into/a"),
        ("a/ into", "into", "into/a"),
        ("a into/", "into", "into/a"),
        ("a/. into", "into", "into"),
        ("a into/new", "into", "into/new"),
        ("-T a into", "into", "into"),
        ("-T a/ into/", "into", "into"),
        ("-T a new", "", "new"),
    ] {
        let home = Home::new();
        let source = small_tree(&home, "a");
        if !existing.is_empty() {
            make_folder(&home, existing);
        }
        copies(&home, &format!("copy {words}"));
        same(&source, &home.path(expected), words);
    }
}

#[test]
fn a_target_that_is_a_link_to_a_folder_is_that_folder() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    make_folder(&home, "into");
    support::make_symlink(&home, "into", "link");
    copies(&home, "copy a link");
    same(&source, &home.path("into/a"), "through a link that was asked for");
}

#[test]
fn the_same_command_again_goes_below_an_existing_folder() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    copies(&home, "copy a new");
    copies(&home, "copy a new");
    same(&source, &home.path("new/a"), "the second copy");
    std::fs::remove_dir_all(home.path("new/a")).expect("it is there");
    set_time(&home.path("new"), 1_000_000_004, 987_654_321);
    same(&source, &home.path("new"), "the first copy");
}

#[test]
fn links_are_copied_as_links() {
    let home = Home::new();
    make_folder(&home, "a");
    make_folder(&home, "elsewhere");
    std::fs::write(home.path("elsewhere/file"), "not asked for").expect("room");
    let absolute = home.path("elsewhere").display().to_string();
    let long = "x/".repeat(2000);
    for (number, to) in
        ["../elsewhere", &absolute, "../elsewhere/file", "nowhere", ".", "..", "/", "link-0", "a\nb", &long]
            .into_iter()
            .enumerate()
    {
        let link = home.path(format!("a/link-{number}"));
        symlink(to, &link).expect("room for a link");
        set_time(&link, number as i64 * 600_000_000 - 1_000_000_000, 1 + number as i64);
    }
    let before = listing(&home.path("a"));
    copies(&home, "copy a new");
    same(&home.path("a"), &home.path("new"), "links");
    assert!(before == listing(&home.path("a")), "the source is as it was");
}

#[test]
fn hard_links_stay_links_also_across_sources() {
    let home = Home::new();
    for folder in ["a", "a/sub", "b", "into"] {
        make_folder(&home, folder);
    }
    for (name, bytes) in [("empty", 0), ("small", 300), ("large", 2_000_001)] {
        let file = home.path(format!("a/{name}"));
        std::fs::write(&file, noise(bytes, 5)).expect("room");
        for link in ["a/sub", "b", "a/sub/.."] {
            std::fs::hard_link(&file, home.path(link).join(format!("{name}-link"))).expect("a link");
        }
        std::fs::hard_link(&file, home.path(format!("{name}-outside"))).expect("a link");
    }
    symlink("small", home.path("a/symlink")).expect("a link");
    std::fs::hard_link(home.path("a/symlink"), home.path("a/sub/symlink")).expect("a link");
    for lanes in ["1", "7"] {
        copies(&home, &format!("copy --lanes {lanes} a b into"));
        for name in ["empty", "small", "large"] {
            let links = ["a/#", "a/#-link", "a/sub/#-link", "b/#-link"].map(|link| link.replace('#', name));
            let inodes = links.map(|link| home.path("into").join(link).metadata().expect("a link").ino());
            assert_eq!(inodes, [inodes[0]; 4], "{name}: one file");
            let outside = home.path(format!("{name}-outside")).metadata().expect("it is there");
            assert_ne!(inodes[0], outside.ino(), "{name}: the copy is no link to the source");
        }
        same(&home.path("a"), &home.path("into/a"), lanes);
        std::fs::remove_dir_all(home.path("into")).expect("it is there");
        make_folder(&home, "into");
    }
}

#[test]
fn read_only_folders_and_files() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    for (path, mode) in [
        ("sub/deeper/d", 0o400),
        ("b", 0o444),
        ("sub/deeper/deepest", 0o500),
        ("sub/deeper", 0o555),
        ("sub", 0o711),
        ("empty", 0o2555),
        ("", 0o555),
    ] {
        set_mode(&source.join(path), mode);
    }
    belongs_to_nobody(&source);
    set_mode(&source.join("empty"), 0o2555);
    make_folder(&home, "into");
    set_mode(&home.path("into"), 0o777);
    for lanes in ["1", "3"] {
        let Some(run) = as_ordinary_user(&home, &["copy", "--lanes", lanes, "a", "into/new"]) else { break };
        expect(&run, 0, &[], lanes);
        same(&source, &home.path("into/new"), lanes);
        make_removable(&home.path("into/new"));
        std::fs::remove_dir_all(home.path("into/new")).expect("it is there");
    }
    make_removable(&source);
}

/// Root may write everywhere: when it runs the tests, nobody copies.
fn belongs_to_nobody(tree: &Path) {
    if support::is_root() {
        for path in listing::paths(tree) {
            std::os::unix::fs::lchown(tree.join(path), Some(65_534), Some(65_534)).expect("root");
        }
    }
}

#[test]
fn what_stands_there_is_merged_with() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    make_folder(&home, "new");
    make_folder(&home, "new/sub");
    make_folder(&home, "new/other");
    for (name, bytes) in [("b", 500_000), ("extra", 10), ("sub/c", 5000), ("sub/extra", 20), ("other/x", 1)] {
        std::fs::write(home.path("new").join(name), noise(bytes, 77)).expect("room");
    }
    std::fs::hard_link(home.path("new/sub/c"), home.path("kept")).expect("a link");
    copies(&home, "copy -T a new");
    let (expected, found) = (listing(&source), listing(&home.path("new")));
    for (path, entry) in &expected {
        let found = found.get(path).unwrap_or_else(|| panic!("{path:?} is missing"));
        assert_eq!(found, entry, "{path:?}");
    }
    let more: Vec<_> = found.keys().filter(|path| !expected.contains_key(*path)).collect();
    assert_eq!(more, ["extra", "other", "other/x", "sub/extra"].map(Path::new), "what was there stays");
    has_content(&home.path("new/sub/extra"), &noise(20, 77), "untouched");
    has_content(&home.path("kept"), &noise(5000, 77), "another name of a file that was replaced");
}

#[test]
fn what_stands_in_the_way_is_told_and_the_rest_is_done() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    make_folder(&home, "new");
    // A folder where a file is to be, and a file where a folder is to be.
    make_folder(&home, "new/b");
    std::fs::write(home.path("new/b/inside"), "mine").expect("room");
    std::fs::write(home.path("new/empty"), "mine").expect("room");
    let run = home.pump(&["copy", "-T", "a", "new"]);
    expect(&run, 23, &["new/b'", "new/empty'"], "kinds");
    has_content(&home.path("new/b/inside"), b"mine", "a folder is not replaced by a file");
    has_content(&home.path("new/empty"), b"mine", "a file is not replaced by a folder");
    for file in ["zero", "sub/c", "sub/deeper/d", "sub/deeper/deepest/e"] {
        has_content(&home.path("new").join(file), &std::fs::read(source.join(file)).expect("readable"), file);
    }
}

#[test]
fn links_in_the_target_are_never_followed() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    for folder in ["outside", "outside/deeper", "new"] {
        make_folder(&home, folder);
    }
    std::fs::write(home.path("outside/victim"), "mine").expect("room");
    std::fs::write(home.path("outside/c"), "mine").expect("room");
    support::make_symlink(&home, "../outside", "new/sub");
    support::make_symlink(&home, "../outside/victim", "new/b");
    let before = (listing(&home.path("outside")), stamps(&home.path("outside")));
    let run = home.pump(&["copy", "-T", "a", "new"]);
    assert!([0, 23].contains(&run.status), "{run:?}");
    assert!(before == (listing(&home.path("outside")), stamps(&home.path("outside"))), "{run:?}");
    has_content(&home.path("new/zero"), b"", "the rest is done");
    if run.status == 0 {
        same(&source, &home.path("new"), "links in the target were replaced");
    } else {
        assert!(run.err.contains("new/sub"), "{run:?}");
    }
}

#[test]
fn sockets_are_left_out_with_a_line() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, source.join("sub/talk"), FileType::Socket, mode, 0).expect("a socket");
    let run = copies(&home, "copy a new");
    assert!(run.err.contains("sub/talk") && run.err.contains("socket"), "{run:?}");
    assert!(home.path("new/sub/talk").symlink_metadata().is_err(), "no socket in the copy");
    // The folder's time is that of the source, which had the socket made in it.
    same(&source, &home.path("new"), "the rest");
    let run = home.pump(&["verify", "a", "new"]);
    expect(&run, 0, &["sub/talk"], "verify leaves it out too");
    assert_eq!(run.out, "", "no difference");
}

#[test]
fn named_pipes_are_made_and_not_read() {
    let home = Home::new();
    make_folder(&home, "a");
    make_fifo(&home.path("a/pipe"));
    set_mode(&home.path("a/pipe"), 0o640);
    set_time(&home.path("a/pipe"), 5, 6);
    std::fs::hard_link(home.path("a/pipe"), home.path("a/pipe again")).expect("pipes have links");
    copies(&home, "copy a new");
    same(&home.path("a"), &home.path("new"), "a pipe");
}

#[test]
fn several_sources_folders_and_files() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    std::fs::create_dir(home.path("b")).expect("room");
    let content = support::noise_file(&home, "file", 100_000, 3);
    make_folder(&home, "into");
    copies(&home, "copy a file b into");
    same(&source, &home.path("into/a"), "a");
    same(&home.path("b"), &home.path("into/b"), "b");
    has_content(&home.path("into/file"), &content, "file");
    let run = home.pump(&["copy", "a", "missing", "file", "into"]);
    expect(&run, 23, &["'missing'", "No such file or directory"], "one of several is missing");
    same(&source, &home.path("into/a"), "the rest is done");
    expect(&home.pump(&["copy", "missing", "into"]), 1, &["'missing'"], "the only one is missing");
}

#[test]
fn refused_before_anything_is_written() {
    let home = Home::new();
    small_tree(&home, "a");
    make_folder(&home, "into");
    support::noise_file(&home, "file", 100, 1);
    support::make_symlink(&home, "a/sub", "within");
    support::make_symlink(&home, "a", "itself");
    let before = stamps(&home.path(""));
    for words in [
        "a a",
        "a .",
        "a a/new",
        "a a/sub",
        "a a/sub/new",
        "-T a a/sub/deeper/new",
        "a/. a",
        "a/ a/sub",
        "-T a a",
        "a within",
        "a within/new",
        "-T a itself",
        "a/sub/.. a/sub",
        "a file",
        "-T a file",
        "into a file",
        "a into missing",
        "into a a/sub",
        "-T a into file",
    ] {
        let words: Vec<&str> = ["copy"].into_iter().chain(words.split(' ')).collect();
        expect(&home.pump(&words), 2, &[], &words.join(" "));
        assert!(before == stamps(&home.path("")), "{words:?}: something was written");
    }
}

#[test]
fn a_second_run_with_update_writes_nothing() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    copies(&home, "copy a new");
    let before = stamps(&home.path("new"));
    for words in ["copy -T --update a new", "copy --update a/. new", "copy -T --update --lanes 3 a new"] {
        copies(&home, words);
        assert!(before == stamps(&home.path("new")), "{words}: something was written");
    }
    std::fs::write(source.join("sub/c"), noise(6000, 1)).expect("room");
    std::fs::write(source.join("sub/deeper/new"), noise(70, 1)).expect("room");
    copies(&home, "copy -T --update a new");
    same(&source, &home.path("new"), "after a change");
    let touched = |(path, stamp): (&PathBuf, &(u64, i64, i64))| {
        let is_file = home.path("new").join(path).is_file();
        (is_file && before.get(path) != Some(stamp)).then(|| path.clone())
    };
    let after = stamps(&home.path("new"));
    let touched: Vec<PathBuf> = after.iter().filter_map(touched).collect();
    let expected = ["link", "sub/c", "sub/deeper/new"].map(PathBuf::from);
    assert!(touched.iter().all(|path| expected.contains(path)), "more than was changed: {touched:?}");
    // A target that is newer is left alone, whatever it holds.
    std::fs::write(home.path("new/b"), "newer, and mine").expect("room");
    copies(&home, "copy -T --update a new");
    has_content(&home.path("new/b"), b"newer, and mine", "newer");
}

#[test]
fn a_dry_run_prints_a_line_for_each_and_writes_nothing() {
    let home = Home::new();
    small_tree(&home, "a");
    make_folder(&home, "into");
    let before = stamps(&home.path(""));
    let names = ["into/a/zero", "into/a/b", "into/a/sub/c", "into/a/sub/deeper/deepest/e"];
    let run = copies(&home, "copy -n a into");
    for name in names {
        assert_eq!(
            run.out.lines().filter(|line| line.contains(&format!("{name}'"))).count(),
            1,
            "{name}: {run:?}"
        );
    }
    let plans: Vec<String> = ["1", "1", "3"]
        .map(|lanes| copies(&home, &format!("copy -n -v --lanes {lanes} a into")).out)
        .into_iter()
        .collect();
    assert!(plans.iter().all(|plan| *plan == plans[0]), "the order is stable: {plans:?}");
    copies(&home, "copy -n a new");
    assert!(before == stamps(&home.path("")), "something was written");
    copies(&home, "copy a into");
    let run = copies(&home, "copy -n -T --update a into/a");
    assert_eq!(run.out.lines().filter(|line| line.contains("into/a/sub/c'")).count(), 0, "{run:?}");
}

/// Makes a tree that nobody may read in two places.
fn unreadable_tree(home: &Home) -> PathBuf {
    let source = small_tree(home, "a");
    for name in ["closed", "closed/inside"] {
        make_folder(home, &format!("a/{name}"));
    }
    std::fs::write(source.join("sub/secret"), "secret").expect("room");
    set_mode(&source.join("sub/secret"), 0);
    set_mode(&source.join("closed"), 0);
    source
}

#[test]
fn an_unreadable_file_and_folder_do_not_stop_the_rest() {
    let home = Home::new();
    let source = unreadable_tree(&home);
    for lanes in ["1", "3"] {
        std::fs::create_dir(home.path("into")).expect("room");
        set_mode(&home.path("into"), 0o777);
        let Some(run) = as_ordinary_user(&home, &["copy", "--lanes", lanes, "a", "into"]) else { break };
        expect(&run, 23, &["sub/secret'", "a/closed'", "Permission denied"], lanes);
        for file in ["zero", "b", "sub/c", "sub/deeper/d", "sub/deeper/deepest/e", "sub/b again"] {
            let content = std::fs::read(source.join(file)).expect("readable");
            has_content(&home.path("into/a").join(file), &content, file);
        }
        assert!(!home.path("into/a/sub/secret").exists(), "nothing under the name of what failed");
        let names = listing::paths(&home.path("into"));
        let is_temporary =
            |path: &&PathBuf| path.to_string_lossy().contains(".pump-") && !path.ends_with(".pump-job");
        assert_eq!(names.iter().find(is_temporary), None);
        make_removable(&home.path("into"));
        std::fs::remove_dir_all(home.path("into")).expect("it is there");
    }
    set_mode(&source.join("closed"), 0o755);
}

#[test]
fn hostile_names_are_only_names() {
    let home = Home::new();
    make_folder(&home, "a");
    let longest = [b'n'; 255];
    let names: [&[u8]; 14] = [
        b"...",
        b".. ",
        b"..a",
        b" ",
        b"-rf",
        b"--delete",
        b"new\nline",
        b"\x1b[2J\x07",
        b"\xff\xfe",
        b"host:path",
        b"null:",
        b"%s",
        "\u{202e}".as_bytes(),
        &longest,
    ];
    for (number, bytes) in names.into_iter().enumerate() {
        let folder = home.path("a").join(std::ffi::OsStr::from_bytes(bytes));
        std::fs::create_dir(&folder).expect("room");
        std::fs::write(folder.join(std::ffi::OsStr::from_bytes(bytes)), noise(number, 1)).expect("room");
    }
    copies(&home, "copy a new");
    same(&home.path("a"), &home.path("new"), "names");
    let changed = home.path("new/\x1b[2J\x07/\x1b[2J\x07");
    std::fs::write(&changed, "other").expect("room");
    let run = home.pump(&["verify", "a", "new"]);
    expect(&run, 1, &["[2J"], "escaped");
    assert!(!run.out.contains('\x1b'), "{run:?}");
}

/// What is done to a copy, and the name that a line must have then.
type Change = (&'static str, fn(&Path));

const CHANGES: [Change; 11] = [
    ("sub/deeper/d", |copy| {
        let path = copy.join("sub/deeper/d");
        let mut content = std::fs::read(&path).expect("readable");
        content[70_000] ^= 1;
        std::fs::write(&path, content).expect("room");
        set_time(&path, 978_307_201, 70_001);
    }),
    ("sub/c", |copy| {
        std::fs::write(copy.join("sub/c"), noise(4999, 5001)).expect("room");
        set_time(&copy.join("sub/c"), 978_307_201, 5000);
    }),
    ("zero", |copy| set_mode(&copy.join("zero"), 0o4755)),
    ("sub/deeper/deepest", |copy| set_mode(&copy.join("sub/deeper/deepest"), 0o711)),
    ("sub/deeper/deepest/e", |copy| set_time(&copy.join("sub/deeper/deepest/e"), 978_307_201, 1)),
    ("empty", |copy| set_time(&copy.join("empty"), 5, 5)),
    ("link", |copy| set_time(&copy.join("link"), 5, 5)),
    ("sub/deeper/d", |copy| std::fs::remove_file(copy.join("sub/deeper/d")).expect("it is there")),
    ("sub/more", |copy| std::fs::write(copy.join("sub/more"), "more").expect("room")),
    ("link", |copy| {
        std::fs::remove_file(copy.join("link")).expect("it is there");
        symlink("sub/d", copy.join("link")).expect("room");
    }),
    ("b again", |copy| {
        std::fs::remove_file(copy.join("sub/b again")).expect("it is there");
        std::fs::write(copy.join("sub/b again"), noise(10, 11)).expect("room");
        set_time(&copy.join("sub/b again"), 978_307_201, 10);
    }),
];

#[test]
fn verify_finds_whatever_differs() {
    for (number, (name, change)) in CHANGES.into_iter().enumerate() {
        let home = Home::new();
        let (source, copy) = (small_tree(&home, "a"), small_tree(&home, "b"));
        set_time(&source.join("link"), 1, 1);
        set_time(&copy.join("link"), 1, 1);
        let run = home.pump(&["verify", "a", "b"]);
        expect(&run, 0, &[], "the same");
        assert_eq!(run.out, "", "no line where nothing differs");
        change(&copy);
        for words in [["verify", "a", "b"], ["verify", "b", "a"]] {
            let run = home.pump(&words);
            expect(&run, 1, &[], &format!("change {number} of {name}: {words:?}"));
            assert!(run.out.lines().any(|line| line.contains(name)), "no line names {name}: {run:?}");
        }
        let run = home.pump(&["verify", "--lanes=3", "--json", "a", "b"]);
        expect(&run, 1, &["\"class\":\"mismatch\""], &format!("change {number} of {name}: --json"));
    }
}

#[test]
fn verify_of_trees_with_other_kinds_and_troubles() {
    let home = Home::new();
    small_tree(&home, "a");
    let copy = small_tree(&home, "b");
    set_mode(&copy.join("sub/c"), 0o600);
    set_time(&copy.join("b"), 5, 5);
    expect(&home.pump(&["verify", "--content-only", "a", "b"]), 0, &[], "bytes alone");
    expect(&home.pump(&["verify", "a", "a"]), 0, &[], "with itself");
    std::fs::remove_dir_all(copy.join("empty")).expect("it is there");
    std::fs::write(copy.join("empty"), "").expect("room");
    expect(&home.pump(&["verify", "--content-only", "a", "b"]), 1, &["empty"], "a file and a folder");
    expect(&home.pump(&["verify", "a", "missing"]), 2, &["'missing'"], "trouble");
    expect(&home.pump(&["verify", "missing", "a"]), 2, &["'missing'"], "trouble");
}

#[test]
fn lanes_and_ways_give_the_same_tree() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    for flags in [
        "--lanes=1",
        "--lanes=2",
        "--lanes=7",
        "--lanes=64",
        "--sync=none",
        "--sync=each",
        "--verify",
        "--engine=threads",
        "--engine=inline",
        "--engine=uring",
        "--request-size=4KiB",
        "--reflink=never",
        "--sparse=never",
        "--progress=always",
    ] {
        copies(&home, &format!("copy {flags} a new"));
        same_apart_from_owners(&source, &home.path("new"), flags);
        std::fs::remove_dir_all(home.path("new")).expect("it is there");
    }
}

#[test]
fn json_of_a_tree_has_a_line_for_each_file() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    let run = copies(&home, "copy --json a new");
    let mut files: BTreeMap<String, u64> = BTreeMap::new();
    let mut last = serde_json::Value::Null;
    for line in run.out.lines() {
        last = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if last["event"] == "file" {
            let path = last["path"].as_str().expect("a path").to_owned();
            files.insert(path, last["bytes"].as_u64().unwrap_or_default());
        }
    }
    assert_eq!((&last["event"], &last["exit_status"]), (&"report".into(), &0.into()));
    for file in ["zero", "b", "sub/c", "sub/deeper/d", "sub/deeper/deepest/e"] {
        let bytes = source.join(file).metadata().expect("it is there").len();
        let told =
            files.iter().filter(|(path, _)| path.ends_with(&format!("/{file}"))).map(|(_, bytes)| *bytes);
        assert_eq!(told.collect::<Vec<_>>(), [bytes], "{file}: {files:?}");
    }
}

#[test]
fn a_narrow_limit_of_open_files_is_enough() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    let mut folder = source.join("sub");
    for level in 0..100 {
        folder.push(format!("level-{level}"));
        std::fs::create_dir(&folder).expect("room");
        std::fs::write(folder.join("file"), noise(level, 1)).expect("room");
    }
    for flags in ["--lanes=1", "--lanes=7"] {
        let run = support::outcome(support::after(&home, "ulimit -n 64", &["copy", flags, "a", "new"]), b"");
        expect(&run, 0, &[], flags);
        same(&source, &home.path("new"), flags);
        std::fs::remove_dir_all(home.path("new")).expect("it is there");
    }
}
