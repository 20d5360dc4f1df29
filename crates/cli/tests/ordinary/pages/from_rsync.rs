//! docs/from-rsync.md, word by word: both lines of each pair run on equal trees, twice, and make the same of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::home::outcome;
use crate::support::listing::{Entry, differences, listing, stamps};
use crate::support::programs::script;
use crate::support::{Home, Outcome, PUMP, expect, make_folder, noise_file};

const PAGE: &str = include_str!("../../../../../docs/from-rsync.md");

/// Sources, and targets with what is older, newer, of equal size and time, and too much.
const GIVEN: &str = r#"
one() { mkdir -p "${1%/*}"; printf %s "$2" > "$1"; touch -d "2026-$3 10:00:00.25 UTC" "$1"; }
one photos/2025/a.jpg aaaa 01-01; one photos/2025/b.jpg bbbbbb 05-05; one photos/2026/c.jpg cc 06-06
one photos/2026/c.tmp t 06-06; one photos/cache/x x 02-02; one photos/notes.txt notes 03-03
one photos/same.txt new! 04-04; mkdir photos/empty
ln -s 2026 photos/latest; ln photos/2025/a.jpg photos/2025/again.jpg
for place in backup/photos far/photos; do
  mkdir -p $place/2025; cp -p photos/2025/a.jpg $place/2025
  one $place/2025/b.jpg b-old 02-05; one $place/notes.txt newer 07-07; one $place/same.txt old! 04-04
  one $place/gone.jpg gone 01-01; one $place/old/o o 01-01; one $place/cache/kept k 01-01; one $place/k.tmp k 01-01
done
cp -a photos backup/monday; rm backup/monday/2025/b.jpg backup/monday/notes.txt
one spool/in/1 one 01-01; one spool/2 two 01-01; one music/1.ogg 11 01-01; one ./disk.img image 01-01
one site/index.html html 01-01; one site/css/s.css css 01-01; chmod 600 site/index.html; chmod 700 site/css
one far/www/stale.html old 01-01; mkdir -p far/images media/usb
printf '2025/b.jpg\nnotes.txt\n2026/c.jpg\n' > list
printf 'cache/\n*.tmp\n' > skip
find . -depth ! -type f -exec touch -h -d '2026-08-08 08:08:08 UTC' {} +
touch -d '2026-08-08 08:08:08 UTC' list skip
"#;

/// The time of all folders and links.
const GIVEN_S: i64 = 1_786_176_488;

type Tree = BTreeMap<PathBuf, Entry>;

/// ssh without a network: the home folder of its host is `far`. No settings are known of it.
const SSH: &str = r#"
while :; do case $1 in -G) exit 1 ;; -[bceilmopDEFIJLORSW]) shift 2 ;; -*) shift ;; *) break ;; esac; done
shift
cd far && HOME=$PWD exec sh -c "$*""#;

/// A line for rsync and the line for pump, by the number that the page gives them.
fn pairs() -> Vec<(usize, &'static str, &'static str)> {
    let blocks = PAGE.split("```\n").skip(1).step_by(2);
    let pairs = blocks.map(|block| block.trim_end().split_once('\n').expect("two lines"));
    (1..).zip(pairs).map(|(number, (rsync, pump))| (number, rsync, pump)).collect()
}

/// A folder with all that the lines name.
fn world(home: &Home, name: &str) -> PathBuf {
    make_folder(home, name);
    let folder = home.path(name);
    let made = Command::new("sh").args(["-ec", GIVEN]).current_dir(&folder).status();
    assert!(made.expect("sh is installed").success());
    folder
}

fn run(home: &Home, line: &str, folder: &Path) -> Outcome {
    let below = |place: &str| format!("{}{place}", folder.display());
    let here = ["/backup", "/media"].into_iter().fold(line.to_string(), |line, place| {
        let line = line.replace(&format!(" {place}"), &format!(" {}", below(place)));
        line.replace(&format!("={place}"), &format!("={}", below(place)))
    });
    let mut command = Command::new("sh");
    command.args(["-c", &here]).current_dir(folder);
    for (name, _) in std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("PUMP_") || name.starts_with("RSYNC_") || name.starts_with("SSH_")
    }) {
        command.env_remove(name);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", home.path("bin").display()));
    outcome(command, b"")
}

