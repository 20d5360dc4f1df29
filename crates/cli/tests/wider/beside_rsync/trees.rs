//! Whole trees with every kind of entry, copied as root and as an ordinary user, judged by rsync; `verify` of trees.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::listing::{paths, stamps};
use crate::support::{Home, Outcome, as_ordinary_user, expect, set_mode};
use crate::wider_parts::dress::set_times;
use crate::wider_parts::judge::{same_tree, same_tree_apart_from_owners};
use crate::wider_parts::random::Random;
use crate::wider_parts::tree::{ENTRIES, make_tree, make_tree_for};
use crate::wider_parts::{blocks, long_path, program, pump_with};

const NOBODY: u32 = 65_534;

fn copy(source: &Path, target: &Path, options: &[&str]) -> Outcome {
    let places = [source, target].map(|path| path.display().to_string());
    pump_with(&["copy", &places[0], &places[1]], options)
}

/// Where something is in a temporary folder, and what the folder is called by `pump`.
fn places(home: &Home) -> (PathBuf, PathBuf) {
    (home.path("source"), home.path("copy"))
}

#[test]
fn everything_is_copied_as_root() {
    let home = Home::new();
    let (source, target) = places(&home);
    make_tree(&source, 1, ENTRIES);
    long_path::make(&source);
    // What stands on the path that no path can name is compared by hand.
    set_times(&source, 1_000_000_000, 7);
    expect(&copy(&source, &target, &[]), 0, &["a.socket"], "everything");
    long_path::same(&source, &target, "the long path");
    remove_long_paths(&[&source, &target]);
    same_tree(&source, &target, "everything");
}

/// Takes the long paths away, and what that did to the times of their folders.
fn remove_long_paths(trees: &[&Path]) {
    for tree in trees {
        let times = tree.metadata().expect("the tree");
        std::fs::remove_dir_all(tree.join(long_path::NAME)).expect("it is there");
        set_times(tree, times.mtime(), times.mtime_nsec());
    }
}

#[test]
fn lanes_and_ways_give_the_same_tree() {
    let home = Home::new();
    let (source, target) = places(&home);
    make_tree(&source, 2, 3000);
    for options in [
        &["--lanes=1"][..],
        &["--lanes=2"],
        &["--lanes=7"],
        &["--lanes=64"],
        &["--sync=none"],
        &["--sync=each", "--lanes=2"],
        &["--verify", "--lanes=3"],
        &["--engine=threads", "--direct=always", "--lanes=2"],
        &["--engine=inline", "--request-size=64KiB"],
        &["--reflink=never", "--engine=uring"],
    ] {
        let row = format!("{options:?}");
        expect(&copy(&source, &target, options), 0, &[], &row);
        same_tree(&source, &target, &row);
        std::fs::remove_dir_all(&target).expect("it is there");
    }
}

#[test]
fn other_file_systems_keep_everything_too() {
    use crate::wider_parts::{Kind, Mount};
    let home = Home::new();
    let source = home.path("source");
    make_tree(&source, 3, 2500);
    remove_long_links(&source);
    for kind in [Kind::Xfs, Kind::Btrfs, Kind::Tmpfs] {
        let mount = Mount::of(kind, 1024);
        let target = PathBuf::from(mount.at("copy"));
        expect(&copy(&source, &target, &[]), 0, &[], &format!("{kind:?}"));
        same_tree(&source, &target, &format!("{kind:?}"));
    }
}

/// XFS has room for 1023 bytes in a symbolic link.
fn remove_long_links(tree: &Path) {
    for path in paths(tree) {
        let path = tree.join(path);
        if std::fs::read_link(&path).is_ok_and(|to| to.as_os_str().len() > 1023) {
            std::fs::remove_file(path).expect("it was there");
        }
    }
}

#[test]
fn everything_an_ordinary_user_may_have_is_copied() {
    let home = Home::new();
    let source = home.path("source");
    make_tree_for(NOBODY, &source, 4, ENTRIES);
    crate::support::make_folder(&home, "into");
    set_mode(&home.path("into"), 0o777);
    let run = as_ordinary_user(&home, &["copy", "source", "into/copy"]).expect("root can become nobody");
    expect(&run, 0, &["a.socket"], "as an ordinary user");
    let about_owners =
        run.err.lines().filter(|line| line.contains("owner") || line.contains("not permitted"));
    assert!(
        about_owners.count() <= 2,
        "one line for what is not permitted, not one for each: {}",
        run.err.len()
    );
    same_tree_apart_from_owners(&source, &home.path("into/copy"), "as an ordinary user");
}

