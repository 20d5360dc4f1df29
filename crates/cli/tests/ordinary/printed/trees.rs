//! Messages about trees: what is refused before anything is written, what `--update` and `-n` find, what cannot be
//! read, what `verify` finds, and the lines of `--json`.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support;
use crate::support::listing::{self, same, stamps};
use crate::support::small_tree::{copies, make_removable, set_time, small_tree};
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, as_ordinary_user, expect, has_content, make_folder, noise, set_mode};

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

/// A change to a copy, and the name that a line must have then.
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
fn sockets_are_counted() {
    let home = Home::new();
    make_folder(&home, "from");
    let sockets = ["socket", "socket2"];
    let _sockets = sockets
        .map(|name| std::os::unix::net::UnixListener::bind(home.path("from").join(name)).expect("room"));
    let words = [
        "copy --json -T from to",
        "verify --json --content-only from to",
        "verify --json --content-only to from",
    ];
    for words in words {
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        expect(&run, 0, &["is a socket"], words);
        assert_eq!(run.err.matches("is a socket").count(), 1, "one line a run: {run:?}");
        assert_eq!(run.report()["skipped"], 2, "{words}");
        let quiet = home.pump(&words.replace("--json", "-q").split(' ').collect::<Vec<_>>());
        expect(&quiet, 0, &[], words);
        assert_eq!(quiet.err, "", "{words}");
    }
    // Between hosts, too.
    std::fs::create_dir_all(home.path("served/from")).expect("room");
    let _socket = std::os::unix::net::UnixListener::bind(home.path("served/from/socket")).expect("room");
    for (way, to) in [(Way::Pushed, "to"), (Way::Pulled, "pulled")] {
        let quiet = TwoHosts::new(&home, way).pump(&["copy", "-q"], &["from"], to);
        expect(&quiet, 0, &[], to);
        assert_eq!(quiet.err, "", "{way:?}");
    }
}
