//! Round trips of flags that need more of the source than names and bytes: they do not grow with the files.
//!
//! Must not know: how requests are made.

use super::*;
use crate::job::options::{Backup, Keep, Numbering};
use std::os::unix::fs::symlink;
use std::time::SystemTime;

/// The source: so many of something.
type Make = fn(&Path, usize);
/// What the target has before, of this source.
type TargetBefore = fn(&Path, &Path, usize);
/// The options, with the target.
type Flags = fn(Options, &Path, usize) -> Options;
/// A case with the round trips of 10 and of 100 names, the beginning and the end of a session included.
type FlagCase = (&'static str, Make, TargetBefore, Flags, [u64; 2]);

fn old(path: &Path) {
    let file = fs::File::options().write(true).open(path).expect("it is there");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).expect("it is ours");
}

fn files(root: &Path, count: usize) {
    fs::create_dir_all(root).expect("room");
    for number in 0..count {
        write_source(&root.join(format!("file-{number}")), &noise(2000));
    }
}

fn nothing(_: &Path, _: &Path, _: usize) {}

fn other_files(_: &Path, target: &Path, count: usize) {
    fs::create_dir_all(target).expect("room");
    for number in 0..count {
        let path = target.join(format!("file-{number}"));
        fs::write(&path, b"old").expect("room");
        old(&path);
    }
}

/// The same names and content.
fn same_tree(from: &Path, target: &Path, _: usize) {
    let options = Options { target_is_name: true, sync: Sync::None, ..Options::default() };
    let copied =
        Job::copy(vec![Place::Path(from.into())], Place::Path(target.into())).options(options).run(&|_| {});
    assert_eq!(copied.exit_status, 0);
}

