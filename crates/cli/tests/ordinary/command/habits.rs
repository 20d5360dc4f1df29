//! What people of cp, rsync, scp and ssh type, what must happen, and what is said of it.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::listing::paths;
use crate::support::{Home, expect, make_fifo, make_folder, make_symlink, only, outcome, set_mtime};

/// A folder, two files, a folder to copy into, one that holds an earlier copy.
pub fn home() -> Home {
    let home = Home::new();
    for folder in ["photos", "photos/sub", "into", "old", "old/sub"] {
        make_folder(&home, folder);
    }
    let files = [("photos/p", 3000), ("photos/sub/q", 20), ("one", 10), ("two", 2000), ("old/gone", 5)];
    for (second, (name, bytes)) in (1_700_000_000..).zip(files) {
        home.file(name, bytes);
        // The clock of files is coarse: each is older than the next.
        set_mtime(&home.path(name), second * 1_000_000_000);
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
const A_LIST: &str =
    "DST keeps its own mode, owner and times, and neither --delete nor pump mirror takes a list";

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
    ("copy photos/ old/ into", 0, "into/p into/sub into/sub/q into/gone", &[]),
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
    ("copy --target-directory new one", 2, "", &["'new': not a directory; create it"]),
    ("copy --target-directory two one", 2, "", &["'two': not a directory; create it"]),
    ("copy --target-directory null: one", 2, "", &["'null:' is not a directory"]),
    ("copy -T --target-directory into one", 2, "", &["exclude each other"]),
    ("copy one", 2, "", &["DST", "required", "'one'"]),
    ("mirror photos", 2, "", &["DST", "required"]),
    ("mirror photos old into", 2, "", &["name one source and its copy"]),
    ("explain one", 2, "", &["DST", "required"]),
    // The path of each source, too.
    (
        "copy --relative photos/sub/q one new",
        0,
        "new new/one new/photos new/photos/sub new/photos/sub/q",
        &[],
    ),
    ("copy --parents photos/sub into", 0, "into/photos into/photos/sub into/photos/sub/q", &[]),
    ("copy --relative photos into", 0, BELOW, &[]),
    ("copy --relative photos/ into", 0, BELOW, &[]),
    ("copy --relative photos/./sub/q into", 0, "into/sub into/sub/q", &[]),
    ("copy --relative ./photos/p into", 0, "into/photos into/photos/p", &[]),
    (
        "copy --relative photos/missing photos/p into",
        23,
        "into/photos into/photos/p",
        &["'./photos/missing'"],
    ),
    (
        "copy --relative link/sub/q new",
        2,
        "",
        &["'link' on the way to 'link/sub/q' is a symbolic link", "write 'link/./sub/q'"],
    ),
    ("copy --relative link/./sub/q new", 0, "new new/sub new/sub/q", &[]),
    ("copy -L --relative link/sub/q new", 0, "new new/link new/link/sub new/link/sub/q", &[]),
    ("copy --relative ../x into", 2, "", &["'..' in the path"]),
    ("copy --relative one /etc into", 2, "", &["several folders"]),
    ("copy --relative --files-from two photos into", 2, "", &["leave --relative out"]),
    // Folders that are missing above the target.
    ("copy one new/deep/x", 1, "", &["'new/deep/x': No such file or directory"]),
    ("copy --mkpath one new/deep/x", 0, "new new/deep new/deep/x", &["one -> new/deep/x"]),
    ("copy --mkpath one new/deep/", 0, "new new/deep new/deep/one", &["one -> new/deep/one"]),
    ("copy --mkpath photos/ new/deep", 0, "new new/deep new/deep/p new/deep/sub new/deep/sub/q", &[]),
    ("copy --mkpath one two into/x/", 0, "into/x into/x/one into/x/two", &[]),
    ("copy -n --mkpath one new/x", 0, "", &["dry run: nothing was copied"]),
    ("copy --mkpath three new/deep/x", 1, "", &["'three'"]),
    ("mirror --mkpath photos/ new/deep", 0, "new new/deep new/deep/p new/deep/sub new/deep/sub/q", &[]),
    // Letters that say what is always done.
    ("copy -a photos new", 0, TREE, &[]),
    ("copy -r photos new", 0, TREE, &[]),
    ("copy -rp photos/ new", 0, TREE, &[]),
    ("copy -aHAX photos/ new", 0, TREE, &[]),
    ("copy -avH photos/ new", 0, TREE, &["always on"]),
    ("copy -f one two", 0, "", &[]),
    ("copy --archive --recursive photos/ new", 0, TREE, &[]),
    ("copy -avh photos/ new", 0, TREE, &[]),
    ("copy -hr -- photos/ new", 0, TREE, &[]),
    ("copy -avh0u=differs photos/ new", 0, TREE, &[]),
    ("copy -a --exclude -hr photos/ new", 0, TREE, &[]),
    ("mirror --relative photos/ new", 2, "", &["which --relative would put below"]),
    ("copy -r --files-from=one photos/ new", 2, "", &["end their names in the list with a slash"]),
    ("copy -a -a photos/ new", 0, TREE, &[]),
    ("copy -vv one new", 0, "new", &[]),
    ("copy -av --delete photos/ old", 0, "-old/gone old/p old/sub/q", &[]),
    ("mirror -a photos/ new", 0, TREE, &[]),
    // Letters on which they disagree.
    ("copy -R photos new", 2, "", &["cp's -R"]),
    ("copy -avR photos new", 2, "", &["'-R'", "cp's -R"]),
    ("copy -t into one", 2, "", &["--target-directory DIR", "rsync's"]),
    ("copy -S one new", 2, "", &["--suffix", "--sparse=always"]),
    ("copy -P photos/ new", 2, "", &["--progress", "-avP is accepted", "--ssh 'ssh -p PORT'"]),
    ("copy -rP 22 photos/ new", 2, "", &["'-P'", "--ssh 'ssh -p PORT'"]),
    ("copy -rl photos new", 2, "", &["'-l'", "hard links to the source are not made (cp's)"]),
    ("copy -rt into photos", 2, "", &["'-t'", "--target-directory DIR"]),
    ("copy -o Port=4 one new", 2, "", &["owners are always kept", "ssh -o"]),
    ("copy -J jump one new", 2, "", &["ssh -J HOST"]),
    ("copy -C one new", 2, "", &["ssh -C", "--exclude-from"]),
    ("copy -l one new", 2, "", &["--bwlimit"]),
    ("copy -b one new", 2, "", &["--backup", "--request-size"]),
    // Flags that are there by another name, and flags that are not there.
    ("copy -avz photos/ new", 2, "", &["'-z'", "nothing is compressed", "pump copy -av photos/ new"]),
    (
        "copy -avzP --delete -z -W --partial --exclude -z photos/ new",
        2,
        "",
        &[
            "'-z' found",
            "nothing is compressed",
            "the same without: pump copy --progress=always -av --delete -W --partial --exclude -z photos/ new",
        ],
    ),
    ("copy -z -l --append-verify one new", 2, "", &["'-z', '-l', '--append-verify'", "-l: symbolic links"]),
    // Bundles that neither cp nor scp can read.
    ("copy -rlptgoD photos/ new", 0, TREE, &[]),
    ("copy -rlptgoDv photos/ new", 0, TREE, &["always on", "-t, -g, -o, -D, -E"]),
    ("copy -rltv link into", 0, "into/link", &["always on"]),
    ("copy -rtv photos/ new", 0, TREE, &["always on"]),
    ("copy -avP photos/ new", 0, TREE, &["its -P is --progress=always"]),
    ("mirror -avP --delete photos/ old", 0, "-old/gone old/p old/sub/q", &[]),
    ("copy -rlptgoDz photos/ new", 2, "", &["'-z' found", "nothing is compressed"]),
    ("copy --timeout=60 one new", 0, "new", &[]),
    ("copy --timeout 60 one new", 0, "new", &[]),
    ("mirror --timeout=0 photos/ new", 2, "", &["'0s'", "--peer-timeout"]),
    ("verify --timeout=60 photos photos", 0, "", &[]),
    ("copy --bwlimit=1000 one new", 2, "", &["--bwlimit", "write 1000KiB (rsync's 1000), or 1000B"]),
    ("copy --bwlimit 10Mbps one new", 2, "", &["write 10Mbit (bits) or 10MB (bytes)"]),
    ("copy --bwlimit 10Mbit one new", 0, "new", &[]),
    ("copy --info=progress2 one new", 2, "", &["--json"]),
    ("copy -e cat one new", 0, "new", &[]),
    ("copy -h", 0, "", &["pump copy [OPTIONS] SRC"]),
    ("copy -i one new", 0, "new", &[">f+++++++++ one"]),
    // What copies get, and what is copied.
    ("copy --chmod=D755,F644 photos/ new", 0, TREE, &[]),
    ("copy --chmod 600 one new", 0, "new", &[]),
    ("copy --chmod=g=u one new", 2, "", &["g=rX"]),
    ("copy --chown=no-such-user one new", 2, "", &["no user 'no-such-user'"]),
    ("copy --sparse=always one new", 0, "new", &[]),
    ("copy -L photos/ new", 0, TREE, &[]),
    ("copy --dereference photos/ new", 0, TREE, &[]),
    ("copy -aL photos/ new", 0, TREE, &[]),
    ("copy --safe-links photos/ new", 0, TREE, &[]),
    ("copy --copy-unsafe-links photos/ new", 0, TREE, &[]),
    ("copy --links photos/ new", 0, TREE, &[]),
    ("copy -a link into", 0, "into/link", &[]),
    ("copy -a link/ into", 0, CONTENT, &[]),
    ("copy -d link new", 0, "new", &[]),
    ("copy -r link new", 0, TREE, &[]),
    ("copy -p link new", 0, TREE, &[]),
    ("copy -aL link new", 0, TREE, &[]),
    ("mirror -a link new", 0, TREE, &[]),
    ("copy --filter -_q photos/ new", 0, "new new/p new/sub", &[]),
    ("copy --filter=:_rules photos/ new", 2, "", &["not read from folders"]),
    ("copy --remove-source-files one new", 0, "-one new", &[]),
    ("copy --remove-source-files --sync=none one new", 2, "", &["leave one of them out"]),
    ("copy -n --remove-source-files one new", 0, "", &["dry run: nothing was copied"]),
    // Flags of rsync alone.
    ("copy --super photos/ new", 2, "", &["pump as root", "the same without: pump copy photos/ new"]),
    ("copy --password-file=secret one new", 2, "", &["--ticket-file FILE"]),
    ("copy --dirs photos new", 2, "", &["--files-from FILE", "rsync's -d"]),
    ("copy --cvs-exclude photos new", 2, "", &["--exclude-from FILE"]),
    ("copy -a --no-links photos/ new", 2, "", &["--safe-links", "! -type l", "about hard links", A_LIST]),
    ("copy --write-devices one new", 2, "", &["pump copy --devices disk.img /dev/sdX"]),
    ("copy --copy-devices one new", 2, "", &["pump copy --devices disk.img /dev/sdX"]),
    ("copy -M one new", 2, "", &["rsync's -M", "--remote-bin PATH"]),
    ("copy --remote-option=x one new", 2, "", &["rsync's -M"]),
    ("copy -aU photos/ new", 2, "", &["'-U'", "rsync's -U", "the same without: pump copy -a photos/ new"]),
    ("copy -aN photos/ new", 2, "", &["'-N'", "time of creation", "rsync's -N"]),
    ("copy --human-readable photos/ new", 2, "", &["KiB", "the same without: pump copy photos/ new"]),
    ("copy --protect-args one new", 2, "", &["as they are written", "the same without: pump copy one new"]),
    ("copy --preallocate one new", 2, "", &["--no-reserve", "the same without: pump copy one new"]),
    ("copy --preallocate one new", 2, "", &["--sync=none and the file has at most 64 MiB"]),
    ("copy --open-noatime photos/ new", 2, "", &["time of access"]),
    ("copy -a --no-D photos/ new", 2, "", &["! -type p", A_LIST]),
    ("copy -aA --no-A photos/ new", 2, "", &["--no-preserve=acl"]),
    ("copy --no-xattrs photos/ new", 2, "", &["--no-preserve=xattr"]),
    ("copy --no-hard-links photos/ new", 2, "", &["--no-preserve=links"]),
    // What everybody types sooner or later.
    ("copy one one", 2, "", &["is the same file as the source"]),
    ("copy one two one", 2, "", &["several sources need an existing folder"]),
    ("copy one two new", 2, "", &["several sources need an existing folder"]),
    ("copy missing new", 1, "", &["open 'missing': No such file or directory"]),
    ("copy missing one into", 23, "into/one", &["1 error (1 file copied)"]),
    ("copy one nowhere/", 2, "", &["not a directory; create it, or drop the trailing slash"]),
    ("copy photos one", 2, "", &["is not a directory, and the source is one"]),
    ("copy one photos", 0, "photos/one", &["one -> photos/one"]),
    ("copy one photos/sub/q", 0, "", &["one -> photos/sub/q"]),
    ("copy -T one new", 0, "new", &[]),
    ("copy -n one new", 0, "", &["'one' -> 'new' (10 bytes", "dry run: nothing was copied"]),
    ("copy -n -i photos/ new", 0, "", &[">f+++++++++ sub/q"]),
    ("copy -n --delete photos/ old", 0, "", &["remove 'old/gone'"]),
    ("copy -av -n --delete photos/ old", 0, "", &["remove 'old/gone'", "always on"]),
    ("copy --delete one two", 2, "", &["--delete needs a folder as source"]),
    ("copy --update one two", 0, "", &["Nothing to do: 1 file newer at the target."]),
    ("copy --update=none one two", 0, "", &["Nothing to do"]),
    ("copy --ignore-existing one two", 0, "", &["Nothing to do: 1 file already at the target."]),
    ("copy -u photos/ new", 0, TREE, &[]),
    ("copy -c one new", 0, "new", &[]),
    ("copy --checksum photos/ new", 0, TREE, &[]),
    ("copy -x photos/ new", 0, TREE, &[]),
    ("copy --exclude q photos/ new", 0, "new new/p new/sub", &[]),
    ("copy --exclude sub/ photos/ new", 0, "new new/p", &[]),
    ("copy --include q --exclude * photos/sub/ new", 0, "new new/q", &[]),
    ("copy --exclude=*.o photos/ new", 0, TREE, &[]),
    ("copy --inplace one new", 0, "new", &[]),
    ("copy --partial one new", 0, "new", &[]),
    ("copy --partial-dir=x one new", 2, "", &["the same command goes on where it was"]),
    ("copy --append one new", 2, "", &["a target is replaced as a whole"]),
    ("copy -W one new", 0, "new", &[]),
    ("copy -rpW --times --perms --owner --group --executability photos/ new", 0, TREE, &[]),
    ("copy -v --acls --xattrs --hard-links --specials --whole-file photos/ new", 0, TREE, &["always on"]),
    ("copy -k one new", 2, "", &["links inside folders stay links"]),
    ("copy --list-only photos", 2, "", &["-n -i"]),
    ("copy -s one new", 2, "", &["cp -s and cp -l"]),
    ("copy --link one new", 2, "", &["cp -s and cp -l"]),
    ("copy --preserve=all one new", 2, "", &["always kept"]),
    ("copy --no-preserve=mode one new", 0, "new", &[]),
    ("copy --attributes-only one new", 2, "", &["--update=differs sets attributes"]),
    ("copy --reflink=auto one new", 0, "new", &[]),
    ("copy --sparse=auto one new", 0, "new", &[]),
    ("copy -Z one new", 2, "", &["security contexts"]),
    ("copy -P 22 one new", 2, "", &["--ssh 'ssh -p PORT'"]),
    ("copy -3 one new", 2, "", &["through this host"]),
    ("copy -F config one new", 2, "", &["ssh -F FILE"]),
    ("copy --version", 2, "", &["pump --version"]),
    ("copy null:1KiB new", 0, "new", &["1.0 KiB"]),
    ("copy null: new", 2, "", &["null: needs a size"]),
    ("copy --excldue x one new", 2, "", &["'--exclude'"]),
    ("mirror one two", 2, "", &["use pump copy"]),
    ("mirror -n photos/ old", 0, "", &["remove 'old/gone'"]),
    ("mirror --delete photos/ old", 0, "-old/gone old/p old/sub/q", &["1 deleted"]),
    ("mirror --exclude gone photos/ old", 0, "old/p old/sub/q", &[]),
    ("mirror --max-delete 0 photos/ old", 1, "old/p old/sub/q", &["more than 0 names would be removed"]),
    ("verify one two", 1, "", &["has 10 bytes, 'two' has 2000"]),
    ("hash missing", 1, "", &["'missing'"]),
    ("copy host:a pump://x:1/b", 2, "", &["mkdir TMP && pump copy host:a TMP/"]),
    ("copy pump://host one", 2, "", &["has no port"]),
];

/// As the answers to --no-links and --no-D have it.
#[test]
fn a_list_of_find_leaves_links_and_pipes_out() {
    for (test, left_out) in [
        (&["!", "-type", "l"][..], "latest"),
        (&["!", "-type", "p", "!", "-type", "b", "!", "-type", "c"], "pipe"),
    ] {
        let home = home();
        make_symlink(&home, "p", "photos/latest");
        make_fifo(&home.path("photos/pipe"));
        let mut find = Command::new("find");
        find.args([".", "-mindepth", "1"]).args(test).arg("-print0").current_dir(home.path("photos"));
        let list = find.output().expect("find is installed").stdout;
        let command = home.command(&["copy", "--from0", "--files-from", "-", "photos/", "new"]);
        expect(&outcome(command, &list), 0, &[], left_out);
        let expected = ["latest", "p", "pipe", "sub", "sub/q"].into_iter().filter(|name| *name != left_out);
        let found: BTreeSet<String> =
            paths(&home.path("new")).iter().map(|path| path.display().to_string()).collect();
        let expected: BTreeSet<String> = expected.chain([""]).map(str::to_owned).collect();
        assert_eq!(found, expected, "without {left_out}");
    }
}

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
fn nesting_is_told_with_the_other_spelling() {
    let told = "pump: 'photos' is copied to 'into/photos'; to bring 'into' itself up to date write 'photos/'";
    let flags = ["--update", "--checksum", "--delete", "--ignore-existing", "--link-dest old"];
    for flag in flags.into_iter().chain(["", "-q --update"]) {
        let home = home();
        let words = format!("copy {flag} photos into");
        let run = |words: &str| home.pump(&words.split_whitespace().collect::<Vec<_>>());
        let first = run(&words);
        assert_eq!(
            first.err.contains(told),
            !flag.is_empty() && !flag.starts_with("-q"),
            "{flag}: {first:?}"
        );
        let again = run(&words);
        assert!((again.status, again.err.contains(told)) == (0, false), "{flag}: it stands there: {again:?}");
    }
    let home = home();
    assert_eq!(home.pump(&["copy", "photos", "new"]).status, 0);
    let again = home.pump(&["copy", "photos", "new"]);
    assert!(again.err.contains("'photos' is copied to 'new/photos'"), "the second run nests: {again:?}");
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

#[test]
fn the_report_names_the_real_target_and_says_what_there_was_to_do() {
    let home = home();
    let reported = |words: &[&str]| {
        let run = home.pump(&[&["copy", "--json"], words].concat());
        let last = run.out.lines().last().unwrap_or_default().to_owned();
        serde_json::from_str::<serde_json::Value>(&last).expect("a report")
    };
    let photos = home.path("into/photos").display().to_string();
    for (words, targets, first) in [
        (&["photos", "into"][..], &["into/photos"][..], "photos -> into/photos: 2 files, 2.9 KiB in "),
        (&["photos/", "into"], &["into"], "photos/ -> into: 2 files, 2.9 KiB in "),
        (&["-u", "photos/", "into"], &["into"], "Nothing to do: 2 files up to date."),
        (&["-u", "photos", "into"], &["into/photos"], "Nothing to do: 2 files up to date."),
        (&["-u", "--delete", "photos", photos.trim_end_matches("/photos")], &[&photos], "Nothing to do: "),
        (
            &["one", "two", "into/"],
            &["into/one", "into/two"],
            "one and 1 more -> into/one and 1 more: 2 files, 2.0 KiB in ",
        ),
        (&["one", "two"], &["two"], "one -> two: 10 B in "),
        (&["null:3KiB", "null:"], &[], "3.0 KiB in "),
    ] {
        let run = home.pump(&[&["copy"], words].concat());
        assert!(run.err.starts_with(first), "{words:?}: {run:?}");
        let report = reported(words);
        let found = report["targets"].as_array().cloned().unwrap_or_default();
        assert_eq!(found, targets, "{words:?}");
    }
    let report = reported(&["-u", "photos/", "into"]);
    assert_eq!((&report["files_unchanged"], &report["files"]), (&2.into(), &0.into()));
    for source in ["one", "photos"] {
        let run = home.pump(&["copy", "-n", source, "new"]);
        assert_eq!(run.err, "dry run: nothing was copied\n", "{source}");
    }
}

#[test]
fn files_are_chosen_by_size_and_by_what_stands_there() {
    for (flags, is_expected, not) in [
        ("--existing", "into/sub/q", "into/p"),
        ("--max-size 100B", "into/sub/q", "into/p"),
        ("--min-size 100B", "into/p", "into/sub/q"),
        ("--min-size 1KiB --max-size 3000B", "into/p", "into/sub/q"),
        ("--include-from wanted --exclude *", "into/p", "into/sub/q"),
    ] {
        let home = home();
        make_folder(&home, "into/sub");
        std::fs::write(home.path("into/sub/q"), "old").expect("room");
        std::fs::write(home.path("wanted"), "p\n").expect("room");
        let words = format!("copy {flags} photos/ into");
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(run.status, 0, "{flags}: {run:?}");
        let has = |name: &str| home.path(name).metadata().is_ok_and(|meta| meta.len() != 3);
        assert!(has(is_expected) && !has(not), "{flags}: {run:?}");
    }
    for (words, status) in [
        ("copy --existing photos new", 0),
        ("copy --existing one new", 0),
        ("copy --max-size 5B one new", 0),
        ("copy --min-size 1KiB one new", 0),
        ("copy --max-size 5 one new", 2),
    ] {
        let home = home();
        assert_eq!(home.pump(&words.split(' ').collect::<Vec<_>>()).status, status, "{words}");
        assert!(!home.path("new").exists(), "{words}");
    }
}

#[test]
fn what_is_excluded_goes_with_delete_excluded_alone() {
    for (flags, left) in [
        ("--delete --exclude *.tmp", "sub/a.tmp sub/q gone.tmp"),
        ("--delete-after --exclude *.tmp", "sub/a.tmp sub/q gone.tmp"),
        ("--delete-excluded --exclude *.tmp", "sub/q"),
        ("--del --delete-excluded --exclude *.tmp --exclude none", "sub/q"),
        ("--delete --delete-excluded --exclude /sub", ""),
        ("-n --delete-excluded --exclude *.tmp", "gone sub/a.tmp gone.tmp"),
        ("--max-delete 1 --delete-excluded --exclude *.tmp", "gone sub/a.tmp gone.tmp sub/q"),
        ("--max-size 1B --delete --exclude *.tmp", "sub/a.tmp gone.tmp sub/q"),
    ] {
        let home = home();
        for name in ["old/sub/a.tmp", "old/gone.tmp", "photos/sub/a.tmp", "none"] {
            home.file(name, 1);
        }
        if flags.starts_with("--max-size") {
            home.file("old/sub/q", 3);
        }
        let words = format!("copy {flags} photos/ old");
        let run = home.pump(&words.split(' ').collect::<Vec<_>>());
        assert!([0, 1].contains(&run.status), "{flags}: {run:?}");
        let found = paths(&home.path("old")).into_iter().map(|path| path.display().to_string());
        let found: BTreeSet<_> = found.filter(|name| !["", "p", "sub"].contains(&name.as_str())).collect();
        let expected: BTreeSet<_> = left.split_whitespace().map(str::to_owned).collect();
        assert_eq!(found, expected, "{flags}: {run:?}");
    }
}

#[test]
fn what_the_environment_chooses_is_not_for_mirrors() {
    let home = home();
    for variable in [("PUMP_EXISTING", "1"), ("PUMP_MAX_SIZE", "1B"), ("PUMP_MIN_SIZE", "1GiB")] {
        let _ = std::fs::remove_dir_all(home.path("new"));
        let run = home.pump_with(variable, &["mirror", "-v", "photos", "new"]);
        expect(&run, 0, &[&format!("{} has no effect here", variable.0)], variable.0);
        assert!(home.path("new/p").exists(), "{variable:?}: {run:?}");
    }
    assert_eq!(home.pump(&["mirror", "--max-size", "100B", "photos", "few"]).status, 0);
    assert!(!home.path("few/p").exists() && home.path("few/sub/q").exists(), "typed");
}

#[test]
fn a_mirror_of_an_empty_folder_removes_nothing_that_is_left_out_either() {
    let home = home();
    make_folder(&home, "empty");
    let words = ["mirror", "--delete-excluded", "--exclude", "/gone", "--exclude", "/sub", "empty", "old"];
    expect(&home.pump(&words), 1, &["is empty", "--max-delete"], "a disk that is not mounted");
    assert!(home.path("old/gone").exists());
}
