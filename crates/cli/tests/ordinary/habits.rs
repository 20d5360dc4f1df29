//! What people of cp, rsync, scp and ssh type, what must happen, and what is said of it.

use std::collections::BTreeSet;

use crate::support::listing::paths;
use crate::support::{Home, make_folder, make_symlink, only};

/// A folder, two files, a folder to copy into, one that holds an earlier copy.
fn home() -> Home {
    let home = Home::new();
    for folder in ["photos", "photos/sub", "into", "old", "old/sub"] {
        make_folder(&home, folder);
    }
    for (name, bytes) in
        [("photos/p", 3000), ("photos/sub/q", 20), ("one", 10), ("two", 2000), ("old/gone", 5)]
    {
        home.file(name, bytes);
    }
    make_symlink(&home, "photos", "link");
    home
}

fn names(home: &Home) -> BTreeSet<String> {
    let all = paths(&home.path(""));
    all.iter().map(|path| path.display().to_string()).collect()
}

/// Words, status, names that there are then and were not before (`-` in front: that were), what is said.
type Row = (&'static str, i32, &'static str, &'static [&'static str]);

#[test]
fn what_is_typed_what_happens() {
    for &(words, status, changed, said) in ROWS {
        let home = home();
        let before = names(&home);
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status, status, "{words}: {run:?}");
        let after = names(&home);
        let added = after.difference(&before).cloned();
        let removed = before.difference(&after).map(|name| format!("-{name}"));
        let found: BTreeSet<_> = added.chain(removed).collect();
        let expected: BTreeSet<_> = changed.split_whitespace().map(str::to_owned).collect();
        assert_eq!(found, expected, "{words}: {run:?}");
        for part in said {
            assert!(format!("{}{}", run.out, run.err).contains(part), "{words}: no {part:?} in {run:?}");
        }
    }
}

const TREE: &str = "new new/p new/sub new/sub/q";
const BELOW: &str = "into/photos into/photos/p into/photos/sub into/photos/sub/q";
const CONTENT: &str = "into/p into/sub into/sub/q";