/// What both made, without what the page says differs: rsync keeps hard links only with -H, and gives a folder that it
/// made for itself, or changed without copying its attributes, the time of now, as it may do with links.
fn comparable(theirs: &Path, ours: &Path, rsync: &str) -> (Tree, Tree) {
    let (mut theirs, mut ours) = (listing(theirs), listing(ours));
    let keeps_links = rsync.contains('H') || rsync.contains("--link-dest");
    for (path, entry) in theirs.iter_mut().chain(&mut ours) {
        // rsync makes names of symbolic links, too.
        if !keeps_links || entry.kind != "file" {
            entry.first_name.clone_from(path);
        }
    }
    for (path, entry) in ours.iter_mut().filter(|(_, entry)| entry.kind != "file") {
        let same =
            theirs.get_mut(path).filter(|other| other.mtime.0 != GIVEN_S || path == Path::new("backup"));
        same.into_iter().for_each(|other| other.mtime = entry.mtime);
    }
    (theirs, ours)
}

/// A rule behind rsync's -f is no source, without which all else would be copied.
#[test]
fn a_filter_rule_behind_the_letter_f_is_refused_before_anything_is_done() {
    let home = Home::new();
    make_folder(&home, "src");
    for name in ["x.o", "x.c"] {
        noise_file(&home, &format!("src/{name}"), 10, 1);
    }
    for rule in ["- *.o", "P *.keep", "H *.o", "+ *.c", ". rules", "exclude *.o", "protect,r x", "-_*.o"] {
        for letters in ["-f", "-af"] {
            let run = home.pump(&["copy", letters, rule, "src/", "dst"]);
            expect(&run, 2, &["rsync's -f RULE is --filter RULE", rule], rule);
            assert!(!home.path("dst").exists(), "{rule}: nothing is copied");
        }
    }
    // Names that exist, and names like no rule.
    noise_file(&home, "P x", 10, 1);
    expect(&home.pump(&["copy", "-f", "P x", "dst"]), 0, &[], "a file");
    expect(&home.pump(&["copy", "-f", "none", "dst"]), 1, &["No such file"], "no rule");
}

#[test]
fn each_line_does_what_that_of_rsync_does() {
    if Command::new("rsync").arg("--version").output().is_err() {
        eprintln!("not tested: rsync is not installed");
        return;
    }
    let home = Home::new();
    make_folder(&home, "bin");
    symlink(PUMP, home.path("bin/pump")).expect("room");
    script(home.path("bin/ssh"), SSH);
    script(home.path("bin/sudo"), r#"exec "$@""#);
    let pairs = pairs();
    assert_eq!(pairs.len(), 20, "{pairs:?}");
    for (number, rsync, pump) in pairs {
        let entry = PAGE.contains(&format!("\n{number}. "));
        assert!(entry && rsync.starts_with("rsync ") && pump.contains("pump "), "{number}: {rsync}");
        let (theirs, ours) = (world(&home, "theirs"), world(&home, "ours"));
        for turn in ["first", "second"] {
            let before = stamps(&ours);
            let (one, other) = (run(&home, rsync, &theirs), run(&home, pump, &ours));
            let what = format!("{number}, {turn} run: {pump}");
            assert_eq!((one.status, other.status), (0, 0), "{what}: {one:?} {other:?}");
            let (theirs, found) = comparable(&theirs, &ours, rsync);
            assert_eq!(differences(&theirs, &found), [""; 0], "{what}");
            // Folders from which files were removed have new times, to be copied; a list of backups is made and removed.
            let writes = pump.contains("--remove-source-files") || pump.contains("--backup");
            assert!(turn == "first" || writes || stamps(&ours) == before, "{what}: it does nothing");
        }
        fs::remove_dir_all(theirs).and_then(|()| fs::remove_dir_all(ours)).expect("they exist");
    }
}