#[test]
fn holes_take_no_more_blocks_than_in_the_source() {
    let home = Home::new();
    let (source, target) = places(&home);
    make_tree(&source, 5, 3000);
    program(&["sync", "--file-system", &source.display().to_string()]);
    for options in [&["--reflink=never"][..], &["--lanes=3"], &["--direct=always"], &["--sync=none"]] {
        expect(&copy(&source, &target, options), 0, &[], &format!("{options:?}"));
        program(&["sync", "--file-system", &target.display().to_string()]);
        let mut seen = 0;
        for path in paths(&source).into_iter().filter(|path| is_sparse(&source.join(path))) {
            let (here, there) = (blocks(source.join(&path)), blocks(target.join(&path)));
            assert!(there <= here, "{options:?}: {path:?}: {there} blocks, the source has {here}");
            seen += 1;
        }
        assert!(seen >= 10, "{seen} files with holes");
        std::fs::remove_dir_all(&target).expect("it is there");
    }
}

/// A generated file with holes of at least a block.
fn is_sparse(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"sparse-"));
    named && path.symlink_metadata().expect("it was listed").len() >= 4096
}

#[test]
fn a_second_run_with_update_leaves_everything_untouched() {
    let home = Home::new();
    let (source, target) = places(&home);
    make_tree(&source, 6, 3000);
    expect(&copy(&source, &target, &[]), 0, &[], "first");
    let before = stamps(&target);
    for options in [&["-T", "--update"][..], &["-T", "--update", "--lanes=7"]] {
        expect(&copy(&source, &target, options), 0, &[], "again");
        let after = stamps(&target);
        let touched: Vec<_> =
            after.iter().filter(|(path, stamp)| before.get(*path) != Some(*stamp)).collect();
        assert!(
            touched.is_empty(),
            "{options:?}: {} touched: {:?}",
            touched.len(),
            &touched[..touched.len().min(9)]
        );
    }
    same_tree(&source, &target, "after the second run");
}

#[test]
fn a_copy_over_a_changed_copy_mends_everything() {
    let home = Home::new();
    let (source, target) = places(&home);
    make_tree(&source, 7, 2000);
    expect(&copy(&source, &target, &[]), 0, &[], "first");
    let mut random = Random(8);
    for change in CHANGES.iter().filter(|change| !["extra", "kind"].contains(&change.name)) {
        (change.perform)(&target, &mut random);
    }
    expect(&copy(&source, &target, &["-T"]), 0, &[], "again");
    same_tree(&source, &target, "mended");
}

/// Something done to one entry of a copy, by chance; gives the entry's name.
struct Change {
    name: &'static str,
    perform: fn(&Path, &mut Random) -> PathBuf,
}

const CHANGES: [Change; 10] = [
    Change { name: "byte", perform: |copy, random| change_byte(copy, random) },
    Change {
        name: "mode",
        perform: |copy, random| {
            change(copy, random, is_file, |path, meta| set_mode(path, meta.mode() & 0o7777 ^ 0o1))
        },
    },
    Change {
        name: "mode of a folder",
        perform: |copy, random| {
            change(copy, random, is_folder, |path, meta| set_mode(path, meta.mode() & 0o7777 ^ 0o1))
        },
    },
    Change {
        name: "mtime by a nanosecond",
        perform: |copy, random| {
            change(copy, random, is_file, |path, meta| set_times(path, meta.mtime(), meta.mtime_nsec() ^ 1))
        },
    },
    Change {
        name: "mtime of a folder",
        perform: |copy, random| {
            change(copy, random, is_folder, |path, meta| set_times(path, meta.mtime() + 1, meta.mtime_nsec()))
        },
    },
    Change {
        name: "mtime of a link",
        perform: |copy, random| {
            change(copy, random, is_symlink, |path, meta| {
                set_times(path, meta.mtime() + 1, meta.mtime_nsec());
            })
        },
    },
    Change {
        name: "missing",
        perform: |copy, random| {
            change(copy, random, is_file, |path, _| std::fs::remove_file(path).expect("it is there"))
        },
    },
    Change {
        name: "extra",
        perform: |copy, random| {
            let folder = pick(copy, random, is_folder);
            std::fs::write(copy.join(&folder).join("not in the source"), "extra").expect("room");
            folder.join("not in the source")
        },
    },
    Change {
        name: "kind",
        perform: |copy, random| {
            change(copy, random, is_file, |path, _| {
                std::fs::remove_file(path).expect("it is there");
                symlink("elsewhere", path).expect("room");
            })
        },
    },
    Change {
        name: "link structure",
        perform: |copy, random| {
            change(copy, random, |meta| meta.is_file() && meta.nlink() > 1, unlink_from_others)
        },
    },
];

fn is_file(meta: &std::fs::Metadata) -> bool {
    meta.is_file() && meta.nlink() == 1
}

fn is_folder(meta: &std::fs::Metadata) -> bool {
    meta.is_dir()
}

fn is_symlink(meta: &std::fs::Metadata) -> bool {
    meta.is_symlink() && meta.nlink() == 1
}