const ROWS: &[Row] = &[
    // Where things land.
    ("copy photos new", 0, TREE, &[]),
    ("copy photos/ new", 0, TREE, &[]),
    ("copy photos new/", 0, TREE, &[]),
    ("copy photos into", 0, BELOW, &[]),
    ("copy photos into/", 0, BELOW, &[]),
    ("copy photos/ into", 0, CONTENT, &[]),
    ("copy photos/ into/", 0, CONTENT, &[]),
    ("copy photos/. into", 0, CONTENT, &[]),
    ("copy link into", 0, "into/link into/link/p into/link/sub into/link/sub/q", &[]),
    ("copy link/ into", 0, CONTENT, &[]),
    ("copy one into", 0, "into/one", &[]),
    ("copy one/ into", 1, "", &["one/"]),
    ("copy photos/ one into", 0, "into/p into/sub into/sub/q into/one", &[]),
    (
        "copy photos/ old/ into",
        2,
        "",
        &["'into': two of the sources mean what is in them", "drop the slashes"],
    ),
    ("copy --delete photos/ old", 0, "-old/gone old/p old/sub/q", &[]),
    ("copy --delete photos old", 0, "old/photos old/photos/p old/photos/sub old/photos/sub/q", &[]),
    ("mirror photos old", 0, "-old/gone old/p old/sub/q", &[]),
    ("mirror photos/ old/", 0, "-old/gone old/p old/sub/q", &[]),
    // Options stand anywhere.
    ("copy -n photos new", 0, "", &[]),
    ("copy photos -n new", 0, "", &[]),
    ("copy photos new -n", 0, "", &[]),
    ("copy one -v two into", 0, "into/one into/two", &[]),
    ("copy one --sync=none two -v into --lanes 1", 0, "into/one into/two", &[]),
    ("mirror photos -v new", 0, TREE, &[]),
    ("mirror photos new --lanes 2", 0, TREE, &[]),
    ("verify photos -v photos", 0, "", &[]),
    ("verify photos photos/ -q", 0, "", &[]),
    ("hash one -q two", 0, "", &[]),
    ("explain one -q null:", 0, "", &[]),
    ("copy -- one -two", 0, "-two", &[]),
    // The folder first.
    ("copy --target-directory into one two", 0, "into/one into/two", &[]),
    ("copy one two --target-directory=into", 0, "into/one into/two", &[]),
    ("copy photos/ --target-directory into", 0, CONTENT, &[]),
    ("copy --target-directory new one", 2, "", &["'new': is no folder; make it first"]),
    ("copy --target-directory two one", 2, "", &["'two': is no folder; make it first"]),
    ("copy --target-directory null: one", 2, "", &["'null:' is no folder"]),
    ("copy -T --target-directory into one", 2, "", &["leave one of them out"]),
    ("copy one", 2, "", &["DST", "required", "'one'"]),
    ("mirror photos", 2, "", &["DST", "required"]),
    ("mirror photos old into", 2, "", &["name one source and its copy"]),
    ("explain one", 2, "", &["DST", "required"]),
    // Letters that say what is always done.
    ("copy -a photos new", 0, TREE, &[]),
    ("copy -r photos new", 0, TREE, &[]),
    ("copy -rp photos/ new", 0, TREE, &[]),
    ("copy -aHAX photos/ new", 0, TREE, &[]),
    ("copy -avH photos/ new", 0, TREE, &["always on"]),
    ("copy -f one two", 0, "", &[]),
    ("copy --archive --recursive photos/ new", 0, TREE, &[]),
    ("copy -a -a photos/ new", 0, TREE, &[]),
    ("copy -vv one new", 0, "new", &[]),
    ("copy -av --delete photos/ old", 0, "-old/gone old/p old/sub/q", &[]),
    ("mirror -a photos/ new", 0, TREE, &[]),
    // Letters on which they disagree.
    ("copy -R photos new", 2, "", &["cp's -R"]),
    ("copy -avR photos new", 2, "", &["'-R'", "cp's -R"]),
    ("copy -t into one", 2, "", &["--target-directory DIR", "rsync's"]),
    ("copy -S one new", 2, "", &["--sparse=never"]),
    ("copy -avP photos/ new", 2, "", &["--progress", "--ssh 'ssh -p PORT'"]),
    ("copy -o Port=4 one new", 2, "", &["owners are always kept", "ssh -o"]),
    ("copy -J jump one new", 2, "", &["ssh -J HOST"]),
    ("copy -C one new", 2, "", &["ssh -C", "--exclude-from"]),
    ("copy -l one new", 2, "", &["--bwlimit"]),
    ("copy -b one new", 2, "", &["--request-size"]),
    // What is there by another name, and what is not there.
    ("copy -avz photos/ new", 2, "", &["-z", "nothing is compressed"]),
    ("copy --bwlimit=1000 one new", 2, "", &["--bwlimit", "write 1000KiB (rsync's 1000), or 1000B"]),
    ("copy --bwlimit 10Mbps one new", 2, "", &["write 10Mbit (bits) or 10MB (bytes)"]),
    ("copy --bwlimit 10Mbit one new", 0, "new", &[]),
    ("copy --info=progress2 one new", 2, "", &["--json"]),
    ("copy -e cat one new", 0, "new", &[]),
    ("copy -h", 0, "", &["pump copy [OPTIONS] SRC"]),
    ("copy -i one new", 0, "new", &[">f+++++++++ one"]),
];

#[test]
fn the_folder_of_the_environment_is_for_copies_into_folders() {
    let home = home();
    let set = ("PUMP_TARGET_DIRECTORY", "into");
    assert_eq!(home.pump_with(set, &["copy", "one", "two"]).status, 0);
    assert_eq!(home.pump_with(set, &["copy", "-T", "one", "three"]).status, 0);
    assert_eq!(home.pump_with(set, &["mirror", "photos", "four"]).status, 0);
    only(&home, &["four", "into", "link", "old", "one", "photos", "three", "two"], "the environment");
    assert!(home.path("into/one").exists() && home.path("into/two").exists());
}

#[test]
fn the_same_command_twice_gives_the_same_tree() {
    for flags in ["", "--update", "--checksum", "--delete", "--ignore-existing", "--link-dest old"] {
        let home = home();
        let words = format!("copy {flags} photos/ into");
        let words: Vec<&str> = words.split_whitespace().collect();
        assert_eq!(home.pump(&words).status, 0, "{flags}");
        let once = names(&home);
        assert_eq!(home.pump(&words).status, 0, "{flags}");
        assert_eq!(names(&home), once, "{flags}");
    }
}