fn same_but_mode(from: &Path, target: &Path, count: usize) {
    same_tree(from, target, count);
    for entry in fs::read_dir(target).expect("it is there").flatten() {
        fs::set_permissions(entry.path(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("ours");
    }
}

fn same_size_and_time(from: &Path, target: &Path, count: usize) {
    same_tree(from, target, count);
    for number in 0..count {
        let path = target.join(format!("file-{number}"));
        let time = fs::metadata(&path).expect("it is there").modified().expect("a time");
        fs::write(&path, vec![7; 2000]).expect("room");
        let file = fs::File::options().write(true).open(&path).expect("it is there");
        file.set_modified(time).expect("it is ours");
    }
}

fn empties(root: &Path, count: usize) {
    fs::create_dir_all(root).expect("room");
    (0..count).for_each(|number| fs::write(root.join(number.to_string()), b"").expect("room"));
}

fn holed(root: &Path, count: usize) {
    fs::create_dir_all(root).expect("room");
    for number in 0..count {
        let path = root.join(number.to_string());
        fs::write(&path, noise(4096)).expect("room");
        fs::File::options().write(true).open(&path).expect("ours").set_len(1 << 16).expect("a hole");
    }
}

fn linked(root: &Path, count: usize) {
    fs::create_dir_all(root.join("other")).expect("room");
    for number in 0..count {
        let path = root.join(number.to_string());
        write_source(&path, &noise(2000));
        fs::hard_link(&path, root.join("other").join(number.to_string())).expect("room");
    }
}

fn symlinks(root: &Path, count: usize) {
    fs::create_dir_all(root).expect("room");
    (0..count).for_each(|number| symlink("nowhere", root.join(number.to_string())).expect("room"));
}

fn pipes(root: &Path, count: usize) {
    fs::create_dir_all(root).expect("room");
    for number in 0..count {
        let mode = rustix::fs::Mode::from_bits_truncate(0o644);
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join(number.to_string()), mode).expect("room");
    }
}

fn folders(root: &Path, count: usize) {
    for number in 0..count {
        let path = root.join(number.to_string());
        fs::create_dir_all(&path).expect("room");
        attribute(&path);
    }
}

fn attribute(path: &Path) {
    rustix::fs::setxattr(path, "user.note", b"something", rustix::fs::XattrFlags::empty()).expect("room");
}

fn with_attributes(root: &Path, count: usize) {
    files(root, count);
    (0..count).for_each(|number| attribute(&root.join(format!("file-{number}"))));
}

fn large(root: &Path, count: usize) {
    fs::create_dir_all(root).expect("room");
    (0..count / 10).for_each(|number| write_source(&root.join(number.to_string()), &noise(1_500_000)));
}

fn beside(numbering: Numbering) -> Backup {
    Backup { suffix: b"~".to_vec(), folder: None, numbering }
}

fn differs(options: Options, _: &Path, _: usize) -> Options {
    Options { update: Update::Differs, ..options }
}

fn plain(options: Options, _: &Path, _: usize) -> Options {
    options
}

fn simple(options: Options, _: &Path, _: usize) -> Options {
    Options { backup: Some(beside(Numbering::Simple)), ..options }
}

fn numbered(options: Options, _: &Path, _: usize) -> Options {
    Options { backup: Some(beside(Numbering::Numbered)), ..options }
}

fn simple_differs(options: Options, target: &Path, count: usize) -> Options {
    simple(differs(options, target, count), target, count)
}

fn half_of_names(options: Options, _: &Path, count: usize) -> Options {
    let names: String = (0..count / 2).map(|number| format!("file-{number}\n")).collect();
    Options { selection: vec![Selection::Names(names.into(), false)], ..options }
}

fn checksum(options: Options, _: &Path, _: usize) -> Options {
    Options { checksum: true, ..options }
}

fn dry(options: Options, _: &Path, _: usize) -> Options {
    Options { dry_run: true, ..options }
}

fn told(options: Options, _: &Path, _: usize) -> Options {
    Options { changes: true, ..options }
}

fn link_dest(options: Options, target: &Path, _: usize) -> Options {
    Options { link_dest: vec![target.with_extension("before")], ..options }
}

fn no_attributes(options: Options, target: &Path, count: usize) -> Options {
    let keep = Keep { acl: false, xattrs: false, ..options.keep };
    differs(Options { keep, ..options }, target, count)
}

fn empty_target(_: &Path, target: &Path, _: usize) {
    fs::create_dir(target).expect("room");
}

fn same_before(from: &Path, target: &Path, count: usize) {
    same_tree(from, &target.with_extension("before"), count);
}

/// Round trips of a copy of so many, which ends well.
fn trips(case: &FlagCase, way: Direction, (count, reads_ahead): (usize, bool)) -> u64 {
    let (name, make, before, flags, _) = case;
    let mut stage = TwoHosts::new();
    stage.reads_ahead = reads_ahead;
    let target = stage.path("to");
    make(&stage.path("from"), count);
    before(&stage.path("from"), &target, count);
    let options = flags(stage.options(), &target, count);
    let outcome = stage.copy(way, ("from", "to"), options.clone());
    let row = format!("{name}, {way:?}, {count}: {:?}", outcome.said);
    assert_eq!((outcome.report.exit_status, outcome.lost), (0, None), "{row}");
    if !options.dry_run && options.selection.is_empty() && options.backup.is_none() {
        same(&stage.path("from"), &target, &row);
    }
    outcome.round_trips
}

fn counted(cases: &[FlagCase]) {
    let mut wrong = Vec::new();
    for case in cases {
        for way in [Direction::Pull, Direction::Push] {
            let counted = [10, 100].map(|count| trips(case, way, (count, true)));
            if counted != case.4 {
                wrong.push(format!("{}, {way:?}: {counted:?}, expected {:?}", case.0, case.4));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names of a folder of the source are known where a backup needs them.
#[test]
fn backups_ask_for_no_name() {
    counted(&[
        ("replaced", files, other_files, plain, [3, 3]),
        ("backup", files, other_files, simple, [3, 3]),
        ("numbered", files, other_files, numbered, [3, 3]),
        ("backup of what differs", files, other_files, simple_differs, [4, 5]),
    ]);
}

/// The names of a list are looked at together.
#[test]
fn names_of_a_list_are_asked_for_together() {
    counted(&[
        ("new", files, nothing, half_of_names, [5, 6]),
        ("same", files, same_tree, |o, t, c| differs(half_of_names(o, t, c), t, c), [4, 4]),
        (
            "replaced, with backups",
            files,
            other_files,
            |o, t, c| simple(half_of_names(o, t, c), t, c),
            [5, 6],
        ),
    ]);
}

#[test]
fn files_that_are_opened_are_opened_together() {
    counted(&[
        ("empty", empties, nothing, plain, [3, 3]),
        ("empty, same", empties, same_tree, differs, [3, 3]),
        ("empty, new in an existing folder", empties, empty_target, differs, [4, 5]),
        ("empty, compared", empties, same_tree, checksum, [3, 3]),
        ("holes", holed, nothing, plain, [5, 7]),
        ("holes, same", holed, same_tree, differs, [3, 3]),
        ("large, compared", large, same_tree, checksum, [5, 5]),
        ("modes", files, same_but_mode, differs, [5, 6]),
        ("modes without attributes", files, same_but_mode, no_attributes, [3, 3]),
        ("attributes and modes", with_attributes, same_but_mode, differs, [5, 6]),
    ]);
}

#[test]
fn what_a_listing_told_is_not_asked_for() {
    counted(&[
        ("compared by content", files, same_size_and_time, checksum, [4, 5]),
        ("links", symlinks, nothing, plain, [3, 3]),
        ("links, told", symlinks, nothing, told, [3, 3]),
        ("pipes", pipes, nothing, plain, [3, 3]),
        ("folders", folders, nothing, plain, [3, 3]),
        ("folders, same", folders, same_tree, differs, [3, 3]),
        ("attributes", with_attributes, nothing, plain, [3, 3]),
        ("attributes, same", with_attributes, same_tree, differs, [3, 3]),
        ("hard links", linked, nothing, plain, [4, 5]),
        ("hard links, same", linked, same_tree, differs, [3, 3]),
        ("linked to an older copy", files, same_before, link_dest, [3, 3]),
        ("dry, replaced", files, other_files, dry, [3, 3]),
        ("dry, same", with_attributes, same_tree, |o, t, c| dry(differs(o, t, c), t, c), [3, 3]),
        ("told, replaced", files, other_files, told, [3, 3]),
    ]);
}