/// An entry by chance, with a name that is shown as it is.
fn pick(copy: &Path, random: &mut Random, fits: impl Fn(&std::fs::Metadata) -> bool) -> PathBuf {
    let plain = |path: &PathBuf| {
        path.to_str().is_some_and(|text| {
            text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/-".contains(letter))
        })
    };
    let fits = |path: &PathBuf| fits(&copy.join(path).symlink_metadata().expect("it was listed"));
    let all: Vec<PathBuf> = paths(copy)
        .into_iter()
        .filter(|path| !path.as_os_str().is_empty() && plain(path))
        .filter(fits)
        .collect();
    random.pick(&all).clone()
}

/// Performs it on an entry by chance; the times of its folder stay as they were.
fn change(
    copy: &Path,
    random: &mut Random,
    fits: fn(&std::fs::Metadata) -> bool,
    perform: impl Fn(&Path, &std::fs::Metadata),
) -> PathBuf {
    let chosen = pick(copy, random, fits);
    let path = copy.join(&chosen);
    let folder = path.parent().expect("it stands in a folder");
    let times = folder.metadata().expect("it is there");
    perform(&path, &path.symlink_metadata().expect("it is there"));
    set_times(folder, times.mtime(), times.mtime_nsec());
    chosen
}

/// Changes one bit and hides it from everyone who looks at attributes only.
fn change_byte(copy: &Path, random: &mut Random) -> PathBuf {
    let chosen = pick(copy, random, |meta| is_file(meta) && meta.len() > 0 && meta.len() < 1 << 22);
    let path = copy.join(&chosen);
    let meta = path.metadata().expect("it is there");
    let mut content = std::fs::read(&path).expect("readable");
    let at = random.below(content.len() as u64) as usize;
    content[at] ^= 1 << random.below(8);
    std::fs::write(&path, content).expect("room");
    // Writing takes set-id bits away.
    set_mode(&path, meta.mode() & 0o7777);
    set_times(&path, meta.mtime(), meta.mtime_nsec());
    chosen
}

/// The same file, but no link of the others any more.
fn unlink_from_others(path: &Path, _: &std::fs::Metadata) {
    let (name, new) = (path.display().to_string(), format!("{}-new", path.display()));
    program(&["cp", "--archive", &name, &new]);
    std::fs::rename(new, path).expect("the same folder");
}

/// Makes the copy the same again, without `pump`.
fn repair(source: &Path, copy: &Path) {
    let places = [source, copy].map(|path| format!("{}/", path.display()));
    let words = ["rsync", "-aHAXS", "--checksum", "--delete", "--modify-window=-1", "--exclude=*.socket"];
    program(&[&words[..], &[&places[0], &places[1]]].concat());
}

/// How the file is called; all names of one with several, of which any may stand for what became of its links.
fn names_of(source: &Path, path: &Path) -> Vec<String> {
    let inode = |path: &Path| source.join(path).symlink_metadata().ok().map(|meta| meta.ino());
    let same = |other: &PathBuf| other == path || (inode(path).is_some() && inode(other) == inode(path));
    // Letters alone: the others may be shown escaped.
    let letters = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    let mut names: Vec<String> = paths(source).into_iter().filter(same).map(|path| letters(&path)).collect();
    names.push(letters(path));
    names
}

#[test]
fn verify_names_whatever_differs() {
    let home = Home::new();
    let (source, target) = places(&home);
    make_tree(&source, 9, 1500);
    // Made by another, so that verify is judged alone.
    std::fs::create_dir(&target).expect("room");
    repair(&source, &target);
    let verify = |options: &[&str]| {
        let places = [&source, &target].map(|path| path.display().to_string());
        pump_with(&["verify", &places[0], &places[1]], options)
    };
    let run = verify(&[]);
    expect(&run, 0, &[], "the same");
    assert_eq!(run.out, "", "no line where nothing differs");
    for seed in 0..3 {
        for change in CHANGES {
            let path = (change.perform)(&target, &mut Random(seed));
            let row = format!("{} of {path:?}, seed {seed}", change.name);
            let run = verify(&[["--lanes=1"], ["--lanes=2"], ["--lanes=7"]][seed as usize]);
            expect(&run, 1, &[], &row);
            let names = names_of(&source, &path);
            let is_named = |line: &str| names.iter().any(|name| line.contains(name));
            assert!(run.out.lines().any(is_named), "{row}: no line names it: {run:?}");
            let most = 3 + names.len();
            assert!(run.out.lines().count() <= most, "{row}: lines about others: {}", run.out);
            repair(&source, &target);
        }
    }
    expect(&verify(&[]), 0, &[], "the same again");
}

#[test]
fn what_the_system_holds_is_copied() {
    let home = Home::new();
    let (source, target) = (Path::new("/usr/bin"), home.path("copy"));
    expect(&copy(source, &target, &[]), 0, &[], "/usr/bin");
    same_tree(source, &target, "/usr/bin");
}
